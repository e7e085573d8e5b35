"""Every test begins with the settings that pytest's options ask for: one that leaves another behind fails.

Without this check a setting that comes too late, or is not put back, makes later tests try something else and pass.
"""

import os

import pytest

from tinytrace.config import config
from tinytrace.runtime.threads import num_threads, set_num_threads


def settings():
    """All settings of this process and thread, the number of threads, and what child processes are told.

    Without the store of child processes, which the tests of a file may share.
    """
    environment = {name: value for name, value in os.environ.items()
                   if name.startswith(("TINYTRACE_", "JAX_")) and name != "TINYTRACE_CACHE_DIR"}
    return {**config.values, "overrides": list(config.__dict__), "threads": num_threads(), **environment}


FIRST = settings()
COMPILED = frozenset(("codegen", "csrc", "faults", "lax", "nn", "numpy", "passes", "primitives", "random", "runtime",
                      "scipy", "transforms"))
"""Folders whose tests are about compiled programs: there the shortest are compiled, too."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Before fixtures, which may compile."""
    folders = item.path.relative_to(item.config.rootpath).parts
    is_about_them = folders[0] == "tests" and folders[1] in COMPILED and item.get_closest_marker("ready_loops") is None
    choose_loops(not is_about_them and item.get_closest_marker("compiled") is None)


def choose_loops(are_used):
    """Say whether short programs are compiled, here and in child processes; that is what a test has to leave behind."""
    if config.ready_loops != are_used:
        config.update("tinytrace_ready_loops", are_used)
    os.environ["TINYTRACE_READY_LOOPS"] = str(are_used)
    FIRST.update(ready_loops=are_used, TINYTRACE_READY_LOOPS=str(are_used))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """After the fixtures have put back what they changed."""
    try:
        return (yield)
    finally:
        changed = put_back()
        assert not changed, f"the test left settings changed: {changed}"


def put_back():
    """Give settings the values that they had when the package was imported; which were others, as what."""
    now = settings()
    changed = {name: now.get(name) for name in {**FIRST, **now} if now.get(name) != FIRST.get(name)}
    for name in changed:
        if name in config.values:
            config.update(name, FIRST[name])
    if "threads" in changed:
        set_num_threads(FIRST["threads"])
    return changed


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    options = session.config.option
    asked = {"exact": options.exact, "threads": options.threads or FIRST["threads"]}
    found = {name: FIRST[name] for name in asked}
    assert found == asked, f"the package was imported before it was told the options: {found} instead of {asked}"
