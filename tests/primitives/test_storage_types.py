"""Types whose elements are only kept: they are converted as ml_dtypes does it, and computed in wider types."""

import functools

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.primitives import domains
from tinytrace import lax
from tinytrace.codegen.generate import generate
from tinytrace.codegen.ir.verifier import verify
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_float, is_integer
from tinytrace.core.primitive import ALL
from tinytrace.core.storage_types import (
    SMALL_FLOATS,
    SMALL_INTEGERS,
    STORAGE_TYPES,
    bits_of,
    infinity,
    integer_limits,
)
from tinytrace.core.trace import interpreting
from tinytrace.interpreters import mlir
from tinytrace.passes.simplify import simplify
from tinytrace.primitives.lapack import OnMatrices
from tinytrace.primitives.reduction import reduce_max_p
from tinytrace.transforms.staging import one_equation

FLOATS, INTEGERS = (sorted(types, key=str) for types in (SMALL_FLOATS, SMALL_INTEGERS))
F8, I4 = np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.int4)


def every(dtype):
    """Every element that there is."""
    return np.arange(1 << bits_of(dtype), dtype=np.uint8).view(dtype)


def same(ours, expected):
    """The same numbers, with the same signs of zero; a NaN is a NaN."""
    a, b = (np.asarray(x).astype(np.float64) for x in (ours, expected))
    assert a.shape == b.shape
    return bool(((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))).all())


@functools.cache
def hard_floats():
    """What lies on, beside and near the middle of two neighbours, of every type; and what is too large for it."""
    numbers = [np.array([np.nan, np.inf, 1e30, 0.0, 1e-30, 464.0, 465.0, 30.5, 31.0, 61440.0, 61441.0])]
    for dtype in FLOATS:
        values = np.unique(every(dtype).astype(np.float64)[np.isfinite(every(dtype).astype(np.float64))])
        middle = (values[1:] + values[:-1]) / 2
        numbers += [values, *(middle * (1 + k * 2.0**-s) for s in (7, 12, 23) for k in (-1, 0, 1))]
    found = np.concatenate(numbers).astype(np.float32)
    return np.concatenate([found, -found])


def test_the_table_says_types_that_have_all_values():
    for dtype, storage in STORAGE_TYPES.items():
        assert same(every(dtype).astype(storage.computed), every(dtype).astype(np.float64)), dtype
        assert dtype.itemsize == 1


def test_each_element_is_read_as_ml_dtypes_reads_it():
    read = jax.jit(lambda xs: [x.astype(t) for x in xs for t in (jnp.float32, jnp.float16, jnp.int32, bool)])
    arrays = list(map(every, (*FLOATS, *INTEGERS)))
    outs = iter(read(arrays))
    for x in arrays:
        assert same(next(outs), x.astype(np.float32)), x.dtype
        assert same(next(outs), x.astype(np.float16)), x.dtype
        with np.errstate(invalid="ignore"):
            wide = np.nan_to_num(x.astype(np.float64), posinf=2.0**31 - 1, neginf=-2.0**31)
        assert same(next(outs), np.trunc(wide) + 0.0), x.dtype
        assert same(next(outs), x.astype(np.float32) != 0), x.dtype


