"""Functions of arrays with arguments that are used seldom: complex numbers, names of old, sizes with indices."""

import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests import goldens

SCENE, CASES = goldens.load("array_functions")


@functools.cache
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
@pytest.mark.filterwarnings("ignore")
def test_answers_of_jax(case):
    got = goldens.answer(case.program, dict(scene()))
    assert goldens.differences(got, case.answer, 4e-6) == []


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint32", "bool", "complex64"])
def test_filled_arrays_of_all_sizes(dtype):
    """Small ones are written into a block at once; nobody can tell."""
    dtype = jnp.dtype(dtype)
    for shape in (0, 1, 7, (3, 5), (2, 0), (), 4096, 5000):
        for made, value in ((jnp.zeros, 0), (jnp.ones, 1), (jnp.empty, 0)):
            for _ in range(2):
                x = made(shape, dtype)
                assert (x.dtype, x.shape, x.weak_type) == (dtype, np.zeros(shape).shape, False)
                assert (np.asarray(x) == np.full(shape, value, dtype)).all()
    for value in (0.0, -0.0, 2.5, float("inf")):
        assert np.asarray(jnp.full(9, value)).tobytes() == np.full(9, value, np.float32).tobytes()
    jnp.zeros((2, 1))
    for shape in ((2.0, 1), (-1,), "3"):  # what is equal to a shape is not one yet
        with pytest.raises(TypeError):
            jnp.zeros(shape)


def test_remainders_of_floats_are_exact():
    """Of all magnitudes: the compiled long division gives what the C library's gives, to the bit."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2 ** 32, (2, 1_000_000), np.uint32)
    bits[1, ::2] = (bits[1, ::2] & 0x807FFFFF) | (bits[0, ::2] & 0x7F800000)  # of like size
    special = np.float32([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 3.4e38, 1.1754944e-38])
    x, y = (np.concatenate([part.view(np.float32), more.ravel()]) for part, more in
            zip(bits, np.meshgrid(special, special), strict=True))
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(np.asarray(jax.jit(jax.lax.rem)(x, y)), expected)
    signs = ~np.isnan(expected)
    assert (np.signbit(np.asarray(jax.jit(jax.lax.rem)(x, y)))[signs] == np.signbit(expected)[signs]).all()


def test_masks_become_floats_by_way_of_integers():
    """gcc has no vectors for a byte that is compared and becomes a float: that took seven times as long."""
    lowered = jax.jit(lambda x: (x > 0.5).astype(jnp.float32) + (x < 0.5)).lower(jnp.ones(8))
    assert lowered.as_text().count("(float)((int32_t)") == 2
    x = np.float32([0, 0.5, 1, np.nan, np.inf, -np.inf])
    assert (np.asarray(lowered.compile()(jnp.asarray(np.resize(x, 8)))) == [1, 0, 1, 0, 1, 1, 1, 0]).all()


@pytest.mark.parametrize("bounds", [(5,), (0,), (-3,), (2, 9), (9, 2), (9, 2, -3), (0, 10, 3), (-4, 5, 2), (1, 1),
                                    (2 ** 31 - 3, 2 ** 31 - 1), (2, None, None), (0, 7, None)], ids=str)
def test_integers_that_are_counted(bounds):
    found, expected = jnp.arange(*bounds), np.arange(*bounds)
    assert (found.dtype, found.shape, found.weak_type) == (np.int32, expected.shape, False)
    assert (np.asarray(found) == expected).all()
    with pytest.raises(ZeroDivisionError):
        jnp.arange(1, 2, 0)


def test_copies_and_filled_copies():
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.array([1, 2, 3])
    for _ in range(3):
        copied = jnp.array(x)
        assert copied is not x
        assert (copied == x).all()
        assert (jnp.full_like(x, y) == np.full_like(x, y)).all()
        assert jnp.full_like(x, y, dtype=jnp.int8, shape=(4, 3)).aval.str_short() == "i8[4,3]"


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8"])
def test_counts_outside_of_traces_are_those_of_programs(dtype):
    x = jnp.array([3, 0, 100, 3, -3, 1] * 3000).astype(dtype)  # what is negative counts as 0
    for few in (x[:6], x[:0], x):
        for length in (0, 2, 4, 100 if dtype == "int8" else 300):
            found, wanted = (count(few) for count in (functools.partial(jnp.bincount, length=length),
                                                     jax.jit(functools.partial(jnp.bincount, length=length))))
            np.testing.assert_array_equal(found, wanted)
            assert found.aval == wanted.aval
    assert jnp.bincount(x[:2], minlength=9).size == 9
