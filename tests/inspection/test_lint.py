"""The linter names what will surprise, with its line; a function without surprises has no findings."""

import inspect

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax

WEIGHTS = jnp.ones((32, 32))
TABLE = np.arange(4.0, dtype=np.float32)
SEEN = []


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def surprising(x, rate):
    unused = jnp.exp(x)  # noqa: F841
    SEEN.append(x)
    y = x @ WEIGHTS
    z = lax.fori_loop(0, 3, lambda i, c: jax.pure_callback(np.sin, c, c), y)
    return z * rate + TABLE[0] + jnp.sum(jnp.asarray(TABLE))


def test_every_kind_of_surprise():
    found = jax.lint(surprising)(jnp.ones(32), 0.1)
    dead, = found.of("dead")
    assert dead.message == "`unused` (exp, f32[32]) is computed for nobody"
    assert (dead.file, dead.line) == (__file__, line_of(surprising, "unused"))
    constant, = [f for f in found.of("constant") if "WEIGHTS" in f.message]
    assert constant.message == "`WEIGHTS`, f32[32,32], 4096 bytes, is part of the program"
    assert constant.line == line_of(surprising, "WEIGHTS")
    assert any("`WEIGHTS`" in f.message for f in found.of("global"))
    changed, numpy = found.of("mutation")
    assert changed.message.startswith("tracing changes `SEEN`, and keeps tracers")
    assert numpy.message.startswith("`TABLE` is a NumPy array")
    weak, = found.of("weak type")
    assert weak.message == "`rate` is a Python float: a call with an array of f32[] will trace again"
    callback, = found.of("callback")
    assert callback.message.startswith("pure_callback inside a scan of 3 iterations")
    assert callback.line == line_of(surprising, "pure_callback")
    assert str(found).count("\n") == len(found) - 1
    assert f"{__file__}:{dead.line}: dead: " in str(found)


speed = 3


def test_numbers_of_the_module_are_part_of_the_program():
    found = jax.lint(lambda x: x * speed * len(SEEN))(jnp.ones(3))
    assert [f.message for f in found] == ["`speed`, 3, is part of the program: a change of it is not seen"]


def test_nothing_to_find():
    found = jax.lint(lambda x: jnp.sin(x) * 2)(jnp.ones(3))
    assert list(found) == []
    assert str(found) == "nothing found"


def test_a_captured_array_of_a_closure_has_its_name():
    scale = jnp.arange(3.0)
    found = jax.lint(lambda x: x * scale)(jnp.ones(3))
    assert [f.kind for f in found] == ["global"]
    assert "`scale`, f32[3], 12 bytes," in found[0].message


@pytest.mark.parametrize(("program", "expected"), [
    (lambda say: jax.jit(lambda x: (say(x), x)[1])(1.0), ("x", "f32[], weakly typed", "argument 0 of")),
    (lambda say: jax.vmap(lambda x: (say(x), x)[1])(jnp.ones(3)), (None, "f32[]", "line")),
    (lambda say: jax.grad(lambda x: (say(x), x)[1])(1.0), (None, "f32[], weakly typed", "by JVPTrace")),
    (lambda say: say(jnp.ones(2)), (None, "f32[2]", "computed")),
])
def test_what_a_tracer_is(program, expected):
    name, kind, born = expected
    said = []
    program(lambda x: said.append(jax.explain(x)))
    assert (said[0].name, said[0].type) == (name, kind)
    assert said[0].born.startswith(born)


def test_a_result_has_the_users_name_and_line():
    said = []

    def f(x):
        height = jnp.sin(x)
        said.append(jax.explain(height))
        return height

    jax.jit(f)(1.0)
    assert said[0].name == "height"
    assert said[0].born.startswith(f"sin x, line {__file__}:{line_of(f, 'jnp.sin')}")
    assert "traced for jit" in said[0].reason
    assert str(said[0]).startswith("`height` is f32[]")


def test_a_tracer_that_was_kept_too_long():
    kept = []
    jax.jit(lambda x: (kept.append(x), x)[1])(1.0)
    assert "has ended" in jax.explain(kept[0]).reason


def test_a_jitted_function_with_static_arguments():
    (finding,) = jax.lint(jax.jit(lambda x, n: x ** n, static_argnums=1))(2.0, 3)
    assert finding.message == "`x` is a Python float: a call with an array of f32[] will trace again"


def test_what_derivatives_leave_unread_is_not_the_users():
    def f(x):
        unused = jnp.exp(x)  # noqa: F841
        y = jnp.sin(x)
        total = (y * jnp.ones(3)).sum()
        return total  # noqa: RET504

    for function in (f, jax.grad(f), jax.value_and_grad(f), jax.jit(jax.grad(f)), jax.vmap(f)):
        dead = jax.lint(function)(jnp.ones((3, 3))).of("dead")
        assert [finding.message.split(" ")[0] for finding in dead] == ["`unused`"], (function, dead)
