"""The math of csrc/math against NumPy in the next wider type: units in the last place, zeros, infinities, NaN.

One float32 in 8191 is tried here; `make exhaustive` tries them all (see exhaustive.py), and docs/math.md is its record.
"""

import math
import re
import shutil
from decimal import Decimal, localcontext

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.csrc import exhaustive
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


# What the function is in the wider type. How far off it may be is said in its operation's record.
FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "logistic": logistic,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "cbrt": np.cbrt, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "erf": special_values.erf,
    "erfc": special_values.erfc, "lgamma": special_values.lgamma, "digamma": special_values.digamma,
    "bessel_i0e": special_values.bessel_i0e, "bessel_i1e": special_values.bessel_i1e,
}
COSTLY = {"erf", "erfc", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"}
"""Their meaning in NumPy takes a microsecond or more per element, and is no wider than double."""
BOUNDS = {name: exhaustive.stated(name) for name in FUNCTIONS}


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
    compiled = jax.jit(getattr(lax, name))
    for x in every_float32(STRIDE * (32 if name in COSTLY else 1)):
        with np.errstate(all="ignore"):
            check(np.asarray(compiled(x)), FUNCTIONS[name](x.astype(np.float64)), x, BOUNDS[name][0])


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="compiles the checker")
@pytest.mark.parametrize("name", ["exp", "erf_inv", "atan2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_checker(name, dtype):
    """It finds no error in the truth, one in a neighbour of it, and a wrong sign, NaN or infinity at once."""
    if dtype == np.float64 and not WIDE:
        pytest.skip("long double is no wider than double here")
    measure = exhaustive.checker(name, dtype)
    operands = [np.random.default_rng(0).uniform(-0.9, 0.9, 5000).astype(dtype) for _ in range(1 + (name == "atan2"))]
    with enable_x64(dtype == np.float64), np.errstate(all="ignore"):
        results = np.array(jax.jit(getattr(lax, name))(*operands))
    assert measure(operands, results)[0] <= exhaustive.BOUNDS[name][dtype == np.float64]
    at = 100
    for wrong in (-results[at], np.nan, np.inf):
        spoiled = results.copy()
        spoiled[at] = wrong
        assert measure(operands, spoiled) == (np.inf, at)
    results[at] += 20 * np.spacing(results[at])
    error, found = measure(operands, results)
    assert found == at
    assert 10 < error < 30


def test_the_record():
    """docs/math.md has a line for every function, and no line whose worst result exceeds its bound."""
    text = exhaustive.TABLE.read_text()
    for column, dtype in enumerate(("float32", "float64")):
        part = text[text.index(f"## {dtype}"):].split("\n## ")[0]
        rows = {row[0]: row[1:] for row in re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) at .*$", part, re.MULTILINE)}
        assert rows.keys() == exhaustive.BOUNDS.keys()
        for name, (bound, worst) in rows.items():
            assert float(bound) == exhaustive.BOUNDS[name][column]
            assert float(worst) <= float(bound), name


@pytest.mark.skipif(not WIDE, reason="long double is no wider than double here")
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - COSTLY))
def test_float64(name):
    function = cbrt if name == "cbrt" else FUNCTIONS[name]
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(np.log(1e-310), np.log(1.7e308), 20000))
    edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 709.7, 709.8, -745.1, -745.2, 1023.99, -1074.5]
    x = np.concatenate([rng.uniform(-30, 30, 20000), rng.uniform(-1, 1, 20000), sizes, -sizes, edges])
    with enable_x64(), np.errstate(all="ignore"):
        got = np.asarray(jax.jit(getattr(lax, name))(x))
        check(got, function(x.astype(np.longdouble)), x, BOUNDS[name][1])


@pytest.mark.parametrize("name", ["erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"])
def test_float64_against_numpy(name):
    """Both sides are double precision here: two ways to compute one function."""
    rng = np.random.default_rng(0)
    x = {"erf_inv": rng.uniform(-1, 1, 4000), "erfc": rng.uniform(-5, 26, 4000)}.get(name, rng.uniform(0.1, 20, 4000))
    absolute = 3e-15 if name in ("lgamma", "digamma") else 0  # they have zeros
    with enable_x64():
        got = np.asarray(jax.jit(getattr(lax, name))(x))
    np.testing.assert_allclose(got, getattr(special_values, name)(x), 3e-15, absolute)


def test_incomplete_gamma_functions_of_whole_numbers_are_sums_of_few_terms():
    """Held against these sums in 60 digits; from 25 terms and 700 on another way is taken, which loses more."""
    rng = np.random.default_rng(0)
    a, x = rng.integers(1, 25, 2000).astype(float), np.exp(rng.uniform(-5, np.log(700), 2000))
    a[:3], x[:3] = (24, 24, 1), (699, 1e-300, 5e-324)
    with enable_x64():
        upper, lower = np.asarray(jax.jit(lax.igammac)(a, x)), np.asarray(jax.jit(lax.igamma)(a, x))
    with localcontext() as context:
        context.prec = 60
        for k in range(len(a)):
            at, term, total = Decimal(float(x[k])), Decimal(1), Decimal(1)
            for n in range(1, int(a[k])):
                term *= at / n
                total += term
            want = (-at).exp() * total
            assert abs(Decimal(float(upper[k])) - want) <= Decimal("2e-15") * want, (a[k], x[k])
            if x[k] > a[k]:
                assert abs(Decimal(float(lower[k])) - (1 - want)) <= Decimal("2e-15"), (a[k], x[k])


