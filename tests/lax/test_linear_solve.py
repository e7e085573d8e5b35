"""lax.custom_linear_solve: the derivative of a solution is the solution of another equation."""

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace.lax import linalg

rng = np.random.default_rng(5)
a = (rng.uniform(-1, 1, (3, 3)) + 3 * np.eye(3)).astype(np.float32)
b, da, db = rng.uniform(-1, 1, 3).astype(np.float32), *(rng.uniform(-1, 1, s).astype(np.float32) for s in ((3, 3), 3))


def solve(a, b):
    """Solve by elimination, a program that differentiation is not to look into."""
    def eliminate(matrix):
        def run(_, b):
            packed, _, order = linalg.lu(matrix)
            b = lax.reshape(lax.gather(b, order[:, None], lax.GatherDimensionNumbers((), (0,), (0,)), (1,)), (3, 1))
            b = linalg.triangular_solve(packed, b, left_side=True, lower=True, unit_diagonal=True)
            return lax.reshape(linalg.triangular_solve(packed, b, left_side=True), (3,))
        return run

    fixed = lax.stop_gradient(a)
    return lax.custom_linear_solve(lambda x: lax.dot(a, x), b, eliminate(fixed), eliminate(fixed.T))


@pytest.mark.not_quick
@pytest.mark.parametrize("solve", [solve, jax.jit(solve)], ids=["interpreted", "compiled"])
def test_derivatives_in_matrix_and_right_side(solve):
    np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b), rtol=1e-5)
    x, dx = jax.jvp(solve, (a, b), (da, db))
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-5)
    np.testing.assert_allclose(dx, np.linalg.solve(a, db - da @ np.asarray(x)), rtol=1e-4, atol=1e-6)
    ct_a, ct_b = jax.vjp(solve, a, b)[1](db)
    np.testing.assert_allclose(ct_b, np.linalg.solve(a.T, db), rtol=1e-4)
    np.testing.assert_allclose(ct_a, -np.outer(ct_b, x), rtol=1e-4, atol=1e-6)
    hessian = jax.jacfwd(jax.jacrev(lambda b: (solve(a * (1 + b[0]), b) ** 2).sum()))(b)
    np.testing.assert_allclose(hessian, np.asarray(hessian).T, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("axes", [(0, None), (None, 1), (0, 0), (2, 1)])
def test_vmap_is_a_stack_of_calls(axes):
    many = [(a + k * np.eye(3, dtype=np.float32) if axes[0] is not None else a, b + k if axes[1] is not None else b)
            for k in range(4)]
    args = [x[0] if axis is None else np.stack(x, axis) for x, axis in zip(zip(*many, strict=True), axes, strict=True)]
    want = np.stack([np.linalg.solve(*pair) for pair in many])
    np.testing.assert_allclose(jax.vmap(solve, axes)(*args), want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(solve, axes))(*args), want, rtol=1e-4, atol=1e-6)
    pulled = jax.vmap(jax.grad(lambda a, b: (solve(a, b) * db).sum(), 1), axes)(*args)
    np.testing.assert_allclose(pulled, np.stack([np.linalg.solve(x.T, db) for x, _ in many]), rtol=1e-4, atol=1e-6)
