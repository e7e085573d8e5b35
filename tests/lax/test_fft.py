"""Transforms in C against NumPy's in double precision: lengths of all kinds, lines alone and side by side."""
from __future__ import annotations

import math

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace._runtime import lib
from tinytrace.runtime.threads import num_threads, set_num_threads

LENGTHS = (1, 2, 3, 5, 7, 8, 12, 30, 49, 60, 64, 79, 127, 128, 131, 210, 251, 316, 509, 521, 813, 1000, 1009, 2048,
           4099, 5000, 8192, 65_537, 100_000, 150_000)
"""Factors 2, 4 and odd ones; primes above 64 and 512; lines that are cut, by kept factors and by products of them."""

LEVELS = (4, 3, 0)
"""Of vectors: csrc/vectors.h."""


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def transformed(kind, x, lengths):
    return np.asarray(jax.jit(lambda x: lax.fft(x, kind, lengths))(x))


def expected(kind, x, lengths):
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return getattr(np.fft, f"{kind}n")(wide, lengths, range(-len(lengths), 0))


def operand(kind, others, lengths, dtype):
    last = lengths[-1] // 2 + 1 if kind == "irfft" else lengths[-1]
    return numbers((*others, *lengths[:-1], last), np.dtype(dtype) if kind == "rfft" else np.result_type(dtype, 1j))


def close(got, want, dtype, size):
    bound = np.finfo(dtype).eps * (4 + 2 * math.log2(size)) * max(np.abs(want).max(initial=0), 1e-30)
    return got.shape == want.shape and np.abs(got - want).max(initial=0) <= bound


@pytest.fixture
def of_level():
    """Computes with vectors of a level, those that the CPU has at most."""
    before = lib.tt_set_vectors(4)
    yield lib.tt_set_vectors
    lib.tt_set_vectors(before)


@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lines_of_all_lengths(kind, dtype, of_level):
    """One program does them all: each is a call of the host, and needs no compiler of its own."""
    cases = [(n, lines) for n in LENGTHS for lines in ((1, 3, 21) if n < 3000 else (1, 2))]
    with jax.enable_x64():
        operands = [operand(kind, (lines,), (n,), dtype) for n, lines in cases]
        program = jax.jit(lambda xs: [lax.fft(x, kind, (n,)) for (n, _), x in zip(cases, xs, strict=True)])
        wanted = [expected(kind, x, (n,)) for (n, _), x in zip(cases, operands, strict=True)]
        for level in LEVELS:
            of_level(level)
            for (n, lines), want, result in zip(cases, wanted, program(operands), strict=True):
                got = np.asarray(result)
                assert got.dtype == (dtype if kind == "irfft" else np.result_type(dtype, 1j))
                assert close(got, want, dtype, n), (n, lines, level)


@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize(("others", "lengths"), [((), (30, 40)), ((2,), (200, 31)), ((2, 3), (5, 6, 7)),
                                                 ((), (1, 4, 1)),
                                                 ((), (4, 131)), ((3,), (5000, 2)), ((0,), (4, 4)), ((2,), (3, 9000))])
def test_several_axes(kind, others, lengths):
    x = operand(kind, others, lengths, "float32")
    assert close(transformed(kind, x, lengths), expected(kind, x, lengths), "float32", math.prod(lengths))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n"), [
    ("fft", 11 * 509 * 509), ("rfft", 2 * 11 * 509 * 509),  # columns and rows of 509 and 5,599
    ("fft", 600_011), ("irfft", 2 * 600_011)])  # chirps, of products of roots
def test_long_lines_of_awkward_lengths(kind, n):
    x = operand(kind, (), (n,), np.float32)
    assert close(transformed(kind, x, (n,)), expected(kind, x, (n,)), np.float32, n)


def test_results_are_the_same_on_any_number_of_threads():
    before, results = num_threads(), []
    cases = [("fft", (100_000,)), ("rfft", (300, 316)), ("irfft", (131_072,)), ("ifft", (30, 40, 50)),
             ("fft", (65_537,))]
    try:
        for count in (1, 2, 5):
            set_num_threads(count)
            results.append([transformed(kind, operand(kind, (), lengths, "float32"), lengths).tobytes()
                            for kind, lengths in cases])
    finally:
        set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("level", LEVELS)
def test_a_line_does_not_see_what_others_hold(level, of_level):
    of_level(level)
    x = numbers((20, 60), "complex64")
    alone = transformed("fft", x, (60,))
    x[3] = np.nan
    x[5, 7] = np.inf
    others = transformed("fft", x, (60,))
    kept = [k for k in range(20) if k not in (3, 5)]
    assert others[kept].tobytes() == alone[kept].tobytes()
    assert np.isnan(others[3]).all()
    assert not np.isfinite(others[5]).any()


@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("n", [7, 8, 20])
@pytest.mark.parametrize("level", LEVELS)
def test_a_line_does_not_see_how_many_there_are(kind, n, level, of_level):
    """Sixteen are copied block by block, fewer number by number."""
    of_level(level)
    x = operand(kind, (16,), (n,), "float32")
    assert transformed(kind, x, (n,))[:12].tobytes() == transformed(kind, x[:12].copy(), (n,)).tobytes()


@pytest.mark.parametrize("level", LEVELS)
def test_quarters_of_a_turn_are_exact(level, of_level):
    of_level(level)
    for n in (8, 12, 64, 1000):
        got = transformed("fft", np.ones((n,), np.complex64), (n,))
        assert got[0] == n
        assert not got[1:].any() or np.abs(got[1:]).max() < 1e-4
    assert transformed("fft", np.complex64([1, 2, 3, 4]), (4,)).tolist() == [10, -2 + 2j, -2, -2 - 2j]


def test_programs_ask_no_python():
    text = jax.jit(jax.numpy.fft.rfft2).lower(np.ones((3, 8, 6), np.float32)).as_text()
    assert "host->fft(4, TT_RFFT, 3, 1, 8, 6, " in text
    assert "callback(" not in text.split("tt_entry")[-1]
