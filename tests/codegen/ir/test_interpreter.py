"""The meaning of kernels in NumPy, where NumPy's own habits are others."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.ir.inserted_operations import add, mul
from tinytrace.codegen.ir.interpreter import run
from tinytrace.codegen.ir.kernel import Nest
from tinytrace.codegen.ir.nodes import apply, axis, fresh_nodes, literal, load, number
from tinytrace.codegen.ir.statements import Buffer, Either, For, Store

F32 = np.dtype(np.float32)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16"])
def test_sums_of_small_integers_wrap(dtype):
    """NumPy adds them in 64 bits."""
    x = np.full((1, 5), np.iinfo(dtype).max, dtype)
    lowered = jax.jit(lambda x: jnp.sum(x, 1, dtype=dtype)).lower(x)
    interpreted, = lowered.kernels.run(x)
    np.testing.assert_array_equal(interpreted, lowered.compile()(x))


def test_two_ways_must_have_the_same_bits():
    x, y = Buffer("x", (8,), F32, "input"), Buffer("y", (8,), F32, "output")
    with fresh_nodes():
        i = axis("i", 8)

        def doubled(value):
            return For(i, number(0), number(8), [Store((y, i), value)], simd=True)

        element = load(x, i, F32)
        sums = apply(add(F32), (element, element))
        products = apply(mul(F32), (literal(2, F32), element))
        squares = apply(mul(F32), (element, element))
        memory = {x: np.arange(8, dtype=np.float32), y: np.zeros(8, np.float32)}
        run([Nest(body=[Either("HAS_SUMS", [doubled(sums)], [doubled(products)])])], memory)
        np.testing.assert_array_equal(memory[y], 2 * memory[x])
        with pytest.raises(KernelError, match="with and without HAS_SUMS"):
            run([Nest(body=[Either("HAS_SUMS", [doubled(sums)], [doubled(squares)])])], memory)
