"""Minimization takes JAX 0.4.35's steps: as many evaluations, and the same ends."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.scipy.optimize import minimize


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(p):
    return (p[0] ** 2 + p[1] - 11.0) ** 2 + (p[0] + p[1] ** 2 - 7) ** 2


def eggholder(p):
    x, y = p
    return -(y + 47) * jnp.sin(jnp.sqrt(jnp.abs(x / 2 + y + 47))) - x * jnp.sin(jnp.sqrt(jnp.abs(x - (y + 47))))


# Rosenbrock's function is started where the steps do not hang on the last bit: from 0.8, JAX takes 48, 45, 43 or 33
# evaluations for four neighbouring floats, and fails or succeeds; from 0.1 and 0.3 it takes the same for all four.
OF_JAX = {  # success, status, nfev, nit, x
    "himmelblau": (himmelblau, jnp.ones(2), True, 0, 13, 8, [3, 2]),
    "matyas": (lambda p: 0.26 * (p[0] ** 2 + p[1] ** 2) - 0.48 * p[0] * p[1], 3 * jnp.ones(2), True, 0, 6, 3, [0, 0]),
    "eggholder": (eggholder, 100 * jnp.ones(2), True, 0, 12, 10, [97.27335, 111.09956]),
    "rosenbrock": (rosenbrock, jnp.full(4, 0.3), False, 3, 31, 19, None),
    "rosenbrock from 0.1": (rosenbrock, jnp.full(4, 0.1), False, 3, 22, 13, None),
    "a line": (lambda x: x.sum(), jnp.ones(2), False, 5, 11, 1, [1, 1]),
}


@pytest.mark.not_quick
@pytest.mark.parametrize("name", OF_JAX)
def test_the_steps_are_those_of_jax(name):
    fun, x0, success, status, nfev, nit, x = OF_JAX[name]
    found = jax.jit(lambda x0: minimize(fun, x0, method="BFGS"))(x0)
    assert (bool(found.success), int(found.status), int(found.nfev), int(found.njev), int(found.nit)) == (
        success, status, nfev, nfev, nit)
    if x is not None:
        np.testing.assert_allclose(found.x, x, rtol=1e-5, atol=1e-5)


Z = np.array([1, 2 - 3j, -5j], np.complex64)
OF_JAX_BY_LBFGS = {  # options, success, status, nfev, nit, x
    "rosenbrock": (rosenbrock, jnp.zeros(4), {}, False, 5, 16, 7, None),
    "himmelblau": (himmelblau, jnp.ones(2), {"maxcor": 2}, False, 5, 14, 8, None),
    "evaluations": (rosenbrock, jnp.zeros(4), {"maxfun": 5}, False, 2, 8, 2, None),
    "complex": (lambda z: jnp.real(jnp.dot(jnp.conj(z - Z), z - Z)), jnp.zeros(3, "complex64"), {"gtol": 1e-6},
                True, 0, 3, 1, Z),
}


@pytest.mark.not_quick
@pytest.mark.parametrize("name", OF_JAX_BY_LBFGS)
def test_the_steps_of_lbfgs_are_those_of_jax(name):
    fun, x0, options, success, status, nfev, nit, x = OF_JAX_BY_LBFGS[name]
    found = jax.jit(lambda x0: minimize(fun, x0, method="l-bfgs-experimental-do-not-rely-on-this", options=options))(x0)
    assert (bool(found.success), int(found.status), int(found.nfev), int(found.njev), int(found.nit)) == (
        success, status, nfev, nfev, nit)
    assert found.hess_inv is None
    if x is not None:
        np.testing.assert_allclose(found.x, x, rtol=1e-5, atol=1e-5)


@pytest.mark.not_quick
def test_minima_in_double_precision_and_in_batches():
    with jax.enable_x64(True):
        found = minimize(himmelblau, jnp.ones(2), method="bfgs")
        assert found.success
        np.testing.assert_allclose(found.x, [3, 2], rtol=1e-6)
    starts = jnp.array([[1.0, 1.0], [-3.0, 3.0]])
    found = jax.vmap(lambda x: minimize(himmelblau, x, method="BFGS"))(starts)
    np.testing.assert_allclose(found.x, [[3, 2], [-2.805118, 3.131312]], rtol=1e-4)


def test_arguments():
    found = minimize(lambda x, a: ((x - a) ** 2).sum(), jnp.zeros(2), (4.0,), method="BFGS", options={"maxiter": 1})
    assert int(found.nit) <= 1
    assert int(minimize(rosenbrock, jnp.zeros(4), method="BFGS", options={"maxiter": 3}).status) == 1
    assert minimize(rosenbrock, jnp.zeros(2), method="BFGS", tol=1e3).nit == 0
    with pytest.raises(TypeError, match="must be a tuple, got 3"):
        minimize(himmelblau, jnp.ones(2), 3, method="BFGS")
    with pytest.raises(ValueError, match="Method x not recognized"):
        minimize(himmelblau, jnp.ones(2), method="x")
