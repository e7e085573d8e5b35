"""`parse_jaxpr(str(jaxpr))` prints the same and computes the same: for all programs of the goldens and strategies."""
import contextlib
import functools
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.conftest import ROOT
from tests.examples import examples
from tinytrace.core.jaxpr import eval_jaxpr, subjaxprs
from tinytrace.core.parser import JaxprSyntaxError, OpaqueParam, UnknownConstant
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.parsing import parse_jaxpr
from tinytrace.testing.strategies import programs_with_arguments

NAMED, DEFINED = re.compile(r"\bjaxpr=(\w+)"), re.compile(r"\blet (\w+) = \{")
IN_NO_REGISTRY = re.compile(r"\b(?:inspect_sharding|rng_uniform|threefry2x32)\b|key<my>|:Tok\b")
"""What is made as users make theirs, and tokens."""
START = re.compile(r"^(?:let [\w.]+ = )?\{ lambda ", re.MULTILINE)


@functools.cache
def golden_programs():
    """Every jaxpr that stands in a golden file, once.

    But for those with primitives that are in no registry, or that the file itself defines (with generators), those of
    `checkify`, where CODE stands for numbers, and those in which JAX names a program that it does not print.
    """
    found = set()
    for path in sorted((ROOT / "tests" / "goldens").iterdir()):
        if path.stem in ("own_primitives", "checkify", "effects"):
            continue
        if path.suffix == ".txt":
            found.update(programs_in(path.read_text()))
        elif path.suffix == ".json":
            for text in strings_in(json.loads(path.read_text())):
                found.update(programs_in(text))
    nameless = [text for text in found if set(NAMED.findall(text)) - set(DEFINED.findall(text))]
    assert len(nameless) == 1
    return sorted(text for text in found.difference(nameless) if not IN_NO_REGISTRY.search(text))


def strings_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings_in(item)


def programs_in(text):
    position = 0
    while match := START.search(text, position):
        position = end_of_program(text, match.start())
        yield text[match.start():position]


def end_of_program(text, start):
    """The place behind the brace that closes the program, which is the last of those that `let ... in` joins."""
    depth = 0
    for brace in re.compile("[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0 and not re.match(r" in\s", text[brace.end():brace.end() + 4]):
            return brace.end()
    raise AssertionError(f"a golden program does not end: {text[start:start + 80]}")


def without_trailing_space(text):
    """Golden files have none, though an equation without operands prints one."""
    return "\n".join(map(str.rstrip, text.split("\n")))


@pytest.mark.slow
def test_every_golden_program_parses_back():
    programs = golden_programs()
    assert len(programs) > 3000
    different = [text for text in programs
                 if without_trailing_space(str(parse_jaxpr(text))) != without_trailing_space(text)]
    assert different == []


@examples(300, fast=30)
@given(programs_with_arguments(), st.sampled_from(["itself", "jvp", "vmap"]))
def test_drawn_programs_parse_back_and_compute_the_same(case, transformation):
    program, arguments = case
    function = {"itself": lambda f: f, "jvp": forward, "vmap": mapped}[transformation](program.function())
    closed = jax.make_jaxpr(function)(*arguments)
    parsed = parse_jaxpr(str(closed))
    assert str(parsed) == str(closed)
    check_jaxpr(parsed)
    if not has_unknown_constants(parsed):
        expected = eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
        for got, want in zip(eval_jaxpr(parsed, closed.consts, *arguments), expected, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)


def forward(function):
    def with_tangents(*args):
        tangents = [np.ones(x.shape, x.dtype if x.dtype.kind == "f" else jax.float0) for x in args]
        return jax.jvp(function, args, tuple(tangents))[0]
    return with_tangents


def mapped(function):
    return lambda *args: jax.vmap(function)(*[jnp.stack([x, x]) for x in args])


def has_unknown_constants(jaxpr):
    return any(inner.constvars or has_unknown_constants(inner) for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params))


def test_what_the_text_does_not_say_is_named():
    scale = jnp.arange(3.0)
    inner = parse_jaxpr(str(jax.make_jaxpr(lambda x: jax.jit(lambda y: y * scale)(x))(scale))).eqns[0].params["jaxpr"]
    assert [type(constant) for constant in inner.consts] == [UnknownConstant]
    assert repr(inner.consts[0]) == "UnknownConstant(f32[3])"
    host = jax.make_jaxpr(lambda x: jax.pure_callback(np.sin, x, x))(scale)
    assert isinstance(parse_jaxpr(str(host)).eqns[0].params["callback"], OpaqueParam)


def test_a_variable_that_is_bound_twice_is_one():
    text = str(jax.make_jaxpr(jax.vmap(jax.grad(lambda x: jax.checkpoint(jnp.sin)(x) * x)))(jnp.ones(3)))
    assert str(parse_jaxpr(text)) == text


@pytest.mark.parametrize(("text", "message"), [
    ("", "line 1: expected a jaxpr|line 1: expected a name"),
    ("{ lambda ; a:f32[3]. let b:f32[3] = nag a in (b,) }", "expected a primitive, not 'nag'"),
    ("{ lambda ; a:f32[3]. let\n    b:f32[3] = neg c in (b,) }", "line 2: expected a variable or number, not 'c'"),
    ("{ lambda ; a:q32[3]. let  in (a,) }", "expected a dtype, not 'q32'"),
    ("{ lambda ; a:f32[3]. let  in (a,) } x", "expected the end of the text at 'x'"),
    ("{ lambda ; a:f32[3]. let b:f32[3] = neg[", "expected a parameter"),
    ("{ lambda ; a:f32[3]. let b:f32[3] = neg a", "expected"),
    ("{ lambda ; a:f32[3]. let b:f32[3] = sub a 'x' in (b,) }", "expected a variable or number"),
])
def test_what_is_no_jaxpr_is_refused_with_its_place(text, message):
    with pytest.raises(JaxprSyntaxError, match=message):
        parse_jaxpr(text)


@given(st.text(alphabet="{}[]().;:=, lambdetinf32\n_'\"#", max_size=60))
def test_no_text_breaks_the_parser(text):
    with contextlib.suppress(JaxprSyntaxError):
        parse_jaxpr("{ lambda ; a:f32[3]. let " + text)


def test_opaque_parameters_are_their_texts():
    one = OpaqueParam("<function f>")
    assert one == OpaqueParam("<function f>")
    assert hash(one) == hash(OpaqueParam("<function f>"))
    assert one != OpaqueParam("<function g>")
    assert one != "<function f>"


def test_a_program_that_is_named_must_be_there():
    with pytest.raises(JaxprSyntaxError, match="line 1: expected a program, but no `let` before it defines 'f'"):
        parse_jaxpr("{ lambda ; a:f32[]. let b:f32[] = pjit[name=f jaxpr=f] a in (b,) }")


def test_every_primitive_of_the_package_is_known_to_the_parser():
    """Also those of modules that nobody has imported. Programs and libraries in sys.modules are not asked."""
    code = """if True:
        import importlib, pathlib, re
        import tinytrace.parsing
        from tinytrace.core.primitive import registry
        known = set(registry)
        package = pathlib.Path(tinytrace.__file__).parent
        for folder in ("control_flow", "lax", "primitives", "random", "core"):
            for path in (package / folder).rglob("*.py"):
                name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
                importlib.import_module(name.removesuffix(".__init__"))
        print(sorted(set(registry) - known), len(known) > 150)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"
