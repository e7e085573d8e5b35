"""Elementwise operations on the ends of every dtype: each against each, compiled as interpreted, and never a signal.

`make sanitize` runs these under -fsanitize=undefined: shifts, conversions and divisions are where C leaves it open.
"""

import functools

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
from tests.api.test_one_meaning import SIZES, compare, operands
from tests.primitives import domains
from tests.primitives.test_registry import assert_close, bound, interpreted
from tinytrace import lax
from tinytrace.config import enable_x64
from tinytrace.core.dtypes import is_float
from tinytrace.core.primitive import registry
from tinytrace.core.trace import interpreting
from tinytrace.primitives.elementwise import Elementwise, accepts

I16, U16, I64, U64 = map(np.dtype, ("int16", "uint16", "int64", "uint64"))
NARROW, WIDE = (*domains.ANY, I16, U16), (domains.F64, I64, U64)
LOSE_DIGITS = {"igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta", "zeta",
               "polygamma"}  # fmt: skip
"""Iterations that end somewhere at the ends of the range, and not in the same place: no values are compared."""
MANY = 300
OPERATIONS = [p for p in registry.values() if isinstance(p, Elementwise) and p.name not in ("convert_element_type",
                                                                                            "integer_pow")]


def ends(dtype):
    """Zeros, ones, the least and the greatest numbers, what lies just inside and outside of other types' ranges."""
    if dtype == domains.BOOL:
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = {info.min, info.min + 1, *range(-2, 4), 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, info.max - 1, info.max}
        return np.array([n for n in sorted(near) if info.min <= n <= info.max], dtype)
    info = ml_dtypes.finfo(dtype)
    numbers = [0, 1, 0.5, 1.5, 2.5, 3, np.inf, np.nan, float(info.max), float(info.tiny), 126.6, 128.9, 170.5, 255.5,
               2.0**15, 2.0**16, 2.0**31 - 128, 2.0**31, 2.0**31 + 256, 3e9, 2.0**32, 2.0**63, 2.0**64, 1e-30, 1e30]
    with np.errstate(all="ignore"):
        return np.array([*numbers, *np.negative(numbers)], np.float64).astype(dtype)


def each_against_each(dtype, arity):
    numbers = ends(dtype)[:: 2 if arity == 3 else 1]
    return [grid.reshape(-1) for grid in np.meshgrid(*[numbers] * arity, indexing="ij")]


@pytest.mark.ready_loops
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda p: p.name)
def test_compiled_as_interpreted(operation, x64):
    """Behind numbers of the operation's domain stand the ends of the dtype. Un-jitted calls have the compiled bits."""
    samples = [domains.Sample(tuple(map(np.concatenate, zip(operands(operation, dtype, MANY, special=False),
                                                            each_against_each(dtype, len(operation.accepts)),
                                                            strict=True))), domains._PARAMS.get(operation.name, {}))
               for dtype in (WIDE if x64 else NARROW) if all(accepts(each, dtype) for each in operation.accepts)
               and not (operation.name == "clamp" and dtype.kind == "c")]  # which is refused
    with enable_x64(x64), np.errstate(all="ignore"):
        compiled = jax.jit(lambda args: [bound(operation, sample, xs)[0]
                                         for sample, xs in zip(samples, args, strict=True)])
        for sample, out in zip(samples, compiled([sample.args for sample in samples]), strict=True):
            check(operation, sample, np.asarray(out), np.asarray(interpreted(operation, sample)[0]))
            if sample.args[0].dtype in domains.ANY and operation.name not in domains.SHAPED:
                unjitted_as_compiled(functools.partial(operation.bind, **sample.params), sample.args, out)


def unjitted_as_compiled(function, args, expected):
    """Also of a few elements, which have the bits that the first ones of many have."""
    args = [jax.numpy.asarray(x) for x in args]
    compare(function, args, expected)
    for size in SIZES[:-1]:
        compare(function, [x[:size] for x in args], expected[:size])


def check(operation, sample, out, expected):
    assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
    if operation.name not in domains.SHAPED:
        exact = operation.name in domains.MOVES and sample.args[0].dtype.kind != "c"  # of which they are roots of sums
        assert_close(out[:MANY], expected[:MANY], 0 if exact else 4e-6)
    if operation.name in LOSE_DIGITS:
        return
    if out.dtype.kind == "c":
        np.testing.assert_allclose(out, expected, {8: 1e-5, 16: 1e-11}[out.dtype.itemsize], err_msg=operation.name)
        return
    if not is_float(out.dtype):
        np.testing.assert_array_equal(out, expected)
        return
    relative = {2: 2e-2, 4: 1e-5, 8: 1e-11}[out.dtype.itemsize]
    least = float(ml_dtypes.finfo(out.dtype).smallest_subnormal)
    out, expected = out.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(out, expected, relative, least, err_msg=operation.name)


@pytest.mark.parametrize("dtype", [domains.F32, domains.F64])
@pytest.mark.parametrize("name", sorted(LOSE_DIGITS))
def test_where_iterations_end_or_have_no_business(name, dtype):
    """Zeros, poles, both sides of them, infinities and NaN beside numbers of moderate size."""
    operation = registry[name]
    numbers = np.array([-2, -1, -0.5, -0.0, 0, 0.004, 0.25, 0.5, 1, 1.5, 3, 4, 7.5, 30, np.inf, -np.inf, np.nan], dtype)
    args = [grid.reshape(-1) for grid in np.meshgrid(*[numbers] * len(operation.accepts), indexing="ij")]
    with enable_x64(dtype == domains.F64), np.errstate(all="ignore"):
        out, expected = np.asarray(jax.jit(operation.bind)(*args)), np.asarray(operation.impl(*args))
    np.testing.assert_allclose(out, expected, 2e-5 if dtype == domains.F32 else 1e-9, 1e-30)


