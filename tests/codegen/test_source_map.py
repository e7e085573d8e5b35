"""Every equation leads to C or says why not, every C statement leads to an equation or is scaffolding; both ways."""

import inspect
import json
import re

import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tinytrace.codegen.source_map import EMPTY, IDLE, IN_PLACE, SourceMap
from tinytrace.core.jaxpr import Var, subjaxprs
from tinytrace.core.kinds import Scalar
from tinytrace.testing.strategies import programs_with_arguments

lax = jax.lax
X = np.ones((40, 30), np.float32)
ROLES = {"compute", "copy", "call", "scaffold", "comment"}


def lowered(function, *args):
    return jax.jit(function).lower(*args)


def written_by(low, equation):
    """The texts of the places of an equation."""
    lines = low.as_text(full=True).split("\n")
    return [lines[place.line - 1][place.begin:place.end] for place in low.source_map.c_of(equation)]


# --- laws over drawn programs ------------------------------------------------------------------------------------

@examples(200, fast=40)
@given(programs_with_arguments())
def test_of_drawn_programs(case):
    """Most of the time goes into drawing and lowering them, so each is held to all laws."""
    program, arguments = case
    low = lowered(program.function(), *arguments)
    every_equation_leads_to_c_or_says_why_not(low)
    every_statement_leads_to_an_equation_or_is_scaffolding(low)
    functions_stand_where_the_map_says(low)
    json_is_the_map(low)


def every_equation_leads_to_c_or_says_why_not(low):
    source = low.source_map
    reasons = {e.id: e.reason for e in source.equations}
    assert all(bool(reasons[e.id]) != bool(source.c_of(e)) for e in source.equations)
    assert [e.id for e in source.equations] == list(range(len(source.equations)))
    for eqn in low.jaxpr.jaxpr.eqns:  # what is left says "empty" only where that is so
        if all(reasons.get(k) == EMPTY for k in numbers_of(low, eqn)):
            assert all(is_empty(low, reasons, v) for v in eqn.outvars), eqn


def numbers_of(low, eqn):
    """The ids, in the source map, of the traced equations that a simplified one stands for."""
    order = list(dict.fromkeys(inner.ids[0] for inner in in_order(low._traced.jaxpr.jaxpr)))
    return [order.index(k) for k in eqn.ids if k in order]


