"""Long functions of rows are linked to programs that need them for few elements, and inlined elsewhere."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.c.few_elements import FEW

LINKED = re.compile(r"#ifdef TT_LINKED_MATH /\* (tt_\w+_rows_f32) \*/")


def row_sums(x):
    return (x * x + 1).sum(axis=1)


def linked(function, *avals):
    return set(LINKED.findall(jax.jit(function).lower(*avals).as_text(full=True)))


def rows(count, length):
    return jax.ShapeDtypeStruct((count, length), np.float32)


def test_few_elements_are_no_reason_to_compile_a_long_function():
    assert linked(row_sums, rows(64, 32)) == {"tt_add_rows_f32"}
    assert linked(row_sums, rows(FEW // 32, 32)) == {"tt_add_rows_f32"}
    assert linked(row_sums, rows(FEW // 32 + 16, 32)) == set()


def test_all_calls_of_a_run_count():
    """Those of loops as often as they run; nobody knows how often a conditional loop does."""
    def repeated(steps):
        return lambda x: jax.lax.map(lambda scale: row_sums(x * scale), jnp.arange(1.0, steps + 1))

    def unknown(x):
        return jax.lax.while_loop(lambda c: c[0] < c[1][0], lambda c: (c[0] + 1, row_sums(x * c[0])), (1.0, x[:, 0]))

    assert linked(repeated(4), rows(64, 32)) == {"tt_add_rows_f32"}
    assert linked(repeated(5), rows(64, 32)) == set()
    assert "tt_add_rows_f32(" in jax.jit(unknown).lower(rows(64, 32)).as_text()
    assert linked(unknown, rows(64, 32)) == set()


@pytest.mark.parametrize("length", [8, 20, 32, 45])
@pytest.mark.parametrize("fold", [jnp.sum, jnp.max, jnp.min])
def test_bits_are_those_of_inlined_functions(fold, length):
    x = np.random.default_rng(length).standard_normal((FEW // length, length)).astype(np.float32)
    x[3, 5] = np.nan
    few, many = (np.asarray(jax.jit(lambda x: fold(jnp.sin(x) * 3, axis=1))(y)) for y in (x, np.tile(x, (8, 1))))
    assert few.tobytes() == many[:len(x)].tobytes()
