"""Conditional loads that lie side by side: gcc 12 mixes up their conditions, so their loops have no vectors."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import same


def numbers(*shape, dtype=np.float32):
    return jnp.asarray(np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype))


@pytest.mark.pairs
@pytest.mark.parametrize("rows", [2, 5, 15, 37])
@pytest.mark.parametrize("columns", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "float16"])
def test_padded_and_joined_short_rows(rows, columns, dtype):
    x = numbers(rows, columns, dtype=dtype)
    y = numbers(7, columns, dtype=dtype)
    same(lambda x, y: (  # results of different shapes: each has a loop of its own
        jnp.pad(x, ((1, 2), (0, 1)), constant_values=9),
        jnp.pad(x, ((1, 2), (2, 0))) + jnp.pad(x, ((2, 1), (1, 1))),
        jnp.concatenate([x, y, x]) * 2,
        jnp.concatenate([x, x[:, :1]], axis=1),
    ), x, y)  # fmt: skip


@pytest.mark.parametrize("rows", [5, 37])
def test_dilated_short_rows(rows):
    x = numbers(rows, 3)
    same(lambda x: jax.lax.pad(x, np.float32(9), ((1, 2, 1), (0, 1, 0))), x)
    same(lambda x: jax.lax.pad(x, np.float32(9), ((1, 2, 2), (1, 0, 1))) * 2, x)


def test_long_rows_keep_their_vectors():
    text = jax.jit(lambda x: jnp.pad(x, 1)).lower(numbers(40, 50)).as_text()
    assert "__asm__" not in text
    assert "__asm__" in jax.jit(lambda x: jnp.pad(x, ((1, 2), (0, 1)))).lower(numbers(5, 3)).as_text()


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_choices_between_short_rows(columns, dtype):
    """The side that is not chosen is read, too: in C it would be a conditional load."""
    x = jnp.asarray((np.random.default_rng(0).standard_normal((22, columns)) * 20).astype(dtype))
    def joined_and_chosen(x):
        y = jnp.stack([x[:, 0], x[:, -1], x[:, columns // 2]], 1)
        return jnp.where(y > 2, y, jnp.pad(y[1:], ((0, 1), (0, 0))))

    same(lambda x, y, z: (  # each reads an array of its own, and so has a loop of its own
        jnp.where(x > 2, x, jnp.pad(x[1:], ((0, 1), (0, 0)))),
        jnp.where(jnp.stack([y[:, 0], y[:, -1]], 1) > 2, y[:, :2], jnp.roll(y, 1, 0)[:, -2:]),
        joined_and_chosen(z),
    ), x, x, x)  # fmt: skip
    text = jax.jit(joined_and_chosen).lower(x).as_text()
    assert not re.search(r"= l\w* \? \w+ : a\[", text)
