"""A chain that repeats itself is cut into equal pieces, which are compiled once; the results are the same."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
from tests.meanings import in_numpy
from tinytrace.codegen.plan.chain_splitting import LONGEST
from tinytrace.codegen.plan.repetition import FEWEST_PIECES, PIECE, WORTH_A_PASS, equal_pieces

X = np.arange(-50, 50, dtype=np.int32)
OPERATIONS = {
    "x ^= y + 1": lambda x, y: (x ^ (y + 1), y), "y *= 3": lambda x, y: (x, y * 3), "x, y = y, x": lambda x, y: (y, x),
    "x += y": lambda x, y: (x + y, y), "y -= x": lambda x, y: (x, y - x), "x = ~x * x": lambda x, y: (x, ~y * y),
    "y = min(x, y)": lambda x, y: (x, x * (x < y) + y * (x >= y)),
}  # fmt: skip


def lowered(function, *args):
    """A function lowered, which computes what NumPy computes."""
    expected = in_numpy(function, *args)
    for ours, theirs in zip(jax.tree_util.tree_leaves(jax.jit(function)(*args)), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return jax.jit(function).lower(*args)


def steps_of(words, times):
    def steps(x, y):
        for _ in range(times):
            for word in words:
                x, y = OPERATIONS[word](x, y)
        return x, y
    return steps


def loops(program):
    """How many loops the compiler gets, and how many equations the kernels have."""
    return len(re.findall(r"\bfor \(int64_t", program.as_text())), [len(kernel.equations) for kernel in program.kernels]


def test_pieces_of_a_repeated_step_are_one_function():
    def chain(x):
        for _ in range(1000):
            x = (x ^ 5) * 3
        return x

    written, sizes = loops(lowered(lambda x: chain(x + 1), X))
    assert written == 3  # the first, the last, and all between them
    assert set(sizes[1:-1]) == {-(-100 // 2) * 2}
    assert sum(sizes) == 2001


def test_what_two_steps_share_is_cut_at_the_same_place():
    def pendulum(x, y):
        for _ in range(200):
            a = (x ^ 3) * 15 - y
            y = y + a * 7
            x = x + y * 5
        return x, y

    written, sizes = loops(lowered(pendulum, X, X[::-1].copy()))
    assert written == 3
    assert len(set(sizes[1:-1])) == 1


def test_a_chain_that_repeats_nothing_has_no_pieces():
    def chain(x):
        for k in range(LONGEST):
            x = (x ^ k) * 3
        return x

    eqns = jax.make_jaxpr(chain)(X).jaxpr.eqns
    assert equal_pieces(eqns, [1] * len(eqns), [1] * len(eqns)) == set()


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("period", [1, 3, 40])
def test_pieces_are_whole_periods(before, period):
    def chain(x):
        for k in range(before):
            x = x - k
        for _ in range(2 * FEWEST_PIECES * WORTH_A_PASS // period):
            for k in range(period):
                x = x * (k + 2)
        return x

    eqns = jax.make_jaxpr(chain)(X).jaxpr.eqns
    places = sorted(equal_pieces(eqns, [1] * len(eqns), [1] * len(eqns)))
    assert len(places) >= FEWEST_PIECES - 1
    lengths = set(np.diff(places))
    assert len(lengths) == 1
    length, = lengths
    assert length % period == 0
    assert length >= PIECE


def test_links_that_are_no_operations_end_pieces_themselves():
    eqns = jax.make_jaxpr(lambda x: steps_of(["y *= 3", "x += y"], 200)(x, x))(X).jaxpr.eqns
    assert equal_pieces(eqns, [1, 0] * (len(eqns) // 2), [1] * len(eqns)) == set()


@pytest.mark.not_quick
@given(st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=6), st.integers(40, 130))
def test_repeated_steps_compute_what_numpy_computes(words, times):
    lowered(steps_of(words, times), X, X[::-1].copy())
