"""Every public function has an example, and those that doctest's finder passes by in the module run here."""

import doctest
import functools
import importlib
import inspect
import sys

import pytest

import tinytrace as jax
from tests.test_docstrings import MODULES, NAMES, runner  # noqa: F401 (a fixture)

NAMESPACES = {
    "jax.numpy": jax.numpy, "jax.numpy.linalg": jax.numpy.linalg, "jax.numpy.fft": jax.numpy.fft, "jax.nn": jax.nn,
    "jax.nn.initializers": jax.nn.initializers, "jax.scipy.special": jax.scipy.special, "jax.lax": jax.lax,
}


def public_functions():
    for module in NAMESPACES.values():
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name)
            own = getattr(thing, "__module__", "").startswith("tinytrace")
            if not name.startswith("_") and callable(thing) and own and not inspect.isclass(thing):
                yield f"{module.__name__}.{name}", thing


FUNCTIONS = dict(public_functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples(name, runner):  # noqa: F811
    doc = inspect.getdoc(FUNCTIONS[name])
    assert doc, f"{name} has no docstring"
    if doc in found_by_module(FUNCTIONS[name].__module__):
        return
    names = vars(sys.modules[FUNCTIONS[name].__module__]) | NAMES
    test = doctest.DocTestParser().get_doctest(doc, names, name, None, 0)
    runner.run(test)
    assert runner.failures == 0


@functools.cache
def found_by_module(name):
    """The docstrings whose examples tests/test_docstrings.py runs with this module."""
    assert name in MODULES
    return {inspect.cleandoc(test.docstring) for test in doctest.DocTestFinder().find(importlib.import_module(name))}


def test_there_are_many_examples():
    with_example = [name for name, function in FUNCTIONS.items() if ">>>" in (function.__doc__ or "")]
    numpy = [name for name in FUNCTIONS if name.startswith(("tinytrace.numpy", "tinytrace.nn", "tinytrace.scipy"))]
    assert len(with_example) > 500
    assert [name for name in numpy if name not in with_example and "Another name" not in FUNCTIONS[name].__doc__] == [
        "tinytrace.numpy.fromfile", "tinytrace.numpy.fromiter", "tinytrace.numpy.load"]
