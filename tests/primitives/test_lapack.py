"""Compiled factorizations start no Python, need no LAPACK, and do not depend on threads; in blocks and without."""

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tinytrace as jax
from tests.primitives import domains
from tests.primitives.test_registry import interpreted, turned
from tinytrace._runtime import lib
from tinytrace.config import enable_x64
from tinytrace.core.avals import aval_of
from tinytrace.core.kinds import HostCall
from tinytrace.core.primitive import registry
from tinytrace.lax import linalg
from tinytrace.primitives.lapack import OnMatrices
from tinytrace.runtime.threads import num_threads, set_num_threads

rng = np.random.default_rng(3)
FACTORIZATIONS = [p for p in registry.values() if isinstance(p, OnMatrices)]
each_primitive = pytest.mark.parametrize("primitive", FACTORIZATIONS, ids=lambda p: p.name)


def matrices(*shape, dtype="float32", rng=rng):
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def positive(*shape, dtype="float32"):
    a = matrices(*shape, dtype=dtype)
    return (a @ a.conj().mT / shape[-1] + np.eye(shape[-1])).astype(dtype)


def everything(a, b):
    """Some factorization of each kind, of matrices and of one of all of them."""
    vectors, values = linalg.eigh(a)
    return [linalg.cholesky(a), *linalg.lu(b), *linalg.qr(b), values, vectors, *linalg.svd(b, full_matrices=False),
            *linalg.eig(b), linalg.triangular_solve(a, b), linalg.triangular_solve(a, b, left_side=True, lower=True)]


def in_blocks(a, b):
    """What is computed in blocks where matrices are large."""
    return [linalg.cholesky(a), *linalg.lu(b), linalg.triangular_solve(a, b, left_side=True, lower=True)]


@each_primitive
def test_no_factorization_calls_python(primitive):
    for sample in domains.samples(primitive.name):
        avals = [aval_of(x) for x in sample.args]
        outs = primitive.abstract_eval(*avals, **sample.params)
        kind = primitive.lower(avals, outs if primitive.multiple_results else [outs], **sample.params)
        assert not isinstance(kind, HostCall), sample


@each_primitive
def test_without_lapack_numpy_computes_them(primitive):
    before = lib.tt_lapack_set_found(False)
    try:
        for sample in domains.samples(primitive.name)[:2]:
            args = [np.stack([x] * 3) for x in sample.args] if np.ndim(sample.args[0]) == 2 else sample.args
            sample = dataclasses.replace(sample, args=args)
            outs = jax.jit(lambda *args, sample=sample: primitive.bind(*args, **sample.params))(*args)
            outs = outs if primitive.multiple_results else [outs]
            for k, (out, expected) in enumerate(zip(outs, interpreted(primitive, sample), strict=True)):
                np.testing.assert_allclose(turned(primitive, k, out), turned(primitive, k, expected), 2e-2, 2e-2)
    finally:
        lib.tt_lapack_set_found(before)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("found", [True, False], ids=["LAPACK", "NumPy"])
def test_schur_forms_are_triangular_but_for_blocks_of_two(dtype, found):
    before = lib.tt_lapack_set_found(False)
    lib.tt_lapack_set_found(found and before)
    try:
        with enable_x64(True):
            for a in (matrices(2, 9, 9, dtype=dtype), np.eye(3, k=1, dtype=dtype), np.zeros((1, 1), dtype),
                      np.roll(np.eye(3, dtype=dtype), 1, 0)):
                t, z = map(np.asarray, jax.jit(linalg.schur)(a))
                np.testing.assert_allclose(z @ t @ z.conj().mT, a, atol=1e-12)
                np.testing.assert_allclose(z @ z.conj().mT, np.broadcast_to(np.eye(a.shape[-1]), a.shape), atol=1e-12)
                assert not np.tril(t, -1 if dtype == "complex128" else -2).any()
                below, diagonal = np.diagonal(t, -1, -2, -1), np.diagonal(t, 0, -2, -1)
                assert not (below[..., 1:] * below[..., :-1]).any()
                blocks = below != 0
                np.testing.assert_allclose(diagonal[..., 1:][blocks], diagonal[..., :-1][blocks], atol=1e-12)
    finally:
        lib.tt_lapack_set_found(before)


