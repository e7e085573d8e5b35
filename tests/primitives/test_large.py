"""Compiled is what NumPy computes on large arrays: blocks, vector lanes and threads, at sizes that fit none of them."""

import numpy as np
import pytest

import tinytrace as jax
from tests.meanings import in_numpy
from tinytrace import lax

rng = np.random.default_rng(11)
m = rng.normal(size=(517, 613)).astype(np.float32)
v = rng.normal(size=300_007).astype(np.float32)
at = rng.integers(-5, 525, (9001, 1)).astype(np.int32)
rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
to_rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
image, kernel = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 3, 37, 41), (7, 3, 3, 5)))
last = "NHWC", "HWIO", "NHWC"

PROGRAMS = {
    "transpose": lambda: (lambda x: lax.transpose(x, (1, 0)), m),
    "reshape": lambda: (lambda x: lax.reshape(lax.transpose(x, (1, 0)), (517, 613)), m),
    "pad": lambda: (lambda x: lax.pad(x, np.float32(9), [(3, -2, 1), (1, 5, 0)]), m),
    "concatenate": lambda: (lambda x: lax.concatenate([x, lax.neg(x), x], 1), m),
    "reduce rows": lambda: (lambda x: lax.reduce(x, 0.0, lax.add, (1,)), m),
    "reduce columns": lambda: (lambda x: lax.reduce(x, -np.inf, lax.max, (0,)), m),
    "reduce all": lambda: (lambda x: lax.reduce(x, 0.0, lax.add, (0,)), v),
    "argmax": lambda: (lambda x: (lax.argmax(x, 0, np.int32), lax.argmin(x, 1, np.int32)), m),
    "cumsum": lambda: (lambda x: (lax.cumsum(x, 0), lax.cummax(x, 1, reverse=True)), m),
    "cumsum long": lambda: (lambda x: (lax.cumsum(x), lax.cummin(x, reverse=True), lax.cumlogsumexp(x)), v),
    "gather": lambda: (lambda x, i: lax.gather(x, i, rows, (1, 613), mode="fill"), m, at),
    "scatter": lambda: (lambda x, i, u: lax.scatter_add(x, i, u, to_rows), m, at, m[at[:, 0] % 517]),
    "scatter set": lambda: (lambda x, i, u: lax.scatter(x, i, u, to_rows, mode="clip"), m, at, m[at[:, 0] % 517]),
    "dynamic": lambda: (lambda x, i: lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i, i), (300, 401)), (3, i)), m,
                        np.int32(77)),
    "sort": lambda: (lambda x: lax.sort((x, lax.neg(x)), dimension=0), m),
    "sort long": lambda: (lax.sort, v),
    "top_k": lambda: (lambda x: lax.top_k(x, 7), m),
    "dot": lambda: (lambda x: lax.dot(x, lax.transpose(lax.mul(x, x), (1, 0))), m),
    "conv": lambda: (lambda x, k: lax.conv(x, k, (1, 2), "SAME"), image, kernel),
    "conv last": lambda: (lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=last),
                          image.transpose(0, 2, 3, 1), kernel.transpose(2, 3, 1, 0)),
    "pool": lambda: (lambda x: lax.reduce_window(x, -np.inf, lax.max, (5, 4), (3, 2), "SAME"), m),
    "pool gradient": lambda: (jax.grad(lambda x: lax.reduce(lax.reduce_window(
        x, -np.inf, lax.max, (5, 4), (3, 2), "SAME"), 0.0, lax.add, (0, 1))), m),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_large_arrays(name):
    function, *args = PROGRAMS[name]()
    for out, expected in zip(jax.tree.leaves(jax.jit(function)(*args)), in_numpy(function, *args), strict=True):
        assert out.dtype == expected.dtype
        np.testing.assert_allclose(out, expected, rtol=2e-4, atol=2e-3)
