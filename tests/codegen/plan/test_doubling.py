"""What every step of a chain reads twice is not looked at twice as often a step later."""

import cProfile

import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax

N = 32
MOVES = {
    "gather": lambda x: x[:, jnp.arange(N) ^ 3],
    "roll": lambda x: jnp.roll(x, 3, 1),
    "pad": lambda x: jnp.pad(x[:, 1:], ((0, 0), (0, 1))),
    "window": lambda x: x.at[:, 1:-1].set(x[:, 2:]),
    "dynamic slice": lambda x: lax.dynamic_slice_in_dim(jnp.concatenate([x, x], 1), x[0, 0].astype(int) % 5, N, 1),
    "product": lambda x: x * 2,
    "choice": lambda x: jnp.where(jnp.arange(N) > 3, x, -x),
    "sum": lambda x: x.sum(1, keepdims=True),
}
JOINS = {"add": lambda x, y: x + y, "min": jnp.minimum, "where": lambda x, y: jnp.where(x > y, x, y)}
SLOW = {("gather", "where"), ("dynamic slice", "add"), ("product", "min"), ("choice", "where")}  # each was exponential


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("move", "join"), [(move, join) if (move, join) in SLOW else
                                            pytest.param(move, join, marks=pytest.mark.slow)
                                            for move in MOVES for join in JOINS])
def test_code_is_generated_in_few_calls(move, join, dtype):
    few, many = (calls_of_generating(chain(length, MOVES[move], JOINS[join]), dtype) for length in (6, 14))
    assert many < 4 * few  # linear is 2.4 times; quadratic would be 5.4 times, a doubling a step 256


def chain(length, move, join):
    def function(x):
        for _ in range(length):
            x = join(x, move(x))
        return x.astype("float32").sum()
    return jax.grad(function) if move is MOVES["dynamic slice"] else function


def calls_of_generating(function, dtype):
    """How many Python functions are called to write the C of `function`."""
    lowered = jax.jit(function).lower(jnp.ones((3, N), dtype))
    profile = cProfile.Profile(subcalls=False, builtins=False)
    profile.runcall(lowered.as_text)
    return sum(entry.callcount for entry in profile.getstats())
