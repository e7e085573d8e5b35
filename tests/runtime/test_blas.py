"""Matrix products of the host: against NumPy, transposed and strided, with and without a BLAS, on any threads."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.programs import in_child, shared_store
from tinytrace._runtime import lib
from tinytrace.codegen.csource import CSource
from tinytrace.csources import host_source
from tinytrace.runtime.blas import provide_blas
from tinytrace.runtime.ladder import load
from tinytrace.runtime.threads import num_threads, set_num_threads

store_folder = pytest.fixture(shared_store)


def product(real: str) -> CSource:
    """buffers: the integers trans_a trans_b m n k lda ldb ldc; the numbers alpha beta; a, b, c."""
    text = f"""{host_source()}
int32_t tt_entry(void *const *buffers, const struct tt_host *host) {{
    const int64_t *s = buffers[0];
    const {real} *factors = buffers[1];
    host->{real[0].replace("f", "s")}gemm((int32_t)s[0], (int32_t)s[1], s[2], s[3], s[4], factors[0], buffers[2], s[5],
                buffers[3], s[6], factors[1], buffers[4], s[7]);
    return TT_OK;
}}
"""
    return CSource(text, "tt_entry", (), (), names=frozenset(["sgemm", "dgemm"]))


def multiply(dtype, trans_a, trans_b, m, n, k, alpha=1.0, beta=0.0, pad=0):
    """Our product and NumPy's in float64, of random matrices whose rows are `pad` longer than needed."""
    rng = np.random.default_rng(m * 1000 + n * 10 + k)
    a = rng.standard_normal((k, m + pad) if trans_a else (m, k + pad)).astype(dtype)
    b = rng.standard_normal((n, k + pad) if trans_b else (k, n + pad)).astype(dtype)
    c = rng.standard_normal((m, n + pad)).astype(dtype)
    used_a = a[:, :m].T if trans_a else a[:, :k]
    used_b = b[:, :k].T if trans_b else b[:, :n]
    wanted = alpha * (used_a.astype(np.float64) @ used_b.astype(np.float64)) + beta * c[:, :n].astype(np.float64)
    rest = c[:, n:].copy()
    sizes = np.array([trans_a, trans_b, m, n, k, a.shape[1], b.shape[1], c.shape[1]], np.int64)
    factors = np.array([alpha, beta], dtype)
    load(product("float" if dtype == np.float32 else "double"))(
        [array.ctypes.data for array in (sizes, factors, a, b, c)]
    )
    assert (c[:, n:] == rest).all()
    return c[:, :n].copy(), wanted


def check(dtype, *args, **kwargs):
    ours, wanted = multiply(dtype, *args, **kwargs)
    k = args[4]
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=np.finfo(dtype).eps * 64 * (k + 1) ** 0.5)


provide_blas()  # now: it says how products are cut, which tests change for themselves
WAYS = {"packed": 0, "unpacked": 1, "microkernel": 3, "narrow": 6, "strips": 8}


@pytest.fixture(params=WAYS)
def cut(request):
    """Products cut as for a BLAS that packs its operands always, for one that multiplies small ones as they lie, for
    our own kernel beside it, where the CPU has its vectors, for that beside a BLAS with narrower vectors, and for the
    one of AVX2."""
    before = lib.tt_blas_set_way(WAYS[request.param])
    yield
    lib.tt_blas_set_way(before)


SMALL = st.integers(0, 9)


@given(st.sampled_from([np.float32, np.float64]), st.booleans(), st.booleans(), SMALL, SMALL, SMALL,
       st.sampled_from([1.0, -2.0]), st.sampled_from([0.0, 1.0, 0.5]), st.integers(0, 3))  # fmt: skip
