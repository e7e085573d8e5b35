"""Step 3: programs print as JAX prints them."""

import pytest
from hypothesis import given
from programs import SHAPES, SMOOTH, arrays, few, function

import tinytrace as jax
import tinytrace.numpy as jnp


@few
@given(SMOOTH, SHAPES)
def test_random_programs_print_as_tinytrace_prints_them(m, text, shape):
    x, y = arrays(shape)
    ours = m.make_jaxpr(function(text, m))(m.array(x), m.array(y))
    assert str(ours) == str(jax.make_jaxpr(function(text, jnp))(x, y))


@pytest.mark.parametrize(
    ("program", "args", "shown"),
    [
        ("lambda x: x", (1,), "{ lambda ; a:i32[]. let  in (a,) }"),
        ("lambda x: 3", (1,), "{ lambda ; a:i32[]. let  in (3,) }"),
        ("lambda x, y: (y, x + 1)", (1.0, 2), "{ lambda ; a:f32[] b:i32[]. let c:f32[] = add a 1.0 in (b, c) }"),
        ("lambda x: [m.sin(x), x][1]", (1.0,), "{ lambda ; a:f32[]. let _:f32[] = sin a in (a,) }"),
        (
            "lambda x: m.sum(x * 2.0)",
            ([1.0, 2.0],),
            "{ lambda ; a:f32[2]. let\n    b:f32[2] = mul a 2.0\n"
            "    c:f32[] = reduce_sum[axes=(0,)] b\n  in (c,) }",
        ),
        (
            "lambda x: m.ones(2) + x",
            (1,),
            "{ lambda ; a:i32[]. let\n    b:f32[2] = broadcast_in_dim[broadcast_dimensions=() shape=(2,)] 1.0\n"
            "    c:f32[] = convert_element_type[new_dtype=float32 weak_type=False] a\n"
            "    d:f32[2] = add b c\n  in (d,) }",
        ),
    ],
)
def test_texts(m, program, args, shown):
    args = [m.array(x) if isinstance(x, list) else x for x in args]
    assert str(m.make_jaxpr(eval(program, {"m": m}))(*args)) == shown


def test_arrays_that_are_closed_over_are_constants(m):
    weights = m.arange(3.0)
    text = str(m.make_jaxpr(lambda x: weights * x + weights)(1.0))
    assert text.startswith("{ lambda a:f32[3]; b:f32[]. let")


def test_letters_go_on_behind_z(m):
    def f(x):
        for _ in range(30):
            x = m.sin(x)
        return x

    assert "\n    bd:f32[] = sin bc\n" in str(m.make_jaxpr(f)(1.0))
