"""Letters, line breaks and hoisting; the texts of whole programs are the goldens' business."""
import itertools

import numpy as np

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
