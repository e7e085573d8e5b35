"""One suite, several implementations: every test gets `m`, which is the module of its step, the last step's, tinytrace.

STEP_MODULE=mine.py puts the reader's own module in the place of the step's.
"""

import functools
import importlib.util
import os
import pathlib
import re
import sys

import pytest

import tinytrace
import tinytrace.lax
import tinytrace.numpy
import tinytrace.tree_util

FOLDER = pathlib.Path(__file__).parent
LAST = "step_12_scan"


class Tinytrace:
    """tinytrace in the shape of a step's module: all names in one place."""

    __name__ = "tinytrace"
    places = (tinytrace.tree_util, tinytrace, tinytrace.numpy, tinytrace.lax, tinytrace.errors)

    def __getattr__(self, name):
        for place in self.places:
            if hasattr(place, name):
                return getattr(place, name)
        raise AttributeError(name)

    @staticmethod
    def eval_jaxpr(closed, *args):
        return tinytrace.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)


@functools.cache
def load(path):
    """The module in a file."""
    name = "tiny_" + re.sub(r"\W", "_", str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def implementations(folder):
    """Name and file of each implementation that a step's tests are for."""
    own = os.environ.get("STEP_MODULE")
    files = {"yours": pathlib.Path(own).absolute()} if own else {folder: FOLDER / folder / "tiny.py"}
    return {**files, **({} if own else {LAST: FOLDER / LAST / "tiny.py"}), "tinytrace": None}


def pytest_generate_tests(metafunc):
    if "path" in metafunc.fixturenames:
        files = implementations(pathlib.Path(metafunc.module.__file__).parent.name)
        metafunc.parametrize("path", files.values(), ids=files, scope="module")


@pytest.fixture(scope="module")
def m(path):
    return Tinytrace() if path is None else load(path)


@pytest.fixture(scope="module", autouse=True)
def cache_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINYTRACE_CACHE_DIR", str(folder))
        yield folder
