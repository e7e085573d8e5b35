"""Every pass keeps type and meaning and does nothing the second time; and each does what it is for."""

import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.algebra import algebra
from tinytrace.passes.cse import cse
from tinytrace.passes.dce import dce
from tinytrace.passes.fold import fold
from tinytrace.passes.inline import inline
from tinytrace.passes.simplify import PASSES, simplify
from tinytrace.testing.strategies import programs_with_arguments
from tinytrace.testing.values import agree

ALL = [*PASSES, simplify]
x = np.arange(6, dtype=np.float32).reshape(2, 3)


def traced(function, *args):
    return jax.make_jaxpr(function)(*args)


def names(closed):
    """The primitives of a program, in order."""
    return [eqn.primitive.name for eqn in closed.eqns]


@pytest.mark.parametrize("run", ALL, ids=lambda run: run.__name__)
@given(case=programs_with_arguments())
def test_a_pass_keeps_type_and_meaning_and_is_idempotent(run, case):
    program, arguments = case
    before = traced(program.function(), *arguments)
    after = run(before)
    check_jaxpr(after)
    assert after.in_avals == before.in_avals
    assert after.out_avals == before.out_avals
    assert str(run(after)) == str(after)
    with jax.disable_jit():
        values = [jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments) for closed in (before, after)]
    assert [text for text in map(agree, *values, program.results) if text] == []


def test_inline_opens_nested_calls():
    inner = jax.jit(lambda y: y * 2)
    outer = jax.jit(lambda y: inner(y) + inner(y + 1))
    assert names(inline(traced(outer, x))) == ["mul", "add", "mul", "add"]


def test_inline_shares_closed_over_arrays():
    array = jnp.asarray(x)
    inner = jax.jit(lambda y: y + array)
    closed = inline(traced(lambda y: inner(y) * inner(y + 1), x))
    assert len(closed.consts) == 1


def test_inline_hands_through_arguments():
    closed = inline(traced(lambda y: jax.jit(lambda a: (a, 1.0))(y), x))
    assert closed.eqns == []
    assert closed.jaxpr.outvars[0] is closed.jaxpr.invars[0]


def test_dce_keeps_inputs_and_effects():
    def f(y, z):
        jax.debug.print("{}", z)
        jnp.sin(y)
        return z + 1

    closed = dce(traced(f, x, x))
    assert names(closed) == ["debug_callback", "add"]
    assert len(closed.in_avals) == 2


def test_cse_joins_equal_equations_and_those_that_become_equal():
    closed = cse(traced(lambda y: (jnp.sin(y) * 2, jnp.sin(y) * 2), x))
    assert names(closed) == ["sin", "mul"]
    assert closed.jaxpr.outvars[0] is closed.jaxpr.outvars[1]


def test_cse_tells_signed_zeros_and_types_apart():
    assert names(cse(traced(lambda y: (y / 0.0, y / -0.0), x))) == ["div", "div"]
    assert names(cse(traced(lambda y: (y.astype(np.int8), y.astype(np.int16)), x))) == ["convert_element_type"] * 2


def test_cse_leaves_effects_alone():
    def f(y):
        jax.debug.print("{}", y)
        jax.debug.print("{}", y)
        return y

    assert names(cse(traced(f, 1.0))) == ["debug_callback"] * 2


def test_fold_computes_numbers():
    closed = fold(traced(lambda y: y * jax.lax.log(np.float32(2)), x))
    assert names(closed) == ["mul"]
    assert closed.eqns[0].invars[1].val == np.log(np.float32(2))


@pytest.mark.parametrize(("function", "left"), [
    (lambda y: y * 1, []),
    (lambda y: 1 * y, []),
    (lambda y: y / 1, []),
    (lambda y: y - 0, []),
    (lambda y: y - -0.0, ["sub"]),
    (lambda y: y + 0, ["add"]),
    (lambda y: y * 0, ["mul"]),
    (lambda y: jnp.negative(-y), []),
    (lambda y: jax.lax.rev(jax.lax.rev(y, (0,)), (0,)), []),
    (lambda y: jax.lax.rev(jax.lax.rev(y, (0,)), (1,)), ["rev", "rev"]),
    (lambda y: y.reshape(6).reshape(3, 2), ["reshape"]),
    (lambda y: y.reshape(6).reshape(2, 3), []),
    (lambda y: y.T.T, []),
    (lambda y: jax.lax.select_n(np.bool_(True), y + 1, y), []),
    (lambda y: jax.lax.select_n(jnp.full(y.shape, 1), y, y - 0, y + 1), []),
    (lambda y: jax.lax.select_n(y > 0, y, y - 1), ["gt", "sub", "select_n"]),
])
def test_algebra_removes_what_changes_nothing(function, left):
    assert names(dce(algebra(traced(function, x)))) == left


@pytest.mark.parametrize(("function", "left"), [
    (lambda y: y // 8, ["shift_right_arithmetic"]),
    (lambda y: y % 8, ["and"]),
    (lambda y: jnp.divmod(y, 4), ["shift_right_arithmetic", "and"]),
])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_floors_by_powers_of_two_are_shifts_and_masks(function, left, dtype):
    y = np.array([-128, -127, -9, -8, -7, -1, 0, 1, 7, 8, 9, 127], dtype)
    before = traced(function, y)
    after = simplify(before)
    check_jaxpr(after)
    assert names(after) == left
    for ours, theirs in zip(jax.core.eval_jaxpr(after.jaxpr, after.consts, y),
                            jax.core.eval_jaxpr(before.jaxpr, before.consts, y), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("divisor", [0, -1, -8, 6])
def test_other_floors_stay(divisor):
    assert "div" in names(simplify(traced(lambda y: y // divisor, np.int32(3))))


def test_simplify_reaches_into_loops_and_branches():
    body = jax.jit(lambda c: c * 1 + 0 * c)
    closed = simplify(traced(lambda y: jax.lax.fori_loop(0, 3, lambda i, c: body(c), y), x))
    loop, = closed.eqns
    assert "pjit" not in str(loop.params["jaxpr"])


def test_a_product_that_is_read_transposed_is_made_so():
    y = np.ones((3, 4), np.float32)
    closed = simplify(traced(lambda a, b: (a @ b).T, x, y))
    assert names(closed) == ["dot_general"]
    closed = simplify(traced(lambda a, b: ((a @ b).T, a @ b), x, y))
    assert names(closed) == ["dot_general", "transpose"]
    batched = traced(lambda a: jnp.einsum("bij,bjk->bki", a, a), np.ones((2, 3, 3), np.float32))
    assert names(simplify(batched)) == ["dot_general"]
