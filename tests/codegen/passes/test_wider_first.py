"""Small integers become wider numbers in a loop of their own where these are compared, and the results are the same."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tinytrace import lax

SPLIT = {
    "a function that chooses": jnp.log,
    "steps between floats": jnp.spacing,
    "what needs such a function": lambda x: jnp.log1p(x) * 2,
    "two operands": lambda x: jnp.hypot(x, x[::-1] + 0.5),
    "choices of choices": lambda x: jnp.where(x > 2.5, 1.5, jnp.where(x < -1.5, x * 0.5, x * 0.25)),
    "two rows": lambda x: jnp.log(x[None] + jnp.array([[0.5], [1]])),
    "the other way round": lambda x: jnp.log(x * 1.0)[::-1],
}
STAYING = {
    "no choice of choices": jnp.exp,
    "small results": lambda x: jnp.log(x) > 1,
    "a sum": lambda x: jnp.log(x).sum(),
    "bytes that are computed with": lambda x: jnp.where(x > 2, jnp.log(x), 0.5),
    "a choice": lambda x: jnp.where(x > 2.5, 1.5, 0.5),
}


def operand(size, dtype):
    limits = np.iinfo(dtype)
    return np.random.default_rng(size).integers(limits.min, limits.max, size, dtype, endpoint=True)


def is_split(function, *args):
    return "wide[i" in jax.jit(function).lower(*args).as_text()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("name", SPLIT)
def test_a_loop_of_their_own(name, dtype):
    x = operand(1100, dtype)
    assert is_split(SPLIT[name], x)
    assert not is_split(SPLIT[name], x.astype(np.float32))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 511, 512, 513, 1100, 60_000])
@pytest.mark.parametrize("name", [*SPLIT, *STAYING])
def test_the_results_are_those_of_floats(name, size):
    function, x = (SPLIT | STAYING)[name], operand(size, "int8")
    got, want = (np.asarray(jax.jit(function)(value)) for value in (x, x.astype(np.float32)))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", STAYING)
def test_what_gains_nothing_stays(name):
    assert not is_split(STAYING[name], operand(1100, "int8"))


@pytest.mark.parametrize("name", SPLIT)
def test_the_meaning_is_the_same(name):
    x = operand(1100, "int16")
    checked(SPLIT[name], x, inputs=(x,))


def test_doubles():
    with jax.enable_x64():
        x = operand(1100, "int8")
        assert is_split(lambda x: jnp.nextafter(x.astype(np.float64), lax.rev(x, (0,)).astype(np.float64)), x)
