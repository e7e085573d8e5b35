"""Looking inside: the stages of a gradient, and the rules of every primitive as source."""

import inspect

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api.show import RULES, show_rules, show_stages
from tinytrace.core.jaxpr import eval_jaxpr
from tinytrace.core.primitive import registry
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.primitives import transcendental

STAGES = ["function", "jvp", "known", "linear", "transpose", "trace", "simplify", "fuse"]


def f(x):
    return jnp.sum(jnp.sin(x) * x)


def test_the_stages_of_a_gradient():
    x = np.float32([0.5, 1.0, 2.0])
    shown = show_stages(jax.grad(f))(x)
    assert [section.title for section in shown.sections] == STAGES
    for title in STAGES[:-1]:
        check_jaxpr(shown[title].jaxpr)
    assert str(shown["trace"]) == str(jax.make_jaxpr(jax.grad(f))(x))
    assert {eqn.primitive.name for eqn in shown["linear"].eqns} == {"mul", "add_any", "reduce_sum"}


def test_the_stages_compute_the_gradient():
    x = np.float32([0.5, 1.0, 2.0])
    shown = show_stages(jax.grad(f))(x)
    value, *residuals = eval_jaxpr(shown["known"].jaxpr, shown["known"].consts, x)
    gradient, = eval_jaxpr(shown["transpose"].jaxpr, shown["transpose"].consts, *residuals, np.float32(1))
    expected_value, expected = jax.value_and_grad(f)(x)
    np.testing.assert_allclose(value, expected_value, rtol=1e-6)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_arguments_that_are_not_differentiated_are_constants():
    shown = show_stages(jax.grad(lambda x, n, y: (x * y**n, y), argnums=2, has_aux=True))(2.0, 3, 5.0)
    assert [aval.str_short() for aval in shown["function"].in_avals] == ["f32[]"]
    assert len(shown["function"].out_avals) == 1


def test_functions_that_are_no_gradients_have_fewer_stages():
    shown = show_stages(jax.vmap(jnp.sin))(jnp.ones(3))
    assert [section.title for section in shown.sections] == ["trace", "simplify", "fuse"]


def test_it_shows_itself_as_text_and_in_a_notebook():
    shown = show_stages(jax.grad(lambda x: jnp.where(x < 1, x, 0.0)))(0.5)
    assert str(shown) == repr(shown)
    assert str(shown).startswith("--- function: what is differentiated\n{ lambda ; a:f32[]. let")
    html = shown._repr_html_()
    assert html.count("<summary>") == len(STAGES)
    assert "<lambda>" not in html


def test_rules_of_a_family_are_its_statements():
    shown = show_rules("jvp", family="transcendental")
    assert 'sin_p = Elementwise("sin"' in shown["sin"]
    assert "lambda g, out, x: mul(g, cos(x))" in shown["sin"]
    assert shown["sin"] in inspect.getsource(transcendental)
    assert "def " in shown["pow"], "a rule with a name is shown with its source"


def test_rules_of_a_room_are_its_methods():
    assert show_rules("transpose", family="shaping")["rev"].startswith("    def transpose(self, ct: Any, x: Any")


def test_refusals_are_shown_with_their_reason():
    section = next(s for s in show_rules("jvp").sections if s.title == "iota")
    assert section.meaning.endswith("refused")
    assert section.value == registry["iota"].jvp.reason


@pytest.mark.parametrize("rule", RULES)
def test_every_primitive_shows_every_rule(rule):
    shown = show_rules(rule)
    assert {section.title for section in shown.sections} == set(registry)
    assert all(str(section.value).strip() for section in shown.sections)


def test_unknown_names_are_errors():
    with pytest.raises(ValueError, match="there is no rule 'derivative'; a primitive has abstract_eval"):
        show_rules("derivative")
    with pytest.raises(ValueError, match="there is no family 'transcendent'; there are"):
        show_rules("jvp", family="transcendent")
