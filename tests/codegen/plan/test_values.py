"""What is kept: a product by loops reads windows in the array that they slide over, and vectors go with them."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.codegen.test_programs import generated
from tests.meanings import in_numpy
from tinytrace import lax

PROGRAMS = {
    "a vector": (jnp.convolve, (3000,), (9,)),
    "not turned round": (lambda x, w: jnp.correlate(x, w, "same"), (3000,), (9,)),
    "a matrix": (jax.scipy.signal.convolve2d, (60, 70), (3, 5)),
    "an image": (lambda x, w: lax.conv(x, w, (1, 1), "SAME"), (1, 1, 40, 40), (1, 1, 3, 3)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("name", PROGRAMS)
def test_windows_of_small_products_are_nowhere_in_memory(name, dtype):
    function, *shapes = PROGRAMS[name]
    args = [np.random.default_rng(0).integers(-9, 9, shape).astype(dtype) for shape in shapes]
    source = generated(function, *args).source
    assert source.workspace < 2 * args[0].nbytes  # the padded array, and no windows
    assert "lane" in source.text
    checked(function, *args, inputs=args)
    for got, want in zip(jax.tree.leaves(jax.jit(function)(*args)), in_numpy(function, *args), strict=True):
        np.testing.assert_array_equal(got, want)


def test_what_has_no_operand_is_no_window():
    assert jax.jit(lambda: jnp.arange(4.0) @ jnp.arange(4.0))() == 14