def test_remainders_of_doubles_are_exact():
    rng = np.random.default_rng(0)
    y = np.ldexp(rng.uniform(1, 2, 20000), rng.integers(-1080, 1020, 20000))
    number = np.floor(np.ldexp(rng.uniform(1, 2, 20000), rng.integers(0, 60, 20000)))
    edges = np.array([0.0, 1.0, 5e-324, 2.2250738585072014e-308, 2.0**52, 2.0**53, 1.7e308, np.inf, np.nan])
    with np.errstate(all="ignore"):
        x = np.concatenate([y * number, np.nextafter(y * number, 0), np.nextafter(y * number, np.inf), y[::-1]])
        x, y = np.append(x, np.repeat(edges, len(edges))), np.append(np.tile(y, 4), np.tile(edges, len(edges)))
        x, y = np.concatenate([x, -x]), np.concatenate([y, y])
        with enable_x64():
            got, want = np.asarray(jax.jit(lax.rem)(x, y)), np.fmod(x, y)
    numbers = ~np.isnan(want)
    assert np.array_equal(numbers, ~np.isnan(got))
    assert got[numbers].tobytes() == want[numbers].tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_erfc_of_every_half(dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(jnp.dtype(dtype))
    x = x[~np.isnan(x.astype(np.float32))]
    want = np.array([math.erfc(v) for v in x.astype(np.float64)]).astype(x.dtype)
    got = np.asarray(jax.jit(lax.erfc)(x))
    steps = np.abs(got.view(np.int16).astype(int) - want.view(np.int16))
    assert np.count_nonzero(steps) <= 2
    assert steps.max() <= 1
    assert np.isnan(np.asarray(lax.erfc(jnp.full(3, np.nan, dtype)), np.float32)).all()


@pytest.mark.parametrize(("name", "bound"), [("erf", 4), ("erfc", 6), ("lgamma", 6)])
def test_float64_where_formulas_meet(name, bound):
    """Series, fractions and polynomials are worst at the ends of the intervals that they are for."""
    meeting = np.array([0.5, 0.84375, 1, 1.25, 2, 2.5, 3, 4, 5, 6, 8, 10, 1 / 0.35, 12, 16])
    x = (meeting[:, None] * (1 + np.linspace(-2e-2, 2e-2, 101))).ravel()
    if name == "lgamma":
        x = x[x > 7]  # away from its zeros
    with enable_x64():
        got = np.asarray(jax.jit(getattr(lax, name))(x))
    check(got, np.array([getattr(math, name)(v) for v in x], np.longdouble), x, bound)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - COSTLY))
def test_powers_of_two_and_their_neighbours(name, dtype):
    """The sizes at which a formula gives way to the next one."""
    if dtype == np.float64 and not WIDE:
        pytest.skip("long double is no wider than double here")
    info = np.finfo(dtype)
    powers = np.ldexp(dtype(1), np.arange(info.minexp, info.maxexp, dtype=np.int32))
    x = np.concatenate([powers, np.nextafter(powers, dtype(0)), np.nextafter(powers, dtype(np.inf))])
    x = np.concatenate([x, -x])
    wider = np.float64 if dtype == np.float32 else np.longdouble
    function = cbrt if name == "cbrt" else FUNCTIONS[name]
    with enable_x64(dtype == np.float64), np.errstate(all="ignore"):
        got = np.asarray(jax.jit(getattr(lax, name))(x))
        check(got, function(x.astype(wider)), x, BOUNDS[name][dtype == np.float64])


def test_erf_inv():
    """As in JAX, 1 - x**2 is computed in float32, so the last digits are lost where x is near 1."""
    x = np.random.default_rng(0).uniform(-0.99, 0.99, 4000).astype(np.float32)
    check(np.asarray(jax.jit(lax.erf_inv)(x)), special_values.erf_inv(x.astype(np.float64)), x, 8)
    x = (1 - np.geomspace(1e-2, 1e-7, 2000)).astype(np.float32)  # of another polynomial
    bound = exhaustive.stated("erf_inv")[0]
    check(np.asarray(jax.jit(lax.erf_inv)(x)), special_values.erf_inv(x.astype(np.float64)), x, bound)


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


@pytest.mark.parametrize(("dtype", "near", "largest"), [(np.float32, 2.0**17, 3.4e38), (np.float64, 2.0**28, 1.7e308)])
def test_sine_of_large_angles(dtype, near, largest):
    """Beyond `near` the inlined path of the sine is left; here vectors have none, one or only such elements."""
    if dtype == np.float64 and not WIDE:
        pytest.skip("long double is no wider than double here")
    wider = {np.float32: np.float64, np.float64: np.longdouble}[dtype]
    rng = np.random.default_rng(0)
    x = rng.uniform(-10, 10, 4099).astype(dtype)
    x[::37] = np.exp(rng.uniform(np.log(near), np.log(largest), len(x[::37])))
    x[1000:1100] = np.exp(rng.uniform(np.log(near), np.log(largest), 100))
    x[[5, 2048, 4098]] = np.inf, -np.inf, np.nan
    with enable_x64(dtype == np.float64), np.errstate(all="ignore"):
        for function, wide in ((lax.sin, np.sin), (lax.cos, np.cos), (lax.tan, np.tan)):
            check(np.asarray(jax.jit(function)(x)), wide(x.astype(wider)), x, 2)
