"""Factorizations: they multiply to what was factored, and differentiate along symmetric changes."""

import numpy as np
import pytest

import tinytrace as jax
from tinytrace.config import enable_x64
from tinytrace.lax import linalg

rng = np.random.default_rng(5)


def matrix(m, n):
    return rng.normal(size=(m, n))


def positive(n):
    half = matrix(n, n)
    return half @ half.T + np.diag(np.arange(1.0, n + 1) ** 2)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (5, 3), (3, 5), (40, 40)])
def test_factors_multiply_to_the_matrix(m, n):
    a = matrix(m, n).astype(np.float32)
    both, pivots, rows = map(np.asarray, linalg.lu(a))
    k = min(m, n)
    lower, upper = np.tril(both[:, :k], -1) + np.eye(m, k), np.triu(both[:k])
    np.testing.assert_allclose(lower @ upper, a[rows], atol=1e-4)
    swaps = np.arange(m)
    for i, j in enumerate(pivots):
        swaps[[i, j]] = swaps[[j, i]]
    np.testing.assert_array_equal(swaps, rows)
    for full in (False, True):
        q, r = map(np.asarray, linalg.qr(a, full_matrices=full))
        np.testing.assert_allclose(q @ r, a, atol=1e-4)
        np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=1e-5)
        u, s, vt = map(np.asarray, linalg.svd(a, full_matrices=full))
        np.testing.assert_allclose(u[:, :k] * s @ vt[:k], a, atol=1e-4)


@pytest.mark.parametrize("n", [1, 4, 30])
def test_factors_of_symmetric_matrices(n):
    a = positive(n).astype(np.float32)
    factor = np.asarray(linalg.cholesky(a))
    np.testing.assert_allclose(factor @ factor.T, a, rtol=1e-4, atol=1e-3)
    v, w = map(np.asarray, jax.jit(linalg.eigh)(a))
    np.testing.assert_allclose(v * w @ v.T, a, rtol=1e-4, atol=1e-2)
    assert list(w) == sorted(w)


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("lower", [False, True])
def test_small_symmetric_matrices_are_taken_apart_as_by_lapack(n, lower):
    """In the program, with LAPACK's signs and errors, whatever the size of the elements and however many are zero."""
    half = rng.normal(size=(40, n, n))
    a = half + half.mT
    a[1], a[2] = np.eye(n), 0
    a[3, 0], a[3, :, 0] = 0, 0
    with enable_x64(True):
        for size in (1e-300, 1.0, 1e300):
            v, w = map(np.asarray, linalg.eigh(a * size, lower=lower, symmetrize_input=False))
            expected = [np.linalg.eigh(x, "L" if lower else "U") for x in a]
            np.testing.assert_allclose(w / size, [x.eigenvalues for x in expected], atol=1e-14 * n)
            np.testing.assert_allclose(v[4:], [x.eigenvectors for x in expected[4:]], atol=1e-10)
            np.testing.assert_allclose(v.mT @ v, np.broadcast_to(np.eye(n), a.shape), atol=1e-14)
    v, w = map(np.asarray, jax.jit(linalg.eigh)(a.astype(np.float32)))
    a = a.astype(np.float32).astype(float)  # computed in doubles, and rounded once
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=1e-6, atol=1e-12)
    residuals = np.linalg.norm(a @ v - w[:, None] * v, axis=(1, 2))
    assert np.all(residuals <= 1.5e-7 * np.linalg.norm(a, axis=(1, 2)))


@pytest.mark.parametrize("lower", [False, True])
def test_what_counts_of_a_matrix_that_is_not_symmetric(lower):
    """Its symmetric part, or, where the caller says that there is no need to compute it, one triangle."""
    a = matrix(4, 4).astype(np.float32)
    half = np.tril(a) if lower else np.triu(a)
    for symmetrize, meant in ((True, (a + a.T) / 2), (False, half + half.T - np.diag(np.diag(a)))):
        w = linalg.eigh(a, lower=lower, symmetrize_input=symmetrize)[1]
        np.testing.assert_allclose(w, np.linalg.eigvalsh(meant), atol=1e-5)


@pytest.mark.parametrize("function", [linalg.cholesky, lambda a: linalg.eigh(a)[1], lambda a: linalg.eigh(a)[0]])
def test_derivatives_along_symmetric_changes(function):
    with enable_x64(True):
        a, change = positive(4), matrix(4, 4)
        change = change + change.T
        out, slope = jax.jvp(function, (a,), (change,))
        step = 1e-6
        ahead, behind = (np.asarray(function(a + sign * step * change)) for sign in (1, -1))
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-6)
        pulled, = jax.vjp(function, a)[1](np.ones_like(out))
        assert np.vdot(pulled, change) == pytest.approx(float(np.sum(np.asarray(slope))), rel=1e-8)


def test_failure_is_nan_in_that_matrix_only():
    out = np.asarray(linalg.cholesky(np.float32([[[-1.0]], [[4.0]]])))
    assert np.isnan(out[0, 0, 0])
    assert out[1, 0, 0] == 2
    assert np.isnan(np.asarray(linalg.eigh(np.full((2, 2), np.nan, np.float32))[1])).all()


@pytest.mark.parametrize(("a", "b", "left_side", "message"), [
    ((3,), (3, 1), True, "a.ndim to be at least 2"),
    ((3, 2), (3, 1), True, "equal in size"),
    ((2, 3, 3), (3, 3, 1), True, "equal batch dimensions"),
    ((3, 3), (2, 3), True, "Incompatible shapes"),
    ((3, 3), (3, 2), False, "Incompatible shapes"),
])
def test_triangular_solve_says_what_does_not_fit(a, b, left_side, message):
    with pytest.raises(TypeError, match=message):
        linalg.triangular_solve(np.ones(a, np.float32), np.ones(b, np.float32), left_side=left_side)
