"""Products of matrices that the host computes: of every two types, as they lie and transposed."""
import itertools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

FLOATS = ["float16", "bfloat16", "float32", "float64"]
STEPS = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -20, "float64": 2.0 ** -45}


@pytest.mark.parametrize(("left", "right"), [*itertools.product([*FLOATS, "int8"], FLOATS), ("float64", "int32")])
@pytest.mark.parametrize("asks", [None, "float64"])
def test_products_of_two_types(left, right, asks):
    """The law: a product is that of the elements as they are, in the type that both have in common."""
    views = [lambda x: x, lambda x: x.T, lambda x: x[::2, ::3]]

    def program(a, b):
        return [jnp.matmul(view(a), view(b).T, preferred_element_type=asks) for view in views]

    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        a, b = (jnp.asarray(rng.integers(-8, 8, (96, 96)) / (8 if kind in FLOATS else 1), kind)
                for kind in (left, right))
        for view, found in zip(views, jax.jit(program)(a, b), strict=True):
            wanted = np.asarray(view(a), np.float64) @ np.asarray(view(b).T, np.float64)
            assert found.dtype == (asks or jnp.promote_types(left, right))
            most = STEPS[str(found.dtype)] * np.abs(wanted).max()
            np.testing.assert_allclose(np.asarray(found, np.float64), wanted, atol=most)
