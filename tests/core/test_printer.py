"""Letters, line breaks and hoisting; the texts of whole programs are the goldens' business."""
import itertools
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.layout import Break, Group, render
from tinytrace.core.parser import parse_jaxpr
from tinytrace.core.printer import letters


def test_letters_count_in_base_26_without_a_leading_a():
    assert [letters(n) for n in (0, 25, 26, 27, 51, 52, 26 * 26)] == ["a", "z", "ba", "bb", "bz", "ca", "baa"]
    assert len({letters(n) for n in range(2000)}) == 2000


def test_a_group_is_broken_only_when_it_does_not_fit():
    def call(width):
        return render([Group(["f(", Break("", 2), "x,", Break(indent=2), "y", Break(""), ")"])], width)
    assert call(7) == "f(x, y)"
    assert call(6) == "f(\n  x,\n  y\n)"


def test_unused_results_print_as_underscores():
    text = str(jax.make_jaxpr(lambda x: (jnp.sin(x), x)[1])(1.0))
    assert text == "{ lambda ; a:f32[]. let _:f32[] = sin a in (a,) }"


def test_an_equation_without_results_has_no_equals_sign():
    text = str(jax.make_jaxpr(lambda x: jax.debug.callback(print, x))(1.0))
    assert "let debug_callback[" in " ".join(text.split())


def test_shared_jaxprs_are_hoisted_under_unique_names():
    double = jax.jit(lambda x: x * 2)
    other = jax.jit(lambda x: x * 3)
    text = str(jax.make_jaxpr(lambda x: double(double(x)) + other(other(x)))(1.0))
    assert text.startswith("let lambda = { lambda ; a:f32[]. let b:f32[] = mul a 2.0 in (b,) } in\n"
                           "let lambda1 = { lambda ; c:f32[]. let d:f32[] = mul c 3.0 in (d,) } in\n")


def test_long_programs_parse_back():
    @jax.jit
    def f(x, y):
        for _, op in zip(range(40), itertools.cycle([jnp.sin, jnp.exp, jnp.abs]), strict=False):
            x = op(x) + y
        return x.reshape(2, 3).sum(axis=0), jnp.where(x > 0, x, 1.5), x.astype(jnp.int32) // 2
    text = str(jax.make_jaxpr(f)(np.ones(6, np.float32), 2.0))
    assert str(parse_jaxpr(text)) == text


def outer(x, y):
    z = jnp.sin(x) * y
    x = jnp.where(z > 0, z, 1.0)
    return x.sum()


def test_source_lines_stand_behind_equations_in_one_column():
    lines = jax.make_jaxpr(outer)(np.ones(3, np.float32), 2.0).pretty_print(source_info=True).split("\n")
    first = outer.__code__.co_firstlineno
    noted = [line for line in lines if "#" in line]
    assert len({line.index("#") for line in noted}) == 1
    assert noted[0].endswith(f"# {__file__}:{first + 1}:8 (outer)")
    assert noted[-1].endswith(f"# {__file__}:{first + 3}:11 (outer)")
    assert "name=_where" in lines[6]
    assert "#" not in lines[6]


def test_users_names_are_those_of_arguments_and_assignments():
    text = jax.make_jaxpr(outer)(np.ones(3, np.float32), 2.0).pretty_print(names="user")
    assert text.startswith("{ lambda ; x:f32[3] y:f32[]. let\n    a:f32[3] = sin x\n")
    assert "    z:f32[3] = mul a b\n" in text
    assert "    x_1:f32[3] = pjit[\n" in text


def test_what_a_body_captures_has_the_users_name():
    def captures(x, rate):
        y = jnp.sin(x)
        z = jax.lax.while_loop(lambda c: (c * rate).sum() < 3, lambda c: c + y, x)
        w = jax.lax.cond(rate > 0, lambda: z * rate, lambda: y)
        return jax.lax.scan(lambda c, a: (c * rate + a, c), 0.0, w)

    text = jax.make_jaxpr(captures)(np.ones(3, np.float32), 2.0).pretty_print(names="user")
    for part in ("{ lambda ; y_1:f32[3] c_1:f32[3]. let", "{ lambda ; rate_2:f32[] z_2:f32[3] y_3_:f32[3]. let",
                 "{ lambda ; rate_3:f32[] c_2:f32[] a:f32[]. let"):
        assert part in text
    assert "cond_jaxpr={ lambda ; rate" not in text  # its constants are not the body's


