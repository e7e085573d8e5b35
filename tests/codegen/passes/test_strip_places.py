"""Places of extremes of long rows are searched in the strips that have them: the first of equals, or of NaN."""
import itertools
import re

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp
from tinytrace.codegen.passes.strip_places import FEWEST, LONG, MOST, SHORT

ROWS = "_strips["


def text_of(function, n=FEWEST, dtype=np.float32, rows=9):
    return jax.jit(function).lower(jax.ShapeDtypeStruct((rows, n), dtype)).as_text()


def rows_of(n, dtype, sign):
    """Rows of n numbers with an extreme or two, NaN, infinities, zeros of both signs, or one number everywhere."""
    plain = (np.random.default_rng(n).random((12, n)) * 100 - 50).astype(dtype)
    for row, place in enumerate((0, SHORT - 1, SHORT, n // 2, n - 2, n - 1)):
        plain[row, [place, -1]] = sign * 60
    plain[6] = 7
    if plain.dtype.kind == "f":
        plain[7] = -sign * np.inf
        plain[8, n // 3:] = np.nan
        plain[9, [n // 2, n - 1]] = sign * np.inf, np.nan
        plain[10] = -sign
        plain[10, [n // 4, n // 2, n - 3]] = -0.0, 0.0, -0.0
        plain[11] = np.nan
    return plain


@pytest.mark.parametrize(("function", "sign"), [(jnp.argmax, 1), (jnp.argmin, -1)])
@pytest.mark.parametrize(("dtype", "n"), [
    *itertools.product(["float32", "float64", "int32", "int64"], [FEWEST, 1000, 64 * SHORT + 200]), ("uint32", 1000)])
def test_the_first_of_equals_is_found_wherever_it_lies(function, sign, dtype, n):
    with jax.enable_x64(dtype.endswith("64")):
        x = rows_of(n, dtype if dtype != "uint32" else "int32", sign).astype(dtype)
        found = jax.jit(lambda x: function(x, 1))(x)
        np.testing.assert_array_equal(found, getattr(np, function.__name__)(x, 1))


@pytest.mark.parametrize("function", [
    lambda x: x.argmax(1), lambda x: jnp.exp(x * 2 - 1).argmin(1), lambda x: x.T.argmax(0), jnp.argmax,
    jax.vmap(lambda row: row[jnp.argmax(row)])])
def test_strips_with_another_extreme_are_not_looked_at(function):
    assert ROWS in text_of(function)


@pytest.mark.parametrize("rows", [2, 3])
def test_few_long_rows_are_searched_so_too(rows):
    x = rows_of(5000, "float32", 1)[4:4 + rows]
    np.testing.assert_array_equal(jax.jit(lambda x: x.argmax(1))(x), x.argmax(1))
    assert ROWS in text_of(lambda x: x.argmax(1), 400_000, rows=rows)


@pytest.mark.parametrize("n", [FEWEST, 5000, 100_003])
def test_whole_arrays_are_searched_so_too(n):
    for row in rows_of(n, "float32", 1):
        assert jax.jit(jnp.argmax)(row) == np.argmax(row)
    kernels = jax.jit(jnp.argmax).lower(jax.ShapeDtypeStruct((n,), np.float32)).kernels
    assert str(kernels).count("argmax") == 1, "the fold and the search are one kernel"


@pytest.mark.parametrize("function", [
    lambda x: x.max(1), lambda x: (x.argmax(1), x.max(1)), lambda x: x.argmax(0), lambda x: (x == 1).argmax(1)])
def test_other_loops_stay(function):
    assert ROWS not in text_of(function)


def test_an_extreme_that_a_later_kernel_reads_has_the_sign_of_its_zero():
    def with_largest(x, y):
        largest = x.max()
        return x.argmax(), y * largest

    x, y = np.full(1000, -1, np.float32), np.ones((2, 3), np.float32)
    x[[700, 900]] = 0.0, -0.0
    kernels = jax.jit(with_largest).lower(x, y).kernels
    assert str(kernels).count("argmax") == str(kernels).count("reduce_max") == 1
    assert ROWS not in jax.jit(with_largest).lower(x, y).as_text()
    at, products = jax.jit(with_largest)(x, y)
    assert at == 700
    np.testing.assert_array_equal(np.signbit(products), np.full((2, 3), np.signbit(jax.jit(jnp.max)(x))))


@pytest.mark.parametrize(("n", "dtype"), [(FEWEST - 1, np.float32), (1000, np.int8), (1000, np.float16)])
def test_short_rows_and_narrow_ones_stay(n, dtype):
    assert ROWS not in text_of(lambda x: x.argmax(1), n, dtype)


@pytest.mark.parametrize(("n", "count"), [(FEWEST, FEWEST // SHORT), (64 * SHORT, 64), (100 * LONG, 100)])
def test_there_are_so_many_strips(n, count):
    assert f"_max_strips[{count}];" in text_of(lambda x: x.argmax(1), n)


def test_the_stack_holds_the_extremes_of_a_row():
    counts = {int(count) for count in re.findall(r"_strips\[(\d+)\];", text_of(lambda x: x.argmax(1), 2_000_000))}
    assert counts
    assert max(counts) <= MOST


def test_several_at_once_are_those_of_numpy():
    x, y = np.random.default_rng(1).standard_normal((2, 5, 1000)).astype(np.float32)
    got = jax.jit(lambda x, y: (x.argmax(1), y.argmin(1), (x * y).argmax(1), x.max(1)))(x, y)
    for ours, numpys in zip(got, (x.argmax(1), y.argmin(1), (x * y).argmax(1), x.max(1)), strict=True):
        np.testing.assert_array_equal(ours, numpys)
