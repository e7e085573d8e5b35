"""Outputs that are one number everywhere are one element in memory, which nobody computes."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core import one_number

X = np.arange(5000, dtype=np.float32).reshape(50, 100)


def is_shared(x):
    return x._view is not None and not any(x._view.strides)


@pytest.mark.parametrize(("function", "want"), [
    (jnp.empty_like, 0 * X), (jnp.ones_like, 0 * X + 1), (lambda x: jnp.full(x.shape, -0.0, jnp.bfloat16), -0.0 * X),
    (lambda x: jnp.full_like(x, 1 + 2j, dtype=complex), 0 * X + (1 + 2j))])
def test_a_number_everywhere_is_one_element(function, want):
    jitted = jax.jit(function)
    for _ in range(3):  # in Python, then by the hit path
        got = jitted(X)
        assert is_shared(got)
        assert got.dtype == jax.eval_shape(function, X).dtype
        np.testing.assert_array_equal(np.asarray(got), want)
    assert str(jax.jit(function).lower(X).compile()).count("loop over") == 0


def test_it_stays_though_others_are_deleted_or_changed():
    zeros, ones, sums = jax.jit(lambda x: (jnp.zeros_like(x), jnp.ones_like(x), (x + 1).sum()))(X)
    again = jax.jit(lambda x: (jnp.zeros_like(x), jnp.ones_like(x), (x + 1).sum()))(X)
    assert is_shared(zeros)
    zeros.delete()
    given = jax.jit(lambda x, y: x + y, donate_argnums=0)(ones, X)
    np.testing.assert_array_equal(given, X + 1)
    np.testing.assert_array_equal(again[0], 0 * X)
    np.testing.assert_array_equal(again[1], 0 * X + 1)
    assert again[2] == sums


def test_what_is_computed_with_it_is_computed():
    def function(x):
        ones = jnp.ones_like(x)
        return ones, ones.cumsum(0), jnp.zeros((0, 3)), jnp.ones_like(x)

    got = jax.jit(function)(X)
    assert [is_shared(x) for x in (got[0], got[1], got[3])] == [True, False, True]
    np.testing.assert_array_equal(got[1], np.cumsum(0 * X + 1, 0))
    assert got[2].shape == (0, 3)
    assert got[0].unsafe_buffer_pointer() != got[3].unsafe_buffer_pointer()


def test_more_numbers_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(one_number, "MOST", len(one_number._places))
    got = jax.jit(lambda x: jnp.full_like(x, 0.734375))(X)
    assert not is_shared(got)
    np.testing.assert_array_equal(got, 0 * X + np.float32(0.734375))
