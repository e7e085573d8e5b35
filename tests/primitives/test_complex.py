"""Functions of complex numbers: exact to a few units in the last place, and C99's values at the edges."""

import itertools

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace.config import enable_x64

IN_NUMPY = {
    "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}
EDGES = np.array([complex(a, b) for a, b in itertools.product((0.0, -0.0, 0.5, -2.0, np.inf, -np.inf, np.nan),
                                                              repeat=2)])


def all_of_them(z):
    return jax.jit(lambda z: [getattr(lax, name)(z) for name in IN_NUMPY])(z)


@pytest.mark.not_quick
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_are_exact_to_a_few_units_in_the_last_place(dtype):
    rng = np.random.default_rng(0)
    numbers = np.concatenate([(rng.normal(size=500) + 1j * rng.normal(size=500)) * scale for scale in (1e-3, 1, 6)])
    with enable_x64(True), np.errstate(all="ignore"):
        z = numbers.astype(dtype)
        for (name, function), out in zip(IN_NUMPY.items(), all_of_them(z), strict=True):
            wanted = function(z.astype(np.clongdouble))
            error = np.abs(np.asarray(out) - wanted) / np.abs(wanted) / np.finfo(dtype).eps
            assert error.max() < 8, name


@pytest.mark.not_quick
def test_edges_are_those_of_c99():
    """Where NumPy, which calls C, has a number. JAX has other ones here and there, or NaN (docs/differences.md)."""
    with enable_x64(True), np.errstate(all="ignore"):
        for (name, function), out in zip(IN_NUMPY.items(), all_of_them(EDGES), strict=True):
            out, wanted = np.asarray(out), function(EDGES)
            known = ~np.isnan(wanted)
            for part in (np.real, np.imag):
                np.testing.assert_allclose(part(out)[known], part(wanted)[known], 1e-14, 1e-15, err_msg=name)
                half_known = ~known & ~np.isnan(part(wanted))  # beside a NaN the sign is not specified
                np.testing.assert_allclose(*(np.abs(part(each)[half_known]) for each in (out, wanted)), 1e-14, 1e-15,
                                           err_msg=name)


@pytest.mark.not_quick
def test_zeros_and_infinities_have_the_signs_of_c99():
    """But those of the sine and cosine, which JAX writes as a program: `sin(-0.0 + 1j)` has a real part 0.0."""
    numbers = np.concatenate([EDGES, [complex(a, b) for a, b in itertools.product(
        (-np.inf, np.inf, 0.0, -0.0), (1, -1, 2, -2, 4, -4, 5, -5, 1e30))]])
    with enable_x64(True), np.errstate(all="ignore"):
        for (name, function), out in zip(IN_NUMPY.items(), all_of_them(numbers), strict=True):
            wanted = function(numbers)
            # Beside a NaN, and of exp where both parts are infinite, C99 leaves signs open.
            left_open = np.isnan(numbers) | (np.isinf(numbers.real) & np.isinf(numbers.imag))
            known = ~np.isnan(wanted) & ~left_open & (name not in ("sin", "cos"))
            for part in (np.real, np.imag):
                np.testing.assert_array_equal(np.signbit(part(np.asarray(out)[known])), np.signbit(part(wanted[known])),
                                              err_msg=name)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_number_times_its_conjugate_is_real(size):
    """Products and sums are rounded each: what the processor could do in one rounding is not done here."""
    rng = np.random.default_rng(size)
    z = (rng.normal(size=size) + 1j * rng.normal(size=size)).astype(np.complex64)
    assert not np.asarray(jax.jit(lambda z: (z * lax.conj(z)).imag)(z)).any()
    assert not np.asarray(jax.jit(lambda z: z * lax.conj(z))(z)).imag.any()


def test_what_is_not_there_is_refused_by_name():
    z = np.complex64([1j, 2])
    for run in (lambda f: f(z), lambda f: jax.jit(f)(z)):
        with pytest.raises(NotImplementedError, match="clamp of complex numbers is not implemented in tinytrace"):
            run(lambda z: lax.clamp(z, z, z))
        with pytest.raises(NotImplementedError, match="cumlogsumexp of complex numbers"):
            run(lax.cumlogsumexp)
