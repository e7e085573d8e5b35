"""Dead code elimination keeps what is used, drops the rest, and asks equations with jaxprs inside to do the same."""

import gc
import weakref

import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_closed_jaxpr, dce_jaxpr
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.transforms.staging import trace_to_closed_jaxpr

F32 = ShapedArray((), np.dtype(np.float32))


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def two_results(a, b, c):
    return [jnp.sin(a) * b, jnp.cos(c)]


def test_only_what_is_used_stays():
    closed = trace_to_closed_jaxpr(two_results, [F32] * 3)
    first, used = dce_jaxpr(closed.jaxpr, [True, False])
    assert (names(first), used) == (["sin", "mul"], [True, True, False])
    second, used = dce_jaxpr(closed.jaxpr, [False, True])
    assert (names(second), used) == (["cos"], [False, False, True])
    check_jaxpr(first)
    check_jaxpr(second)


def test_inputs_can_be_kept():
    closed = trace_to_closed_jaxpr(two_results, [F32] * 3)
    smaller, used = dce_jaxpr(closed.jaxpr, [False, True], instantiate=[True, False, False])
    assert used == [True, False, True]
    assert len(smaller.invars) == 2
    assert dce_jaxpr(closed.jaxpr, [False, False], instantiate=True)[1] == [True] * 3


def test_effects_stay():
    def f(x):
        jax.debug.print("{}", x)
        jnp.sin(x)
        return [x * 2]

    closed = trace_to_closed_jaxpr(f, [F32])
    assert names(dce_jaxpr(closed.jaxpr, [False])[0]) == ["debug_callback"]


def test_calls_are_pruned_inside():
    def f(a, b):
        first, _ = jax.jit(lambda a, b: (a * 2, jnp.sin(b)))(a, b)
        return [first]

    closed = trace_to_closed_jaxpr(f, [F32, F32])
    smaller, used = dce_jaxpr(closed.jaxpr, [True])
    assert used == [True, False]
    assert names(smaller.eqns[0].params["jaxpr"]) == ["mul"]


def test_loops_are_pruned_as_far_as_their_carries_allow():
    def f(a, b, xs):
        (first, _), _ = lax.scan(lambda c, x: ((c[0] * x, c[1] + c[0]), c[1]), (a, b), xs)
        return [first]

    vector = ShapedArray((3,), np.dtype(np.float32))
    closed = trace_to_closed_jaxpr(f, [F32, F32, vector])
    smaller, used = dce_jaxpr(closed.jaxpr, [True])
    assert used == [True, False, True]
    assert names(smaller.eqns[0].params["jaxpr"]) == ["mul"]
    check_jaxpr(smaller)


def test_the_same_question_has_the_same_answer_and_holds_nothing():
    closed = trace_to_closed_jaxpr(two_results, [F32] * 3)
    assert dce_closed_jaxpr(closed, [True, False])[0] is dce_closed_jaxpr(closed, [True, False])[0]
    ref = weakref.ref(closed)
    del closed
    gc.collect()
    assert ref() is None
