"""What loops and branches mean: compiled and interpreted they are what plain Python does; so are derivatives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tests.meanings import in_numpy
from tinytrace import core, lax
from tinytrace.control_flow.closed_call import closed_call_p
from tinytrace.core import call_p
from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.jaxpr import Literal, subjaxprs
from tinytrace.experimental import io_callback
from tinytrace.extend.linear_util import wrap_init
from tinytrace.interpreters import ad

Body = Callable[[Any, Any], tuple[Any, Any]]

BODIES: dict[str, Body] = {
    "sum": lambda c, x: (c + x, c),
    "product": lambda c, x: (c * jnp.cos(x), jnp.sin(c) + x),
    "nonlinear": lambda c, x: (jnp.tanh(c * 1.5 + x), c * c),
    "branching": lambda c, x: (lax.cond(x > 0, lambda: jnp.sin(c) + x, lambda: 0.5 * c), x),
    "inner loop": lambda c, x: (lax.fori_loop(0, 2, lambda i, s: jnp.sin(s) + x * i, c), c),
    "inner scan": lambda c, x: (lax.scan(lambda a, _: (jnp.cos(a) + x, a), c, None, length=2)[0], x * c),
    "checkpointed": lambda c, x: jax.checkpoint(lambda c, x: (jnp.sin(c * x), c + x))(c, x),
}
XS = np.array([0.5, -1.25, 2.0, 0.75], np.float32)


def scan_in_python(body: Body, c: Any, xs: Any) -> tuple[Any, Any]:
    ys = []
    for x in xs:
        c, y = body(c, x)
        ys.append(y)
    return c, jnp.stack(ys)


@pytest.fixture(params=list(BODIES))
def body(request: pytest.FixtureRequest) -> Body:
    return BODIES[request.param]


def close(a: Any, b: Any, rtol: float = 2e-5) -> None:
    for x, y in zip(jax.tree_util.tree_leaves(a), jax.tree_util.tree_leaves(b), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=2e-6)


def test_scan_is_its_python(body: Body) -> None:
    want = in_numpy(lambda c, xs: scan_in_python(body, c, xs), 0.5, XS)
    run = lambda c, xs: lax.scan(body, c, xs)  # noqa: E731
    close(run(0.5, XS), want)
    close(jax.jit(run)(0.5, XS), want)
    close(in_numpy(run, 0.5, XS), want)
    with jax.disable_jit():
        close(run(0.5, XS), want)


@pytest.mark.parametrize("unroll", [1, 2, 3, 4, 8, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_unroll_and_reverse(unroll: int | bool, reverse: bool) -> None:
    c, ys = lax.scan(BODIES["nonlinear"], 0.5, XS, reverse=reverse, unroll=unroll)
    want_c, want_ys = in_numpy(lambda c, xs: scan_in_python(BODIES["nonlinear"], c, xs), 0.5,
                               XS[::-1] if reverse else XS)
    close((c, ys), (want_c, want_ys[::-1] if reverse else want_ys))


def test_derivatives_of_scan(body: Body) -> None:
    def total(run: Callable[..., Any], c: Any, xs: Any) -> Any:
        c, ys = run(body, c, xs)
        return c * 2.0 + jnp.sum(ys)

    for wrap in (lambda f: f, jax.jit):
        got = wrap(jax.grad(lambda c, xs: total(lax.scan, c, xs), argnums=(0, 1)))(0.5, XS)
        close(got, in_numpy(jax.grad(lambda c, xs: total(scan_in_python, c, xs), argnums=(0, 1)), 0.5, XS))
    close(jax.jvp(lambda c, xs: total(lax.scan, c, xs), (0.5, XS), (1.0, XS)),
          in_numpy(lambda *args: jax.jvp(lambda c, xs: total(scan_in_python, c, xs), args, (1.0, XS)), 0.5, XS))
    close(jax.grad(jax.grad(lambda c: total(lax.scan, c, XS)))(0.5),
          in_numpy(jax.grad(jax.grad(lambda c: total(scan_in_python, c, XS))), 0.5), rtol=2e-4)


def test_checkpoint_changes_no_derivative(body: Body) -> None:
    def loss(c: Any, xs: Any) -> Any:
        c, ys = lax.scan(body, c, xs)
        return c + jnp.sum(ys)

    want = in_numpy(jax.grad(loss, argnums=(0, 1)), 0.5, XS)
    for policy in (None, jax.checkpoint_policies.everything_saveable, jax.checkpoint_policies.dots_saveable):
        got = jax.jit(jax.grad(jax.checkpoint(loss, policy=policy), argnums=(0, 1)))(0.5, XS)
        close(got, want)


def test_vmap_of_scan_is_the_stacked_loop(body: Body) -> None:
    batch = np.stack([XS, XS[::-1], XS * 0.5])
    run = lambda c, xs: lax.scan(body, c, xs)  # noqa: E731
    want = [in_numpy(run, c, xs) for c, xs in zip(np.float32([0.5, 1.0, -0.5]), batch, strict=True)]
    got = jax.jit(jax.vmap(run))(np.float32([0.5, 1.0, -0.5]), batch)
    close(got, jax.tree_util.tree_map(lambda *x: jnp.stack(x), *want))
    close(jax.vmap(run, in_axes=(None, 1))(0.5, batch.T), jax.vmap(run, in_axes=(None, 0))(0.5, batch))


def test_vmap_of_while_lets_the_finished_rest() -> None:
    def collatz(n: Any) -> Any:
        return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1),
                                                              s[1] + 1), (n, 0))[1]

    numbers = np.arange(1, 28)
    want = [int(collatz(int(n))) for n in numbers]
    assert jax.vmap(collatz)(numbers).tolist() == want
    assert jax.jit(jax.vmap(collatz))(numbers).tolist() == want
    assert jax.jit(jax.vmap(jax.vmap(collatz)))(numbers.reshape(3, 9)).reshape(-1).tolist() == want


def test_only_one_branch_runs() -> None:
    seen: list[str] = []

    def branch(name: str) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            jax.debug.callback(lambda: seen.append(name))
            return x
        return run

    choose = jax.jit(lambda i, x: lax.switch(i, [branch("a"), branch("b"), branch("c")], x))
    for i in (1, 5, -3):
        choose(i, 1.0)
    assert seen == ["b", "c", "a"]


@examples(25)
@given(st.integers(-3, 6), st.integers(-3, 6), st.floats(-1, 1, width=32))
def test_fori_loop_is_its_python(lower: int, upper: int, x: float) -> None:
    want = np.float32(x)
    for i in range(lower, upper):
        want = np.float32(want * np.float32(0.5) + i)
    step = lambda i, s: s * 0.5 + i  # noqa: E731
    assert np.allclose(lax.fori_loop(lower, upper, step, x), want, rtol=1e-6)
    assert np.allclose(jax.jit(lambda n: lax.fori_loop(lower, n, step, x))(upper), want, rtol=1e-6)


@examples(25)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), st.booleans())
def test_associative_scan_is_a_scan(values: list[int], reverse: bool) -> None:
    array = np.array(values)
    want = np.cumsum(array[::-1] if reverse else array)
    assert lax.associative_scan(jnp.add, array, reverse=reverse).tolist() == (want[::-1] if reverse else want).tolist()


def test_a_body_is_traced_once() -> None:
    traces: list[int] = []

    def step(c: Any, x: Any) -> tuple[Any, Any]:
        traces.append(1)
        return c + x, c

    for _ in range(3):
        lax.scan(step, np.float32(0), XS)
        jax.grad(lambda c: lax.scan(step, c, XS)[0])(np.float32(0))
    assert len(traces) == 1
    checkpointed = jax.checkpoint(lambda c: step(c, c)[0])
    for _ in range(3):
        checkpointed(np.float32(0))
        jax.grad(checkpointed)(np.float32(0))
    assert len(traces) == 2


@pytest.mark.parametrize("branches", [(jnp.sin, jnp.cos), (lambda x: x * XS[0], lambda x: x + 1.0)])
def test_branches_staged_again_are_the_same_jaxprs(branches: Any) -> None:
    def choose(x: Any) -> Any:
        return lax.cond(x > 0, *branches, x)

    one, again = (jax.make_jaxpr(choose)(0.5).eqns[-1].params["branches"] for _ in range(2))
    assert all(x is y for x, y in zip(one, again, strict=True))


def ruled(decorate: Any) -> Any:
    by_rule = decorate(lambda x, y: jnp.sin(x) * y)
    if decorate is jax.custom_jvp:
        by_rule.defjvp(lambda primals, tangents: (by_rule(*primals), tangents[0]))
    if decorate is jax.custom_vjp:
        by_rule.defvjp(lambda x, y: (by_rule(x, y), y), lambda y, ct: (ct, ct))
    return by_rule


WITH_BODIES: dict[str, Any] = {
    **{decorate.__name__: ruled(decorate) for decorate in (jax.custom_jvp, jax.custom_vjp, jax.checkpoint, jax.jit)},
    "cond": lambda x, y: lax.cond(x[0] > 0, jnp.add, jnp.subtract, x, y),
    "scan": lambda x, y: lax.scan(lambda c, a: (c * a + y, c), x, XS),
    "while_loop": lambda x, y: lax.while_loop(lambda c: c[0][0] < 3, lambda c: (c[0] + 1, c[1] * y), (x, y)),
    "closed_call": lambda x, y: closed_call_p.bind(x, y, call_jaxpr=jax.make_jaxpr(lambda x, y: x * y + y)(x, y)),
}


@pytest.mark.parametrize("name", WITH_BODIES)
def test_an_equation_with_bodies_does_in_numpy_what_its_function_does(name: str) -> None:
    """As debuggers run it, which step into the bodies."""
    x, y = XS, XS[::-1].copy()
    closed = jax.make_jaxpr(WITH_BODIES[name])(x, y)
    values = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, x, y], strict=True))
    for eqn in closed.eqns:
        operands = [v.val if isinstance(v, Literal) else values[v] for v in eqn.invars]
        outs = eqn.primitive.impl(*operands, **eqn.params)
        values.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs], strict=True))
    assert any(map(subjaxprs, (eqn.params for eqn in closed.eqns)))
    close([values[v] for v in closed.jaxpr.outvars], WITH_BODIES[name](x, y))


def test_a_body_that_closes_over_a_tracer_is_traced_for_each() -> None:
    def scaled(w: Any) -> Any:
        return lax.scan(lambda c, x: (c * w + x, c), 0.0, XS)[0]

    close(jax.vmap(scaled)(np.float32([1, 2])), np.concatenate([in_numpy(scaled, 1.0), in_numpy(scaled, 2.0)]))
    close(jax.jit(scaled)(3.0), in_numpy(scaled, 3.0))


@pytest.mark.parametrize("primitive", [closed_call_p, call_p])
@pytest.mark.parametrize("given", ["a jaxpr", "a function", "a function of what is around"])
def test_a_call_is_its_body_under_every_transformation(given: str, primitive: Any) -> None:
    def body(x: Any, y: Any) -> Any:
        return x * y + y, y * 2.0

    call = jax.make_jaxpr(body)(XS[0], XS[1])

    def called(x: Any, y: Any) -> Any:
        if given == "a jaxpr":
            return tuple(primitive.bind(x, y, call_jaxpr=call))
        fun, *args = (body, x, y) if given == "a function" else (lambda x: body(x, y), x)
        return tuple(primitive.bind(wrap_init(fun), *args))

    for transform in (
        jax.vmap, lambda f: jax.jit(jax.vmap(f)), lambda f: lambda x, y: jax.vmap(f, in_axes=(0, None))(x, y[0]),
        lambda f: lambda x, y: jax.jvp(f, (x[0], y[0]), (x[1], y[1])),
        lambda f: lambda x, y: jax.vjp(f, x[0], y[0])[1]((x[1], y[1])),
        lambda f: lambda x, y: jax.hessian(lambda x, y: sum(f(x, y)), argnums=(0, 1))(x[0], y[0]),
        lambda f: lambda x, y: jax.linear_transpose(lambda y: f(x[0], y), y[0])((x[1], y[1])),
        lambda f: lambda x, y: jax.grad(jax.checkpoint(lambda x, y: sum(f(x, y))), argnums=(0, 1))(x[0], y[0]),
    ):  # fmt: skip
        close(transform(called)(XS[:2], XS[2:]), in_numpy(transform(body), XS[:2], XS[2:]))


def test_a_checkpoint_splits_a_call() -> None:
    """What does not depend on what is differentiated is computed once, and what does not have to be is not again."""
    evaluated: list[Any] = []
    noted_p = core.Primitive("noted")
    noted_p.def_impl(lambda x: evaluated.append(x) or x + 1)  # type: ignore[func-returns-value]
    noted_p.def_abstract_eval(lambda x: x)

    def jvp(primals: Any, tangents: Any) -> Any:
        out = noted_p.bind(*primals)
        return out, out * tangents[0]

    ad.primitive_jvps[noted_p] = jvp

    def called(x: Any) -> Any:
        return call_p.bind(wrap_init(lambda x: [noted_p.bind(x)]), x)[0]

    for inner, again in [(called, 2), (jax.checkpoint(called), 3)]:
        evaluated.clear()
        _, pull = jax.vjp(jax.checkpoint(lambda x, inner=inner: noted_p.bind(inner(x))), np.ones(1, np.float32))
        assert len(evaluated) == 2
        pull(np.ones(1, np.float32))
        assert len(evaluated) == 2 + again


@pytest.mark.not_quick
@pytest.mark.parametrize("policy", ["everything_saveable", "nothing_saveable", "dots_saveable"])
def test_what_a_jitted_function_keeps_for_backward(policy: str) -> None:
    """Some of it is an output too, some is an argument, some is neither."""
    @jax.jit
    def inner(x: Any, y: Any) -> Any:
        s = jnp.sin(x)
        return s, s * jnp.cos(y), x, jnp.exp(s * y)

    def outer(x: Any, y: Any) -> Any:
        return sum(jnp.sum(out ** 2) for out in inner(x, jnp.tanh(y)))

    saved = jax.checkpoint(outer, policy=getattr(jax.checkpoint_policies, policy))
    for wrap in (lambda f: f, jax.jit):
        close(wrap(jax.grad(saved, argnums=(0, 1)))(XS, XS[::-1]),
              in_numpy(jax.grad(outer, argnums=(0, 1)), XS, XS[::-1]), 1e-4)
        close(wrap(jax.hessian(saved))(XS, XS[::-1]), in_numpy(jax.hessian(outer), XS, XS[::-1]), 1e-4)


def test_effects_say_whether_callbacks_are_ordered() -> None:
    def effects(ordered: bool) -> str:
        return str(jax.make_jaxpr(lambda x: io_callback(lambda x: x, x, x, ordered=ordered))(XS).effects)

    assert "Ordered" in effects(True)
    assert "Ordered" not in effects(False)


@pytest.mark.parametrize(("vectorized", "shapes"), [(True, [(4,)]), (False, [()] * 4)])
def test_vectorized_is_the_old_word_for_a_method_of_vmap(vectorized: bool, shapes: list[Any]) -> None:
    seen: list[Any] = []

    def on_host(x: Any, **options: Any) -> Any:
        return jax.pure_callback(lambda x: seen.append(x.shape) or np.sin(x), x, x, vectorized=vectorized, **options)

    with pytest.warns(DeprecationWarning, match="The vectorized argument of jax.pure_callback is deprecated"):
        close(jax.vmap(on_host)(XS), np.sin(XS))
    assert seen == shapes
    with pytest.warns(DeprecationWarning, match="vectorized"), pytest.raises(ValueError, match="cannot be used"):
        on_host(XS, vmap_method="sequential")


def test_closures_give_up_what_may_move_and_keep_the_rest() -> None:
    converted, consts = jax.closure_convert(lambda x: x * jnp.asarray(XS) + np.float32(3), 1.0)
    assert consts == []
    close(converted(2.0), 2 * XS + 3)

    def loss(scale: Any) -> Any:
        converted, consts = jax.closure_convert(lambda x: x * scale + jnp.asarray(XS), 1.0)
        assert len(consts) == 1
        return jnp.sum(converted(2.0, *consts))

    close(jax.grad(loss)(3.0), 2.0 * len(XS))


def test_where_nothing_moves_the_function_is_called_and_not_its_rule() -> None:
    called: list[str] = []
    f = jax.custom_vjp(lambda x: called.append("function") or x * 2)
    f.defvjp(lambda x: (called.append("rule") or x * 2, None), lambda _, ct: (ct * 2,))
    close(jax.grad(lambda x: x * f(3.0))(1.0), 6.0)
    assert set(called) == {"function"}
    called.clear()
    close(jax.grad(lambda x: jax.grad(lambda y: f(x) * y)(1.0))(3.0), 2.0)
    assert called == ["rule"]  # of the derivative that it moves with


def test_forward_rules_that_may_become_the_function_again_go_when_nobody_reads_them() -> None:
    @jax.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(x) * y

    f.defvjp(lambda x, y: (jnp.sin(x) * y, (x, y)), lambda kept, ct: (ct * jnp.cos(kept[0]) * kept[1], ct),
             optimize_remat=True)

    def unused(x: Any) -> Any:
        jax.vjp(f, x, x)
        return x * 2.0

    assert [eqn.primitive.name for eqn in jax.jit(unused).lower(XS).jaxpr.eqns] == ["mul"]
    still = jax.custom_vjp(lambda x: (jnp.sin(x), np.float32(3)))
    still.defvjp(lambda x: ((jnp.sin(x), np.float32(3)), x), lambda x, ct: (ct[0] * jnp.cos(x),), optimize_remat=True)
    moved = jax.make_jaxpr(lambda x: jax.jvp(lambda x: jax.vjp(still, x)[0], (x,), (2.0,)))(0.5).jaxpr
    pruned, _ = dce_jaxpr(moved, [True] * 4)
    assert [eqn.primitive.name for eqn in pruned.eqns] == ["closed_call"]
    for jaxpr in (moved, pruned):
        close(jax.core.eval_jaxpr(jaxpr, [], 0.5), [np.sin(0.5), 3.0, 2 * np.cos(0.5), 0.0])
    for wrap in (lambda g: g, jax.jit):
        close(wrap(lambda x: jax.vjp(f, x, x)[0])(XS), f(XS, XS))
        close(wrap(jax.grad(lambda x: jnp.sum(jax.checkpoint(f)(x, x))))(XS), jnp.cos(XS) * XS + 1.0)


def test_programs_inside_a_program_are_found_by_equation_and_by_jaxpr() -> None:
    """`jax.core.subjaxprs` and `jaxprs_in_params`."""
    closed = jax.make_jaxpr(lambda x: lax.cond(x > 0, jnp.sin, lambda x: jax.jit(jnp.cos)(x) + 1.0, x))(1.0)
    for found in (core.subjaxprs(closed.jaxpr), core.jaxprs_in_params(closed.eqns[-1].params)):
        assert [len(jaxpr.eqns) for jaxpr in found] == [2, 1]


def test_a_numpy_array_that_scan_hands_to_its_derivative_may_be_written_afterwards():
    xs = np.float32([[2, 3], [4, 5]])
    _, pull = jax.vjp(lambda xs: lax.scan(lambda s, x: (x * s, s), jnp.ones(2), xs)[0], xs)
    before, = pull(jnp.ones(2))
    xs[:] = 0
    np.testing.assert_array_equal(pull(jnp.ones(2))[0], before)
    np.testing.assert_array_equal(before, [[4, 5], [2, 3]])
