"""Calls of `lowered.compile()`: known ones are answered without Python, and are checked as the first ones are."""
import gc
import weakref

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.config import enable_x64

X = np.arange(4, dtype=np.float32)


def watched(compiled):
    """Count the calls that Python answers."""
    calls, misses = compiled._calls, []

    def miss(calls, *args, **kwargs):
        misses.append(args)
        return type(calls)._missed(calls, *args, **kwargs)

    calls._configure(miss, (), ())
    return misses


def test_known_calls_are_answered_without_python():
    compiled = jax.jit(lambda x, y: {"sum": x + y["b"] * y["a"]}).lower(X, {"a": X, "b": X}).compile()
    misses = watched(compiled)
    for k in range(1, 6):
        np.testing.assert_array_equal(compiled(X, {"b": X, "a": k * X})["sum"], X + k * X * X)
        np.testing.assert_array_equal(compiled(k * X, {"a": X, "b": X})["sum"], k * X + X * X)
    assert len(misses) == 2  # of two dicts that lie in different orders


def test_what_it_was_not_compiled_for_is_refused_at_every_call():
    compiled = jax.jit(lambda x: x + 1).lower(X).compile()
    for _ in range(3):
        assert compiled(X).tolist() == [1, 2, 3, 4]
        with pytest.raises(TypeError, match=r"compiled with float32\[4\] and called with float32\[3\]"):
            compiled(X[:3])
        with pytest.raises(TypeError, match=r"compiled with float32\[4\] and called with int32\[4\]"):
            compiled(X.astype(np.int32))
        with pytest.raises(TypeError, match=r"does not match the input pytree"):
            compiled(X, X)
        with enable_x64(), pytest.raises(TypeError, match=r"called with float64\[4\]"):
            compiled(X.astype(np.float64))
        assert compiled(X.astype(np.float64)).dtype == np.float32


def test_donated_arguments_are_given_away_at_every_call():
    compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile()
    x = jnp.array(X)
    for k in range(4):
        before, x = x, compiled(x)
        assert before.is_deleted()
        assert x.tolist() == (X + k + 1).tolist()
        with pytest.raises(RuntimeError, match="deleted"):
            compiled(before)


def test_numbers_are_arguments_too():
    compiled = jax.jit(lambda x: x * 2).lower(1.5).compile()
    assert [float(compiled(x)) for x in (1.0, np.float32(2), 3.0, jnp.float32(4))] == [2, 4, 6, 8]


def test_it_is_freed_without_the_collector():
    compiled = jax.jit(lambda x: x - 1).lower(X).compile()
    compiled(X), compiled(X)
    calls = weakref.ref(compiled._calls)
    gc.disable()
    try:
        del compiled
        assert calls() is None
    finally:
        gc.enable()
