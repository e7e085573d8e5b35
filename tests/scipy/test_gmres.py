"""Solutions in Krylov spaces: of matrices and functions, real and complex, with their derivatives."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.scipy.sparse.linalg import gmres


@pytest.mark.not_quick
@pytest.mark.parametrize(("method", "n", "dtype", "restart"), [
    ("batched", 6, "complex64", 20), ("incremental", 30, "float32", 8)])
def test_solutions(method, n, dtype, restart):
    drawn = np.random.RandomState(n)
    a, b = drawn.randn(n, n).astype(dtype) + 3 * np.sqrt(n) * np.eye(n, dtype=dtype), drawn.randn(n).astype(dtype)
    if dtype == "complex64":
        a += 1j * drawn.randn(n, n).astype("float32")
    x, info = jax.jit(lambda b: gmres(a, b, restart=restart, solve_method=method))(b)
    assert info == 0
    np.testing.assert_allclose(x, np.linalg.solve(a, b), atol=1e-5)
    if dtype == "float32":
        inverse = jax.jacrev(lambda b: gmres(a, b, solve_method=method)[0])(b)
        np.testing.assert_allclose(inverse, np.linalg.inv(a), atol=1e-4)


@pytest.mark.not_quick
def test_trees_and_preconditioners():
    def multiply(t):
        return {"a": 2 * t["a"], "b": t["b"] + t["a"].sum()}

    b = {"a": jnp.ones(2), "b": jnp.array(3.0)}
    for inverse in (None, lambda t: {"a": t["a"] / 2, "b": t["b"]}):
        x, _ = gmres(multiply, b, M=inverse)
        np.testing.assert_allclose(x["a"], [0.5, 0.5], atol=1e-6)
        np.testing.assert_allclose(x["b"], 2.0, atol=1e-5)
    assert gmres(multiply, b, x0=x)[0]["b"] == x["b"]


def test_what_is_refused():
    with pytest.raises(ValueError, match="matching tree structure"):
        gmres(jnp.eye(2), jnp.ones(2), x0=[jnp.ones(2)])
    with pytest.raises(ValueError, match="invalid solve_method fast"):
        gmres(jnp.eye(2), jnp.ones(2), solve_method="fast")
    with pytest.raises(ValueError, match="must be a square matrix"):
        gmres(jnp.ones((2, 3)), jnp.ones(2))
