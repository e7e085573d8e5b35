"""Questions to a jaxpr: which equations, who reads and who computes a variable; and one equation as text."""
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax


def f(x):
    y = jnp.sin(x) * 2
    z = lax.fori_loop(0, 3, lambda i, c: c * y, x)
    return (z + y).astype(jnp.int32)


LINE = f.__code__.co_firstlineno
CLOSED = jax.make_jaxpr(f)(jnp.ones(3))


def names(eqns):
    return [eqn.primitive.name for eqn in eqns]


def test_where_asks_for_primitive_line_dtype_and_shape():
    assert names(CLOSED.where(primitive="mul")) == ["mul", "mul"]
    assert names(CLOSED.where(line=LINE + 1)) == ["sin", "mul"]
    assert names(CLOSED.where(line=LINE + 2))[0] == "scan"
    assert names(CLOSED.where(dtype=jnp.int32, shape=(3,))) == ["convert_element_type"]
    assert names(CLOSED.where(primitive="mul", line=LINE + 1)) == ["mul"]
    assert CLOSED.where(shape=(7,)) == []
    assert CLOSED.where(dtype="i32", shape=(3,)) == CLOSED.where(dtype="int32", shape=(3,)) != []
    keys = jax.make_jaxpr(lambda x: jax.random.wrap_key_data(x))(jnp.zeros(2, jnp.uint32))
    assert names(keys.where(dtype="key<fry>")) == ["random_wrap"]
    with pytest.raises(TypeError, match="f33"):
        CLOSED.where(dtype="f33")


def test_stages_say_what_they_are():
    lowered = jax.jit(lambda x, n: jnp.sin(x) * n, static_argnums=1).lower(jnp.ones(3), 2)
    lines = lowered.as_text().count("\n")
    assert repr(lowered) == f"<Lowered <lambda>(f32[3]): 1 kernel, {lines} lines of C>"
    assert repr(jax.jit(jnp.sin).trace(1.0)) == "<Traced sin(f32[]): 1 equation>"
    assert repr(lowered.source_map) == f"<source map: 2 equations, {len(lowered.source_map.places)} places of C>"
    assert repr(lowered.passes) == str(lowered.passes)
    assert repr(lowered.passes[0]) == "<inline: nothing to do>"


def test_users_and_producers():
    (sin,), (scan,) = CLOSED.where(primitive="sin"), CLOSED.where(primitive="scan")
    assert names(CLOSED.producers(sin.outvars[0])) == ["sin"]
    assert CLOSED.producers(CLOSED.jaxpr.invars[0]) == []
    assert names(CLOSED.users(sin.outvars[0])) == ["mul"]
    assert "scan" in names(CLOSED.users(CLOSED.jaxpr.invars[0]))
    assert scan in list(CLOSED.jaxpr.walk())


def test_an_equation_prints_itself():
    (sin,) = CLOSED.where(primitive="sin")
    assert str(sin) == repr(sin) == "a:f32[3] = sin b"
    (iota,) = jax.make_jaxpr(lambda: lax.iota(jnp.int32, 3))().eqns
    assert str(iota) == "a:i32[3] = iota[dimension=0 dtype=int32 shape=(3,) sharding=None]"


def test_a_function_of_the_package_has_the_line_that_asks():
    """It holds none of the user's lines, so that a program of it, traced elsewhere before, would name another one."""
    jax.jit(jnp.sin).trace(1.0)
    first = jax.make_jaxpr(jnp.sin)(1.0)
    second = jax.make_jaxpr(jnp.sin)(1.0)
    here = test_a_function_of_the_package_has_the_line_that_asks.__code__.co_firstlineno
    for closed, line in ((first, here + 3), (second, here + 4)):
        assert [f":{line}:" in str(eqn.source_info) for eqn in closed.eqns] == [True]


def test_programs_made_of_variables_with_and_without_a_suffix():
    aval = jax.core.ShapedArray((), "float32")
    for x, y in ((jax.core.Var(aval), jax.core.Var(aval)), (jax.core.Var("", aval), jax.core.Var("", aval))):
        eqn = jax.core.new_jaxpr_eqn([x], [y], lax.sin_p, {}, jax.core.no_effects)
        jaxpr = jax.core.Jaxpr([], [x], [y], [eqn])
        assert str(jaxpr) == "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"
        assert jax.core.eval_jaxpr(jaxpr, [], 0.0) == [0.0]
