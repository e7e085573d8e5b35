"""Every pass keeps type and meaning and does nothing the second time; and each does what it is for."""

import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, Literal, Var
from tinytrace.core.trace import interpreting
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
    with interpreting():
        values = [jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments) for closed in (before, after)]
    assert [text for text in map(agree, *values, program.results) if text] == []


def test_loops_whose_bodies_become_the_same_are_one_loop():
    def loop(x, body):
        return jax.lax.fori_loop(0, 3, body, x)

    closed = simplify(traced(lambda y: loop(y, lambda i, y: jnp.sin(y)) +
                             loop(y, lambda i, y: (jnp.cos(y), jnp.sin(y))[1]), x))
    assert names(closed) == ["scan", "add"]
    assert str(simplify(closed)) == str(closed)


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


def test_cse_joins_equal_equations_of_which_a_part_is_used():
    assert names(cse(traced(lambda y: (jax.lax.top_k(y, 1)[0], jax.lax.top_k(y, 1)[0]), x))) == ["top_k"]
    both = cse(traced(lambda y: (jax.lax.top_k(y, 1)[0], jax.lax.top_k(y, 1)[1]), x))
    check_jaxpr(both)
    values, places = jax.core.eval_jaxpr(both.jaxpr, both.consts, x)
    np.testing.assert_array_equal(np.take_along_axis(x, np.asarray(places), 1), values)


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


ALGEBRA = [
    (lambda y: y * 1, []),
    (lambda y: 1 * y, []),
    (lambda y: y / 1, []),
    (lambda y: y - 0, []),
    (lambda y: y - -0.0, ["sub"]),
    (lambda y: jnp.maximum(-jnp.inf, jnp.minimum(y, jnp.inf)), []),
    (lambda y: jax.lax.min(300.0, jax.lax.max(y, -128.0)).astype(np.int8), ["convert_element_type"]),
    (lambda y: jax.lax.min(127.0, jax.lax.max(y, -127.0)).astype(np.int8), ["max", "convert_element_type"]),
    (lambda y: jax.lax.max(jax.lax.round(y).astype(np.int32), -128).astype(np.int8),
     ["round", "convert_element_type", "max", "convert_element_type"]),
    (lambda y: jnp.maximum(y.astype(np.int8), np.int8(-128)), ["convert_element_type"]),
    (lambda y: jax.lax.max(y + 1j, -jnp.inf + 0j), ["convert_element_type", "add", "max"]),
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
    (lambda y: jax.lax.select_n(y > 0, y, jax.lax.stop_gradient(y)), []),
    (lambda y: jax.lax.stop_gradient(y) + y, ["add"]),
]


@pytest.mark.parametrize(("function", "left"), ALGEBRA)
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


def near_misses(closed):
    """Programs of the same types that differ from `closed` in one operand."""
    for k, eqn in enumerate(closed.eqns):
        known = [*closed.jaxpr.invars, *(v for earlier in closed.eqns[:k] for v in earlier.outvars)]
        for place, operand in enumerate(eqn.invars):
            numbers = [Literal(np.asarray(n, operand.aval.dtype)[()], ShapedArray((), operand.aval.dtype, True))
                       for n in (0, 1, 2, 3, 8)]
            for other in [*known, *(numbers if operand.aval.shape == () else [])]:
                same_type = (other.aval.shape, other.aval.dtype) == (operand.aval.shape, operand.aval.dtype)
                if other is not operand and same_type:
                    invars = [*eqn.invars[:place], other, *eqn.invars[place + 1:]]
                    eqns = [*closed.eqns[:k], eqn.replace(invars=invars), *closed.eqns[k + 1:]]
                    yield ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


INTEGERS = np.array([[-128, -9, -8], [-1, 7, 127]], np.int8)


@pytest.mark.parametrize(("function", "arguments"), [
    *((function, [x]) for function, _ in ALGEBRA),
    (lambda y, z: y // 8 + z, [INTEGERS, INTEGERS[::-1]]),
    (lambda y, z: y % 8 + z, [INTEGERS, INTEGERS[::-1]]),
    (lambda y, z: (y // z, y % z), [np.int8(-9), np.int8(8)]),
])
def test_what_nearly_matches_a_pattern_keeps_its_meaning(function, arguments):
    """A pattern must ask for all that it relies on: with any one operand exchanged the program is another."""
    for before in near_misses(inline(traced(function, *arguments))):
        with interpreting():
            expected = jax.core.eval_jaxpr(before.jaxpr, before.consts, *arguments)
            after = simplify(before)
            results = jax.core.eval_jaxpr(after.jaxpr, after.consts, *arguments)
        for ours, theirs in zip(results, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, str(before))


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


@pytest.mark.parametrize("combine", [jax.lax.max, jax.lax.min])
@pytest.mark.parametrize("number", [-128.0, 0.0, -0.0, np.nan, np.inf, -np.inf])
def test_a_known_number_stands_second(combine, number):
    y = np.array([-200, -128, -0.0, 0.0, 1, np.inf, -np.inf, np.nan], np.float32)
    closed = simplify(traced(lambda y: combine(np.float32(number), y), y))
    assert all(isinstance(eqn.invars[0], Var) for eqn in closed.eqns)
    want = np.asarray(combine(y, np.float32(number)))
    got = np.asarray(jax.jit(lambda y: combine(np.float32(number), y))(y))
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_fold_computes_with_arrays_full_of_a_number():
    def function(y):
        span = jnp.full((1,), 10, np.uint32) - jnp.full((1,), 3, np.uint32)
        return jax.lax.rem(y, jax.lax.broadcast_in_dim(span, y.shape, (0,)))

    closed = simplify(traced(function, np.arange(9, dtype=np.uint32)))
    assert names(closed) == ["broadcast_in_dim", "rem"]
    assert closed.eqns[0].invars[0].val == 7


def test_fold_reads_numbers_out_of_arrays_full_of_them():
    x = np.ones((4, 5), np.float32)
    closed = simplify(traced(lambda y: jnp.pad(y, ((1, 1), (2, 2)), constant_values=3.0), x))
    assert set(names(closed)) == {"pad"}
    assert {eqn.invars[1].val for eqn in closed.eqns} == {3.0}
    joined = lambda b: lambda y: y + jnp.concatenate([jnp.full((2,), 0.0), jnp.full((3,), b)])  # noqa: E731
    assert "concatenate" not in names(simplify(traced(joined(0.0), x)))
    assert "concatenate" in names(simplify(traced(joined(-0.0), x))), "zeros of two signs are two numbers"
    assert "iota" in names(simplify(traced(lambda y: y + jnp.arange(5.0), x)))


def test_fold_leaves_what_is_rounded_by_a_library():
    assert "sin" in names(simplify(traced(lambda y: y + jnp.sin(jnp.full((3,), 2.0)), np.ones(3, np.float32))))
