"""Every test of the runtime gets a store of its own, empty memory and zero counters."""

import pytest

from tinytrace.config import config
from tinytrace.runtime import discovery, ladder
from tinytrace.runtime.failures import forget_announcements
from tinytrace.runtime.threads import num_threads, set_num_threads


@pytest.fixture(autouse=True)
def store_folder(tmp_path, monkeypatch):
    """The folder of the test's own store; settings and counters are as in a new process, and are put back."""
    folder = tmp_path / "store"
    before, threads = config.values, num_threads()
    config.update("cache_dir", str(folder))
    for table in ("_compilers", "_stores", "_silent"):
        monkeypatch.setattr(discovery, table, {})
    monkeypatch.setattr(discovery, "_remembered", set())
    ladder.clear_memory()
    ladder.stats.reset()
    forget_announcements()
    yield folder
    for name, value in before.items():
        config.update(name, value)
    set_num_threads(threads)
    ladder.clear_memory()
