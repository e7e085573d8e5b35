"""Calls under settings that a thread overrides: known ones are answered without Python, each under its own settings."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.api.test_dispatch import Watched
from tinytrace.config import enable_x64

A, B = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.float32) + 10
MOST_MISSES = 2
"""Of a call, until it is known."""
OVERRIDES = [(jax.default_matmul_precision, "float32"), (jax.numpy_rank_promotion, "raise"), (enable_x64, True),
             (jax.numpy_dtype_promotion, "strict"), (jax.log_compiles, False)]


@pytest.mark.parametrize(("manager", "value"), OVERRIDES)
def test_known_calls_under_an_override_are_answered_without_python(manager, value):
    f = Watched(lambda x: x * 2 + 1)
    for _ in range(3):
        with manager(value):
            for _ in range(3):
                f(A)
        f(A)
    assert f.misses <= 2 * MOST_MISSES  # under the override, and outside


def test_an_answer_under_an_override_is_no_answer_under_others():
    f = jax.jit(lambda x: (jnp.arange(3) + x, x / 3))

    def dtypes():
        return [str(x.dtype) for _ in range(4) for x in (*f(1), jnp.arange(2) + 1, jnp.add(1, 2.5), jnp.zeros(2))][-5:]

    narrow, wide = dtypes(), None
    with enable_x64():
        wide = dtypes()
        with jax.default_matmul_precision("high"), enable_x64(False):
            assert dtypes() == narrow
            assert in_thread(dtypes) == narrow
        assert dtypes() == wide
        assert in_thread(dtypes) == narrow
    assert dtypes() == narrow
    assert [dtype.replace("32", "64") for dtype in narrow] == wide


@pytest.mark.parametrize("manager", [jax.debug_nans, jax.disable_jit])
def test_what_makes_each_call_special_does_so_in_its_thread_alone(manager):
    f = Watched(jnp.log)
    for _ in range(MOST_MISSES + 1):
        f(A)
    known = f.misses
    with manager():
        in_thread(lambda: f(A))
        assert f.misses == known
        if manager is jax.debug_nans:
            with pytest.raises(FloatingPointError):
                f(-B)
        else:
            f(A)
        assert f.misses == known + 1


def test_an_override_that_a_generator_leaves_open_is_its_threads():
    f = jax.jit(lambda: jnp.arange(3))

    def steps():
        with enable_x64():
            yield str(f().dtype)
            yield str(f().dtype)

    walk = steps()
    assert [next(walk), str(f().dtype), next(walk)] == ["int64"] * 3
    walk.close()
    assert str(f().dtype) == "int32"


def in_thread(action):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action).result()
