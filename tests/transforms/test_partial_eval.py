"""Partial evaluation: what is computed at once, what is written down, and in which order."""

import gc
import weakref

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import errors, lax
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import DropVar, Literal, eval_jaxpr
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.transforms.partial_eval import Unknown, partial_eval, partial_eval_jaxpr
from tinytrace.transforms.staging import trace_to_closed_jaxpr

F32 = ShapedArray((), np.dtype(np.float32))
V3 = ShapedArray((3,), np.dtype(np.float32))


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def example(a, b):
    """Known a, unknown b: sin and neg of a are computed at once, and neg's result is a residual of mul."""
    return [jnp.cos(a), -jnp.sin(a) * b]


def test_a_jaxpr_is_split_in_two():
    closed = trace_to_closed_jaxpr(example, [F32, F32])
    known, unknown, out_unknowns, residuals = partial_eval_jaxpr(closed, [False, True], False)
    assert str(known) == "\n".join([
        "{ lambda ; a:f32[]. let", "    b:f32[] = cos a", "    c:f32[] = sin a", "    d:f32[] = neg c",
        "  in (b, d) }"])
    assert str(unknown) == "{ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) }"
    assert (out_unknowns, residuals) == ([False, True], [F32])
    check_jaxpr(known.jaxpr)
    check_jaxpr(unknown.jaxpr)


def test_the_two_parts_together_are_the_whole():
    closed = trace_to_closed_jaxpr(example, [F32, F32])
    known, unknown, _, _ = partial_eval_jaxpr(closed, [False, True], False)
    value, residual = eval_jaxpr(known.jaxpr, known.consts, np.float32(0.3))
    product, = eval_jaxpr(unknown.jaxpr, unknown.consts, residual, np.float32(2))
    whole = eval_jaxpr(closed.jaxpr, closed.consts, np.float32(0.3), np.float32(2))
    np.testing.assert_allclose([value, product], whole, rtol=1e-6)


def test_outputs_can_be_made_unknown():
    closed = trace_to_closed_jaxpr(example, [F32, F32])
    known, unknown, out_unknowns, residuals = partial_eval_jaxpr(closed, [False, True], [True, False])
    assert out_unknowns == [True, True]
    assert len(residuals) == 2
    assert len(known.out_avals) == 2  # the residuals alone
    assert len(unknown.out_avals) == 2


def test_the_same_split_is_the_same_object():
    closed = trace_to_closed_jaxpr(example, [F32, F32])
    assert partial_eval_jaxpr(closed, [False, True], False)[0] is partial_eval_jaxpr(closed, [False, True], False)[0]


def test_the_cache_does_not_keep_jaxprs_alive():
    closed = trace_to_closed_jaxpr(example, [F32, F32])
    partial_eval_jaxpr(closed, [False, True], False)
    jax.make_jaxpr(jax.grad(lambda x: x * x))(1.0)
    ref = weakref.ref(closed)
    del closed
    gc.collect()
    assert ref() is None


def test_known_values_are_computed_at_once():
    calls = []

    def f(a, b):
        c = jnp.sin(a)
        calls.append(float(c))
        return [c * b, c]

    jaxpr, outs, residuals = partial_eval(f, [np.float32(1), Unknown(F32)])
    assert calls == [pytest.approx(np.sin(1.0))]
    assert names(jaxpr) == ["mul"]
    assert isinstance(outs[0], Unknown)
    assert outs[1] == pytest.approx(np.sin(1.0))
    assert [float(x) for x in residuals] == calls


def test_python_scalars_become_literals_and_arrays_residuals():
    jaxpr, _, residuals = partial_eval(lambda a: [lax.mul(lax.mul(a, 2.0), jnp.array(3.0))], [Unknown(F32)])
    assert isinstance(jaxpr.eqns[0].invars[1], Literal)
    assert [eqn.invars[1] in jaxpr.constvars for eqn in jaxpr.eqns] == [False, True]
    assert residuals == [3.0]


def test_one_array_used_twice_is_one_residual():
    table = jnp.arange(3.0)
    jaxpr, _, residuals = partial_eval(lambda a: [a * table + table], [Unknown(V3)])
    assert residuals == [table] or residuals[0] is table
    assert len(jaxpr.constvars) == 1


def test_equations_that_nothing_needs_are_not_written():
    def f(a):
        jnp.sin(a)
        return [a * a]

    assert names(partial_eval(f, [Unknown(F32)])[0]) == ["mul"]


def test_an_output_that_is_an_input_needs_no_equation():
    jaxpr, outs, _ = partial_eval(lambda a, b: [b, a], [np.float32(1), Unknown(F32)])
    assert not jaxpr.eqns
    assert jaxpr.outvars == jaxpr.invars
    assert outs == [Unknown(F32), 1.0]


def test_results_that_nobody_holds_are_dropped():
    def f(a):
        quotient, _ = jax.jit(lambda x: (x / 2, x * 3))(a)
        return [quotient]

    jaxpr, _, _ = partial_eval(f, [Unknown(F32)])
    assert [type(v) is DropVar for v in jaxpr.eqns[0].outvars] == [False, True]


@pytest.mark.parametrize("unknown", [(False, False), (False, True), (True, False), (True, True)])
def test_functions_with_rules_are_computed_where_all_is_known_and_else_written_with_their_rule(unknown):
    by_jvp, by_vjp = jax.custom_jvp(lambda x, y: x * y), jax.custom_vjp(lambda x, y: x * y)
    by_jvp.defjvp(lambda primals, tangents: (by_jvp(*primals), tangents[0] * 10))
    by_vjp.defvjp(lambda x, y: (x * y, y), lambda y, ct: (ct * y, ct))
    inputs = [Unknown(F32) if u else np.float32(k + 2) for k, u in enumerate(unknown)]
    for function in (by_jvp, by_vjp):
        jaxpr, outs, residuals = partial_eval(lambda x, y, f=function: [f(x, y)], inputs)
        if any(unknown):
            assert len(jaxpr.eqns) == 1
            assert isinstance(outs[0], Unknown)
            given = [np.float32(k + 2) for k, u in enumerate(unknown) if u]
            assert eval_jaxpr(jaxpr, residuals, *given) == [6.0]
        else:
            assert (outs, jaxpr.eqns) == ([6.0], [])


def test_a_tracer_of_another_partial_evaluation_is_an_error():
    kept = []
    partial_eval(lambda a: [kept.append(a) or a], [Unknown(F32)])
    with pytest.raises(errors.UnexpectedTracerError):
        partial_eval(lambda a: [a * kept[0]], [Unknown(F32)])
