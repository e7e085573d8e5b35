"""`diff` of two jaxprs is empty exactly when they print the same, and one change is one row."""
import itertools

import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.core.test_parser import golden_programs
from tests.examples import examples
from tinytrace import lax
from tinytrace.parsing import parse_jaxpr
from tinytrace.testing.strategies import programs_with_arguments


def jaxpr_of(function, *args):
    return jax.make_jaxpr(function)(*args or (jnp.ones(3),))


@examples(300, fast=30)
@given(programs_with_arguments())
def test_a_program_does_not_differ_from_itself_under_other_names(case):
    program, arguments = case
    closed = jax.make_jaxpr(program.function())(*arguments)
    assert not closed.diff(closed)
    assert not closed.diff(jax.make_jaxpr(program.function())(*arguments))
    assert not closed.diff(parse_jaxpr(str(closed)))


@pytest.mark.slow
def test_golden_programs_differ_exactly_when_their_texts_do():
    texts = golden_programs()[::7]
    parsed = [parse_jaxpr(text) for text in texts]
    assert not any(one.diff(parse_jaxpr(text)) for one, text in zip(parsed, texts, strict=True))
    assert all(one.diff(other) for one, other in itertools.pairwise(parsed))


BASE = lambda x: jnp.where(x > 0, jnp.sin(x) * 2, 1.0).sum()  # noqa: E731


@pytest.mark.parametrize(("changed", "rows"), [
    (lambda x: jnp.where(x > 0, jnp.sin(x) * 3, 1.0).sum(), [("2", "operands")]),
    (lambda x: jnp.where(x > 0, jnp.cos(x) * 2, 1.0).sum(), [("1", "equation")]),
    (lambda x: jnp.where(x >= 0, jnp.sin(x) * 2, 1.0).sum(), [("0", "equation")]),
    (lambda x: jnp.where(x > 0, -jnp.sin(x) * 2, 1.0).sum(), [("2", "added"), ("2", "operands")]),
    (lambda x: jnp.where(x > 0, jnp.sin(x) * 2, 1.0), [("4", "removed"), ("out", "results")]),
    (lambda x: jnp.where(x > 0, jnp.sin(x) * 2, 0.0).sum(), [("3", "operands")]),
    (lambda x: (jnp.where(x > 0, jnp.sin(x) * 2, 1.0).sum(), x), [("out", "results")]),
])
def test_one_change_is_one_row(changed, rows):
    found = jaxpr_of(BASE).diff(jaxpr_of(changed))
    assert [(row.path, row.kind) for row in found] == rows


def test_programs_inside_are_compared_where_they_stand():
    def loop(step):
        return lambda x: lax.fori_loop(0, 3, lambda i, c: step(c), x)
    found = jaxpr_of(loop(jnp.sin)).diff(jaxpr_of(loop(jnp.cos)))
    assert [(row.path, row.kind, row.left, row.right) for row in found] == [
        ("0.jaxpr.1", "equation", "a:f32[3] = sin b", "a:f32[3] = cos b")]
    assert str(found) == "@ 0.jaxpr.1 (equation)\n- a:f32[3] = sin b\n+ a:f32[3] = cos b"


def test_inputs_parameters_and_signed_zeros_count():
    assert jaxpr_of(jnp.sin).diff(jaxpr_of(jnp.sin, jnp.ones(4)))[0].kind == "types"
    assert [row.kind for row in jaxpr_of(lambda x: x.sum(0)).diff(jaxpr_of(lambda x: x.sum(0)))] == []
    square, cube = jaxpr_of(lambda x: x**2), jaxpr_of(lambda x: x**3)
    assert [row.kind for row in square.diff(cube)] == ["params"]
    assert [row.kind for row in jaxpr_of(lambda x: x + 0.0).diff(jaxpr_of(lambda x: x + -0.0))] == ["operands"]
    assert repr(square.diff(square)) == "no difference"
    assert "&lt;" in jaxpr_of(lambda x: jax.jit(lambda y: y)(x)).diff(jaxpr_of(jnp.sin))._repr_html_()


def test_what_is_no_jaxpr():
    with pytest.raises(TypeError, match="not with a str: read a text with tinytrace"):
        jax.make_jaxpr(jnp.sin)(1.0).diff("{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }")