def layers(x):
    with jax.named_scope("outer"):
        y = jnp.sin(x)
        with jax.named_scope("inner"):
            z = y * 2
    return z + x


def looped(x):
    with jax.named_scope("loop"):
        return jax.lax.scan(lambda c, x: (jax.named_call(jnp.cos, name="body")(c) + x, c), x, jnp.ones(2))[0]


@jax.named_scope("a")
def gradient(x):
    return jax.grad(layers)(x)


# What JAX 0.4.35 prints behind the equations.
STACKS = {
    "layers": (layers, 1.0, "outer outer/inner -"),
    "jit": (jax.jit(layers), 1.0, "- outer outer/inner -"),
    "jvp": (lambda x: jax.jvp(layers, (x,), (x,)), 1.0,
            "jvp(outer) jvp(outer) jvp(outer) jvp(outer)/inner jvp(outer)/inner - -"),
    "vmap": (jax.vmap(layers), np.ones(3, np.float32), "vmap(outer) vmap(outer)/inner -"),
    "grad": (jax.grad(layers), 1.0, "jvp(outer) jvp(outer) jvp(outer)/inner - transpose(jvp(outer))/inner "
             "transpose(jvp(outer)) transpose(jvp(outer))"),
    "grad of jit": (jax.grad(jax.jit(layers)), 1.0, "- outer outer outer/inner - - outer/inner outer outer"),
    "scan": (looped, 1.0, "loop loop body - -"),
    "vmap of a scope": (jax.vmap(gradient), np.ones(3, np.float32),
                        "vmap(a)/jvp(outer) vmap(a)/jvp(outer) vmap(a)/jvp(outer)/inner vmap(a) "
                        "vmap(a)/transpose(vmap(a))/jvp(outer)/inner vmap(a)/transpose(vmap(a))/jvp(outer) "
                        "vmap(a)/transpose(vmap(a))/jvp(outer) vmap(a)/transpose(vmap(a))/jvp(outer)"),
    "grad of scan": (jax.grad(looped), 1.0, "jvp(loop) jvp(loop) body - - body transpose(jvp(loop)) - body body"),
    "a decorator": (gradient, 1.0, "a/jvp(outer) a/jvp(outer) a/jvp(outer)/inner a a/transpose(a)/jvp(outer)/inner "
                    "a/transpose(a)/jvp(outer) a/transpose(a)/jvp(outer)"),
}


@pytest.mark.parametrize("name", STACKS)
def test_name_stacks(name):
    function, argument, expected = STACKS[name]
    closed = jax.make_jaxpr(function)(argument)
    found = re.findall(r"# \[(.*)\]$", closed.pretty_print(name_stack=True), re.MULTILINE)
    assert [stack or "-" for stack in found] == expected.split()
    assert "outer" not in str(closed)


def test_a_scope_ends_with_its_block_whatever_ends_it():
    with pytest.raises(ValueError, match="no"), jax.named_scope("gone"):
        raise ValueError("no")
    text = jax.make_jaxpr(jnp.sin)(1.0).pretty_print(name_stack=True)
    assert text.endswith("# []")
    with pytest.raises(TypeError, match="must be a string"), jax.named_scope(3):
        pass


def test_other_options_of_pretty_print():
    closed = jax.make_jaxpr(outer)(np.ones(3, np.float32), 2.0)
    assert closed.pretty_print(print_shapes=False).startswith("{ lambda ; a b. let\n    c = sin a\n")
    assert closed.pretty_print(print_effects=True).endswith("in (n,) : {  } }")
    colored = closed.pretty_print(use_color=True)
    assert "\x1b[34mlambda \x1b[0m" in colored
    assert re.sub(r"\x1b\[\d*m", "", colored) == str(closed)
    assert max(map(len, closed.pretty_print(width=40).split("\n"))) <= 48
    assert closed.pretty_print() == closed.jaxpr.pretty_print(custom_pp_eqn_rules=False) == str(closed)
