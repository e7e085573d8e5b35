"""Arrays of as many axes as NumPy's have, 64: some of NumPy's functions stop at 32."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.settings import choose_loops
from tinytrace import lax

FEW = np.float32([[3, -1], [-2, 0.5]])
MANY = FEW.reshape((1,) * 62 + (2, 2))
FUNCTIONS = {
    "a sum": lambda x: x + 1, "several operations": lambda x: jnp.where(x > 0, x, 0) * 2 + x,
    "a row": lambda x: x + x[(0,) * (x.ndim - 1)], "a sine": lambda x: jnp.sin(x) * 3,
    "sort": lambda x: jnp.sort(x), "argsort": lambda x: jnp.argsort(x), "an inner axis": lambda x: jnp.sort(x, axis=-2),
    "complex": lambda x: lax.complex(x, x[..., ::-1]), "a product": lambda x: x @ x,
    "by an index": lambda x: lax.select_n(x.astype(int), x, x + 1, -x),
}


@pytest.mark.ready_loops
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_arrays_of_64_axes(name):
    f = FUNCTIONS[name]
    want = np.asarray(f(jnp.asarray(FEW)))
    for loops in (False, True):
        choose_loops(loops)
        for g in (f, jax.jit(f)):
            got = g(jnp.asarray(MANY))
            assert got.ndim == 64
            np.testing.assert_allclose(np.asarray(got).reshape(want.shape), want, rtol=1e-6)
