"""Small integers divided by a known number: three products, which give what a division gives, to the bit."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.c import known_quotients

DIVISORS = [255.0, 7.0, -3.0, 1.0, 0.1, 127.5, 65535.0, 1e-9, -1e10, 3e-39, 1e-30, np.inf, np.nan, 0.0, -0.0]
TYPES = [np.uint8, np.int8, np.uint16, np.int16]


def every(dtype):
    limits = np.iinfo(dtype)
    return np.arange(limits.min, int(limits.max) + 1).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_quotients_are_those_of_a_division(dtype):
    """Each divisor has numbers of its own, and so a loop of its own, in one program."""
    numbers = [every(dtype)] * len(DIVISORS)
    quotients = jax.jit(lambda xs: [x.astype(jnp.float32) / divisor for x, divisor in zip(xs, DIVISORS, strict=True)])
    for x, divisor, got in zip(numbers, DIVISORS, map(np.asarray, quotients(numbers)), strict=True):
        with np.errstate(all="ignore"):
            want = x.astype(np.float32) / np.float32(divisor)
        np.testing.assert_array_equal(got, want, str(divisor))
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want), str(divisor))


def test_all_divisors_of_bytes_do():
    assert all(known_quotients._is_same(np.dtype(np.uint8), float(c)) for c in range(1, 1000))


@pytest.mark.parametrize(("function", "dtype", "is_written_so"), [
    (lambda x: x.astype(jnp.float32) / 255, np.uint8, True), (lambda x: x / 7, np.int16, True),
    (lambda x: x / 7, np.int32, False), (lambda x: x / 7, np.float32, False), (lambda x: x / x[0], np.uint8, False),
    (lambda x: x / 1e-30, np.uint8, False), (lambda x: 255 / x, np.uint8, False),
    (lambda x: x.astype(jnp.float16) / 255, np.uint8, False)])
def test_which_divisions_are_written_so(function, dtype, is_written_so):
    assert ("tt_quotient_f32(" in jax.jit(function).lower(np.ones(1000, dtype)).as_text()) == is_written_so


def test_a_quotient_that_is_not_the_same_is_found(monkeypatch):
    """A planted fault: a reciprocal of eleven digits."""
    known_quotients._is_same.cache_clear()
    monkeypatch.setattr(known_quotients, "_reciprocal", lambda c: np.float32(np.float16(1 / c)))
    assert not known_quotients._is_same(np.dtype(np.uint16), 7.003)
    known_quotients._is_same.cache_clear()
