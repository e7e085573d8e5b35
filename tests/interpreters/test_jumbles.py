"""Ragged arrays, held to what JAX 0.4.35's own tests of them (`JumbleTest`) hold it to, and beyond."""

import functools
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests import goldens
from tests.control_flow.test_goldens import same
from tinytrace import lax
from tinytrace._src import core
from tinytrace.core import avals
from tinytrace.interpreters import batching
from tinytrace.transforms.ragged import Size

JUMBLE = batching.jumble_axis
SCENE, CASES = goldens.load("ragged")
NAMESPACE = goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:70])
def test_answers_of_jax(case):
    answer = goldens.answer(case.program, dict(NAMESPACE))
    if not same(answer, case.answer):
        assert answer == case.answer


def lengths(*numbers, bound=5):
    return lax.convert_element_type(jnp.array(numbers), core.bint(bound))


def of_lengths(fun, *sizes):
    return jax.vmap(fun, out_axes=JUMBLE)(*sizes or [lengths(3, 1, 4)])


def jumble_map(fun):
    def mapped(*jumbles):
        return jax.vmap(fun, in_axes=JUMBLE, out_axes=JUMBLE, axis_size=jumbles[0].aval.length)(*jumbles)
    return mapped


def rows(n):
    return jnp.arange(n, dtype="int32")


def text(jumble):
    return re.sub(r"Var\d+", "Var", str(jumble.aval))


ROWS = np.broadcast_to(np.arange(5), (3, 5))
OF_LENGTHS = "bint{≤5}[3] with value: [3 1 4].Var"


@pytest.mark.parametrize("disable_jit", [False, True])
def test_a_ragged_array_inside_the_function(disable_jit):
    with jax.disable_jit(disable_jit):
        assert jax.vmap(lambda n: lax.iota("int32", n).sum())(lengths(3, 1, 4)).tolist() == [3, 0, 6]


@pytest.mark.parametrize(("fun", "data", "aval"), [
    (jax.jit(lambda n: lax.iota("int32", n)), ROWS, f"i32[{OF_LENGTHS}]"),
    (functools.partial(jnp.arange, dtype="int32"), ROWS, f"i32[{OF_LENGTHS}]"),
    (lambda n: lax.broadcast_in_dim(rows(n), (n, 7), (0,)), np.broadcast_to(np.arange(5)[:, None], (3, 5, 7)),
     f"i32[{OF_LENGTHS},7]"),
    (lambda n: lax.broadcast_in_dim(jnp.arange(12), (n, 12), (1,)), np.broadcast_to(np.arange(12), (3, 5, 12)),
     f"i32[{OF_LENGTHS},12]"),
    (lambda n: lax.squeeze(lax.broadcast_in_dim(rows(n), (n, 1), (0,)), [1]), ROWS, f"i32[{OF_LENGTHS}]"),
    (lambda n: jnp.broadcast_to(rows(n), (4, n)), np.broadcast_to(np.arange(5), (3, 4, 5)), f"i32[4,{OF_LENGTHS}]"),
    (lambda n: jnp.broadcast_to(rows(n), (n, n)), np.broadcast_to(np.arange(5), (3, 5, 5)),
     f"i32[{OF_LENGTHS},{OF_LENGTHS}]"),
    (lambda n: jnp.broadcast_to(rows(n), (7, n)).T, np.broadcast_to(np.arange(5)[:, None], (3, 5, 7)),
     f"i32[{OF_LENGTHS},7]"),
    (lambda n: next(iter(jnp.broadcast_to(rows(n), (2, n)))), ROWS, f"i32[{OF_LENGTHS}]"),
])  # fmt: skip
def test_made_and_moved(fun, data, aval):
    made = of_lengths(fun)
    assert isinstance(made, batching.Jumble)
    assert np.array_equal(made.data, data)
    assert text(made) == f"Var:3 => {aval}"


def test_two_sizes():
    made = of_lengths(lambda n, m: lax.broadcast_in_dim(rows(n), (n, m), (0,)), lengths(3, 1, 4),
                      lengths(2, 5, 1, bound=6))
    assert np.array_equal(made.data, np.broadcast_to(np.arange(5)[:, None], (3, 5, 6)))
    summed = jax.vmap(lambda n, m: jnp.ones((n, m)).sum())(lengths(3, 1, 4), lengths(2, 5, 1, bound=6))
    assert summed.tolist() == [6, 5, 4]


