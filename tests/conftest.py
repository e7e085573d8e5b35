"""What holds for all tests: a cache of their own, settings by options only, and how many random programs are tried."""

import compileall
import copy
import gc
import os
import pathlib
import random
import signal
import sys

import pytest
from _pytest.assertion import rewrite  # pytest has no public name for it
from hypothesis import HealthCheck, settings

from tests import quick

ROOT = pathlib.Path(__file__).parent.parent

# Python's bytecode is kept, whatever the environment says: hundreds of child processes import the package, and without
# it each of them compiles 300 modules first, which takes longer than what it is there for.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# NumPy's BLAS starts a thread for each core when it is imported, and these spin while they wait: a tenth of a second of
# each of hundreds of child processes. The package's own BLAS starts none, whatever this says.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.pop("VIRTUAL_ENV", None)  # of an environment that is active in the shell: IPython warns if it is another one

# Before tinytrace is imported: compiled programs of earlier runs are found again (the store is content-addressed, so
# nothing stale can be), and the user's own cache is left alone.
for name in [name for name in os.environ if name.startswith(("TINYTRACE_", "JAX_"))]:
    if name != "TINYTRACE_CACHE_DIR":
        del os.environ[name]
os.environ["JAX_TRACEBACK_FILTERING"] = "off"  # a failing test shows where; what users see has tests of its own
os.environ.setdefault("TINYTRACE_CACHE_DIR", str(ROOT / ".cache" / "tests"))

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
# What is drawn is the same in every run, so that a red test is red again. `search` draws anew each time.
settings.register_profile("full", max_examples=30, deadline=None, derandomize=True, suppress_health_check=SLOW_IS_FINE)
settings.register_profile("fast", max_examples=20, deadline=None, derandomize=True, suppress_health_check=SLOW_IS_FINE)
settings.register_profile("quick", max_examples=7, deadline=None, derandomize=True, suppress_health_check=SLOW_IS_FINE)
settings.register_profile("search", max_examples=200, deadline=None, suppress_health_check=SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "full"))


def pytest_addoption(parser, pluginmanager):
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")
    parser.addoption("--threads", type=int, default=0, help="how many threads kernels may use (0: one per core)")
    parser.addoption("--exact", action="store_true", help="compile without fused multiply-add")
    parser.addoption("--thorough", action="store_true",
                     help="whole products of axes: see tests/quick.py")
    parser.addoption("--pure", action="store_true", help="run without the C extensions (tinytrace.pure)")
    parser.addoption("--sample", type=int, default=1, metavar="N", help="of tests with many cases, try every Nth case")
    parser.addoption("--first", type=int, default=0, metavar="K", help="... beginning with the Kth (0: the first)")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="in an order that a number decides: none may matter")
    parser.addoption("--quick", action="store_true", help="what `make test-fast` runs")
    tell_the_package(pluginmanager.get_plugin("pytestconfig"), parser)


def tell_the_package(config, parser):
    """Before tinytrace is imported, which a folder's conftest.py may do; the processes that tests start inherit it.

    That is long before `pytest_configure`. A process of pytest-xdist has its options already, any other one arguments.
    """
    options = parser.parse_known_args(config.invocation_params.args, namespace=copy.copy(config.option))
    os.environ["TINYTRACE_NUM_THREADS"] = str(options.threads)
    os.environ["TINYTRACE_EXACT"] = str(options.exact)
    if options.pure:
        os.environ["TINYTRACE_PURE"] = "1"


def pytest_configure(config):
    config.pluginmanager.register(quick)  # for tutorials/build, too
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells let background commands ignore
    if not hasattr(config, "workerinput"):  # pytest's own bytecode of the package is not that of child processes
        compileall.compile_dir(ROOT / "tinytrace", quiet=2, workers=0)
        if getattr(config.option, "numprocesses", None):
            make_bytecode_of_tests(config)
    gc.set_threshold(5000, 10, 50)  # with Python's own, a twentieth of the time goes into looking at what is in use


def make_bytecode_of_tests(config):
    """By one child for each core; otherwise each process of pytest-xdist rewrites the asserts of all tests."""
    paths = [path for place in config.getini("testpaths") for path in sorted((ROOT / place).rglob("test_*.py"))]
    cores = os.cpu_count() or 1
    children = []
    for core in range(cores):
        if child := os.fork():
            children.append(child)
            continue
        try:
            for path in paths[core::cores]:
                kept = rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)
                kept.parent.mkdir(exist_ok=True)
                if rewrite._read_pyc(path, kept) is None:
                    source, code = rewrite._rewrite_test(path, config)
                    rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source, kept)
        finally:  # whatever does not succeed here, pytest does where it imports the test
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """To look for garbage among what is being collected would take a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config, items):
    if config.option.shuffle is not None:
        random.Random(config.option.shuffle).shuffle(items)
    elif hasattr(config, "workerinput"):
        items[:] = slow_files_first(items, config.workerinput["workercount"])


def slow_files_first(items, processes):
    """Files with slow tests come first among those with which each process of pytest-xdist begins.

    At the end processes take tests from each other, but never the last two: who has two slow ones is waited for.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    ordered, left = [], list(items)
    for process in range(processes):
        count = len(left) // (processes - process)
        part, left = left[:count], left[count:]
        ordered += sorted(part, key=lambda item: item.path not in slow)
    return ordered


def pytest_collection_finish(session):
    session.config.pluginmanager.import_plugin("tests.settings")  # now, for it imports tinytrace
    _keep_what_is_there()


@pytest.fixture(autouse=True, scope="module")
def _what_earlier_tests_left():
    _keep_what_is_there()


def _keep_what_is_there():
    """Tests that collect garbage, and those under leak checks do at every trace, need not look through all of this."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request):
    """`golden(name, text)`: is `text` what the file `tests/goldens/<name>` holds?"""

    def compare(name, text):
        path = ROOT / "tests" / "goldens" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert text == path.read_text(), f"run `pytest --update-golden` if {name} should change"

    return compare
