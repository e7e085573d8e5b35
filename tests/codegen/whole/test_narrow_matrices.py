"""Products of narrow matrices, however the operands lie, in C and as the kernels mean it: int8 exact and wrapping."""
import ctypes
import os
import pathlib
import platform
import re
import shutil
import subprocess

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace._runtime import lib
from tinytrace.csources import host_source, math_functions
from tinytrace.runtime.flags import own_flags

SPECS = [
    ("mk,kn->mn", (129, 70), (70, 65)),
    ("mk,nk->mn", (50, 1030), (33, 1030)),
    ("km,kn->mn", (67, 200), (67, 64)),
    ("bmk,bkn->bmn", (3, 40, 33), (3, 33, 130)),
    ("mbk,kbn->bmn", (130, 2, 21), (21, 2, 48)),
]


@pytest.fixture(params=["tiles", "vectors", "neither"])
def hidden(request):
    """As on this CPU, on one without tile registers, and on one without vectors of bfloat16 as well."""
    before = lib.tt_set_tiles_hidden(["tiles", "vectors", "neither"].index(request.param))
    yield
    lib.tt_set_tiles_hidden(before)


@pytest.mark.parametrize(("spec", "left", "right"), SPECS)
@pytest.mark.usefixtures("hidden")
def test_products_of_bytes_are_exact(spec, left, right):
    rng = np.random.default_rng(0)
    a, b = (np.where(rng.random(shape) < 0.5, -128, rng.integers(-128, 128, shape)).astype(np.int8)
            for shape in (left, right))
    f = jax.jit(lambda a, b: jnp.einsum(spec, a, b, preferred_element_type=np.int32))
    lowered = f.lower(a, b)
    assert "tt_product_i8(" in lowered.as_text()
    exact = np.einsum(spec, a.astype(np.int64), b.astype(np.int64))
    assert np.array_equal(f(a, b), exact)
    assert np.array_equal(lowered.kernels.run(a, b)[0], exact)
    narrow = jax.jit(lambda a, b: jnp.einsum(spec, a, b))(a, b)
    assert np.array_equal(narrow, exact.astype(np.int8))


@pytest.mark.parametrize(("spec", "left", "right"), SPECS)
@pytest.mark.parametrize(("dtype", "result"), [(jnp.bfloat16, jnp.bfloat16), (jnp.bfloat16, np.float32),
                                               (np.float16, np.float16), (np.float16, np.float32)])
@pytest.mark.usefixtures("hidden")
def test_products_of_halves_are_added_in_floats(spec, left, right, dtype, result):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in (left, right))
    f = jax.jit(lambda a, b: jnp.einsum(spec, a, b, preferred_element_type=result))
    lowered = f.lower(a, b)
    assert ("host->sbgemm(" if dtype == jnp.bfloat16 else "host->shgemm(") in lowered.as_text()
    exact = np.einsum(spec, a.astype(float), b.astype(float))
    for got in (f(a, b), lowered.kernels.run(a, b)[0]):
        assert got.dtype == result
        np.testing.assert_allclose(got.astype(float), exact, rtol=1e-5 if result == np.float32 else 4e-3, atol=1e-4)
    np.testing.assert_array_equal(f(a, b), jnp.einsum(spec, a, b, preferred_element_type=result))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_gradients_of_products_of_halves(dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((70, 50), (50, 90)))
    grad = jax.jit(jax.grad(lambda a, b: jnp.sum((a @ b).astype(np.float32)), (0, 1)))
    for got, exact in zip(grad(a, b), (b.astype(float).sum(1), a.astype(float).sum(0)[:, None]), strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(float), np.broadcast_to(exact, got.shape), rtol=4e-3, atol=1e-3)


@pytest.mark.skipif("amx_bf16" not in pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo")
                    else True, reason="without tile registers these are products of the BLAS")
@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_products_of_halves_have_the_bits_of_their_rows(dtype):
    """However many rows there are: blocks of rows do not show in results."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((300, 700)).astype(dtype), rng.standard_normal((700, 100)).astype(dtype)
    f = jax.jit(lambda a, b: jax.lax.dot(a, b, preferred_element_type=np.float32))
    np.testing.assert_array_equal(f(a, b)[:64], f(a[:64], b))


@pytest.mark.parametrize("dtypes", [("bfloat16", "float32"), ("float16", "float32"), ("float16", "bfloat16")])
def test_products_of_two_types_are_the_blas_s(dtypes):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((80, 80)).astype(jnp.dtype(dtype)) for dtype in dtypes)
    f = jax.jit(lambda a, b: jax.lax.dot(a, b, preferred_element_type=np.float32))
    assert "host->sgemm(" in f.lower(a, b).as_text()
    np.testing.assert_allclose(f(a, b), a.astype(float) @ b.astype(float), rtol=1e-4, atol=1e-4)


def test_few_rows_and_columns_are_not_packed():
    a, b = np.ones((8, 4000), np.int8), np.ones((4000, 40), np.int8)
    assert "tt_product_i8" not in jax.jit(lambda a, b: a @ b).lower(a, b).as_text()


WAYS = {"native": ("-march=native",), "older": ("-march=x86-64-v3",), "oldest": ("-march=x86-64",)}


@pytest.mark.not_quick
@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="these are the ways of x86")
@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_exact(way, tmp_path):
    text = host_source(False) + math_functions({"tt_product_i8": 1}) + """
        void product(const int8_t *a, const int8_t *b, int32_t *c, int64_t m, int64_t n, int64_t k, int64_t extra) {
            tt_product_i8(a, b, c, m, n, k, k + extra, n + extra, n + extra);
        }"""
    (tmp_path / "product.c").write_text(text)
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", *WAYS[way],
                    "-shared", "-fPIC", "-o", "product.so", "product.c"], check=True, cwd=tmp_path)
    if way == "older" and "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU cannot run it")
    product = ctypes.CDLL(str(tmp_path / "product.so")).product
    rng = np.random.default_rng(1)
    for m, n, k, extra in [(16, 16, 64, 0), (17, 33, 65, 3), (128, 64, 512, 0), (100, 130, 1030, 1), (1, 1, 1, 0),
                           (128, 96, 576, 5), (31, 200, 63, 2), (5, 7, 0, 0)]:
        a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k + extra), (k, n + extra)))
        c = np.full((m, n + extra), 7, np.int32)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)]
        product(*pointers, *map(ctypes.c_int64, (m, n, k, extra)))
        assert np.array_equal(c[:, :n], a[:, :k].astype(np.int32) @ b[:, :n].astype(np.int32))
        assert (c[:, n:] == 7).all()


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="these are the registers of x86")
@pytest.mark.parametrize("size", [512, 768])  # with one part of the terms, and with two, of which the second is added
def test_sums_stay_in_registers(size):
    text = host_source(False) + math_functions({"tt_product_i8": 1}) + f"""
        void product(const int8_t *a, const int8_t *b, int32_t *c) {{
            tt_product_i8(a, b, c, 128, {size}, {size}, {size}, {size}, {size});
        }}"""
    identity = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    argv = ["gcc", *own_flags(f"{identity}, x86_64"), "-march=cooperlake", "-S", "-x", "c", "-", "-o", "-"]
    code = subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout
    loops = [loop for loop in re.split(r"\n\.L\d+:\n", code) if loop.count("vpdpbusd") >= 24]
    assert loops
    assert not any(re.search(r"vmov.*%zmm\d+, -?\d*\(%r[sb]p\)", loop) for loop in loops)
