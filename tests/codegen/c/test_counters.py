"""Counters have 32 bits where positions become elements, and nowhere else; what is unrolled."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import same
from tinytrace.codegen.c.counters import UNROLLED
from tinytrace.config import enable_x64

SHORT = {
    "argmax": lambda x: jnp.argmax(x, 1),
    "floats": lambda x: x[0] * jnp.arange(300.0),
    "integers": lambda x: jnp.where(jnp.arange(300) % 3 == 1, x[1], 0),
    "too many for one thread": lambda x: x[0, 0] * jnp.arange(100_000.0),
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
    heading = r"#pragma omp.*\n *for \(int32_t (\w+)_count = (?:0|\(int32_t\)begin);.*\n *const int64_t \1 = \1_count;"
    assert re.search(heading, source_of(SHORT[case]))
    same(SHORT[case], numbers())


@pytest.mark.parametrize("case", LONG)
def test_other_loops_count_in_64_bits(case):
    assert "int32_t i" not in source_of(LONG[case])
    same(LONG[case], numbers())


def test_elements_of_64_bits_are_counted_in_64_if_they_are_integers_or_added():
    with enable_x64(True):
        assert "_count" in source_of(lambda x: x[0] * jnp.arange(300.0, dtype=np.float64))
        assert "_count" not in source_of(lambda x: x[0] * jnp.arange(300, dtype=np.int64))
        assert "_count" not in source_of(lambda x: jnp.sum(x[0] * jnp.arange(300.0, dtype=np.float64)))


def test_positions_beyond_a_loop_are_cut_to_32_bits_where_they_become_floats():
    def f(x):
        return jnp.max(x[0, 0] * jnp.arange(30_000.0))

    assert "(float)(int32_t)(" in source_of(f)
    same(f, numbers())


def test_positions_that_need_more_than_32_bits_keep_theirs():
    source = jax.jit(lambda: jnp.sum(jnp.arange(3_000_000_000.0, dtype=np.float32))).lower().as_text()
    assert "(float)(i0 +" in source


PLACES = np.random.default_rng(1).integers(-120, 120, 5000).astype(np.int32)
UPDATES = {
    "add": lambda x, i, y: x.at[i].add(y), "set": lambda x, i, y: x.at[i].set(y),
    "count": lambda x, i, y: jnp.bincount(i, length=100), "segments": lambda x, i, y: jax.ops.segment_max(y, i, 100),
}
OTHERS = {
    "reading": lambda x, i, y: x[i], "known places": lambda x, i, y: x.at[3:30].add(1.0),
    "running fold": lambda x, i, y: jnp.cumsum(y), "rows": lambda x, i, y: jnp.zeros((100, 50)).at[i].add(1.0),
}


def with_places(f):
    return jax.jit(f).lower(numbers()[0, :100], PLACES, numbers().reshape(-1)[:5000]).as_text()


@pytest.mark.parametrize("case", UPDATES)
def test_updates_at_computed_places_are_unrolled(case):
    source = with_places(UPDATES[case])
    assert re.search(rf"{UNROLLED}\n *for \(int64_t", source)
    same(UPDATES[case], numbers()[0, :100], PLACES, numbers().reshape(-1)[:5000])


@pytest.mark.parametrize("case", OTHERS)
def test_other_loops_are_not_unrolled(case):
    assert UNROLLED not in with_places(OTHERS[case])