@pytest.mark.parametrize("given", ["float16", "bfloat16", "float32"])
def test_floats_are_rounded_as_the_table_says(given):
    given = np.dtype(getattr(ml_dtypes, given, given))
    numbers = np.arange(1 << 16, dtype=np.uint16).view(given) if given.itemsize == 2 else hard_floats()
    outs = jax.jit(lambda x: [x.astype(dtype) for dtype in (*FLOATS, *INTEGERS)])(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        for dtype, ours in zip(FLOATS, outs, strict=False):
            rounded_by = STORAGE_TYPES[dtype].rounded_by
            first = numbers.astype(np.float32) if rounded_by is None else numbers.astype(rounded_by)
            assert same(ours, first.astype(dtype)), dtype
        for dtype, ours in zip(INTEGERS, outs[len(FLOATS):], strict=True):
            limits = integer_limits(dtype)
            wide = np.nan_to_num(numbers.astype(np.float64), posinf=99, neginf=-99)
            assert same(ours, np.trunc(np.clip(wide, int(limits.min), int(limits.max))) + 0.0), dtype


def test_a_double_is_rounded_once_where_the_type_says_so():
    once = np.dtype(ml_dtypes.float8_e4m3fnuz)
    middle = np.array([17.0, 19.0, -17.0])  # of 16, 18 and 20
    with jax.enable_x64(True):
        for x in (middle * (1 + 2.0**-40), middle * (1 - 2.0**-40)):
            expected = np.sign(x) * np.where(np.abs(x) > np.abs(middle), np.abs(middle) + 1, np.abs(middle) - 1)
            assert jax.jit(lambda x: x.astype(once))(x).astype(np.float64).tolist() == expected.tolist()
            with interpreting():
                assert jnp.asarray(x).astype(once).astype(np.float64).tolist() == expected.tolist()


def test_integers_keep_their_last_bits():
    numbers = np.arange(-300, 300, dtype=np.int32)
    outs = jax.jit(lambda x: [x.astype(dtype) for dtype in INTEGERS])(numbers)
    for dtype, ours in zip(INTEGERS, outs, strict=True):
        count, low = 1 << bits_of(dtype), int(integer_limits(dtype).min)
        assert ours.astype(np.int32).tolist() == ((numbers - low) % count + low).tolist()


def test_bits_that_are_no_part_of_an_element_are_not_looked_at():
    """NumPy shows such arrays as if these bits were zeros."""
    strange = np.array([0xF1, 0x0F, 0x3C], np.uint8)
    for dtype in INTEGERS:
        expected = strange.view(dtype).astype(np.int32).tolist()
        assert jax.jit(lambda x: x.astype(jnp.int32))(strange.view(dtype)).tolist() == expected
        assert jnp.asarray(strange.view(dtype)).tolist() == strange.view(dtype).tolist()


def test_the_number_next_to_each_other_one():
    for dtype in FLOATS:
        x = every(dtype)
        numbers = x.astype(np.float64)
        up = np.asarray(lax.nextafter(x, jnp.full(x.shape, infinity(dtype), dtype))).astype(np.float64)
        order = np.unique(numbers[~np.isnan(numbers)])
        after = dict(zip(order, [*order[1:], order[-1]], strict=True))
        expected = np.array([after.get(n, np.nan) for n in numbers])
        assert ((up == expected) | (np.isnan(up) & np.isnan(expected))).all(), dtype


# --- every operation -----------------------------------------------------------------------------------------------

def small_samples(primitive):
    """The first sample of floats as eight-bit ones, the first of integers as those of four bits."""
    for is_one, dtype in ((is_float, F8), (is_integer, I4)):
        for sample in domains.samples(primitive.name):
            of_that = [is_one(aval_of(x).dtype) and k in range(*primitive.reads.indices(len(sample.args)))
                       for k, x in enumerate(sample.args)]
            if any(of_that):
                pairs = zip(sample.args, of_that, strict=True)
                yield [np.asarray(x).astype(dtype) if small else x for x, small in pairs], sample.params
                break


TRIED = [primitive for primitive in domains.tried() if primitive.reads == ALL and not isinstance(primitive, OnMatrices)]
"""NumPy factors no matrices of float16."""


@pytest.mark.not_quick
def test_every_operation_is_computed_in_wider_types():
    """As kernels and as NumPy's meaning it gives the same bits, and its program only converts these types."""
    compared = 0
    for primitive in TRIED:
        for args, params in small_samples(primitive):
            avals = list(map(aval_of, args))
            try:
                closed = one_equation(primitive, avals, params)
            except (TypeError, ValueError, NotImplementedError):  # it does not take them
                continue
            simple = simplify(closed)
            for eqn in simple.eqns:
                small = [x.aval.dtype in STORAGE_TYPES for x in (*eqn.invars, *eqn.outvars)]
                assert not any(small) or eqn.primitive.reads != ALL, eqn
            try:
                kernels = generate(simple).kernels
            except NotImplementedError:
                continue
            verify(kernels)
            with interpreting():
                expected = primitive.bind(*args, **params)
            for ours, wanted in zip(kernels.run(*args), expected if primitive.multiple_results else [expected],
                                    strict=True):
                assert ours.dtype == wanted.dtype, primitive
                if is_float(wanted.dtype) and wanted.dtype not in STORAGE_TYPES:  # sums, in another order
                    np.testing.assert_allclose(ours, wanted, 1e-5)
                else:
                    assert same(ours, wanted), (primitive, ours, wanted)
            compared += 1
    assert compared > 100


def test_the_greatest_of_no_elements_is_the_least_number_of_the_type():
    for dtype in (*FLOATS, *INTEGERS):
        least = -infinity(dtype) if dtype in FLOATS else int(integer_limits(dtype).min)
        reduced = jax.jit(lambda x: reduce_max_p.bind(x, axes=(0,)))(jnp.zeros((0, 2), dtype))
        with interpreting():
            assert reduced.tolist() == reduce_max_p.bind(np.zeros((0, 2), dtype), axes=(0,)).tolist() == [least] * 2


def test_operations_on_bits_of_words_refuse_them():
    x = jnp.asarray([1, -1], I4)
    for f in (lax.population_count, lax.clz, lambda x: lax.shift_right_logical(x, x)):
        with pytest.raises(NotImplementedError, match=r"of int4 is not implemented .* Convert them first: x.astype"):
            jax.jit(f)(x)
    assert str(jax.make_jaxpr(lax.clz)(x)) == "{ lambda ; a:i4[2]. let b:i4[2] = clz a in (b,) }"


def test_a_lowering_in_c_of_ones_own_refuses_them():
    doubled = jax.core.Primitive("doubled_by_c")
    doubled.def_abstract_eval(lambda x: x)
    mlir.register_lowering(doubled, mlir.c_expression(lambda x: x + x))
    assert jax.jit(doubled.bind)(np.float32([2])).tolist() == [4]
    with pytest.raises(TypeError, match=r"computes no elements of f8_e5m2\[1\].*Convert them first"):
        jax.jit(doubled.bind)(jnp.ones(1, F8))
