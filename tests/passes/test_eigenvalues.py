"""Eigenvectors that nobody reads are not computed; what somebody reads is."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify

A = np.random.default_rng(0).standard_normal((2, 12, 12)).astype(np.float32)
eigh = jax.lax.linalg.eigh


def lowered(function, x=A):
    closed = simplify(jax.make_jaxpr(function)(x))
    check_jaxpr(closed)
    assert str(simplify(closed)) == str(closed)
    return [eqn.primitive.name for eqn in closed.eqns]


@pytest.mark.parametrize("function", [
    jnp.linalg.eigvalsh, lambda x: jnp.linalg.eigvalsh(x, "U"), lambda x: eigh(x, subset_by_index=(1, 3))[1],
    lambda x: jnp.linalg.eigvalsh(x + 1j * x)])
def test_eigenvalues_alone(function):
    names = lowered(function)
    assert "eigh_values" in names
    assert "eigh" not in names
    with interpreting():
        want = np.asarray(function(A))
    np.testing.assert_allclose(jax.jit(function)(A), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("function", "x"), [
    (jnp.linalg.eigh, A), (lambda x: eigh(x)[0], A), (lambda x: jnp.linalg.eigvalsh(x), A[:, :8, :8]),
    (jax.grad(lambda x: jnp.linalg.eigvalsh(x).sum()), A)])
def test_vectors_that_are_read_stay(function, x):
    assert "eigh_values" not in lowered(function, x)


def test_what_is_not_finite_has_no_eigenvalues():
    x = A.copy()
    x[0, 3, 4] = np.nan
    found = np.asarray(jax.jit(jnp.linalg.eigvalsh)(x))
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