def in_order(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in subjaxprs(eqn.params):
            yield from in_order(inner)


def is_empty(low, reasons, var):
    jaxpr = low.jaxpr.jaxpr
    if not var.aval.size:
        return True
    readers = [eqn for eqn in jaxpr.eqns if var in [x for x in eqn.invars if isinstance(x, Var)]]
    computing = [eqn for eqn in readers if isinstance(kind_of(eqn), Scalar)]  # others may move other elements only
    empty = all(reasons[k] in (EMPTY, IDLE) for eqn in computing for k in numbers_of(low, eqn))
    return var not in jaxpr.outvars and empty


def kind_of(eqn):
    return eqn.primitive.lower([x.aval for x in eqn.invars], [v.aval for v in eqn.outvars], **eqn.params)


def every_statement_leads_to_an_equation_or_is_scaffolding(low):
    source, lines = low.source_map, low.as_text(full=True).split("\n")
    known = {place.line for place in source.places}
    for number, line in enumerate(lines[source.first_line - 1:], source.first_line):
        assert bool(line) == (number in known)
    for place in source.places:
        assert 0 <= place.begin < place.end <= len(lines[place.line - 1])
        assert place.role in ROLES
        if place.role in ("compute", "copy", "call"):
            assert place.equations, lines[place.line - 1]
            check_is_whole(lines[place.line - 1], place)
        if place.role == "scaffold":  # holds no arithmetic on elements
            assert "tt_" not in re.sub(r"tt_(entry|kernel_\d+|host|stream_end|floordiv|mod|min_i32|max_i32)\b", "",
                                       lines[place.line - 1]), lines[place.line - 1]


def check_is_whole(line, place):
    """A marked part of a line has both of its parentheses, and does not begin or end inside a word."""
    before, text, after = line[:place.begin], line[place.begin:place.end], line[place.end:]
    assert text == text.strip(), line
    assert text.count("(") == text.count(")"), (text, line)
    assert not (before[-1:].isidentifier() and text[:1].isidentifier()), (text, line)
    assert not (text[-1:].isidentifier() and after[:1].isidentifier()), (text, line)


def functions_stand_where_the_map_says(low):
    """An operation that is a function of csrc/math is called at one of its equation's places."""
    source = low.source_map
    for eqn in low.jaxpr.jaxpr.eqns:
        kind = kind_of(eqn)
        if isinstance(kind, Scalar):
            for k in numbers_of(low, eqn):
                texts = written_by(low, k)
                assert not texts or source.equations[k].reason or \
                    all(any(name in text for text in texts) for name in kind.operation.calls), eqn


def json_is_the_map(low):
    source = low.source_map
    assert SourceMap.from_json(source.to_json()) == source
    assert json.loads(source.to_json())["version"] == 1


# --- examples ----------------------------------------------------------------------------------------------------

def softmax(x, w):
    y = x @ w
    e = jnp.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_from_c_to_python_and_back():
    low = lowered(softmax, X, np.ones((30, 20), np.float32))
    source, lines = low.source_map, low.as_text(full=True).split("\n")
    first = inspect.getsourcelines(softmax)[1]
    number = next(k for k, line in enumerate(lines, 1) if "= tt_exp_f32(" in line)
    equation, = source.equations_at(number)
    assert "= exp " in equation.text
    assert (equation.file, equation.function, equation.line) == (__file__, "softmax", first + 2)
    line = inspect.getsource(softmax).split("\n")[2]
    assert line[equation.column:equation.end_column].startswith("jnp.exp(")
    assert equation in source.at_python("test_source_map.py", first + 2)
    assert equation in source.at_python(__file__, first + 2, equation.column)
    assert not source.at_python(__file__, first + 2, 0)
    assert any("tt_exp_f32(" in text for text in written_by(low, equation))
    column = lines[number - 1].index("tt_exp_f32")
    assert source.equations_at(number, column) == [equation]
    assert str(source).startswith("e0 ")


def test_reasons():
    @jax.jit
    def inner(x):
        return jnp.sin(x)

    def f(x):
        unused = jnp.cos(x)  # noqa: F841
        return inner(x) * (lax.add(2.0, 3.0)) * 1.0

    source = lowered(f, X).source_map
    reasons = {e.text.split("= ")[1].split("[")[0].split(" ")[0]: e.reason for e in source.equations}
    assert reasons["cos"].startswith("dead")
    assert reasons["pjit"].startswith("a call")
    assert reasons["add"].startswith("folded")
    assert reasons["sin"] == ""
    assert "the same as an operand: a step that changes nothing" in [e.reason for e in source.equations]


def test_a_copy_that_is_not_made_says_so():
    source = lowered(lambda x: jnp.abs(x)[-1], np.zeros((1, 1), np.float32)).source_map
    assert IN_PLACE in [e.reason for e in source.equations]
    assert any("= abs " in e.text and not e.reason for e in source.equations)


def test_equal_equations_share_their_c():
    source = lowered(lambda x: jnp.sin(x) + jnp.sin(x), X).source_map
    one, other = [e for e in source.equations if "= sin " in e.text]
    assert source.c_of(one) == source.c_of(other) != []


def test_steps_that_move_elements_are_where_they_are_read():
    low = lowered(lambda x: jnp.exp(x.T.reshape(-1)), X)
    for equation in low.source_map.equations:
        assert any("tt_exp_f32(" in text for text in written_by(low, equation)), equation


def test_loops_and_branches_are_mapped_inside():
    def f(x):
        x = lax.fori_loop(0, 10, lambda i, x: jnp.sin(x) * 0.5, x)
        return lax.cond(x.sum() > 0, jnp.cos, jnp.tan, x)

    low = lowered(f, X)
    for name in ("sin", "cos", "tan"):
        equation, = [e for e in low.source_map.equations if f"= {name} " in e.text]
        assert any(f"tt_{name}_f32(" in text for text in written_by(low, equation))
    assert all(not e.reason for e in low.source_map.equations if re.search(r"= (scan|while|cond)\b", e.text))


def test_the_hashed_text_names_no_file():
    low = lowered(softmax, X, np.ones((30, 20), np.float32))
    assert "test_source_map" not in low.as_text(full=True)
    assert "softmax" not in low.as_text(full=True)


def test_text_begins_with_the_program():
    low = lowered(jnp.sin, X)
    assert low.as_text().startswith("static void tt_kernel_0(") or low.as_text().startswith("int32_t tt_entry(")
    full = low.as_text(full=True)
    assert full.endswith(low.as_text())
    assert full == low.source.text
    assert full.split("\n")[low.source_map.first_line - 1] == low.as_text().split("\n")[0]


@pytest.mark.parametrize("text", ['{"version": 99}', "[]", "{}"])
def test_other_versions_are_refused(text):
    with pytest.raises(ValueError, match="source map of version 1"):
        SourceMap.from_json(text)