@pytest.mark.parametrize("lower", [True, False])
def test_transposes_of_tridiagonal_systems_are_those_of_their_matrices(lower):
    low, mid, up = np.float32([0, 1, 2, 3]), np.float32([5, 6, 7, 8]), np.float32([1, -1, 2, 0])
    if lower:
        up = 0 * up
    a, b = np.diag(low[1:], -1) + np.diag(mid) + np.diag(up[:-1], 1), matrices(4, 2)

    def solve(b):
        return linalg.tridiagonal_solve(low, mid, up, b)

    np.testing.assert_allclose(a @ np.asarray(solve(b)), b, 1e-5, 1e-6)
    np.testing.assert_allclose(a.T @ np.asarray(jax.linear_transpose(solve, b)(b)[0]), b, 1e-5, 1e-6)


@pytest.mark.parametrize(("shape", "dtype"), [
    ((0, 3, 3), "float32"), ((2, 0, 0), "complex64"), ((1, 1), "complex64"), ((3, 2, 4, 4), "float32"),
    ((33, 33), "complex64"), ((2, 3, 3), "float16")], ids=str)
def test_shapes_at_the_edges(shape, dtype):
    a, b = positive(*shape, dtype=dtype), matrices(*shape, dtype=dtype)
    got = jax.jit(everything)(a, b)
    for out, aval in zip(got, jax.eval_shape(everything, a, b), strict=True):
        assert (out.shape, out.dtype) == (aval.shape, aval.dtype)
        assert np.isfinite(np.asarray(out).astype(np.complex64)).all()


@pytest.mark.parametrize(("m", "n"), [(3, 0), (0, 3)])
def test_squares_beside_empty_matrices_are_identities(m, n):
    empty = np.zeros((2, m, n), np.float32)
    q, r = linalg.qr(empty, full_matrices=True)
    u, s, vt = linalg.svd(empty, full_matrices=True)
    for square, size in ((q, m), (u, m), (vt, n)):
        np.testing.assert_array_equal(square, np.stack([np.eye(size)] * 2))
    assert r.shape == (2, m, n)
    assert s.shape == (2, 0)


