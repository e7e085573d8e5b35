"""Short rows of two-byte floats are computed as one long row, and are what they are by themselves."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting

PROGRAMS = {
    "layer norm": lambda x, b, r: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-3) * b,
    "lengths": lambda x, b, r: x / jnp.linalg.norm(x, axis=1, keepdims=True),
    "sums": lambda x, b, r: (x.sum(1), (x * b).sum(1) + r),
    "float32": lambda x, b, r: (x.astype(jnp.float32) * 2).sum(1),
    "rows and columns": lambda x, b, r: ((x - b) * r[:, None]).sum(1)[:, None] + x,
    "places": lambda x, b, r: (x * jnp.arange(x.shape[1], dtype=x.dtype)).sum(1),
    "truth values": lambda x, b, r: ((x * x > 1).sum(1), x - x.sum(1, keepdims=True)),
    "a gradient": lambda x, b, r: jax.grad(lambda x: (x / jnp.sqrt((x * x).sum(1, keepdims=True) + 1) * b).sum())(x),
    "two folds of a row": lambda x, b, r: jnp.concatenate([x * x, x + 1], 1).sum(1),
    "a loop": lambda x, b, r: jax.lax.fori_loop(0, 2, lambda i, x: x / jnp.linalg.norm(x, axis=1, keepdims=True), x),
}
SHAPES = [(64, 3), (100, 5), (1000, 6), (97, 7), (160, 31)]


def drawn(dtype, rows, length):
    """Arrays of small multiples of 1/8, whose sums are exact: all that is left are roundings to two bytes."""
    draw = np.random.default_rng(rows * length).integers
    return [jnp.asarray(draw(-15, 16, shape) / 8, dtype) for shape in ((rows, length), (length,), (rows,))]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shapes", [SHAPES[:2], SHAPES[2:]])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_have_the_bits_that_they_have_by_themselves(name, shapes, dtype):
    """Rows of several lengths in one program, each in loops of its own."""
    lists = []
    for x, b, r in (drawn(dtype, *shape) for shape in shapes):
        with interpreting():
            lists.append((x.at[7].set(jnp.nan).at[8, 2].set(jnp.inf).at[9].set(0), b, r))
    results = jax.tree.leaves(jax.jit(lambda lists: [PROGRAMS[name](*args) for args in lists])(lists))
    with interpreting():
        expected = jax.tree.leaves([PROGRAMS[name](*args) for args in lists])
    bound = 8 * float(jnp.finfo(dtype).eps) if name == "a gradient" else 0  # whose sums are not exact
    for ours, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours.astype(jnp.float32), want.astype(jnp.float32), bound, bound)


# Not those whose rows are folded in two loops, or stored where they are read.
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"two folds of a row", "a loop"}))
def test_they_are_long(name):
    assert "_terms[" in jax.jit(PROGRAMS[name]).lower(*drawn("float16", 500, 6)).as_text()


@pytest.mark.parametrize(("function", "rows", "length"), [
    (lambda x, b, r: x + b, 500, 6),  # nothing is folded
    (lambda x, b, r: x / jnp.linalg.norm(x, axis=1, keepdims=True), 40, 6),  # too few
    (lambda x, b, r: x / jnp.linalg.norm(x, axis=1, keepdims=True), 500, 32),  # vectors themselves
    (lambda x, b, r: x.sum(0), 500, 6), (lambda x, b, r: jnp.cumsum(x, 1), 500, 6),
    (lambda x, b, r: (x.astype(jnp.float32)[:, ::-1] * 2).sum(1), 500, 6),  # another order
    (lambda x, b, r: (x[::2] * x[1::2]).sum(1), 500, 6)])  # rows that lie apart
def test_others_are_left(function, rows, length):
    assert "_terms[" not in jax.jit(function).lower(*drawn("float16", rows, length)).as_text()


def test_float32_is_left():
    x = np.ones((500, 6), np.float32)
    assert "_terms[" not in jax.jit(PROGRAMS["lengths"]).lower(x, x[0], x[:, 0]).as_text()
