"""Products of narrow types by the host: against NumPy, with tile registers and without, on any threads."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.programs import in_child, shared_store
from tinytrace._runtime import lib
from tinytrace.codegen.csource import CSource
from tinytrace.csources import host_source
from tinytrace.runtime.ladder import load
from tinytrace.runtime.threads import num_threads, set_num_threads

TYPES = {"shgemm": np.float16, "sbgemm": ml_dtypes.bfloat16, "i8gemm": np.int8}
FLAGS = st.booleans()


store_folder = pytest.fixture(shared_store)


def program(entry: str) -> CSource:
    """buffers: the integers trans_a trans_b m n k lda ldb rounds ldc; a, b, c."""
    rounds = "" if entry == "i8gemm" else " (int32_t)s[7],"
    text = f"""{host_source()}
int32_t tt_entry(void *const *buffers, const struct tt_host *host) {{
    const int64_t *s = buffers[0];
    host->{entry}((int32_t)s[0], (int32_t)s[1], s[2], s[3], s[4], buffers[1], s[5], buffers[2], s[6],{rounds}
                  buffers[3], s[8]);
    return TT_OK;
}}
"""
    return CSource(text, "tt_entry", (), (), names=frozenset([entry]))


def multiply(entry, a, b, trans_a=False, trans_b=False, rounds=True, pad=0):
    """The host's product of two matrices, which are stored transposed or not, in rows that are `pad` longer."""
    (m, k), n = a.shape, b.shape[1]
    stored = [np.ascontiguousarray(np.pad(x.T if turned else x, ((0, 0), (0, pad)), constant_values=1))
              for x, turned in ((a, trans_a), (b, trans_b))]
    wide = np.int32 if entry == "i8gemm" else np.float32
    c = np.full((m, n + pad), 7, wide if wide == np.int32 or not rounds else a.dtype)
    sizes = np.array([trans_a, trans_b, m, n, k, *(x.shape[1] for x in stored), rounds, n + pad], np.int64)
    load(program(entry))([x.ctypes.data for x in (sizes, *stored, c)])
    assert (c[:, n:] == 7).all()
    return c[:, :n]


def drawn(entry, m, n, k):
    rng = np.random.default_rng(m * 1000 + n * 10 + k)
    if entry == "i8gemm":
        return rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    return rng.standard_normal((m, k)).astype(TYPES[entry]), rng.standard_normal((k, n)).astype(TYPES[entry])


def check(entry, m, n, k, *args, **kwargs):
    a, b = drawn(entry, m, n, k)
    c = multiply(entry, a, b, *args, **kwargs)
    if entry == "i8gemm":
        assert np.array_equal(c, a.astype(np.int32) @ b.astype(np.int32))
        return c
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact, size = a @ b, np.abs(a) @ np.abs(b)
    rounding = 0 if c.dtype == np.float32 else ml_dtypes.finfo(c.dtype).eps
    assert (np.abs(c.astype(np.float64) - exact) <= 1e-6 * size + rounding * np.abs(exact) + 1e-7).all()
    return c


@pytest.fixture(params=["tiles", "vectors", "neither"], autouse=True)
def hidden(request):
    """As on this CPU, on one without tile registers, and on one without vectors of bfloat16 as well."""
    before = lib.tt_set_tiles_hidden(["tiles", "vectors", "neither"].index(request.param))
    yield
    lib.tt_set_tiles_hidden(before)


SIZE = st.one_of(st.integers(0, 9), st.integers(10, 100))


@pytest.mark.parametrize("entry", TYPES)
def test_products_of_all_shapes(entry):
    @given(SIZE, SIZE, SIZE, FLAGS, FLAGS, FLAGS, st.integers(0, 3))
    def law(m, n, k, trans_a, trans_b, rounds, pad):
        check(entry, m, n, k, trans_a, trans_b, rounds, pad)

    law()


@pytest.mark.parametrize("entry", TYPES)
@pytest.mark.parametrize("shape", [(300, 600, 96), (64, 96, 2112), (40, 70, 4300)])
def test_products_of_several_blocks_and_parts(entry, shape):
    check(entry, *shape)
    check(entry, *shape, rounds=False)


@pytest.mark.parametrize("entry", TYPES)
@pytest.mark.parametrize("shape", [(600, 300, 200), (40, 1500, 300)])
def test_the_result_does_not_depend_on_the_threads(entry, shape):
    before = num_threads()
    answers = []
    for threads in (1, 2, 5):
        set_num_threads(threads)
        answers.append(check(entry, *shape).tobytes())
    set_num_threads(before)
    assert len(set(answers)) == 1


@pytest.mark.parametrize("entry", ["sbgemm", "shgemm"])
def test_all_halves_times_one_are_themselves(entry):
    """Zeros, subnormal numbers, infinities and NaN as well: those go another way than the rest."""
    every = np.arange(1 << 16, dtype=np.uint16).view(TYPES[entry])
    exact = every.astype(np.float32)
    one = np.ones((1, 1), every.dtype)
    np.testing.assert_array_equal(multiply(entry, every[:, None], one)[:, 0].astype(np.float32), exact)
    np.testing.assert_array_equal(multiply(entry, one, every[None], rounds=False)[0], exact)
    usual = np.isfinite(exact) & (np.abs(exact) >= 2.0**-100)
    np.testing.assert_array_equal(multiply(entry, every[usual, None], one)[:, 0].astype(np.float32), exact[usual])


@pytest.mark.parametrize(("entry", "special"), [("shgemm", np.inf), ("shgemm", np.nan), ("sbgemm", 2.0**-130),
                                                ("sbgemm", 2.0**-70), ("sbgemm", 2.0**-60)])  # fmt: skip
def test_what_does_not_suit_tiles_is_multiplied_as_floats(entry, special):
    """Numbers are subnormal, or their product is, or what is left when two such products are subtracted."""
    a, b = drawn(entry, 64, 64, 64)
    a[3, 5] = b[5, 9] = special
    got = multiply(entry, a, b, rounds=False)
    lib.tt_set_tiles_hidden(2)
    np.testing.assert_array_equal(got, multiply(entry, a, b, rounds=False))


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
def test_infinities_of_bfloat16_are_multiplied_as_they_are(special):
    a, b = drawn("sbgemm", 64, 64, 64)
    a[3, 5] = special
    exact = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(multiply("sbgemm", a, b, rounds=False), exact, rtol=1e-4, atol=1e-4)


def test_no_terms_are_zeros():
    for entry in TYPES:
        assert not multiply(entry, *drawn(entry, 40, 50, 0)).any()


def test_products_in_a_forked_child():
    set_num_threads(2)
    for entry in TYPES:
        check(entry, 600, 300, 200)
    assert in_child(lambda: [check(entry, 600, 300, 200) for entry in TYPES] and None) == (0, "None")
