"""Results never share memory with the NumPy arrays that users pass, however often a function has been called."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api import recipes

ARGUMENTS = {
    "f32": (lambda: np.arange(6, dtype=np.float32).reshape(2, 3),),
    "f64": (lambda: np.arange(6, dtype=np.float64).reshape(2, 3),),
    "i32": (lambda: np.arange(4, dtype=np.int32).reshape(2, 2),),
    "two": (lambda: np.ones((2, 2), np.float32), lambda: np.ones((2, 2), np.float32)),
    "shape": (lambda: np.arange(4, dtype=np.float32), lambda: (2, 2)),
    "axes": (lambda: np.arange(4, dtype=np.float32).reshape(2, 2), lambda: 0, lambda: 1),
}  # fmt: skip


def functions():
    """Every public function of jax.numpy, a jitted one, and the one that puts arrays on the device."""
    found = {name: getattr(jnp, name) for name in sorted(jnp.__dict__) if not name.startswith("_")}
    found |= {"device_put": jax.device_put, "jit": jax.jit(lambda *xs: xs)}
    return {name: function for name, function in found.items() if callable(function) and not isinstance(function, type)}


def alive_after_a_write(function, makers):
    """Call with fresh arrays, overwrite these, and say whether the result has changed; None if it takes no such."""
    arguments = [make() for make in makers]
    try:
        result = function(*arguments)
        before = [np.array(x) for x in jax.tree.leaves(result) if isinstance(x, jax.Array)]
    except Exception:  # which functions take these arguments is not the subject
        return None
    for x in arguments:
        if isinstance(x, np.ndarray):
            if not x.flags.writeable:
                return False  # it became part of an Array
            x[...] = 77
    after = [np.array(x) for x in jax.tree.leaves(result) if isinstance(x, jax.Array)]
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc") for x, y in zip(before, after, strict=True))


def shared(kind):
    """The functions whose results share memory with their arguments, in one of four calls, and how many were tried."""
    wrong, tried = set(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in functions().items():
            answers = [alive_after_a_write(function, ARGUMENTS[kind]) for _ in range(4)]
            tried += answers[0] is not None
            if False in answers:
                wrong.add(name)
    return wrong, tried


@pytest.mark.not_quick
@pytest.mark.parametrize("kind", ARGUMENTS)
def test_results_are_their_own(kind):
    wrong, tried = shared(kind)
    assert tried >= 15
    assert not wrong - {"from_dlpack"}  # which is asked to


@pytest.mark.not_quick
def test_a_planted_fault_is_seen(monkeypatch):
    """Un-jitted functions that take the user's own NumPy array where they should take a copy."""
    right = recipes._Recipe.operand_types

    def without_a_copy(self, function):
        makers = zip(self.kinds, right(self, function), strict=True)
        return tuple(np.asarray if kind is np.ndarray else make for kind, make in makers)

    monkeypatch.setattr(recipes._Recipe, "operand_types", without_a_copy)
    jax.clear_caches()
    try:
        wrong, _ = shared("f32")
    finally:
        jax.clear_caches()
    assert "transpose" in wrong