def test_a_ragged_axis_is_no_static_one():
    with pytest.raises(TypeError, match=r"got operand of shape \(\[dynamic\],\), target broadcast shape \(4, 5\)"):
        of_lengths(lambda n: lax.broadcast_in_dim(rows(n), (4, 5), (1,)))
    with pytest.raises(TypeError, match=r"incompatible shapes for broadcasting: \(\[dynamic\],\), \(5,\)"):
        of_lengths(lambda n: rows(n) + jnp.arange(5))
    with pytest.raises(TypeError, match=r"incompatible shapes"):
        of_lengths(lambda n, m: rows(n) + rows(m), lengths(3, 1, 4), lengths(3, 1, 4))


def test_mapped_over():
    p = of_lengths(rows)
    tripled = jumble_map(jax.jit(lambda x: x * 3))(p)
    assert np.array_equal(tripled.data, 3 * ROWS)
    assert text(tripled) == text(p)
    assert jumble_map(jnp.dot)(p, p).data.tolist() == [5, 0, 14]
    assert text(jumble_map(jnp.dot)(p, p)) == "Var:3 => ShapedArray(int32[])"
    by_number = jax.vmap(lambda x, y: x * y, in_axes=(JUMBLE, 0), out_axes=JUMBLE, axis_size=3)(p, jnp.arange(3))
    assert by_number.data.tolist() == (ROWS * [[0], [1], [2]]).tolist()


@pytest.mark.parametrize("disable_jit", [False, True])
def test_products(disable_jit):
    with jax.disable_jit(disable_jit):
        p1, p2 = of_lengths(lambda n: jnp.ones((7, n))), of_lengths(lambda n: jnp.ones((n, 7)), lengths(3, 1, 4))
        with pytest.raises(TypeError, match="requires contracting and batch dimensions to have equal sizes"):
            jax.vmap(jnp.dot, in_axes=JUMBLE, axis_size=3)(p1, p2)  # other sizes, though the same numbers
        sizes = lengths(3, 1, 4)
        p1, p2 = of_lengths(lambda n: jnp.ones((7, n)), sizes), of_lengths(lambda n: jnp.ones((n, 7)), sizes)
        y = jax.vmap(jnp.dot, in_axes=JUMBLE, axis_size=3)(p1, p2)
        assert np.array_equal(y, np.broadcast_to(np.array([3, 1, 4])[:, None, None], (3, 7, 7)))
        inner = of_lengths(lambda n: jnp.einsum(
            "tsh,shq->thq", lax.broadcast_in_dim(rows(n), (n, n, 2), [1]),
            lax.broadcast_in_dim(rows(n), (n, 2, 7), [0])))
        assert text(inner) == f"Var:3 => i32[{OF_LENGTHS},2,7]"
        assert [inner.data[k, 0, 0, 0].item() for k in range(3)] == [5, 0, 14]


@pytest.mark.parametrize(("fun", "expected"), [
    (jnp.sum, [3, 0, 6]), (jnp.prod, [0, 0, 0]), (jnp.mean, [1, 0, 1.5]),
    (lambda x: lax.cumsum(x, 0, True).sum(), [8, 0, 20]),
    (lambda x: lax.reduce_max_p.bind(x, axes=(0,)), [2, 0, 3]), (lambda x: lax.argmax(x, 0, "int32"), [2, 0, 3]),
    (lambda x: lax.reduce_min_p.bind(9 - x, axes=(0,)), [7, 9, 6]),
    (lambda x: jnp.where(x > 1, x, -1).sum(), [0, -1, 3]),
    (lambda x: jax.vmap(lambda a: a + 1)(x).sum(), [6, 1, 10]), (lambda x: x.shape[0] * x.sum(), [9, 0, 24]),
])  # fmt: skip
def test_folded(fun, expected):
    p = of_lengths(rows)
    assert jax.vmap(fun, in_axes=JUMBLE, axis_size=3)(p).tolist() == expected
    assert jax.jit(jax.vmap(fun, in_axes=JUMBLE, axis_size=3))(p).tolist() == expected


