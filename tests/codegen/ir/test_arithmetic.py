"""Simplified index expressions mean what the rooms wrote, and shrink where they should."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytrace.codegen.ir.arithmetic import (
    add,
    compare,
    constant_of,
    flat_offset,
    floordiv,
    maximum,
    minimum,
    mod,
    multiply,
    rebuild,
    stride_along,
    subtract,
    unflattened,
    where,
)
from tinytrace.codegen.ir.nodes import axis, fresh_nodes, number, rewrite, walk

EXTENTS = (3, 4, 5)
POINTS = list(itertools.product(*map(range, EXTENTS)))
PYTHON = {
    "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b,
}


@pytest.fixture(autouse=True)
def program():
    with fresh_nodes():
        yield


def axes():
    return [axis(f"i{k}", size) for k, size in enumerate(EXTENTS)]


def value(node, point):
    """What an index is at one point of the loops, by the grammar alone."""
    args = node.args
    match node.op:
        case "axis":
            return point[int(args[0][1:])]
        case "affine":
            return args[0] + sum(k * value(n, point) for n, k in args[1])
        case "where":
            return value(args[1] if value(args[0], point) else args[2], point)
    return PYTHON[node.op](*(value(x, point) for x in args))


def indices(leaves):
    """Strategy for (node, function of a point): an expression built by the module, and what it should be."""
    small = st.integers(-7, 7)
    base = st.one_of(st.sampled_from(range(3)).map(lambda k: (leaves[k], lambda p, k=k: p[k])),
                     small.map(lambda c: (number(c), lambda p, c=c: c)))

    def grow(inner):
        def binary(make, mean, right=inner):
            return st.tuples(inner, right).map(
                lambda pair: (make(pair[0][0], pair[1][0]), lambda p: mean(pair[0][1](p), pair[1][1](p))))

        divisor = st.integers(1, 12).map(lambda d: (number(d), lambda p, d=d: d))
        factor = small.map(lambda c: (number(c), lambda p, c=c: c))
        return st.one_of(
            binary(add, lambda a, b: a + b), binary(subtract, lambda a, b: a - b),
            binary(multiply, lambda a, b: a * b, factor), binary(floordiv, lambda a, b: a // b, divisor),
            binary(mod, lambda a, b: a % b, divisor), binary(minimum, min), binary(maximum, max),
            st.tuples(inner, inner, inner, st.sampled_from(["lt", "le", "eq"])).map(
                lambda t: (where(compare(t[3], t[0][0], t[1][0]), t[1][0], t[2][0]),
                           lambda p: t[1][1](p) if PYTHON[t[3]](t[0][1](p), t[1][1](p)) else t[2][1](p))))

    return st.recursive(base, grow, max_leaves=8)


@given(st.data())
def test_simplification_keeps_every_value_and_ranges_hold(data):
    with fresh_nodes():
        node, meaning = data.draw(indices(axes()))
        for point in POINTS:
            assert value(node, point) == meaning(point)
            assert node.low <= meaning(point) <= node.high


@given(st.data())
def test_rewriting_is_substitution(data):
    with fresh_nodes():
        i, j, k = axes()
        node, meaning = data.draw(indices([i, j, k]))
        changed, = rewrite([node], {i: floordiv(k, number(2)), j: number(1)}, rebuild)
        for point in POINTS:
            assert value(changed, point) == meaning((point[2] // 2, 1, point[2]))


def test_equal_expressions_are_one_object():
    i, j, _ = axes()
    assert add(multiply(i, number(4)), j) is add(j, multiply(number(4), i))


@pytest.mark.parametrize(("shape", "other"), [
    ((3, 4, 5), (60,)), ((60,), (3, 4, 5)), ((3, 20), (12, 5)), ((6, 10), (4, 15)),
])
def test_a_reshape_and_its_inverse_leave_nothing(shape, other):
    def reshaped(index, shape, other):
        position, result = flat_offset(index, shape), []
        for size in reversed(other):
            result.append(mod(position, number(size)))
            position = floordiv(position, number(size))
        return tuple(reversed(result))

    index = tuple(axis(f"i{k}", size) for k, size in enumerate(shape))
    there_and_back = reshaped(reshaped(index, shape, other), other, shape)
    assert flat_offset(there_and_back, shape) is flat_offset(index, shape)
    assert not any(n.op in ("mod", "floordiv") for n in walk([flat_offset(reshaped(index, shape, other), other)]))


@pytest.mark.parametrize("shape", [(), (6,), (3, 4), (3, 4, 5), (2, 3, 1, 5)])
def test_an_offset_comes_from_one_index(shape):
    offset = axis("i0", math.prod(shape))
    index = unflattened(offset, shape)
    assert flat_offset(index, shape) is offset or shape == ()
    points = [tuple(value(i, [n]) for i in index) for n in range(math.prod(shape))]
    assert points == list(np.ndindex(shape))


def test_guards_that_ranges_decide_vanish():
    i, j, _ = axes()
    assert constant_of(compare("lt", i, number(3))) == 1
    assert constant_of(compare("le", number(0), subtract(i, number(3)))) == 0
    assert constant_of(compare("lt", i, j)) is None
    assert minimum(maximum(i, number(0)), number(2)) is i


def test_strides():
    i, j, k = axes()
    offset = flat_offset((j, i, k), (4, 3, 5))
    assert [stride_along(offset, a) for a in (i, j, k)] == [5, 15, 1]
    assert stride_along(mod(add(i, j), number(3)), i) is None


@pytest.mark.parametrize("d", range(2, 13))
def test_divisions_at_the_edges_of_their_factors(d):
    """Of `g i + j`, j is the rest in groups of g only if it is less than g in all iterations."""
    i, j, _ = axes()
    for g in range(1, 13):
        for constant in (-5, -1, 0, 1, 3, 4):
            index = add(add(multiply(i, number(g)), j), number(constant))
            quotient, rest = floordiv(index, number(d)), mod(index, number(d))
            for point in POINTS:
                expected = divmod(g * point[0] + point[1] + constant, d)
                assert (value(quotient, point), value(rest, point)) == expected
                assert quotient.low <= expected[0] <= quotient.high
                assert rest.low <= expected[1] <= rest.high
