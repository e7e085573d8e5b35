"""A jaxpr as a Python file: it runs, means the same to the bit, and each equation is one line."""
import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.core.test_parser import forward, mapped
from tests.examples import examples
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.core.views import VIEWS
from tinytrace.testing.strategies import programs_with_arguments


def run(text, *args):
    names = {}
    exec(compile(text, "program.py", "exec"), names)
    return names["main"](*args)


def assert_same(closed, *args):
    with interpreting():
        expected = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
        got = run(closed.as_python(), *args)
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == getattr(theirs, "dtype", ours.dtype)
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@examples(200, fast=20)
@given(programs_with_arguments(), st.sampled_from(["itself", "jvp", "vmap"]))
def test_drawn_programs_compute_the_same(case, transformation):
    program, arguments = case
    function = {"itself": lambda f: f, "jvp": forward, "vmap": mapped}[transformation](program.function())
    assert_same(jax.make_jaxpr(function)(*arguments), *arguments)


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))


@pytest.mark.parametrize("function", [
    lambda x: lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, x),
    lambda x: lax.cond(x.sum() > 2, jnp.sin, jnp.cos, x),
    lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x, reverse=True),
    jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x).sum()),
    jax.grad(lambda x: clipped(x).sum()),
    lambda x: jnp.linalg.solve(jnp.eye(3) + x[:, None] * x, x),
    lambda x: x.at[jnp.array([0, 2])].add(1.0),
    lambda x: jax.random.uniform(jax.random.key(3), x.shape) + x,
    lambda x: jax.nn.relu(jax.lax.conv(x[None, None], jnp.ones((1, 1, 2)), (1,), "SAME")),
    lambda x: (jnp.float16(0.1) * x.astype(jnp.float16), x == x, jnp.inf, jnp.arange(40), jnp.zeros((0, 3))),
    lambda x: jnp.sort(x)[::-1],
])
def test_every_kind_of_parameter_can_be_written(function):
    x = jnp.array([1.0, -0.5, 3.0])
    assert_same(jax.make_jaxpr(function)(x), x)


def test_each_equation_is_one_line_under_the_users_names():
    def f(x, by):
        shifted = x + by
        return shifted * shifted
    text = jax.make_jaxpr(f)(jnp.ones(3), 2.0).as_python()
    body = text.split("def main(x, by):\n")[1].split("\n")
    assert body[1].startswith("    shifted = op.add(x, ")
    assert body[1].endswith(f"  {f.__qualname__}:{f.__code__.co_firstlineno + 1}")
    assert body[-2] == "    return [b]"


def test_open_jaxprs_take_their_constants_first():
    scale = jnp.arange(3.0)
    closed = jax.make_jaxpr(lambda x: x * scale)(scale)
    (got,) = run(closed.jaxpr.as_python(), scale, jnp.ones(3))
    np.testing.assert_array_equal(got, scale)


def test_names_of_the_file_and_of_python_are_kept_free():
    def f(op, array, main):
        program = op + array
        return program * main
    closed = jax.make_jaxpr(f)(1.0, 2.0, 3.0)
    assert_same(closed, 1.0, 2.0, 3.0)


def test_a_function_that_has_no_text_says_so_when_it_is_called():
    text = jax.make_jaxpr(lambda x: jax.pure_callback(np.sin, x, x))(jnp.ones(3)).as_python()
    with pytest.raises(TypeError, match="put the function itself in the place of `opaque"):
        run(text, jnp.ones(3))


def test_a_constant_that_no_text_tells_is_not_made_up():
    parsed = jax.parse_jaxpr("{ lambda ; a:f32[2]. let b:f32[2] = pjit[name=f jaxpr={ lambda c:f32[2]; d:f32[2]. let "
                             "e:f32[2] = mul d c in (e,) }] a in (b,) }")
    with pytest.raises(TypeError, match=r"a constant of type f32\[2\] whose value is not known"):
        run(parsed.as_python(), jnp.ones(2))
    evaluate = functools.partial(jax.core.eval_jaxpr, parsed, [])
    for function in (evaluate, jax.jit(evaluate), jax.debugger(evaluate)):
        with pytest.raises(TypeError, match=r"constant of type f32\[2\] is not known: the text of a jaxpr tells"):
            getattr(function(jnp.ones(2)), "results", None)


def test_the_methods_that_show_a_jaxpr_are_all_there():
    closed = jax.make_jaxpr(jnp.sin)(1.0)
    for name in VIEWS:
        assert getattr(jax.core.views, name)
    assert closed.as_python() == closed.replace().as_python()
