"""A loop that folds zeros but for one iteration becomes that one, and the sum is the same."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy
from tinytrace import lax

MATRIX = np.where(np.eye(40, 50, dtype=bool), np.arange(2000.0).reshape(40, 50), np.nan).astype(np.float32)
WHOLE = np.arange(2000, dtype=np.int32).reshape(40, 50)
PROGRAMS = {
    "trace": (jnp.trace, (MATRIX,)),
    "of long rows": (jnp.trace, (np.where(np.eye(20, 700, 600, dtype=bool), 1.5, np.nan).astype(np.float32),)),
    "below the diagonal": (lambda x: jnp.trace(x, -3), (WHOLE,)),
    "as far as the traced offset says": (jnp.trace, (WHOLE, np.int32(45))),
    "of -0": (jnp.trace, (np.full((40, 40), -0.0, np.float32),)),
    "of bools": (jnp.trace, (np.ones((40, 50), bool),)),
    "of complex numbers": (jnp.trace, (MATRIX.astype(np.complex64),)),
    "of long complex rows": (jnp.trace, (np.where(np.eye(20, 700, 600, dtype=bool), 1 - 2j, 9).astype(np.complex64),)),
    "one element": (lambda x, k: jnp.where(jnp.arange(100) == k, x, 0).sum(),
                    (np.arange(100, dtype=np.float32), np.int32(3))),
    "one that is not there": (lambda x, k: jnp.where(jnp.arange(100) == k, x, 0).sum(),
                              (np.arange(100, dtype=np.float32), np.int32(-3))),
    "backwards": (lambda x: jnp.where(49 - lax.iota("int32", 50) == jnp.arange(50)[:, None], x, 0).sum(),
                  (np.arange(2500, dtype=np.int32).reshape(50, 50),)),
    "in a loop": (lambda x: lax.fori_loop(0, 9, lambda i, s: s + jnp.trace(x + i), 0.0), (MATRIX,)),
}
STAYING = {
    "a difference that may wrap around": (lambda x, k: jnp.where(k - jnp.arange(100) == 0, x, 0).sum(),
                                          (np.arange(100, dtype=np.float32), np.int32(7))),
    "a bound": (lambda x: jnp.where(jnp.arange(100) <= 3, x, 0).sum(), (np.arange(100, dtype=np.float32),)),
    "another product": (lambda x: jnp.where(jnp.arange(100) == 3, x, 1).prod(), (np.ones(100, np.float32),)),
    "every second": (lambda x: jnp.where(jnp.arange(100) * 2 == 6, x, 0).sum(), (np.arange(100, dtype=np.float32),)),
    "bytes that wrap around": (lambda x: jnp.where(lax.iota("uint8", 300) == 3, x, 0).sum(), (np.ones(300, np.int32),)),
    "ones elsewhere": (lambda x: jnp.where(jnp.arange(100) == 3, x, 1).sum(), (np.arange(100, dtype=np.float32),)),
}


def loops(function, *args):
    text = jax.jit(function).lower(*args).as_text()
    return text[text.index("int32_t tt_entry"):].count("omp simd")


@pytest.mark.parametrize("name", [*PROGRAMS, *STAYING])
def test_the_sum_is_the_same(name):
    function, args = (PROGRAMS | STAYING)[name]
    assert (loops(function, *args) > 0) == (name in STAYING)
    checked(function, *args, inputs=args)
    got, want = np.asarray(jax.jit(function)(*args)), np.asarray(in_numpy(function, *args)[0])
    np.testing.assert_allclose(got, want, 1e-6)
    assert np.signbit(got.real) == np.signbit(want.real)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_sum_of_blocks_is_one_iteration(dtype):
    text = jax.jit(jnp.trace).lower(jax.ShapeDtypeStruct((3000, 3000), dtype)).as_text()
    assert text.count("_block++") == 1  # where the sums of the rows are added up


@pytest.mark.parametrize("offset", [-2 ** 31, -2 ** 31 + 1, -2 ** 30, -40, -39, 49, 50, 2 ** 30, 2 ** 31 - 1])
def test_an_offset_that_wraps_around_meets_nothing(offset):
    x = np.ones((40, 50), np.float32)
    want = np.trace(x, offset) if abs(offset) < 100 else 0
    assert jax.jit(jnp.trace)(x, np.int32(offset)) == want
