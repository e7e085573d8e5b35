"""Batching rules of one's own: laws, and where JAX says less; the rest is goldens/custom_batching.txt."""
from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import jit, jvp, vmap
from tinytrace.custom_batching import custom_vmap, sequential_vmap

XS = jnp.array([0.5, -1.5, 2.0])


@custom_vmap
def product(x, y):
    return jnp.sin(x) * y


@product.def_vmap
def product_rule(axis_size, in_batched, x, y):
    return jnp.sin(x) * y, in_batched[0] or in_batched[1]


def plain(x, y):
    return jnp.sin(x) * y


@pytest.mark.parametrize("axes", list(itertools.product([0, None], repeat=4))[:-1], ids=str)
def test_vmap_of_jvp_is_that_of_the_function(axes):
    """Whichever of the primals and the tangents are batched; JAX gives an axis too many when they differ."""
    args = [(k + 1) * XS if axis == 0 else 0.3 * k for k, axis in enumerate(axes)]

    def moved(f):
        return vmap(lambda x, y, x_dot, y_dot: jvp(f, (x, y), (x_dot, y_dot)), axes)(*args)

    for got, want in zip(moved(product), moved(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_second_derivatives_under_vmap():
    def second(f):
        return vmap(lambda x, y: jvp(lambda x: jvp(lambda x: f(x, y), (x,), (2.0,))[1], (x,), (y,)), (0, None))(XS, 0.7)

    for got, want in zip(second(product), second(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_integers_are_batched_with_their_primals():
    @custom_vmap
    def f(n, x):
        return n + 1, n * x

    @f.def_vmap
    def rule(axis_size, in_batched, n, x):
        assert in_batched == [True, True]
        return (n + 1, n * x), (True, True)

    def run(x, t):
        n = jnp.arange(3)
        return vmap(lambda n, x, t: jvp(lambda x: f(n, x), (x,), (t,)))(n, x, t)

    for transformed in (run, jit(run)):
        (n, y), (n_dot, y_dot) = transformed(XS, XS)
        np.testing.assert_array_equal(n, [1, 2, 3])
        np.testing.assert_array_equal(y, np.arange(3) * np.asarray(XS))
        np.testing.assert_array_equal(y_dot, np.arange(3) * np.asarray(XS))
        assert n_dot.dtype == jax.float0


def test_a_batched_value_that_the_function_closes_over_is_refused():
    def f(k):
        g = custom_vmap(lambda x: x * k)
        g.def_vmap(lambda n, b, x: (x, b[0]))
        return g(1.0)

    with pytest.raises(ValueError, match=r"closes over a value that vmap maps.*pass the value as an argument"):
        vmap(f)(XS)


@pytest.mark.parametrize("out", [lambda x: x[0], lambda x: x[:2]], ids=["scalar", "short"])
def test_an_output_without_the_axis_of_the_batch_is_refused(out):
    f = custom_vmap(lambda x: x)
    f.def_vmap(lambda n, b, x: (out(x), True))
    with pytest.raises(ValueError, match=r"output of type f32\[2?\] is batched, but .* size of the batch, 3"):
        vmap(f)(XS)


def test_reverse_mode_says_what_to_do():
    with pytest.raises(NotImplementedError, match="Transpose rule") as info:
        jax.grad(product)(1.0, 2.0)
    assert "put a custom_vjp around" in info.value.__notes__[0]
    around = jax.custom_vjp(product)
    around.defvjp(lambda x, y: (product(x, y), (x, y)), lambda res, ct: (ct * jnp.cos(res[0]) * res[1], ct))
    np.testing.assert_allclose(vmap(jax.grad(around), (0, None))(XS, 2.0), 2 * np.cos(XS), rtol=1e-6)


@pytest.mark.parametrize("f", [product, jit(product)], ids=["plain", "jit"])
def test_linearize_knows_the_value(f):
    y, move = jax.linearize(f, 1.0, 2.0)
    np.testing.assert_allclose(y, 2 * np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(move(0.5, 0.0), np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(vmap(move, (0, None))(XS, 0.0), 2 * np.cos(1.0) * XS, rtol=1e-6)


def test_effects_stay(capsys):
    f = custom_vmap(lambda x: (jax.debug.print("x = {}", x), x)[1])
    f.def_vmap(lambda n, b, x: (x, b[0]))
    jit(f)(1.0)
    assert capsys.readouterr().out == "x = 1.0\n"


def test_rules_of_several_kinds_on_one_function():
    """`def...` reaches the rules of all decorators, in whichever order they stand."""
    for decorators in itertools.permutations([jax.custom_jvp, custom_vmap]):
        f = plain
        for decorate in decorators:
            f = decorate(f)
        f.defjvp(lambda primals, tangents: (plain(*primals), 10.0 * tangents[0]))
        f.def_vmap(lambda n, b, x, y: (x + y, True))
        np.testing.assert_allclose(vmap(f, (0, None))(XS, 1.0), XS + 1.0)
    with pytest.raises(AttributeError, match="'custom_vmap' object has no attribute 'default'"):
        custom_vmap(plain).default  # noqa: B018


def test_it_can_be_pickled():
    again = pickle.loads(pickle.dumps(product))
    assert again is product
    np.testing.assert_array_equal(vmap(again, (0, None))(XS, 2.0), vmap(product, (0, None))(XS, 2.0))


def test_sequential_vmap_is_a_scan():
    text = str(jax.make_jaxpr(vmap(sequential_vmap(lambda x: x + 1)))(XS))
    assert text.count("scan[") == 1
