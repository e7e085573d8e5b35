"""One's own primitives beyond JAX's texts: identity, replaced rules, what is refused, and C."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import core, lax
from tinytrace._src.lib.mlir import ir
from tinytrace._src.lib.mlir.dialects import hlo
from tinytrace.core.formulas import call
from tinytrace.core.primitive import registry
from tinytrace.core.trace import interpreting
from tinytrace.extend.mlir.dialects import stablehlo
from tinytrace.interpreters import ad, batching, mlir, xla

X = jnp.arange(3.0)
pickled_p = core.Primitive("pickled")


def unary(name, fun, numpy=None):
    """An elementwise primitive of one operand, `fun` over jnp."""
    p = core.Primitive(name)
    p.def_abstract_eval(lambda x, **params: core.ShapedArray(x.shape, x.dtype))
    if numpy is not None:
        p.def_impl(numpy)
    if fun is not None:
        mlir.register_lowering(p, mlir.lower_fun(fun, multiple_results=False))
    return p


def test_two_of_one_name_are_two():
    """In caches too: equal texts of jaxprs are no equal programs."""
    once, twice = unary("f", lambda x: x), unary("f", lambda x: 2 * x)
    texts = [str(jax.make_jaxpr(p.bind)(X)) for p in (once, twice)]
    assert texts[0] == texts[1]
    for _ in range(2):
        assert [jax.jit(lambda x, p=p: p.bind(x) + 1)(X)[2] for p in (once, twice)] == [3, 5]
    assert "f" not in registry


def test_a_name_of_the_language_is_free():
    p = unary("add", lambda x: x + 5)
    assert registry["add"] is lax.add_p
    assert jax.jit(p.bind)(1.0) == 6


def test_a_replaced_rule_counts():
    p = unary("f", lambda x: x + 1)
    f = jax.jit(p.bind)
    assert f(1.0) == 2
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 10, multiple_results=False))
    assert f(1.0) == 11
    ad.defjvp(p, lambda g, x: g)
    assert jax.grad(f)(1.0) == 1
    ad.defjvp(p, lambda g, x: 7 * g)
    assert jax.grad(f)(1.0) == 7


def test_a_rule_of_the_language_can_be_replaced_and_given_back():
    with pytest.raises(KeyError):
        del ad.primitive_jvps[lax.erf_p]
    ad.primitive_jvps[lax.erf_p] = lambda primals, tangents: (lax.erf(*primals), 3 * tangents[0])
    try:
        assert jax.grad(lax.erf)(0.0) == 3
    finally:
        del ad.primitive_jvps[lax.erf_p]
    assert jax.grad(lax.erf)(0.0) == pytest.approx(1.1283792)


def test_tables_are_dictionaries():
    p = unary("f", None)
    assert p not in batching.primitive_batchers
    batching.defvectorized(p)
    assert p in list(batching.primitive_batchers)
    assert len(ad.primitive_jvps) == len(list(ad.primitive_jvps)) > 100
    with pytest.raises(TypeError, match="rules are given to primitives"):
        ad.primitive_jvps["sin"] = len
    with pytest.raises(TypeError, match="must be a function"):
        ad.primitive_jvps[p] = None


def test_it_runs_interpreted_by_its_meaning_or_its_lowering():
    by_numpy, by_lowering = unary("f", lambda x: x + 1, lambda x: x + 1), unary("g", lambda x: x + 1)
    for p in (by_numpy, by_lowering):
        body = jax.make_jaxpr(lambda x, p=p: lax.cond(x[0] >= 0, p.bind, lambda x: x, x))(X)
        with interpreting():
            assert core.eval_jaxpr(body.jaxpr, body.consts, X)[0].tolist() == [1, 2, 3]


def test_results_have_the_promised_types():
    p = unary("f", lambda x: jnp.zeros(2), lambda x: np.zeros(2))
    with pytest.raises(TypeError, match=r"the lowering of 'f' gives f32\[2\], and its .* promises f32\["):
        jax.jit(p.bind)(X)
    with interpreting(), pytest.raises(TypeError, match="its impl returned arrays of shape"):
        p.bind(X)
    p.def_abstract_eval(lambda x: 3)
    with pytest.raises(TypeError, match="must return a ShapedArray, and returned"):
        jax.make_jaxpr(p.bind)(X)


def test_effects():
    class Loud(core.Effect):
        pass

    effect = Loud()
    p = unary("f", lambda x: x)
    p.def_effectful_abstract_eval(lambda x: (x, {effect}))
    closed = jax.make_jaxpr(lambda x: (p.bind(x), x)[1])(1.0)
    assert closed.effects == {effect}


def test_apply_primitive_is_the_lowering():
    p = unary("f", lambda x, *, n: x + n)
    p.def_impl(functools.partial(xla.apply_primitive, p))
    assert p.bind(X, n=2).tolist() == [2, 3, 4]


def test_axis_rules_are_told_the_size():
    p = unary("f", lambda x: x)
    batching.axis_primitive_batchers[p] = lambda size, name, kind, args, dims: (args[0] * size, dims[0])
    assert jax.vmap(p.bind)(X).tolist() == [0, 3, 6]


def test_tracers_of_ended_traces_are_refused():
    p, leaked = unary("f", lambda x: x, lambda x: x), []
    jax.jit(lambda x: leaked.append(x) or x)(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        p.bind(leaked[0])


def test_pickled_by_the_module_that_has_it():
    assert pickle.loads(pickle.dumps(pickled_p)) is pickled_p
    with pytest.raises(LookupError, match="define it there"):
        pickle.loads(pickle.dumps(core.Primitive("nobody's")))


# --- lowerings -----------------------------------------------------------------------------------------------------

def test_elementwise_operations_of_mlir():
    p = unary("f", None)
    mlir.register_lowering(p, lambda ctx, x: [hlo.AddOp(hlo.MulOp(x, x), hlo.exponential(x)).result])
    assert jax.jit(p.bind)(X) == pytest.approx(np.exp(X) + np.square(X))


def test_what_a_rule_is_told():
    told = []
    p = unary("f", None)
    mlir.register_lowering(p, lambda ctx, x: told.append(ctx) or [x])
    assert jax.jit(p.bind)(X) == pytest.approx(X)
    ctx = told[0]
    assert isinstance(ctx, mlir.LoweringRuleContext)
    assert isinstance(ctx.module_context, mlir.ModuleContext)
    assert ctx.module_context.platforms == ("cpu",)
    assert ctx.module_context.axis_env == ctx.module_context.axis_context.axis_env == (1, (), ())
    assert isinstance(ctx.module_context.backend, xla.Backend)
    assert not ctx.is_forward_compat()
    assert ctx.module_context.new_channel() != ctx.module_context.new_channel()


def test_programs_and_python_in_a_rule():
    """Values of a rule are tracers: a program is computed on them, and Python is called with their arrays."""
    p = unary("f", None)
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) * X)(X)
    seen = []

    def rule(ctx, x):
        (product,), tokens = mlir.jaxpr_subcomp(ctx.module_context, closed.jaxpr, None, mlir.TokenSet(),
                                                closed.consts, x)
        assert len(tokens) == 0
        called = mlir.core_call_lowering(ctx, product, name="twice", call_jaxpr=jax.make_jaxpr(lambda x: 2 * x)(X))
        outs, token, _ = mlir.emit_python_callback(ctx, lambda x: (seen.append(x) or np.asarray(x) + 1,), None, called,
                                                   ctx.avals_in, ctx.avals_out, has_side_effect=True)
        assert token is None
        return mlir.flatten_ir_values([outs])

    mlir.register_lowering(p, rule)
    assert np.allclose(jax.jit(p.bind)(X), 2 * np.sin(X) * X + 1, rtol=1e-6)
    assert len(seen) == 1


def test_others_are_refused_with_the_two_ways_that_work():
    p = unary("f", None)
    mlir.register_lowering(p, lambda ctx, x: hlo.CustomCallOp([x]).results)
    assert stablehlo is hlo
    for use in (lambda: jax.jit(p.bind)(X), lambda: ir.RankedTensorType.get((), None), mlir.make_ir_context):
        with pytest.raises(NotImplementedError, match=r"mlir.lower_fun\(f\).*mlir.c_expression or mlir.c_function"):
            use()


def test_lowerings_of_other_platforms_are_not_asked():
    p = unary("f", lambda x: x)
    mlir.register_lowering(p, lambda *_: 1 / 0, platform="cuda")
    assert jax.jit(p.bind)(1.0) == 1
    with pytest.raises(TypeError, match="must be a rule"):
        mlir.register_lowering(p, "x + 1")


def test_a_lowering_is_asked_for_each_parameter_that_is_another():
    """0.0 and -0.0 are equal, and so are 1 and True, and not the same."""
    scaled_p = core.Primitive("scaled")
    scaled_p.def_abstract_eval(lambda x, factor: x)
    mlir.register_lowering(scaled_p, mlir.lower_fun(
        lambda x, factor: x * factor if isinstance(factor, float) else x + len(str(factor)), multiple_results=False))
    found = [float(jax.jit(functools.partial(scaled_p.bind, factor=k))(np.float32(2))) for k in (0.0, -0.0, 1, True)]
    assert list(map(str, found)) == ["0.0", "-0.0", "3.0", "6.0"]


def test_the_programs_of_a_lowering_are_bounded(monkeypatch):
    monkeypatch.setattr(mlir, "_PROGRAMS_OF_A_RULE", 3)
    p, asked = core.Primitive("bounded"), []
    p.def_abstract_eval(lambda x, **params: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x, n: asked.append(n) or x + n, multiple_results=False))
    aval = core.get_aval(np.float32(2))
    for n in (1.0, 2.0, 3.0, 3.0, 4.0, 4.0, 1.0):
        p.lower([aval], [aval], n=n)
    assert asked == [1.0, 2.0, 3.0, 4.0, 1.0]


def test_a_custom_bind_is_called_in_the_place_of_bind():
    p = core.Primitive("padded")
    p.def_impl(lambda x, y: x * 10 + y)
    assert p.bind(1, 2) == 12
    usual = p.bind

    @p.def_custom_bind
    def bind(x, y=0):
        return usual(x, y)

    assert (p.bind(1), p.bind(1, 2), p.bind is bind) == (10, 12, True)


def test_lowered_functions_call_each_other():
    p = unary("f", None)
    inner = mlir.lower_fun(lambda x: x * 2, multiple_results=False)
    mlir.register_lowering(p, lambda ctx, x: inner(ctx.replace(primitive=None), mlir.ir_constant(3.0) + x))
    assert jax.jit(p.bind)(1.0) == 8


def test_c_expression():
    p = unary("f", None, lambda x: np.exp(-x))
    mlir.register_lowering(p, mlir.c_expression(lambda x: call("exp", -x)))
    lowered = jax.jit(lambda x: p.bind(x) + 1).lower(X)
    assert len(lowered.kernels) == 1, "fused with its neighbours"
    assert jax.jit(p.bind)(X) == pytest.approx(np.exp(-np.asarray(X)))
    assert jax.jit(p.bind)(jnp.ones((), jnp.float16)) == pytest.approx(np.exp(-1), rel=1e-3)


def test_c_function_is_chosen_by_type():
    p = unary("f", None, lambda x: x + 1)
    mlir.register_lowering(p, mlir.c_function("float f(float v) { if (v > 1) { return tt_exp_f32(v); } return v + 1; }",
                                              "int32_t f(int32_t v) { return v + 100; }"))
    assert jax.jit(p.bind)(X) == pytest.approx(np.float32([1, 2, np.exp(2)]))
    assert jax.jit(p.bind)(jnp.arange(2)).tolist() == [100, 101]
    with pytest.raises(TypeError, match=r"no C function over \(uint8_t\) among those given: float f\(float\), int32_t"):
        jax.jit(p.bind)(jnp.arange(2, dtype=jnp.uint8))


def test_a_primitive_that_stays_python():
    seen = []
    p = unary("f", None, lambda x, *, by: seen.append(type(x)) or np.asarray(x, np.float64) * by)
    with pytest.raises(NotImplementedError, match="MLIR translation rule for primitive 'f' not found") as raised:
        jax.jit(lambda x: p.bind(x, by=2))(X)
    assert "mlir.call_impl" in raised.value.__notes__[0]
    mlir.register_lowering(p, mlir.call_impl)
    out = jax.jit(lambda x: p.bind(x + 1, by=2) + 1)(X)
    assert out.tolist() == [3, 5, 7]
    assert (out.dtype, seen) == (np.float32, [np.ndarray])
    p.def_impl(lambda x, *, by: x[:1])
    with pytest.raises(TypeError, match="its impl returned arrays of shape"):
        jax.jit(lambda x: p.bind(x, by=3))(X)


def test_two_c_functions_of_one_name():
    p, q = unary("f", None), unary("f", None)
    mlir.register_lowering(p, mlir.c_function("float f(float v) { return v; }"))
    mlir.register_lowering(q, mlir.c_function("float f(float v) { return 2 * v; }"))
    assert jax.jit(lambda x: (p.bind(x), q.bind(x)))(3.0) == (3, 6)


@pytest.mark.parametrize("text", [
    "x + 1", "float f(float x) { return x; } int g() { return 0; }", "float f(float x) { } }", "float f(int *x) { }",
    "float f(float x) {\n#include <stdio.h>\n}", "float f(float x) { return '\x02'; }",
])
def test_what_is_no_c_function(text):
    with pytest.raises(ValueError, match="one definition in printable ASCII"):
        mlir.c_function(text)


def test_c_is_for_elements():
    p = unary("f", None)
    mlir.register_lowering(p, mlir.c_expression(lambda x: x))
    p.def_abstract_eval(lambda x: core.ShapedArray((), x.dtype))
    with pytest.raises(TypeError, match=r"one element of its result comes .*; f32\[3\] to f32\[\] is something else"):
        jax.jit(p.bind)(X)


@pytest.mark.parametrize(("several", "result"), [(False, lambda x: [x]), (True, lambda x: x)])
def test_a_type_where_a_list_of_types_is_wanted_and_the_other_way_round(several, result):
    p = core.Primitive("p")
    p.multiple_results = several
    p.def_abstract_eval(result)
    with pytest.raises(ValueError, match=r"p\.abstract_eval\(\) method should return a tuple or a list iff "
                                         r"p\.multiple_results\."):
        jax.make_jaxpr(p.bind)(1.0)


def test_a_batching_rule_that_names_an_axis_of_a_scalar_is_refused():
    """Not a division by no axes. JAX does not look at an axis that is where it is wanted."""
    p = unary("flattened", lambda x: x)
    batching.primitive_batchers[p] = lambda args, dims: (args[0].sum(), 0)
    with pytest.raises(ValueError, match="axis 0 is out of bounds for array of dimension 0"):
        jax.jit(jax.vmap(p.bind))(jnp.ones((2, 3)))


WRONG = {
    "shorter": lambda t: t[:2], "a number": jnp.sum, "another rank": lambda t: t[:, None],
    "integers": lambda t: t.astype("int32"), "half as wide": lambda t: t.astype("bfloat16"),
    "a zero": lambda t: ad.Zero(core.ShapedArray((2,), t.dtype)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_tangent_of_another_type_than_the_result_is_refused(wrong):
    """JAX hands it on: what is computed with it fails in XLA, or is nonsense."""
    p = unary("moved", lambda x: 2 * x, np.copy)
    ad.primitive_jvps[p] = lambda primals, tangents: (p.bind(*primals), wrong(tangents[0]))
    for run in (lambda: jax.jvp(p.bind, (X,), (X,)), lambda: jax.grad(lambda x: p.bind(x).sum())(X),
                lambda: jax.jit(jax.jacfwd(p.bind))(X), lambda: jax.linearize(jax.jit(p.bind), X)):
        with pytest.raises(TypeError, match=r"the jvp rule of 'moved' returned a tangent of type \w+\[.*\] for a "
                                            r"result of type f32\[3\]: it has the shape and dtype of what"):
            run()


@pytest.mark.parametrize("wrong", [WRONG[name] for name in WRONG if name != "a zero"])
def test_a_cotangent_of_another_type_than_the_operand_is_refused(wrong):
    p = unary("linear", lambda x: 2 * x, np.copy)
    ad.deflinear(p, lambda ct: [wrong(ct)])
    for run in (lambda: jax.grad(lambda x: p.bind(x).sum())(X), lambda: jax.jit(jax.vjp(p.bind, X)[1])(X)):
        with pytest.raises(TypeError, match=r"the transpose rule of 'linear' returned a cotangent of type \w+\[.*\] "
                                            r"for an operand of type f32\[3\]: it has"):
            run()


def test_tangents_of_integers_and_weakly_typed_ones_are_taken():
    p = unary("rounded", lambda x: x, np.copy)
    ad.primitive_jvps[p] = lambda primals, tangents: (p.bind(*primals), 3.0)
    assert jax.jvp(p.bind, (jnp.bfloat16(1),), (jnp.bfloat16(1),))[1] == 3
    q = core.Primitive("index")
    q.def_impl(lambda x: np.argmax(x).astype("int32"))
    ad.primitive_jvps[q] = lambda primals, tangents: (q.bind(*primals), jnp.int32(0))
    assert jax.jvp(q.bind, (X,), (X,))[0] == 2
