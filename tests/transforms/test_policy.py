"""What a checkpoint policy saves and what it computes again, for every choice that a policy can make."""

import itertools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.ad_checkpoint import checkpoint_name
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import eval_jaxpr
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.transforms.policy import partial_eval_jaxpr_custom
from tinytrace.transforms.staging import trace_to_closed_jaxpr

F32 = ShapedArray((), np.dtype(np.float32))
PRIMITIVES = ("sin", "cos", "exp")


def program(a, b):
    s = jnp.sin(a)
    c = jnp.cos(s)
    return [c * b, jnp.exp(s), b + s]


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def saving(*saved):
    return lambda primitive, *avals, **params: primitive.name in saved


def split(saveable, **flags):
    options = {"in_unknowns": [False, True], "in_inst": True, "ensure_out_unknowns": False, "ensure_out_inst": False}
    closed = trace_to_closed_jaxpr(program, [F32, F32])
    return partial_eval_jaxpr_custom(closed.jaxpr, saveable=saveable, **{**options, **flags})


def test_nothing_is_saved():
    parts = split(saving())
    assert names(parts.known) == ["sin", "cos", "exp"]
    assert names(parts.staged) == ["sin", "cos", "mul", "exp", "add"]
    assert parts.num_res == 0


def test_everything_is_saved():
    parts = split(saving(*PRIMITIVES))
    assert names(parts.known) == ["sin", "cos", "exp"]
    assert names(parts.staged) == ["mul", "add"]
    assert parts.num_res == 2
    assert (parts.out_unknowns, parts.out_inst) == ([True, False, True], [True, False, True])


def test_some_is_saved():
    parts = split(saving("sin"))
    assert names(parts.staged) == ["cos", "mul", "exp", "add"]
    assert [v.aval for v in parts.staged.invars[:parts.num_res]] == [F32]


@pytest.mark.parametrize("saved", [c for n in range(4) for c in itertools.combinations(PRIMITIVES, n)])
def test_the_parts_together_are_the_program(saved):
    parts = split(saving(*saved), ensure_out_inst=True)
    check_jaxpr(parts.known)
    check_jaxpr(parts.staged)
    a, b = np.float32(0.3), np.float32(2)
    known = eval_jaxpr(parts.known, [], a)
    residuals = known[len(known) - parts.num_res:]
    staged = eval_jaxpr(parts.staged, [], *residuals, a, b)
    np.testing.assert_allclose(staged, program(a, b), rtol=1e-6)
    known_outs = [x for x, unknown in zip(program(a, b), parts.out_unknowns, strict=True) if not unknown]
    np.testing.assert_allclose(known[:len(known) - parts.num_res], known_outs, rtol=1e-6)


def test_outputs_can_be_made_unknown_or_instantiated():
    parts = split(saving(*PRIMITIVES), ensure_out_unknowns=[False, True, False], ensure_out_inst=[False, True, False])
    assert (parts.out_unknowns, parts.out_inst) == ([True, True, True], [True, True, True])
    assert parts.num_res == 3


def test_inputs_that_are_not_at_hand_become_residuals():
    parts = split(saving(), in_inst=[False, True])
    assert parts.num_res == 1
    assert parts.known.outvars[-1] is parts.known.invars[0]


@pytest.mark.parametrize("policy", [jax.checkpoint_policies.everything_saveable,
                                    jax.checkpoint_policies.nothing_saveable])
def test_no_policy_changes_a_gradient(policy):
    f = lambda x: jnp.sum(jnp.sin(jnp.cos(x)) * x)  # noqa: E731
    x = jnp.arange(3.0)
    np.testing.assert_allclose(jax.grad(jax.checkpoint(f, policy=policy))(x), jax.grad(f)(x), rtol=1e-6)


@pytest.mark.parametrize(("policy", "saved"), [
    (jax.checkpoint_policies.save_only_these_names("a"), {"a"}),
    (jax.checkpoint_policies.save_any_names_but_these("a"), {"b"}),
    (jax.checkpoint_policies.save_anything_except_these_names("a"), {"b", "sin", "jitted a", "jitted b"}),
])
def test_policies_on_names_look_at_named_values_alone(policy, saved):
    """Parameters of other operations may be called `name` too, or there are none."""
    name, pjit, sin = (jax.make_jaxpr(f)(1.0).eqns[0].primitive
                       for f in (lambda x: checkpoint_name(x, "a"), jax.jit(lambda x: x + 1), jnp.sin))
    aval = ShapedArray((), np.dtype(np.float32))
    tried = {"a": (name, {"name": "a"}), "b": (name, {"name": "b"}), "sin": (sin, {}),
             "jitted a": (pjit, {"name": "a"}), "jitted b": (pjit, {"name": "b"})}
    assert {what for what, (primitive, params) in tried.items() if policy(primitive, aval, **params)} == saved


def test_a_cond_whose_index_is_unknown_is_left_as_it_is():
    closed = trace_to_closed_jaxpr(lambda a, b: [jax.lax.cond(a > 0, jnp.sin, jnp.cos, b), jnp.exp(b)], [F32, F32])
    parts = partial_eval_jaxpr_custom(closed.jaxpr, [True, False], True, False, False, saving(*PRIMITIVES))
    assert (parts.out_unknowns, parts.out_inst) == ([True, False], [True, False])
    assert names(parts.known) == ["exp"]
    assert names(parts.staged)[-1] == "cond"
    check_jaxpr(parts.staged)


@pytest.mark.not_quick
def test_branches_are_split_as_the_policy_says():
    """What a branch saves is not computed again behind it, and no branch computes what another one saves."""
    def branching(x):
        return jax.lax.cond(x[0] > 0, lambda: jnp.sin(jnp.cos(x)), lambda: jnp.exp(jnp.exp(x)))

    def again(policy):
        loss = jax.checkpoint(lambda x: jnp.sum(branching(x) * x), policy=policy)
        for x in (np.float32([0.5, 0.2]), np.float32([-0.5, 0.2])):
            np.testing.assert_allclose(jax.grad(loss)(x), jax.grad(lambda x: jnp.sum(branching(x) * x))(x), rtol=1e-6)
        text = str(jax.make_jaxpr(jax.linearize(loss, np.float32([0.5, 0.2]))[1])(np.float32([1, 1])))
        return [sum(f" = {name} " in line for line in text.splitlines()) for name in ("cos", "sin", "exp")]

    assert again(lambda primitive, *_, **__: primitive.name in ("cos", "sin", "exp")) == [0, 0, 0]
    assert again(lambda primitive, *_, **__: primitive.name == "cos")[0] == 0
    assert min(again(lambda *_, **__: False)) > 0


def test_a_checkpointed_function_is_traced_once_for_each_static_value():
    """Values of one type that are equal are one; what has no hash is traced at each call."""
    calls = []

    def f(x, n):
        calls.append(n)
        return x * (n[0] if isinstance(n, list) else n)

    checkpointed = jax.checkpoint(f, static_argnums=1)
    values = (2, 2.5, 2, 2.0, 2.5, 2, [3], [3])
    assert [float(checkpointed(1.0, n)) for n in values] == [2, 2.5, 2, 2, 2.5, 2, 3, 3]
    assert calls == [2, 2.5, 2.0, [3], [3]]
    assert jax.grad(checkpointed)(1.0, 2) == 2.0
    swapped = jax.checkpoint(lambda n, x, m: n * x - m, static_argnums=(-1, 0))
    assert swapped(3, 2.0, 1) == 5.0
