"""Counters of loops have 32 bits where positions become elements of 32 bits or fewer, and nowhere else."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import same
from tinytrace.config import enable_x64

SHORT = {
    "argmax": lambda x: jnp.argmax(x, 1),
    "floats": lambda x: x[0] * jnp.arange(300.0),
    "integers": lambda x: jnp.where(jnp.arange(300) % 3 == 1, x[1], 0),
    "of a position and a stride": lambda x: x.reshape(-1)[: 3 * 9000].reshape(9000, 3)[:, 1] + 2 * jnp.arange(9000),
}
LONG = {
    "a running fold": lambda x: jnp.cumsum(x[0] * jnp.arange(300.0)),
    "no positions": lambda x: x + 1,
    "positions of another loop": lambda x: jnp.sum(x, 1) + jnp.arange(100.0),
}


def numbers():
    return np.random.default_rng(0).standard_normal((100, 300)).astype(np.float32)


def source_of(f):
    return jax.jit(f).lower(numbers()).compile().as_text()


@pytest.mark.parametrize("case", SHORT)
def test_positions_that_are_elements_are_counted_in_32_bits(case):
    assert re.search(r"#pragma omp simd.*\n *for \(int32_t (\w+)_count = 0;.*\n *const int64_t \1 = \1_count;",
                     source_of(SHORT[case]))
    same(SHORT[case], numbers())


@pytest.mark.parametrize("case", LONG)
def test_other_loops_count_in_64_bits(case):
    assert "int32_t i" not in source_of(LONG[case])
    same(LONG[case], numbers())


def test_elements_of_64_bits_are_counted_in_64():
    with enable_x64(True):
        assert "_count" not in source_of(lambda x: x[0] * jnp.arange(300.0, dtype=np.float64))
