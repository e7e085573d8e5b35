"""Every example in a docstring runs, and gives what it says if it says so, numbers up to the last digits."""

import doctest
import importlib
import importlib.util
import linecache
import math
import pkgutil
import re
from functools import partial

import numpy as np
import pytest

import tinytrace as jax

SKIPPED = ("tinytrace.cli.programs.", "tinytrace.cli.__main__",
           *([] if importlib.util.find_spec("absl") else ["tinytrace.absl_flags"]),
           *([] if importlib.util.find_spec("distributed") else ["tinytrace.dask"]))
MODULES = [
    module.name
    for module in pkgutil.walk_packages(jax.__path__, "tinytrace.")
    if not module.name.startswith(SKIPPED) and not module.name.split(".")[-1].startswith("_")
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL

# What a reader of an example has imported.
NAMES = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "nn": jax.nn, "random": jax.random, "np": np, "partial": partial}
NAMES |= {name: getattr(jax, name) for name in ("jit", "grad", "vmap", "jvp", "vjp")}
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")


class CloseEnough(doctest.OutputChecker):
    """Takes two floating-point numbers for the same when they agree to five digits: the last ones vary with the CPU."""

    def check_output(self, want, got, optionflags):
        if not want or super().check_output(want, got, optionflags):
            return True
        ours, theirs = (list(map(float, NUMBER.findall(text))) for text in (want, got))
        if len(ours) != len(theirs) or not all(map(partial(math.isclose, rel_tol=1e-5, abs_tol=1e-7), ours, theirs)):
            return False
        want, got = ("".join(NUMBER.sub("#", text).split()) for text in (want, got))
        return super().check_output(want, got, optionflags)


@pytest.fixture
def runner(monkeypatch):
    """What runs examples. It prepares a debugger for each text, which asks the disk for each file that was imported."""
    monkeypatch.setattr(linecache, "checkcache", lambda filename=None: None)
    return doctest.DocTestRunner(CloseEnough(), optionflags=FLAGS)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, runner):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=NAMES):
        if test.examples:
            runner.run(test)
    assert runner.failures == 0


@pytest.mark.not_quick
def test_there_are_many_examples():
    finder = doctest.DocTestFinder()
    documented = [found for name in MODULES for found in finder.find(importlib.import_module(name)) if found.examples]
    assert len(documented) > 40
