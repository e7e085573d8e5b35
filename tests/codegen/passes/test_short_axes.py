"""Loops around short axes carry the vectors, with the results that NumPy gives."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import nn
from tinytrace import numpy as jnp
from tinytrace.core.trace import interpreting

FLOATS = np.random.default_rng(4).standard_normal(1000, np.float32)
PROGRAMS = {
    "broadcast": lambda x: jnp.exp(x[:, :1] * jnp.arange(3.0)),
    "argmax": lambda x: jnp.argmax(x, 1),
    "softmax": lambda x: nn.softmax(x, 1),
    "cumsum": lambda x: jnp.argmax(jnp.cumsum(x > 0, axis=1), axis=1),
    "sum of products": lambda x: jnp.sum(x[:, :3] * jnp.flip(x[:, 1:], 1), axis=1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_operations(name):
    xs = [np.random.default_rng(n).standard_normal((n, 4), np.float32) for n in (1, 63, 1000, 50_001)]
    for x, found in zip(xs, jax.jit(lambda xs: list(map(PROGRAMS[name], xs)))(xs), strict=True):
        with interpreting():
            want = np.asarray(PROGRAMS[name](jnp.asarray(x)))
        np.testing.assert_allclose(np.asarray(found), want, rtol=3e-6, atol=1e-6, err_msg=str(len(x)))


def test_the_loop_around_a_short_axis_is_the_vectorised_one():
    text = jax.jit(PROGRAMS["broadcast"]).lower(np.ones((1000, 4), np.float32)).as_text()
    loops = [line.strip() for line in text.splitlines() if line.strip().startswith(("#pragma omp", "#pragma GCC unroll",
                                                                                    "for"))]
    assert [line.split(" (")[0] for line in loops] == ["#pragma omp simd", "for", "#pragma GCC unroll 3", "for"]


@pytest.mark.parametrize("function", [
    lambda x: jnp.maximum(x[:, :, None], x[:, None]),  # inside another loop
    lambda x: (jnp.sin(x)[:, :, None] * jnp.cos(x)[:, None]).sum(-1),  # beside what waits in rows
], ids=["pairs", "dots"])
@pytest.mark.parametrize("points", [8, 20])
def test_loops_over_a_few_points_carry_the_vectors(function, points):
    x = np.random.default_rng(points).standard_normal((50, points, 2), np.float32)
    lines = [line.strip() for line in jax.jit(function).lower(x).as_text().splitlines()]
    inner = [after for line, after in itertools.pairwise(lines) if line == "#pragma omp simd"]
    assert inner
    assert not any("< 2;" in line for line in inner)
    with interpreting():
        want = np.asarray(function(jnp.asarray(x)))
    np.testing.assert_allclose(np.asarray(jax.jit(function)(x)), want, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize(("function", "is_around"), [
    (lambda x: x[:, None] == jnp.arange(8), True), (lambda x: nn.one_hot(x, 10, dtype=jnp.int8), True),
    (lambda x: x.astype(np.uint8)[:, None] == jnp.arange(8, dtype=np.uint8), True),
    (lambda x: FLOATS[:, None] > jnp.arange(10.0), False),  # of floats there are masks
    (lambda x: x[:, None] == x[:10], False), (lambda x: nn.one_hot(x, 10), False),
    (lambda x: (x[:, None] >> jnp.arange(8) & 1).astype(jnp.uint8), True),
    (lambda x: (x[:, None] >> jnp.arange(10) & 1).astype(jnp.uint8), False),  # each distance is another operation
    (lambda x: (x[:, None] * jnp.arange(10)).astype(jnp.int8), False),
    (lambda x: jnp.maximum(x[:, None], x[:800].reshape(100, 8).repeat(10, 0)).astype(np.int8), False)])
def test_rows_of_bytes_that_are_made_of_one_element_are_short(function, is_around):
    x = np.random.default_rng(3).integers(0, 20, 1000).astype(np.int32)
    assert ("#pragma GCC unroll" in jax.jit(function).lower(x).as_text()) == is_around
    with interpreting():
        want = np.asarray(function(jnp.asarray(x)))
    np.testing.assert_array_equal(jax.jit(function)(x), want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_converted_in_strips_and_short_axes_written_out(dtype):
    def function(x):
        return jnp.exp(x[:, None] - jnp.arange(3).astype(x.dtype)).sum(1)

    x = jnp.linspace(0, 3, 1003).astype(dtype)
    text = jax.jit(function).lower(x).as_text()
    assert "i1" not in text
    assert dtype != "float16" or "tt_widen_f16" in text
    with interpreting():
        want = np.asarray(function(x)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(jax.jit(function)(x)).astype(np.float32), want, 2e-2)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_that_are_folded_or_lie_apart_are_in_vectors_too(name, dtype):
    x = jnp.asarray(np.random.default_rng(5).standard_normal((1003, 4), np.float32)).astype(dtype)
    text = jax.jit(PROGRAMS[name]).lower(x).as_text().partition("tt_entry")[2]
    assert name == "cumsum" or "_strip" in text or "simd\n    for (int64_t i0 = 0; i0 < 1003; i0++)" in text
    with interpreting():
        want = np.asarray(PROGRAMS[name](x)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(jax.jit(PROGRAMS[name])(x)).astype(np.float32), want, 4e-2, 1e-3)


@pytest.mark.parametrize("function", [
    lambda x: jnp.exp(x[:, None] * jnp.arange(5.0)),  # not that short
    lambda x: jnp.exp(x[:7, None] * jnp.arange(3.0)),  # of too few
    lambda x: jnp.exp(x[::50, None] * jnp.arange(3.0)),  # far apart
    lambda x: jnp.exp(x.astype(np.float16)[:, None] * jnp.arange(3.0).astype(np.float16)),
], ids=["long", "few", "far", "halves"])
def test_other_loops_stay(function):
    assert "#pragma GCC unroll" not in jax.jit(function).lower(np.ones(5000, np.float32)).as_text()


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16"])
@pytest.mark.parametrize("columns", [5, 10, 16, 17])
def test_up_to_sixteen_elements_are_unrolled_where_the_place_says_what_is_chosen(dtype, columns):
    def powers(x):
        return jnp.vander(x, columns)

    x = np.random.default_rng(columns).integers(0, 100, 1003).astype(dtype)
    text = jax.jit(powers).lower(x).as_text()
    assert (f"#pragma GCC unroll {columns}" in text) == (columns < 17)
    want = np.ones((1003, columns), dtype)
    for k in range(columns - 2, -1, -1):
        want[:, k] = want[:, k + 1] * x
    np.testing.assert_array_equal(np.asarray(jax.jit(powers)(x)), want)
