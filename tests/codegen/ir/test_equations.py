"""Comments about equations call values by the names that stand in the C below them."""

import re

import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_goldens import PROGRAMS
from tests.examples import examples
from tests.primitives import domains
from tests.primitives.test_registry import bound
from tinytrace.codegen.ir.equations import LONGEST, Equation, Value, written_out
from tinytrace.testing.strategies import programs_with_arguments

lax = jax.lax
X = np.ones((8, 6), np.float32)
FUNCTION = re.compile(r"^(?:(?:static )?\w+ (tt_kernel_\w+)|int32_t tt_entry)\(.*?^\}", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
EQUATION = re.compile(r"^[ */]*((?:\w+:[\w\[\],<>]+ )+)= (.*?)(?: \*/)?$", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
NUMBERS = {"_", "nan", "inf", "True", "False"}


def shown_names(comment):
    """The names of values in the equations of a comment: what is left of types, operations and their parameters."""
    for results, applied in EQUATION.findall(comment):
        yield from (result.split(":")[0] for result in results.split())
        while (plain := re.sub(r"\[[^\[\]]*\]", "", applied)) != applied:
            applied = plain
        tokens = applied.replace("(", " ( ").replace(")", " ) ").split()
        yield from (x for before, x in zip(["(", *tokens], tokens, strict=False)
                    if before != "(" and WORD.fullmatch(x))


def check_names(text):
    functions = {found[1] or "tt_entry": found[0] for found in FUNCTION.finditer(text)}
    assert "tt_entry" in functions
    words = {name: set(WORD.findall(COMMENT.sub("", code))) for name, code in functions.items()}
    for name, code in functions.items():
        known = words[name].union(*(words[called] for called in words.keys() & words[name]))
        for comment in COMMENT.findall(code):
            unknown = set(shown_names(comment)) - known - NUMBERS
            assert not unknown, f"{unknown} in {comment}\nof\n{code}"


@examples(100, fast=30)
@given(programs_with_arguments(contraction=True))
def test_every_name_in_a_comment_stands_in_the_code(case):
    program, arguments = case
    check_names(jax.jit(program.function()).lower(*arguments).as_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_so_do_those_of_programs_that_everybody_knows(name):
    function, *args = PROGRAMS[name]
    check_names(jax.jit(function).lower(*args).as_text())


@pytest.mark.slow
def test_so_do_those_of_every_primitive():
    for primitive in domains.tried():
        samples = domains.samples(primitive.name)[:6]
        check_names(jax.jit(lambda lists, p=primitive, samples=samples: [
            bound(p, sample, xs) for sample, xs in zip(samples, lists, strict=True)]
        ).lower([sample.args for sample in samples]).as_text())


def nested_loops(x):
    def outer(carry, row):
        def inner(i, y):
            return jnp.where(y > 0, y * 0.5, jnp.cos(y)) + row.sum() * i
        return lax.fori_loop(0, 3, inner, carry), carry[0]
    return lax.scan(outer, x[0], x)


def test_loops_and_branches():
    check_names(jax.jit(nested_loops).lower(X).as_text())
    batched = jax.vmap(lambda x: lax.while_loop(lambda y: y.sum() < 99, lambda y: y * 2 + x, x))
    check_names(jax.jit(batched).lower(X).as_text())
    check_names(jax.jit(lambda x: lax.cond(x.sum() > 0, lambda y: (y * 2 + 1, 3.0), lambda y: (-y, 2.0), x.T))
                .lower(X).as_text())


def test_a_carry_has_its_name_in_c():
    text = jax.jit(lambda p: lax.fori_loop(0, 10, lambda i, f: lax.sin(f * 0.5), p)).lower(1.0).as_text()
    variable, = re.findall(r"(\w+) \* 0\.5f", text)
    assert f"mul {variable} 0.5" in text


def value(name):
    return Value((name,), "f32[]")


def test_what_has_no_name_is_written_where_it_is_read():
    equations = [Equation((value("b"),), "neg", "[k=1]", (value("a"),)),
                 Equation((value("c"),), "add", "", (value("b"), value("b"))),
                 Equation((value("d"),), "sin", "", (value("c"),))]
    standing = {"a": "a_i", "c": "c"}.get
    assert written_out(equations, standing, standing) == ["c:f32[] = add (neg a_i) (neg a_i)", "_:f32[] = sin c"]


def test_long_chains_are_cut():
    equations = [Equation((value(f"v{k + 1}"),), "add", "", (value(f"v{k}"), value(f"v{k}"))) for k in range(1000)]
    line, = written_out(equations, {"v0": "a"}.get, {"v1000": "out"}.get)
    assert len(line) < 3 * LONGEST


def test_an_array_that_moved_is_found_where_it_is():
    moved = Equation((value("b"),), "neg", "", (value("a"),)).in_places({"a": "x", "b": "y", "c": "z"})
    standing = {"x": "x", "y": "y"}.get
    assert written_out([moved], standing, standing) == ["y:f32[] = neg x"]
