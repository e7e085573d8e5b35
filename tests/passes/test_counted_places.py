"""Positions of true elements are written, not counted: `nonzero` with a known size, in both widths of integers."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify

SHAPES = [(7,), (3, 4), (2, 3, 4), (1,), (5, 1), (300,), (20, 30)]


def mask_of(shape, share):
    return np.random.default_rng(len(shape)).random(shape) < share


def lowered(function, *args):
    closed = simplify(jax.make_jaxpr(function)(*args))
    check_jaxpr(closed)
    assert str(simplify(closed)) == str(closed)
    return [eqn.primitive.name for eqn in closed.eqns]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_positions_are_those_of_numpy(shape, wide):
    """For each share one program with all sizes, which have one fill value after the other."""
    with jax.enable_x64(wide):
        for share in (0, 0.1, 0.5, 0.9, 1):
            mask = mask_of(shape, share)
            want = np.nonzero(mask)
            count = len(want[0])
            asked = list(zip(sorted({count, count + 3, max(count - 2, 0), 1}), (0, -7, 0, -7), strict=False))
            program = jax.jit(lambda x, asked=asked: [jnp.nonzero(x, size=n, fill_value=fill) for n, fill in asked])
            for (size, fill), got in zip(asked, program(mask), strict=True):
                for one, other in zip(got, want, strict=True):
                    assert one.dtype == (np.int64 if wide else np.int32)
                    filled = np.full(size, fill)
                    filled[:count] = other[:size]
                    np.testing.assert_array_equal(one, filled)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("share", [0, 0.3, 1])
@pytest.mark.parametrize("length", [1, 20, 70])
def test_what_is_beyond_the_last_one_is_the_number_of_elements(share, length, wide):
    mask = mask_of((50,), share)
    counted = np.bincount(np.cumsum(mask), minlength=length)[:length]
    with jax.enable_x64(wide):
        def function(x):
            return jnp.cumsum(jnp.bincount(jnp.cumsum(x), length=length))
        np.testing.assert_array_equal(jax.jit(function)(mask), np.cumsum(counted))
        assert "scatter" in lowered(function, mask)


@pytest.mark.parametrize("function", [
    lambda x: jnp.nonzero(x, size=9), lambda x: jnp.argwhere(x, size=9), lambda x: jnp.where(x, size=9),
    lambda x: jnp.tril_indices(5), lambda x: jnp.triu_indices_from(x)])
@pytest.mark.parametrize("wide", [False, True])
def test_nothing_is_counted_twice_and_no_signs_are_asked_for(function, wide):
    with jax.enable_x64(wide):
        found = lowered(function, mask_of((5, 6), 0.5))
    assert found.count("cumsum") == 1
    assert {"scatter-add", "sign"}.isdisjoint(found)


@pytest.mark.parametrize("function", [
    lambda x: jnp.cumsum(jnp.bincount(jnp.cumsum(x), length=9).at[2].add(1)),
    lambda x: jnp.cumsum(jnp.zeros(9, int).at[jnp.cumsum(x)].add(2)),
    lambda x: jnp.cumsum(jnp.ones(9, int).at[jnp.cumsum(x)].add(1)),
    lambda x: jnp.cumsum(jnp.zeros(9, np.int8).at[jnp.cumsum(x)].add(1)),
    lambda x: jnp.cumsum(jnp.zeros(9, int).at[jnp.cumsum(x, dtype=np.int8)].add(1)),
    lambda x: jnp.cumsum(jnp.zeros(9, int).at[jnp.cumsum(x) + 1].add(1)),
    lambda x: jnp.cumsum(jnp.zeros(9, int).at[jnp.cumsum(x)].add(1, mode="clip")),
    lambda x: lax.cumsum(jnp.zeros(9, int).at[jnp.cumsum(x)].add(1), reverse=True),
    lambda x: jnp.cumsum(jnp.zeros(9, int).at[lax.cumsum(x.astype(int), reverse=True)].add(1)),
    lambda x: jnp.cumsum(jnp.zeros(9, int).at[jnp.cumsum(x * 2)].add(1))])
def test_other_counts_stay(function):
    mask = mask_of((200,), 0.03)
    assert "scatter-add" in lowered(function, mask)
    with interpreting():
        want = function(jnp.asarray(mask))
    np.testing.assert_array_equal(jax.jit(function)(mask), want)
