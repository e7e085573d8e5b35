"""The math of csrc/math against NumPy in the next wider type: units in the last place, zeros, infinities, NaN.

`make exhaustive` tries every float32 (ten minutes per function), these tests otherwise one in 8191.
"""

import os

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace.config import enable_x64
from tinytrace.primitives import special_values

STRIDE = 8191
CHUNK = 1 << 22
WIDE = np.finfo(np.longdouble).nmant > 60


def logistic(x):
    return np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x)))


def cbrt(x):
    return np.copysign(np.abs(x) ** (np.longdouble(1) / 3), x)


# The function in the wider type, and how many units in the last place float32 and float64 may be off.
FUNCTIONS = {
    "exp": (np.exp, 1, 1), "exp2": (np.exp2, 1, 1), "expm1": (np.expm1, 1.5, 2), "log": (np.log, 1, 1),
    "log1p": (np.log1p, 2, 2), "logistic": (logistic, 1.5, 2), "sin": (np.sin, 2, 2), "cos": (np.cos, 2, 2),
    "tan": (np.tan, 2, 1), "asin": (np.arcsin, 1.5, 2), "acos": (np.arccos, 1.5, 2), "atan": (np.arctan, 1.5, 2),
    "sinh": (np.sinh, 2, 2), "cosh": (np.cosh, 2, 2), "tanh": (np.tanh, 5, 3), "asinh": (np.arcsinh, 0.51, 2),
    "acosh": (np.arccosh, 0.51, 2), "atanh": (np.arctanh, 0.51, 2), "cbrt": (np.cbrt, 0.51, 1),
    "sqrt": (np.sqrt, 0.5, 0.5), "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5, 1.5),
    "erf": (special_values.erf, 2.5, None), "erfc": (special_values.erfc, 0.51, None),
    "lgamma": (special_values.lgamma, 0.6, None),
    "digamma": (special_values.digamma, 0.6, None), "bessel_i0e": (special_values.bessel_i0e, 0.51, None),
    "bessel_i1e": (special_values.bessel_i1e, 0.51, None),
}
COSTLY = {"erf", "erfc", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"}
"""Their meaning in NumPy takes a microsecond or more per element."""


def ulps(got, wanted):
    """How far `got` is from the wider `wanted`, in units in the last place of `got`'s type at `wanted`."""
    with np.errstate(all="ignore"):
        rounded = wanted.astype(got.dtype)
        unit = np.spacing(np.where(np.isfinite(rounded), np.abs(rounded), np.finfo(got.dtype).max))
        error = np.abs(got.astype(wanted.dtype) - wanted) / unit
        error = np.where((got == rounded) | (np.isnan(got) & np.isnan(wanted)), 0, error)
    return np.where(np.isnan(error), np.inf, error)


def check(got, wanted, x, bound):
    error = ulps(got, wanted)
    worst = error.argmax()
    assert error[worst] <= bound, f"{error[worst]} ulp at {x[worst]!r}: {got[worst]!r}, not {wanted[worst]!r}"
    zeros = (got == 0) & (wanted == 0)
    signs = np.signbit(got[zeros]) == np.signbit(wanted[zeros])
    assert signs.all(), f"the zero at {x[zeros][~signs][0]!r} has the wrong sign"


def every_float32(stride):
    for start in range(0, 2**32, CHUNK * stride):
        bits = np.arange(start, min(start + CHUNK * stride, 2**32), stride, dtype=np.int64)
        yield bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32(name):
    function, bound, _ = FUNCTIONS[name]
    compiled = jax.jit(getattr(lax, name))
    for x in every_float32(STRIDE * (32 if name in COSTLY else 1)):
        with np.errstate(all="ignore"):
            check(np.asarray(compiled(x)), function(x.astype(np.float64)), x, bound)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("EXHAUSTIVE"), reason="hours; set EXHAUSTIVE=1")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_float32(name):
    function, bound, _ = FUNCTIONS[name]
    compiled = jax.jit(getattr(lax, name))
    for x in every_float32(1):
        with np.errstate(all="ignore"):
            check(np.asarray(compiled(x)), function(x.astype(np.float64)), x, bound)


@pytest.mark.skipif(not WIDE, reason="long double is no wider than double here")
@pytest.mark.parametrize("name", [name for name, (_, _, bound) in FUNCTIONS.items() if bound])
def test_float64(name):
    function, _, bound = FUNCTIONS[name]
    function = cbrt if name == "cbrt" else function
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(np.log(1e-310), np.log(1.7e308), 20000))
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 709.7, 709.8, -745.1, -745.2, 1023.99, -1074.5]
    x = np.concatenate([rng.uniform(-30, 30, 20000), rng.uniform(-1, 1, 20000), sizes, -sizes, edges])
    with enable_x64(), np.errstate(all="ignore"):
        got = np.asarray(jax.jit(getattr(lax, name))(x))
        check(got, function(x.astype(np.longdouble)), x, bound)


@pytest.mark.parametrize("name", ["erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"])
def test_float64_against_numpy(name):
    """Both sides are double precision here: two ways to compute one function."""
    rng = np.random.default_rng(0)
    x = {"erf_inv": rng.uniform(-1, 1, 4000), "erfc": rng.uniform(-5, 26, 4000)}.get(name, rng.uniform(0.1, 20, 4000))
    absolute = 3e-15 if name in ("lgamma", "digamma") else 0  # they have zeros
    with enable_x64():
        got = np.asarray(jax.jit(getattr(lax, name))(x))
    np.testing.assert_allclose(got, getattr(special_values, name)(x), 3e-15, absolute)


def test_erf_inv():
    """As in JAX, 1 - x**2 is computed in float32, so the last digits are lost where x is near 1."""
    x = np.random.default_rng(0).uniform(-0.99, 0.99, 4000).astype(np.float32)
    check(np.asarray(jax.jit(lax.erf_inv)(x)), special_values.erf_inv(x.astype(np.float64)), x, 8)


@pytest.mark.parametrize("name", ["pow", "atan2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_two_operands(name, dtype):
    if dtype == np.float64 and not WIDE:
        pytest.skip("long double is no wider than double here")
    wider = {np.float32: np.float64, np.float64: np.longdouble}[dtype]
    function = {"pow": np.power, "atan2": np.arctan2}[name]
    edges = [0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, np.inf, -np.inf, np.nan, 1e-40, 1e30, -1e30]
    rng = np.random.default_rng(0)
    x = np.concatenate([np.repeat(edges, len(edges)), np.exp(rng.uniform(-9, 9, 50000))]).astype(dtype)
    y = np.concatenate([np.tile(edges, len(edges)), rng.uniform(-9, 9, 50000)]).astype(dtype)
    with enable_x64(dtype == np.float64), np.errstate(all="ignore"):
        got = np.asarray(jax.jit(getattr(lax, name))(x, y))
        check(got, function(x.astype(wider), y.astype(wider)), x, 2)


def test_sine_of_large_angles():
    """Beyond 2**17 the inlined path of the sine is left; here vectors have none, one or only such elements."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-10, 10, 4099).astype(np.float32)
    x[::37] = np.exp(rng.uniform(np.log(2.0**17), np.log(3.4e38), len(x[::37])))
    x[1000:1100] = np.exp(rng.uniform(np.log(2.0**17), np.log(3.4e38), 100))
    x[[5, 2048, 4098]] = np.inf, -np.inf, np.nan
    with np.errstate(all="ignore"):
        for function, wide in ((lax.sin, np.sin), (lax.cos, np.cos), (lax.tan, np.tan)):
            check(np.asarray(jax.jit(function)(x)), wide(x.astype(np.float64)), x, 2)
