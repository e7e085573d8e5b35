"""Products of matrices of every two types, as they lie and transposed: by the host, and small ones by loops."""
import itertools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

FLOATS = ["float16", "bfloat16", "float32", "float64"]
STEPS = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -20, "float64": 2.0 ** -45}


@pytest.mark.pairs
@pytest.mark.parametrize(("left", "right"), [*itertools.product([*FLOATS, "int8"], FLOATS), ("float64", "int32")])
@pytest.mark.parametrize("asks", [None, "float64"])
@pytest.mark.parametrize("size", [6, 96])
def test_products_of_two_types(left, right, asks, size):
    """The law: a product is that of the elements as they are, in the type that both have in common."""
    views = [lambda x: x, lambda x: x.T, lambda x: x[::2, ::3]]

    def program(a, b):
        return [jnp.matmul(view(a), view(b).T, preferred_element_type=asks) for view in views]

    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        a, b = (jnp.asarray(rng.integers(-8, 8, (size, size)) / (8 if kind in FLOATS else 1), kind)
                for kind in (left, right))
        for view, found in zip(views, jax.jit(program)(a, b), strict=True):
            wanted = np.asarray(view(a), np.float64) @ np.asarray(view(b).T, np.float64)
            assert found.dtype == (asks or jnp.promote_types(left, right))
            most = STEPS[str(found.dtype)] * np.abs(wanted).max()
            np.testing.assert_allclose(np.asarray(found, np.float64), wanted, atol=most)


@pytest.mark.parametrize(("left", "right", "result"), [
    ("int32", "uint32", "int64"), ("int8", "uint32", "int64"), ("uint8", "int8", "int16"), ("int32", "int32", "int64"),
    ("uint32", "uint32", "uint64"), ("int16", "int16", "int32"), ("int64", "int8", "int64")])
def test_products_of_integers_wrap_in_the_type_of_the_result(left, right, result):
    rng = np.random.default_rng(1)
    pairs = [[rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (size, size), kind) for kind in (left, right)]
             for size in (1, 6, 12, 50)]
    with jax.enable_x64(True):
        products = jax.jit(lambda pairs: [jnp.matmul(a, b, preferred_element_type=result) for a, b in pairs])(pairs)
    for (a, b), found in zip(pairs, products, strict=True):
        assert found.dtype == result
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(found, a.astype(result) @ b.astype(result))


@pytest.mark.parametrize("size", [3, 50])
def test_real_matrices_have_complex_products(size):
    a, b = (jnp.arange(float(size * size)).reshape(size, size) % k for k in (5, 7))
    found = jax.jit(lambda a, b: jnp.matmul(a, b, preferred_element_type=np.complex64))(a, b)
    assert found.dtype == np.complex64
    np.testing.assert_array_equal(found, np.asarray(a) @ np.asarray(b))


@pytest.mark.parametrize(("product", "flags"), [(lambda m: m @ m.T, "0, 1"), (lambda m: m.T @ m, "1, 0")])
@pytest.mark.parametrize(("dtype", "call"), [("float32", "sgemm"), ("float16", "shgemm")])
def test_what_a_program_has_made_is_transposed_by_the_product(product, flags, dtype, call):
    def program(x):
        return product(jnp.exp(x))

    text = jax.jit(program).lower(jax.ShapeDtypeStruct((120, 130), dtype)).as_text()
    assert f"host->{call}({flags}, " in text
    assert "= transpose" not in text
    x = np.random.default_rng(0).uniform(-1, 1, (120, 130)).astype(dtype)
    want = product(np.exp(x.astype(np.float64)))
    found = np.asarray(jax.jit(program)(x), np.float64)
    np.testing.assert_allclose(found, want, rtol=1e-2 if dtype == "float16" else 1e-5)