def test_derivatives():
    p = of_lengths(lambda n: jnp.arange(n, dtype="float32"))

    def total(scale):
        return jax.vmap(lambda x: (jax.nn.relu(x) * scale).sum(), in_axes=JUMBLE, axis_size=3)(p).sum()

    assert jax.grad(total)(2.0) == 9
    inside = jax.vmap(jax.grad(lambda y, x: (x * y).sum()), in_axes=(0, JUMBLE), axis_size=3)(jnp.ones(3), p)
    assert inside.tolist() == [3, 0, 6]
    by_data = jax.grad(lambda data: jax.vmap(lambda x: (x * x).sum(), in_axes=JUMBLE, axis_size=3)(
        batching.Jumble(p.aval, data)).sum())(p.data)
    assert by_data.tolist() == [[0, 2, 4, 0, 0], [0, 0, 0, 0, 0], [0, 2, 4, 6, 0]]  # what is padding has no influence


@pytest.mark.parametrize(("decorate", "rule"), [
    (jax.custom_jvp, lambda f: f.defjvp(lambda primals, tangents: (f(*primals), 10 * tangents[0]))),
    (jax.custom_vjp, lambda f: f.defvjp(lambda x: (f(x), x), lambda x, g: (10 * g,))),
])
def test_rules_of_ones_own_are_kept(decorate, rule):
    f = decorate(lambda x: x * x)
    rule(f)
    p = of_lengths(lambda n: jnp.arange(n, dtype="float32"))
    slope = jax.grad(lambda data: jax.vmap(lambda x: f(x).sum(), in_axes=JUMBLE, axis_size=3)(
        batching.Jumble(p.aval, data)).sum())(p.data)
    assert slope.tolist() == [[10, 10, 10, 0, 0], [10, 0, 0, 0, 0], [10, 10, 10, 10, 0]]
    assert np.array_equal(jumble_map(f)(p).data, ROWS ** 2)


def test_as_trees():
    p = of_lengths(rows)
    again = jax.tree.map(lambda x: x, p)
    assert text(again) == text(p)
    assert [x.shape for x in jax.tree.leaves(p)] == [(3,), (3, 5)]
    assert text(jax.jit(jumble_map(lambda x: x + 1))(p)) == text(p)
    assert jax.jit(jax.vmap(lambda n: rows(n).sum()))(lengths(2, 5)).tolist() == [1, 10]


def test_sizes():
    sizes = lengths(3, 1, 4)
    assert repr(sizes) == "bint{≤5}[3] with value: [3 1 4]"
    assert repr(jax.vmap(lambda n: n)(sizes)) == repr(sizes)
    assert jax.vmap(lambda n: lax.convert_element_type(n, "int32"))(sizes).tolist() == [3, 1, 4]
    assert jax.vmap(lambda n: jnp.ones(n).sum() / n + 2 * n)(sizes).tolist() == [7, 3, 9]


def test_refusals():
    p = of_lengths(rows)
    for wrong, error, sentence in [
        (lambda: of_lengths(lambda n: jnp.sort(rows(n))), NotImplementedError, "'sort' cannot be applied along ragged"),
        (lambda: of_lengths(lambda n: jnp.concatenate([rows(n)] * 2)), TypeError, "only along another axis than a"),
        (lambda: of_lengths(lambda n: rows(n)[:2]), TypeError, "no integer that Python could use"),
        (lambda: of_lengths(lambda n: lax.reshape(jnp.ones((n, 2)), (2, n))), TypeError, "axes of size 1 only"),
        (lambda: jax.vmap(rows)(lengths(3, 1)), TypeError, "ragged output without using jumble_axis out_axes spec"),
        (lambda: jax.vmap(jnp.sum, in_axes=JUMBLE)(p), TypeError, "say axis_size="),
        (lambda: jax.vmap(jnp.sum, in_axes=JUMBLE, axis_size=3)(jnp.ones(3)), TypeError, "stands for an axis of"),
        (lambda: jax.vmap(jnp.sum, in_axes=0, axis_size=3)(p), TypeError, "without using jumble_axis in_axes spec"),
        (lambda: lax.convert_element_type(jnp.ones(2), core.bint(5)), TypeError, "sizes are integers"),
    ]:  # fmt: skip
        with pytest.raises(error, match=re.escape(sentence)):
            wrong()


def test_where_the_elements_lie():
    axis = batching.RaggedAxis(0, ((1, jnp.array([3, 1])), (3, jnp.array([2, 2]))))
    assert axis.size == 2
    assert [at for at, _ in axis.move_stacked_axis(2).ragged_axes] == [0, 3]


def test_no_type_of_a_batch_is_remembered():
    of_lengths(lambda n: jnp.where(jnp.ones((n, 2)) > 0, 1.0, 2.0).sum(1))
    assert not any(isinstance(d, Size) for shape, *_ in list(avals._interned) for d in shape)