def test_small_products(dtype, trans_a, trans_b, m, n, k, alpha, beta, pad):
    check(dtype, trans_a, trans_b, m, n, k, alpha, beta, pad + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.usefixtures("cut")
def test_products_of_several_blocks(dtype, trans_a, trans_b):
    check(dtype, trans_a, trans_b, 530, 1030, 70, 1.5, 0.5, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("trans_a", "trans_b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("shape", [(200, 150, 900), (65, 1, 5000), (33, 67, 385), (1, 200, 700),
                                   (130, 1100, 300), (301, 129, 2100)])  # fmt: skip
@pytest.mark.usefixtures("cut")
def test_products_of_several_tiles(dtype, trans_a, trans_b, shape):
    check(dtype, trans_a, trans_b, *shape, 1.5, 0.5, 3)


@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("pad", [0, 3])
@given(way=st.sampled_from(["microkernel", "narrow", "strips"]), dtype=st.sampled_from([np.float32, np.float64]),
       trans_a=st.booleans(), trans_b=st.booleans(), m=st.integers(4, 40) | st.integers(14, 420),
       n=st.integers(16, 500), k=st.integers(16, 1100))  # fmt: skip
@settings(max_examples=60)
def test_products_of_our_own_kernel(way, dtype, trans_a, trans_b, m, n, k, beta, pad):
    """Strips of every number of rows, columns that fill no panel, sums of one part and of several; operands that are
    copied, and others that are read as they lie."""
    before = lib.tt_blas_set_way(WAYS[way])
    try:
        check(dtype, trans_a, trans_b, m, n, k, 1.0, beta, pad)
    finally:
        lib.tt_blas_set_way(before)


@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("pad", [0, 3])
@given(dtype=st.sampled_from([np.float32, np.float64]), trans_a=st.booleans(),
       m=st.integers(4, 32) | st.integers(33, 300), n=st.sampled_from(range(16, 65, 8)),
       k=st.integers(16, 600))  # fmt: skip
@settings(max_examples=60)
def test_products_whose_columns_fill_the_vectors_of_avx2(dtype, trans_a, m, n, k, beta, pad):
    """Of the shapes above hardly any is read as it lies there: whole panels and half ones, sums of several parts."""
    before = lib.tt_blas_set_way(WAYS["strips"])
    try:
        check(dtype, trans_a, False, m, n, k, 1.0, beta, pad)
    finally:
        lib.tt_blas_set_way(before)


@pytest.mark.parametrize("beta", [0.0, 0.5])
@given(dtype=st.sampled_from([np.float32, np.float64]), trans_a=st.booleans(), trans_b=st.booleans(),
       m=st.integers(1, 70), n=st.integers(4, 70), k=st.integers(1, 70), pad=st.integers(0, 3))
@settings(max_examples=80)
def test_products_for_which_no_blas_begins(dtype, trans_a, trans_b, m, n, k, beta, pad):
    """Operands as they lie, and a second one that is turned: parts of vectors, one strip of rows and several."""
    check(dtype, trans_a, trans_b, m, n, k, 1.0, beta, pad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("rows", [7, 8, 15, 31, 32])
@pytest.mark.usefixtures("cut")
def test_few_rows_by_a_matrix_that_no_cache_of_a_core_holds(dtype, trans_a, rows):
    check(dtype, trans_a, 0, rows, 650, 700, 1.0, 0.0, 3)


NARROW = """
import sys
from tinytrace._runtime import lib
from tinytrace.runtime.blas import provide_blas
provide_blas()
print(lib.tt_blas_set_way(0))
"""


def test_a_blas_with_narrower_vectors_than_the_cpu_has_is_noticed():
    """Told so, or where it does not know the CPU: the products that our kernel can take it takes then."""
    flags = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    is_wide = all(name in flags for name in ("avx512vl", "avx512dq", "avx512bw"))
    if platform.machine() != "x86_64" or "avx2" not in flags:
        pytest.skip("the core is asked for by a name that this CPU has none of")
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    told = subprocess.run([sys.executable, "-c", NARROW], env=environment, capture_output=True, text=True, check=True)
    assert int(told.stdout) == (WAYS["narrow"] if is_wide else WAYS["strips"])


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize(("m", "n", "k", "lda"), [(56, 64, 192, 64), (300, 400, 200, 3), (20, 40, 900, 50),
                                                   (9, 5, 7, 2)])  # fmt: skip
@pytest.mark.usefixtures("cut")
def test_rows_that_overlap(real, m, n, k, lda):
    """Windows of an image's row are a matrix whose rows overlap; to a BLAS, which refuses it, it is given in parts."""
    dtype = np.float32 if real == "float" else np.float64
    rng = np.random.default_rng(m)
    image, b = rng.standard_normal(m * lda + k).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    c, windows = np.zeros((m, n), dtype), np.lib.stride_tricks.sliding_window_view(image, k)[::lda][:m]
    sizes, factors = np.array([0, 0, m, n, k, lda, n, n], np.int64), np.array([1, 0], dtype)
    load(product(real))([array.ctypes.data for array in (sizes, factors, image, b, c)])
    wanted = windows.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, wanted, atol=k * np.finfo(dtype).eps * 10)


def product_of_taps(real: str) -> CSource:
    """buffers: the integers m n k taps tap lda ldb ldc; beta; a, b, c."""
    text = f"""{host_source()}
int32_t tt_entry(void *const *buffers, const struct tt_host *host) {{
    const int64_t *s = buffers[0];
    host->{real[0].replace("f", "s")}gemm_taps(s[0], s[1], s[2], s[3], s[4], buffers[2], s[5], buffers[3], s[6],
                *({real} *)buffers[1], buffers[4], s[7]);
    return TT_OK;
}}
"""
    return CSource(text, "tt_entry", (), (), names=frozenset(["sgemm_taps", "dgemm_taps"]))


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.usefixtures("cut")
@given(m=st.integers(0, 60), n=st.integers(0, 40) | st.sampled_from([64, 100]), k=st.integers(1, 40) | st.just(600),
       taps=st.integers(1, 9), lda=st.integers(1, 50), tap=st.integers(0, 300))  # fmt: skip
@settings(max_examples=25)
def test_rows_in_pieces(real, beta, m, n, k, taps, lda, tap):
    """Pieces that overlap, or lie apart, by our own kernel and by a BLAS to which they are gathered."""
    dtype = np.float32 if real == "float" else np.float64
    rng = np.random.default_rng(m * 1000 + n)
    image = rng.standard_normal(m * lda + taps * tap + k).astype(dtype)
    b, c = rng.standard_normal((taps * k, n)).astype(dtype), np.full((m, n + 3), 2, dtype)
    windows = np.lib.stride_tricks.as_strided(image, (m, taps, k), tuple(image.itemsize * s for s in (lda, tap, 1)))
    sizes = np.array([m, n, k, taps, tap, lda, n, n + 3], np.int64)
    load(product_of_taps(real))([x.ctypes.data for x in (sizes, np.array([beta], dtype), image, b, c)])
    wanted = windows.reshape(m, taps * k).astype(np.float64) @ b + 2 * beta
    np.testing.assert_allclose(c[:, :n], wanted, rtol=0, atol=np.finfo(dtype).eps * 64 * (taps * k + 1) ** 0.5)
    assert (c[:, n:] == 2).all()


def test_rows_in_pieces_without_memory_to_gather_them():
    """A BLAS gets the product of each piece then, and adds them."""
    m, n, k, taps = 400_000, 4, 20, 5
    rng = np.random.default_rng(0)
    image = rng.integers(-3, 4, m * 4 + taps * 100 + k).astype(np.float32)
    b, c = rng.integers(-3, 4, (taps * k, n)).astype(np.float32), np.zeros((m, n), np.float32)
    windows = np.lib.stride_tricks.as_strided(image, (m, taps, k), (16, 400, 4))
    wanted = windows.reshape(m, taps * k) @ b  # of so small integers, so in any order
    sizes = np.array([m, n, k, taps, 100, 4, n, n], np.int64)
    program = load(product_of_taps("float"))

    def multiply_in_little_memory() -> bool:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + m * taps * k * 4 // 2
        lib.tt_blas_set_way(0)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with pytest.raises(MemoryError):
            np.empty((m, taps * k), np.float32)
        program([x.ctypes.data for x in (sizes, np.zeros(1, np.float32), image, b, c)])
        return bool((c == wanted).all())

    assert in_child(multiply_in_little_memory) == (0, "True")


@pytest.mark.usefixtures("cut")
def test_products_of_nan_and_infinity():
    """What fills the last panel and the rest of a vector does not reach the result."""
    a, b = np.full((300, 400), np.inf, np.float32), np.ones((400, 401), np.float32)
    b[:, 7] = 0
    c = np.zeros((300, 401), np.float32)
    sizes, factors = np.array([0, 0, 300, 401, 400, 400, 401, 401], np.int64), np.array([1, 0], np.float32)
    load(product("float"))([array.ctypes.data for array in (sizes, factors, a, b, c)])
    assert np.isnan(c[:, 7]).all()
    assert np.isinf(np.delete(c, 7, 1)).all()


def test_beta_0_ignores_what_was_there():
    """Even a NaN: the output is a fresh buffer."""
    a, b, c = np.eye(3, dtype=np.float32), np.ones((3, 3), np.float32), np.full((3, 3), np.nan, np.float32)
    sizes, factors = np.array([0, 0, 3, 3, 3, 3, 3, 3], np.int64), np.array([1, 0], np.float32)
    load(product("float"))([array.ctypes.data for array in (sizes, factors, a, b, c)])
    assert (c == 1).all()


@pytest.mark.not_quick
@pytest.mark.parametrize("shape", [(1, 1, 5_000_000), (3, 2, 400_000), (1, 3000, 1000), (3000, 1, 1000)])
def test_long_and_thin(shape):
    check(np.float32, 0, 1, *shape)


@pytest.mark.parametrize("shape", [(1000, 700, 300), (64, 4096, 512), (4096, 10, 512), (256, 256, 1000),
                                   (500, 2000, 150)])  # fmt: skip
@pytest.mark.usefixtures("cut")
def test_the_result_does_not_depend_on_the_threads(shape):
    before = num_threads()
    answers = []
    for threads in (1, 2, 5):
        set_num_threads(threads)
        answers.append(multiply(np.float32, 0, 0, *shape)[0].tobytes())
    set_num_threads(before)
    assert len(set(answers)) == 1


@pytest.mark.not_quick
def test_the_blas_is_loaded_and_starts_no_threads():
    code = """if True:
        import os
        from tests.runtime.test_blas import check
        import numpy as np
        before = len(os.listdir("/proc/self/task"))
        from tinytrace.runtime.threads import set_num_threads
        set_num_threads(1)
        check(np.float32, 0, 0, 600, 600, 600)
        from tinytrace._runtime import lib
        print(lib.tt_blas_loaded(), len(os.listdir("/proc/self/task")) - before)
    """
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 0\n", "")


@pytest.mark.not_quick
def test_without_a_blas_the_answers_are_the_same(monkeypatch):
    code = """if True:
        import sys, warnings
        warnings.simplefilter("ignore")
        from tinytrace.runtime import blas
        blas._candidates = lambda: ["/nowhere.so"]
        from tests.runtime.test_blas import check
        import numpy as np
        for trans_a in (0, 1):
            for trans_b in (0, 1):
                check(np.float32, trans_a, trans_b, 300, 520, 40, 1.5, 0.5, 3)
                check(np.float64, trans_a, trans_b, 5, 6, 0, 1.0, 0.0, 1)
        from tinytrace._runtime import lib
        print(lib.tt_blas_loaded())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_products_in_a_forked_child():
    set_num_threads(2)
    check(np.float32, 0, 0, 600, 600, 600)
    assert in_child(lambda: check(np.float32, 0, 0, 600, 600, 600)) == (0, "None")
    assert lib.tt_blas_loaded()
