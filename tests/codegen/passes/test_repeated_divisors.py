"""Integers that are divided by one number again and again are multiplied by its reciprocal, with the same results."""
from __future__ import annotations

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.codegen.ir.inserted_operations import reciprocal
from tinytrace.config import enable_x64
from tinytrace.core.trace import interpreting

TYPES = ["uint32", "int32", "uint64", "int64"]


def numerators(dtype):
    """Numbers of every length, and the ends of the range."""
    ends = np.iinfo(dtype)
    drawn = np.random.default_rng(1).integers(ends.min, ends.max, 1000, dtype, endpoint=True)
    few = np.array([ends.min, ends.max, 0, 1, ends.max - 1, ends.min + 1], dtype)
    return np.concatenate([drawn >> (np.arange(1000) % ends.bits).astype(dtype), few])


def divisors(dtype):
    ends = np.iinfo(dtype)
    found = {0, 1, 3, 7, 10, 641, ends.max, ends.max - 1, ends.max // 2 + 2, ends.max // 3, ends.min}
    found |= {2 ** k + j for k in range(1, ends.bits - 1, 5) for j in (-1, 0, 1)}
    return sorted(found | {-d for d in found if ends.min < -d < 0})


def quotient(x, y):
    return -1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


@pytest.mark.parametrize("dtype", TYPES)
def test_quotients_and_remainders_are_those_of_whole_numbers(dtype):
    def both(x, y):
        return lax.div(x, y), lax.rem(x, y)

    with enable_x64():
        x, compiled = numerators(dtype), jax.jit(both)
        for y in divisors(dtype):
            q = np.array([quotient(a, y) for a in x.tolist()], object)
            wrapped = [(z & (2 ** np.iinfo(dtype).bits - 1)).astype(f"u{x.itemsize}").view(dtype)
                       for z in (q, x.astype(object) - q * y)]
            for got, want in zip(compiled(x, np.array(y, dtype)), wrapped, strict=True):
                np.testing.assert_array_equal(got, want, f"{y}")
        text = compiled.lower(x, np.array(1, dtype)).as_text()
        assert "tt_div_by_" in text
        assert "tt_rem_by_" in text


@pytest.mark.parametrize("dtype", TYPES)
def test_the_interpreter_knows_the_reciprocals_of_c(dtype):
    with enable_x64():
        for y in divisors(dtype):
            inverse = int(reciprocal(np.dtype(dtype)).numpy(np.array(y, dtype)))
            bits = (max(abs(y), 1) - 1).bit_length()
            assert (2 ** np.iinfo(dtype).bits + inverse) * max(abs(y), 1) > 2 ** (np.iinfo(dtype).bits + bits)


@pytest.mark.parametrize(("function", "is_changed"), [
    (lambda x, y: x % y[0], True),
    (lambda x, y: lax.rem(lax.rem(x, y[1]) * 3, y[1]), True),  # one inside the other
    (lambda x, y: lax.rem(x.reshape(10, 100), y[:10, None]), True),  # one for each row
    (lambda x, y: lax.div(x[:, None], y[None, :8]), True),  # a row of them
    (lambda x, y: x[:, None] // 10 ** jnp.arange(8) % 10, True),
    (lambda x, y: lax.rem(lax.div(x.reshape(100, 10) - 5, y[None, :10] - 4), y[None, 10:20]) + x[:10], True),
    (lambda x, y: lax.div(x.reshape(20, 50), y[None, :50]), False),  # too few rows
    (lambda x, y: lax.div(x, y), False),
    (lambda x, y: x % 7, False),  # the compiler knows it
    (lambda x, y: lax.rem(x[:50], y[0]), False),  # too few
    (lambda x, y: lax.fori_loop(0, 100, lambda i, s: s + lax.rem(x[i], s + 1), y[0]), False),  # it changes
    (lambda x, y: lax.rem(x.astype(np.int16), y[0].astype(np.int16)), False),
    (lambda x, y: x.astype(np.float32) / y[0], False),
], ids=["scalar", "nested", "rows", "row", "digits", "rows of two", "few rows",
        "arrays", "known", "few", "carried", "narrow", "floats"])
def test_loops_that_divide_by_what_stays_the_same_are_changed(function, is_changed):
    x, y = (np.random.default_rng(k).integers(1, 9, 1000).astype(np.int32) for k in range(2))
    assert ("_by_i32(" in jax.jit(function).lower(x, y).as_text()) == is_changed
    with interpreting():
        want = np.asarray(function(jnp.asarray(x), jnp.asarray(y)))
    np.testing.assert_array_equal(jax.jit(function)(x, y), want)
