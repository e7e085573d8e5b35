"""Products of int8 matrices: exact and wrapping, however the operands lie, in C and as the kernels mean it."""
import numpy as np
import pytest

import tinytrace as jax

SPECS = [
    ("mk,kn->mn", (129, 70), (70, 65)),
    ("mk,nk->mn", (50, 1030), (33, 1030)),
    ("km,kn->mn", (67, 200), (67, 64)),
    ("bmk,bkn->bmn", (3, 40, 33), (3, 33, 130)),
    ("mbk,kbn->bmn", (130, 2, 21), (21, 2, 48)),
]


@pytest.mark.parametrize(("spec", "left", "right"), SPECS)
def test_products_of_bytes_are_exact(spec, left, right):
    rng = np.random.default_rng(0)
    a, b = (np.where(rng.random(shape) < 0.5, -128, rng.integers(-128, 128, shape)).astype(np.int8)
            for shape in (left, right))
    f = jax.jit(lambda a, b: jax.numpy.einsum(spec, a, b, preferred_element_type=np.int32))
    lowered = f.lower(a, b)
    assert "tt_product_i8(" in lowered.as_text()
    exact = np.einsum(spec, a.astype(np.int64), b.astype(np.int64))
    assert np.array_equal(f(a, b), exact)
    assert np.array_equal(lowered.kernels.run(a, b)[0], exact)
    narrow = jax.jit(lambda a, b: jax.numpy.einsum(spec, a, b))(a, b)
    assert np.array_equal(narrow, exact.astype(np.int8))


def test_few_rows_and_columns_are_not_packed():
    a, b = np.ones((8, 4000), np.int8), np.ones((4000, 40), np.int8)
    assert "tt_product_i8" not in jax.jit(lambda a, b: a @ b).lower(a, b).as_text()
