"""Names of axes: which trace binds them, and what remembers that it depends on them."""

import threading

import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.named_axes import Axis, axis_size, binding, bound_axes, names_of_jaxpr


def test_what_a_trace_binds():
    seen = []

    def look(x):
        seen.append([axis for axis in bound_axes() if axis.has_name])
        return x

    jax.vmap(jax.vmap(jax.jit(look), axis_name="j"), axis_name="i")(jnp.ones((3, 2)))
    assert seen == [[Axis(2, "j"), Axis(3, "i")]]
    assert bound_axes() == []
    inner = jax.make_jaxpr(jax.jit(lambda x: lax.psum(x, ("i", 0))), axis_env=[("i", 2)])(jnp.ones(3))
    assert names_of_jaxpr(inner.jaxpr) == {"i"}
    assert str(jax.parse_jaxpr(str(inner))) == str(inner)


def test_a_name_is_part_of_what_a_jitted_function_remembers():
    sizes = []
    f = jax.jit(lambda x: (sizes.append(lax.psum(1, "i")), x * lax.psum(1, "i"))[1])
    for n in (2, 3, 2):
        assert jax.vmap(f, axis_name="i")(jnp.ones(n)).tolist() == [n] * n
    assert sizes == [2, 3]
    with pytest.raises(NameError, match="unbound axis name: i"):
        f(jnp.ones(2))
    assert bound_axes() == []


def test_an_exception_leaves_no_name_behind():
    def fails(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jax.vmap(jax.jit(fails), axis_name="i")(jnp.ones(2))
    assert bound_axes() == []


def test_names_belong_to_a_thread_and_the_inner_one_is_meant():
    found = []

    def look():
        with pytest.raises(NameError):
            axis_size("i")
        found.append(bound_axes())

    with binding(Axis(2, "i"), Axis(3, "i")):
        assert axis_size("i") == 3
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert found == [[]]


def test_names_inside_of_what_binds_them_are_not_asked_for():
    mapped = jax.pmap(lambda x: lax.psum(x, ("i", "j")), axis_name="i")
    closed = jax.make_jaxpr(mapped, axis_env=[("j", 1)])(jnp.ones(1))
    assert names_of_jaxpr(closed.jaxpr) == {"j"}
    assert str(jax.parse_jaxpr(str(closed))) == str(closed)


@pytest.mark.parametrize("reduce", [jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.var, jnp.std, jnp.ptp,
                                    jax.nn.logsumexp, jax.scipy.special.logsumexp])
@pytest.mark.parametrize(("names", "axes"), [("i", 0), (("i", 0), (0, 1)), ((1, "i"), (2, 0)), (("i", 0, 1), None)])
def test_reductions_over_named_axes_are_those_over_the_axes(reduce, names, axes):
    x = jnp.sin(jnp.arange(24.0)).reshape(2, 3, 4)
    for f in (reduce, jax.jit(reduce, static_argnames="axis")):
        got = jax.vmap(lambda x, f=f: f(x, axis=names), axis_name="i", out_axes=None)(x)
        assert jnp.allclose(got, reduce(x, axis=axes), rtol=1e-5)


def test_softmax_over_a_named_axis():
    x = jnp.sin(jnp.arange(6.0)).reshape(2, 3)
    got = jax.vmap(lambda x: jax.nn.softmax(x, axis="i"), axis_name="i")(x)
    assert jnp.allclose(got, jax.nn.softmax(x, axis=0), rtol=1e-6)


def test_reductions_over_names_that_are_not():
    with pytest.raises(NameError, match="unbound axis name: i"):
        jnp.sum(jnp.ones(3), axis="i")
    with pytest.raises(NotImplementedError, match=r"Named reductions not implemented for jnp.prod\(\)"):
        jax.vmap(lambda x: jnp.prod(x, axis="i"), axis_name="i")(jnp.ones(3))
    with pytest.raises(TypeError):
        jax.vmap(lambda x: jnp.argmax(x, axis="i"), axis_name="i")(jnp.ones(3))
