"""Products with matrices whose rows begin or end with zeros, of which only the terms between are multiplied."""
import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.runtime.test_blas import product
from tinytrace._runtime import lib
from tinytrace.runtime.ladder import load

M, N, K = 150, 140, 170
ROW, TERM = np.arange(M)[:, None], np.arange(K)
PATTERNS = {
    "lower triangle": TERM <= ROW, "upper triangle": TERM >= ROW, "band": abs(TERM - ROW) < 9,
    "some rows have none": (TERM <= ROW) & (ROW > 40), "nothing": TERM < 0, "one term": (TERM == 169) & (ROW < 200),
    "ends of a block": (TERM >= 16) & (TERM < 48), "every third term": (TERM % 3 == 0) & (TERM > 120),
}


@functools.cache
def loaded(real):
    return load(product(real))


def by_host(a, b, c, trans_a, trans_b, alpha, beta, pad):
    """alpha * a @ b + beta * c, each matrix in rows that are `pad` longer."""
    dtype = c.dtype
    stored = [np.pad(x.T if turned else x, ((0, 0), (0, pad)), constant_values=np.nan)
              for x, turned in ((a, trans_a), (b, trans_b), (c, False))]
    sizes = np.array([trans_a, trans_b, *c.shape, a.shape[1], *(x.shape[1] for x in stored)], np.int64)
    arrays = [sizes, np.array([alpha, beta], dtype), *map(np.ascontiguousarray, stored)]
    loaded("float" if dtype == np.float32 else "double")([x.ctypes.data for x in arrays])
    assert np.isnan(arrays[-1][:, c.shape[1]:]).all()
    return arrays[-1][:, :c.shape[1]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_terms_that_are_zero_make_no_difference(pattern, dtype):
    rng = np.random.default_rng(0)
    a = (rng.standard_normal((M, K)) * PATTERNS[pattern]).astype(dtype)
    a[:, :40] *= -1  # some zeros are negative
    b, c = rng.standard_normal((K, N)).astype(dtype), rng.standard_normal((M, N)).astype(dtype)
    for k, (trans_a, trans_b, is_left, is_narrow) in enumerate(np.ndindex(2, 2, 2, 2)):
        alpha, beta, pad = (1, 0, 0) if k % 3 == 0 else (0.5, 2, 3) if k % 3 == 1 else (1, 1, 16)
        operands = (a, b, c) if is_left else (b.T, a.T, c.T)
        wanted = alpha * (operands[0].astype(float) @ operands[1].astype(float)) + beta * operands[2].astype(float)
        before = lib.tt_set_vectors(0 if is_narrow else 4)
        found = by_host(*operands, trans_a, trans_b, alpha, beta, pad)
        lib.tt_set_vectors(before)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_zero_times_what_is_not_finite_is_not_left_out(bad):
    rng = np.random.default_rng(0)
    a = np.tril(rng.standard_normal((M, M))).astype(np.float32)
    for place in ((M - 1, 0), (M - 1, N - 1), (90, 40)):
        b = rng.standard_normal((M, N)).astype(np.float32)
        b[place] = bad
        for trans_a, trans_b in np.ndindex(2, 2):
            for operands in ((a, b), (b.T, a.T)):
                with np.errstate(invalid="ignore"):
                    wanted = operands[0] @ operands[1]
                found = by_host(*operands, np.zeros_like(wanted), trans_a, trans_b, 1, 0, 0)
                np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    a[3, 100] = bad
    b[place] = 1
    found = by_host(a, b, np.zeros((M, N), np.float32), 0, 0, 1, 0, 0)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(a @ b))


def test_what_follows_a_product_is_done_to_all_of_its_rows():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((300, 300)).astype(np.float32), rng.standard_normal((300, 200)).astype(np.float32)
    found = jax.jit(lambda a, b: jnp.maximum(jnp.tril(a, -50) @ b, 0) + 1)(a, b)
    np.testing.assert_allclose(found, np.maximum(np.tril(a, -50) @ b, 0) + 1, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("size", "to", "method"), [(300, 130, "linear"), (120, 320, "cubic"), (250, 249, "lanczos3")])
def test_images_are_resized_as_by_their_matrices(size, to, method):
    x = np.random.default_rng(0).random((size, size, 3)).astype(np.float32)
    found = jax.jit(lambda x: jax.image.resize(x, (to, to, 3), method, antialias=False))(x)
    weights = np.asarray(jax.image.resize(np.eye(size, dtype=np.float32), (to, size), method, antialias=False))
    wanted = np.einsum("ij,jkc,lk->ilc", weights, x, weights, optimize=True)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)