@pytest.mark.parametrize("n", [8, 40])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_what_cannot_be_factored_is_nan_in_that_matrix_only(n, dtype):
    good, bad = positive(n, n, dtype=dtype), positive(n, n, dtype=dtype)
    bad[n // 2, n // 2] = np.nan
    for function in (lambda a: [linalg.cholesky(a, symmetrize_input=False)],
                     lambda a: linalg.eigh(a, symmetrize_input=False), linalg.svd, linalg.eig):
        for out in function(np.stack([bad, good])):
            assert np.isnan(out[0]).any()
            assert np.isfinite(out[1]).all()
    negative = np.asarray(linalg.cholesky(np.stack([-good, good])))
    assert np.isnan(negative[0, np.arange(n), np.arange(n)]).all()
    assert np.isfinite(negative[1]).all()


@pytest.mark.parametrize("n", [5, 40])
def test_singular_systems_give_what_lapack_gives(n):
    a = np.ones((n, n), np.float32)
    assert not np.isfinite(jax.numpy.linalg.solve(a, np.arange(n, dtype=np.float32))).all()
    assert jax.numpy.linalg.det(a) == 0
    assert jax.numpy.linalg.slogdet(a)[1] == -np.inf


LARGE = {"float32": 400, "complex64": 390}


@pytest.mark.not_quick
@pytest.mark.parametrize("dtype", LARGE)
def test_blocks_of_large_matrices_make_the_whole(dtype):
    n = LARGE[dtype]
    a, b = positive(n, n, dtype=dtype), matrices(n, n + 30, dtype=dtype)
    factor = np.asarray(linalg.cholesky(a))
    np.testing.assert_allclose(factor @ factor.conj().T, a, atol=2e-5)
    assert not np.triu(factor, 1).any()
    for x in (b, b.T):
        both, _, rows = map(np.asarray, linalg.lu(x))
        k = min(x.shape)
        lower, upper = np.tril(both[:, :k], -1) + np.eye(*both[:, :k].shape), np.triu(both[:k])
        np.testing.assert_allclose(lower @ upper, x[rows], atol=2e-3)
    indefinite = a.copy()
    indefinite[n - 2, n - 2] = -1
    assert np.isnan(np.asarray(linalg.cholesky(indefinite))).any()


@pytest.mark.pairs
@pytest.mark.not_quick
@pytest.mark.parametrize("level", [4, 3, 0], ids=lambda level: f"vectors of level {level}")
@pytest.mark.parametrize("shape", [(64, 64), (65, 65), (130, 200), (200, 130), (256, 256)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_pivots_are_the_largest_of_their_columns(level, shape, dtype):
    """Of equal elements the first is taken: rows 3 and 5 are equal, and stay so within the first panel of columns. What
    a BLAS subtracts then it may round differently by where a row stands: then it may be either of the two. The numbers
    are the same in every run: of some, two rows that are not equal differ by no more than is rounded."""
    before = lib.tt_set_vectors(level)
    try:
        with enable_x64(True):
            a = matrices(*shape, dtype=dtype, rng=np.random.default_rng(0))
            a[5] = a[3]
            (ours, pivots, rows), (theirs, their_pivots, their_rows) = (
                map(np.asarray, results) for results in (linalg.lu(a), registry["lu"].impl(a)))
    finally:
        lib.tt_set_vectors(before)
    np.testing.assert_array_equal(rows, exchanged(shape[0], pivots))
    if max(shape) <= 65 and dtype != "complex128":  # of complex numbers a BLAS does so in the first panel, too
        np.testing.assert_array_equal(pivots, their_pivots)
    k = min(shape)
    rows, their_rows = (np.where(each == 5, 3, each) for each in (rows, their_rows))
    np.testing.assert_array_equal(rows[:k], their_rows[:k])
    left, theirs_left = (k + each[k:].argsort(kind="stable") for each in (rows, their_rows))
    np.testing.assert_array_equal(rows[left], their_rows[theirs_left])
    atol = 1e-2 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(ours[:k], theirs[:k], atol=atol)
    np.testing.assert_allclose(ours[left], theirs[theirs_left], atol=atol)


def exchanged(count, pivots):
    """Which rows stand where after the exchanges."""
    rows = np.arange(count)
    for i, pivot in enumerate(pivots):
        rows[[i, pivot]] = rows[[pivot, i]]
    return rows


def check_qr(a, full, scale=1.0):
    """It is one, and LAPACK's, which NumPy calls: the same signs, whatever the elements' size."""
    m, n = a.shape
    wide, k = np.finfo(a.dtype).eps * 50 * max(m, n) ** 0.5, min(m, n)
    q, r = (np.asarray(x).astype(np.float64) for x in linalg.qr(a, full_matrices=full))
    assert q.shape == (m, m if full else k)
    np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=wide)
    np.testing.assert_allclose(q @ (r / scale), a.astype(np.float64) / scale, atol=wide)
    assert not np.tril(r, -1).any()
    np.testing.assert_array_equal(np.sign(np.diagonal(r)), np.sign(np.diagonal(np.linalg.qr(a.astype(np.float64))[1])))


@pytest.mark.not_quick
@pytest.mark.parametrize("level", [4, 3, 0], ids=lambda level: f"vectors of level {level}")
@pytest.mark.parametrize("shape", [(33, 33), (64, 40), (40, 64), (65, 97), (130, 70), (257, 129), (300, 1), (1, 300),
                                   (500, 33)], ids=str)  # fmt: skip
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reflections_of_columns_make_the_whole(level, shape, full, dtype):
    before = lib.tt_set_vectors(level)
    try:
        with enable_x64(True):
            a = matrices(*shape, dtype=dtype, rng=np.random.default_rng(sum(shape)))  # no diagonal is nearly zero
            for scale in (1.0, 2.0 ** -100, 2.0 ** 100):
                check_qr(a * np.dtype(dtype).type(scale), full, scale)
    finally:
        lib.tt_set_vectors(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(70, 35), (35, 70), (100, 54), (99, 54), (300, 1), (1, 300), (33, 200), (5, 40)],
                         ids=str)  # fmt: skip
def test_singular_values_of_long_matrices_are_those_of_a_triangle(dtype, shape):
    """Also where LAPACK begins with no QR. Signs of its vectors depend on what is rounded: of one matrix in fifty some
    are another BLAS's turned round."""
    with enable_x64(True):
        a, k = matrices(*shape, dtype=dtype, rng=np.random.default_rng(sum(shape))), min(shape)
        wide = np.finfo(dtype).eps * 1000
        svd = jax.jit(lambda a: [linalg.svd(a, full_matrices=full) for full in (False, True)])
        for full, found in enumerate(svd(a)):
            u, s, vt = map(np.asarray, found)
            wanted = np.linalg.svd(a.astype(np.float64), full_matrices=full)
            assert (u.shape, vt.shape) == (wanted[0].shape, wanted[2].shape)
            for one in (u.T @ u, vt @ vt.T):
                np.testing.assert_allclose(one, np.eye(len(one)), atol=wide)
            np.testing.assert_allclose(u[:, :k] * s @ vt[:k], a, atol=wide)
            np.testing.assert_allclose(s, wanted[1], atol=wide)
            if dtype == "float64":
                products = np.abs((u[:, :k] * wanted[0][:, :k]).sum(0))
                np.testing.assert_allclose(products, 1, atol=1e-9)  # the same vectors
        alone = linalg.svd(a, compute_uv=False)
        np.testing.assert_allclose(np.asarray(alone), wanted[1], atol=wide)
        a[3 % shape[0], 20 % shape[1]] = np.nan
        assert all(np.isnan(x).all() for x in jax.tree.leaves(svd(a)))


def test_columns_of_reflections_that_are_none():
    """Zeros, columns that others make up, and a triangle: nothing is below the diagonal."""
    a = matrices(70, 50)
    a[:, 20], a[:, 33] = 0, a[:, 5]
    q, r = map(np.asarray, linalg.qr(a))
    np.testing.assert_allclose(q @ r, a, atol=1e-4)
    triangle = np.triu(matrices(50, 50))
    q, r = map(np.asarray, linalg.qr(triangle))
    np.testing.assert_array_equal(q, np.eye(50))
    np.testing.assert_array_equal(r, triangle)
    q, r = map(np.asarray, linalg.qr(np.zeros((40, 40), np.float32)))
    np.testing.assert_array_equal(q, np.eye(40))
    assert not r.any()


@pytest.mark.parametrize("level", [4, 3, 0], ids=lambda level: f"vectors of level {level}")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", ["usual", "denormal"])
def test_columns_of_few_digits_are_reflected(level, dtype, size):
    """What is left of columns that others make up becomes smaller with each of them, until it is denormal."""
    least, before = np.finfo(dtype).smallest_subnormal, lib.tt_set_vectors(level)
    try:
        with enable_x64(True):
            for a in (np.ones((129, 64)), np.tile(matrices(1, 130), (257, 1)), matrices(100, 20), matrices(3, 300),
                      np.ones((20, 20)), matrices(5, 1), matrices(2, 2)):
                a = (a.astype(dtype) * (1000 * least if size == "denormal" else 1)).astype(dtype)
                for full in (False, True):
                    q, r = map(np.asarray, linalg.qr(a, full_matrices=full))
                    np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=np.finfo(dtype).eps * 1000)
                    made, wide = q.astype(np.float64) @ r, np.finfo(dtype).eps * 1000
                    np.testing.assert_allclose(made, a, rtol=0, atol=wide * np.abs(r).max() + 3 * len(a) * least)
    finally:
        lib.tt_set_vectors(before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_reflections_of_what_is_no_number_are_none(bad):
    a = matrices(90, 60)
    a[70, 40] = bad
    q, r = map(np.asarray, linalg.qr(a, full_matrices=False))
    assert np.isnan(q[:, 40:]).all()
    assert np.isnan(np.diagonal(r)[40:]).all()
    np.testing.assert_allclose(r[:40, :40], np.asarray(linalg.qr(a[:, :40], full_matrices=False)[1]), atol=1e-5)


@pytest.mark.parametrize("k", [100, 129])
def test_a_column_of_zeros_ends_no_elimination(k):
    a = matrices(200, 200)
    a[:, k] = 0
    factors, pivots, _ = map(np.asarray, linalg.lu(a))
    assert np.isfinite(factors).all()
    assert (factors[k:, k] == 0).all()
    assert pivots[k] == k


@pytest.mark.parametrize("size", [40, 200])
def test_pivots_are_rows_of_the_matrix_whatever_it_holds(size):
    a = matrices(size, size)
    a[:, size // 2] = np.nan
    a[1, 1], a[2, 7] = np.inf, 1e-45
    _, pivots, rows = map(np.asarray, linalg.lu(a))
    assert (pivots >= np.arange(size)).all()
    assert sorted(rows) == list(range(size))


@pytest.mark.not_quick
@pytest.mark.parametrize("level", [4, 3, 0], ids=lambda level: f"vectors of level {level}")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_triangular_systems_are_solved_from_each_side(level, dtype):
    before = lib.tt_set_vectors(level)
    try:
        with enable_x64(True):
            for n, k in ((70, 1), (70, 2), (70, 7), (70, 8), (33, 64), (129, 100)):
                a = matrices(n, n, dtype=dtype) / n + np.eye(n, dtype=dtype)
                sides = list(np.ndindex(2, 2, 2, 2))
                right = [matrices(*((n, k) if left else (k, n)), dtype=dtype) for left, *_ in sides]
                for (left, lower, across, unit), b, x in zip(sides, right, solved(a, right), strict=True):
                    t = np.tril(a) if lower else np.triu(a)
                    if unit:
                        np.fill_diagonal(t, 1)
                    t = t.T if across else t
                    np.testing.assert_allclose(t @ x if left else x @ t, b, atol=1e-5 if dtype == "float32" else 1e-13)
    finally:
        lib.tt_set_vectors(before)


@jax.jit
def solved(a, right):
    """The solutions from each side, of each triangle, transposed or not, with ones on the diagonal or without."""
    return [linalg.triangular_solve(a, b, left_side=bool(left), lower=bool(lower), transpose_a=bool(across),
                                    unit_diagonal=bool(unit))
            for (left, lower, across, unit), b in zip(np.ndindex(2, 2, 2, 2), right, strict=True)]


def test_a_zero_on_the_diagonal_divides():
    a, b = np.tril(matrices(40, 40)), np.ones((40, 20), np.float32)
    a[7, 7] = 0
    x = np.asarray(linalg.triangular_solve(a, b, left_side=True, lower=True))
    assert np.isfinite(x[:7]).all()
    assert np.isinf(x[7]).all()
    assert not np.isfinite(x[8:]).any()


def bits_on_threads(function, threads, *args):
    before = num_threads()
    set_num_threads(threads)
    try:
        return [np.asarray(out).tobytes() for out in jax.jit(function)(*args)]
    finally:
        set_num_threads(before)


@pytest.mark.not_quick
@pytest.mark.parametrize("shape", [(300, 8, 8), (9, 40, 40), (400, 400)], ids=str)
def test_results_are_equal_on_any_number_of_threads(shape):
    a, b = positive(*shape), matrices(*shape)
    function = everything if shape[-1] < 100 else in_blocks
    one, *more = (bits_on_threads(function, threads, a, b) for threads in (1, 2, 5))
    assert all(bits == one for bits in more)


@pytest.mark.not_quick
def test_threads_of_python_share_a_program():
    a, b = positive(40, 40), matrices(40, 40)
    run = jax.jit(everything)
    wanted = [np.asarray(out).tobytes() for out in run(a, b)]
    with ThreadPoolExecutor(4) as threads:
        for outs in threads.map(lambda _: run(a, b), range(40)):
            assert [np.asarray(out).tobytes() for out in outs] == wanted


def test_a_forked_child_factors_too():
    a = positive(9, 40, 40)
    run = jax.jit(linalg.cholesky)
    wanted = np.asarray(run(a)).tobytes()
    child = os.fork()
    if not child:
        os._exit(0 if np.asarray(run(a)).tobytes() == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_pivots_outside_of_the_permutation_do_nothing(dtype):
    pivots = np.array([[1, 2, 2], [7, 2**31 - 1, 0]], dtype)
    for function in (linalg.lu_pivots_to_permutation, jax.jit(linalg.lu_pivots_to_permutation, static_argnums=1)):
        np.testing.assert_array_equal(function(pivots, 4), [[1, 2, 0, 3], [2, 1, 0, 3]])


def test_views_are_read_in_the_order_of_their_elements():
    whole = matrices(12, 12)
    for view in (whole[::2, ::-2], whole.T[3:7, :4], np.broadcast_to(whole[0, :4], (4, 4))):
        np.testing.assert_array_equal(linalg.qr(view)[1], linalg.qr(np.ascontiguousarray(view))[1])
        np.testing.assert_array_equal(linalg.lu(view)[0], linalg.lu(np.ascontiguousarray(view))[0])


def test_kernels_mean_in_numpy_what_they_compute():
    a, b = positive(4, 5, 5), matrices(4, 5, 5)
    lowered = jax.jit(lambda a, b: (linalg.cholesky(a), linalg.lu(b)[0], linalg.triangular_solve(a, b))).lower(a, b)
    for out, expected in zip(lowered.compile()(a, b), lowered.kernels.run(a, b), strict=True):
        np.testing.assert_allclose(out, expected, 1e-4, 1e-5)
