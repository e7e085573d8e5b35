"""Loops are cut where guards change, also guards of steps, and around the many guards of wide windows."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy
from tinytrace.codegen.ir.arithmetic import linear
from tinytrace.codegen.ir.nodes import axis, fresh_nodes, make, number
from tinytrace.codegen.passes.index_set_splitting import _around_edges, _changes

HOLDS = {"lt": lambda x: x < 0, "le": lambda x: x <= 0, "eq": lambda x: x == 0}


@pytest.mark.parametrize("op", HOLDS)
@pytest.mark.parametrize("factor", [-3, -2, -1, 1, 2, 5])
def test_changes_are_all_places_where_a_guard_changes(op, factor):
    for constant in range(-12, 13):
        with fresh_nodes():
            i = axis("i0", 40)
            place = linear(constant, [(i, factor)])
            found = _changes(make(op, (place, number(0)), (place, number(0))), i)
        holds = [HOLDS[op](constant + factor * k) for k in range(-60, 60)]
        assert sorted(found) == [k - 60 for k in range(1, 120) if holds[k] != holds[k - 1]]


@pytest.mark.parametrize(("cuts", "kept"), [
    ([1, 2, 98, 99], [2, 98]),
    ([1, 2, 3, 50, 97, 98, 99], [3, 50, 97]),
    ([40, 41, 42, 43], [40, 43]),
    ([1, 2, 3, 4], [4]),
])
def test_cuts_that_lie_together_are_one_segment(cuts, kept):
    assert _around_edges(cuts, 100) == kept


WINDOWS = {
    "five wide": lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (5, 5), (1, 1), "SAME"),
    "every other": lambda x: jax.lax.reduce_window(x, jnp.inf, jax.lax.min, (3, 3), (2, 2), "SAME"),
    "every third, apart": lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (3, 3), (3, 1), "SAME", None, (2, 2)),
    "wide sums": lambda x: sum(jnp.pad(x, 4)[k:k + 40, 4:-4] for k in range(9)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_that_hang_over_have_no_guards_inside(name):
    x = np.random.default_rng(0).standard_normal((40, 60)).astype(np.float32)
    checked(WINDOWS[name], x, inputs=[x])
    for a, b in zip(jax.tree.leaves(jax.jit(WINDOWS[name])(x)), in_numpy(WINDOWS[name], x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    text = jax.jit(WINDOWS[name]).lower(x).as_text()
    loops = [loop[:loop.index("}")] for loop in text.split("#pragma omp simd")[1:]]
    most = max(map(_iterations, loops))
    assert any("?" not in loop for loop in loops if _iterations(loop) >= most - 8)


JOINED = {
    "stacked in the middle": (lambda x: jnp.stack([x[k] * (k + 1.0) for k in range(9)], 1), (9, 20, 40)),
    "stacked last": (lambda x: jnp.stack([x[k] - k for k in range(6)], -1), (6, 500)),
    "one after the other": (lambda x: jnp.concatenate([jnp.abs(x[k]) for k in range(12)], 1), (12, 30, 40)),
    "short rows": (lambda x: jnp.concatenate([jnp.abs(x[k]) for k in range(12)], 1), (12, 30, 7)),
    "flat": (lambda x: jnp.concatenate([x[k] * 2.0 for k in range(7)]), (7, 300)),
    "windows of an array": (lambda x: jnp.stack([x[k // 3:, k % 3:][:20, :40] for k in range(9)], 1), (22, 42)),
}


@pytest.mark.parametrize("name", JOINED)
def test_arrays_that_are_joined_have_loops_of_their_own(name):
    function, shape = JOINED[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    text = jax.jit(function).lower(x).as_text()
    assert "?" not in text
    checked(function, x, inputs=[x])
    for a, b in zip(jax.tree.leaves(jax.jit(function)(x)), in_numpy(function, x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_more_arrays_than_a_program_may_be_long_keep_their_choices():
    function = lambda x: jnp.stack([x[k] for k in range(40)], 1)  # noqa: E731
    x = np.random.default_rng(0).standard_normal((40, 20, 50)).astype(np.float32)
    checked(function, x, inputs=[x])
    np.testing.assert_array_equal(jax.jit(function)(x), x.transpose(1, 0, 2))


def _iterations(loop):
    head = loop[loop.index("for ("):loop.index("++")]
    numbers = [int(word) for word in head.replace(";", " ").split() if word.isdigit()]
    return numbers[-1] - numbers[0] if len(numbers) > 1 else numbers[-1]
