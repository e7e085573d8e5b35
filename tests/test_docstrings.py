"""Every example in a docstring runs and gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import tinytrace

SKIPPED = ("tinytrace.cli.programs.", "tinytrace.cli.__main__")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(tinytrace.__path__, "tinytrace.")
    if not module.name.startswith(SKIPPED) and not module.name.split(".")[-1].startswith("_")
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    names = {**vars(module), "jax": tinytrace, "jnp": tinytrace.numpy}
    assert doctest.testmod(module, optionflags=FLAGS, extraglobs=names).failed == 0


def test_there_are_many_examples():
    finder = doctest.DocTestFinder()
    documented = [found for name in MODULES for found in finder.find(importlib.import_module(name)) if found.examples]
    assert len(documented) > 40
