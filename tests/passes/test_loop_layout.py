"""Matrices that the turns of a loop multiply row by row are transposed once, before the loop."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.passes.simplify import simplify

DRAWN = np.random.RandomState(0)
W, STACK = (DRAWN.rand(*shape).astype("float32") / 40 for shape in ((40, 40), (4, 40, 40)))
V = DRAWN.rand(40).astype("float32")


def scanned(of):
    return lambda w, v: lax.fori_loop(0, 9, lambda i, v: of(w, v), v)


def waiting(of):
    return lambda w, v: lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, of(w, s[1])), (0, v))[1]


def names(f, *args):
    return [eqn.primitive.name for eqn in simplify(jax.make_jaxpr(f)(*args)).jaxpr.eqns]


@pytest.mark.parametrize("loop", [scanned, waiting])
@pytest.mark.parametrize(("of", "w"), [
    (lambda w, v: w @ v, W),
    (lambda w, v: jnp.einsum("ij,j->i", w, v) + w @ (v + 1), W),
    (lambda w, v: jnp.max(jnp.einsum("asn,n->as", w, v), 0), STACK),
])
def test_what_is_read_by_rows_is_transposed_once(loop, of, w):
    assert names(loop(of), w, V).count("transpose") == 1
    with jax.disable_jit():
        want = loop(of)(w, jnp.asarray(V))
    np.testing.assert_allclose(jax.jit(loop(of))(w, V), want, rtol=1e-4)


@pytest.mark.parametrize("loop", [scanned, waiting])
@pytest.mark.parametrize(("of", "w"), [
    (lambda w, v: v @ w, W),  # reads columns
    (lambda w, v: jnp.einsum("ji,j->i", w, v), W),
    (lambda w, v: jnp.einsum("asn,as->n", w, jnp.stack([v] * 4)), STACK),
    (lambda w, v: (w[:1] @ v) * v, W),  # one row
    (lambda w, v: (w * v[0]) @ v, W),  # another matrix in each turn
])
def test_other_products_stay(loop, of, w):
    assert "transpose" not in names(loop(of), w, V)


def test_a_transpose_that_there_is_is_read():
    assert names(lambda w, v: (w.T, scanned(lambda w, v: w @ v)(w, v)), W, V).count("transpose") == 1
    assert names(lambda w, v: scanned(lambda w, v: w @ v)(w.T, v) + w.sum(), W, V).count("transpose") == 0