@pytest.mark.parametrize("name", sorted(LOSE_DIGITS))
def test_iterations_of_one_number_do_not_end_early(name):
    """Among many numbers, each is iterated until the slowest one has converged."""
    operation = registry[name]
    numbers = np.array([0.25, 0.5, 3, 4])
    args = [grid.reshape(-1) for grid in np.meshgrid(*[numbers] * len(operation.accepts), indexing="ij")]
    together = operation.impl(*args)
    alone = np.concatenate([operation.impl(*(x[k:k + 1] for x in args)) for k in range(args[0].size)])
    np.testing.assert_allclose(alone, together, 1e-12)


def beside_powers(dtype):
    """The ends of a dtype, and the last numbers that fit into the integers of each size with the first that do not."""
    with np.errstate(all="ignore"):
        powers = np.array([2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64)]).astype(dtype)
        powers = powers[powers.astype(np.float64) < np.inf]
        beside = np.concatenate([powers, *(np.nextafter(powers, dtype.type(to)) for to in (0, np.inf))])
        return np.concatenate([ends(dtype), beside, -beside])


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("new", [*NARROW, *WIDE])
def test_conversions(new):
    with enable_x64():
        numbers = [beside_powers(dtype) if is_float(dtype) else ends(dtype) for dtype in (*NARROW, *WIDE)]
        convert = lambda xs: [lax.convert_element_type(x, new) for x in xs]  # noqa: E731
        with np.errstate(all="ignore"):
            with interpreting():
                meant = convert(numbers)
            for x, out, expected in zip(numbers, jax.jit(convert)(numbers), meant, strict=True):
                out, expected = (np.asarray(y, np.float64) if is_float(new) else np.asarray(y) for y in (out, expected))
                np.testing.assert_array_equal(out, expected, str(x.dtype))


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 2, 5, 31])
def test_integer_powers(power):
    numbers = [ends(dtype) for dtype in NARROW if dtype != domains.BOOL and (power >= 0 or is_float(dtype))]
    raised = lambda xs: [lax.integer_pow(x, power) for x in xs]  # noqa: E731
    with np.errstate(all="ignore"):
        with interpreting():
            meant = raised(numbers)
        for x, out, expected in zip(numbers, jax.jit(raised)(numbers), meant, strict=True):
            if is_float(x.dtype):
                out, expected = np.asarray(out, np.float64), np.asarray(expected, np.float64)
                np.testing.assert_allclose(out, expected, 4e-2 if x.dtype.itemsize == 2 else 1e-5, 1e-40, str(x.dtype))
            else:
                np.testing.assert_array_equal(out, expected, str(x.dtype))


@pytest.mark.parametrize("dtype", [domains.F16, domains.F32, domains.F64])
def test_the_greater_and_lesser_of_an_element_and_a_known_number(dtype):
    """The compiler decides them by one comparison; signs of zeros, infinities and NaN are those of two arrays."""
    x = np.concatenate([[0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 6e-8], np.linspace(-9, 9, 99)]).astype(dtype)
    bits = f"u{dtype.itemsize}"
    numbers = np.array([0.0, -0.0, 1.0, -6.0, np.inf, -np.inf, np.nan], dtype)
    with enable_x64(dtype == domains.F64):
        for function in (lax.max, lax.min):
            known = jax.jit(lambda x, f=function: [(f(x, y), f(y, x)) for y in numbers])(x)
            for number, pair in zip(numbers, known, strict=True):
                want = np.asarray(jax.jit(function)(x, np.full(x.shape, number)))
                for found in map(np.asarray, pair):
                    same = (found.view(bits) == want.view(bits)) | (np.isnan(found) & np.isnan(want))
                    assert same.all(), (number, x[~same], found[~same])


@pytest.mark.parametrize("dtype", [domains.F16, domains.BF16])
def test_the_next_half_after_each(dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    for y in (0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 65504):
        y = np.full(x.shape, y).astype(dtype)
        with np.errstate(all="ignore"):
            expected = np.where(x == y, y, np.nextafter(x, y))  # NumPy: x, and so a zero of the wrong sign
        out = np.asarray(jax.jit(lax.nextafter)(x, y))
        same = (out.view(np.uint16) == expected.view(np.uint16)) | (np.isnan(out) & np.isnan(expected))
        assert same.all(), (x[~same], y[0], out[~same])


@pytest.mark.parametrize("dtype", [domains.F32, domains.F64])
def test_a_power_of_one_half_is_no_root(dtype):
    """pow(-0, 0.5) is 0 and pow(-inf, 0.5) is inf (IEEE 754-2019, 9.2.1); NumPy takes the root of both for a scalar."""
    with enable_x64(dtype == domains.F64), np.errstate(all="ignore"):
        for shape in ((), (3,)):
            for x, expected in ((-0.0, 0.0), (-np.inf, np.inf), (4.0, 2.0), (-4.0, np.nan)):
                args = np.full(shape, x, dtype), np.full(shape, 0.5, dtype)
                for out in (lax.pow(*args), jax.jit(lax.pow)(*args), lax.pow_p.impl(*args)):
                    np.testing.assert_array_equal(out, np.full(shape, expected))
                    assert not np.signbit(out).any() or np.isnan(expected)
