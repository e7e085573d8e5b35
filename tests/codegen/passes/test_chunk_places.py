"""Places of extremes of long arrays are searched in the chunks that have them: the first of equals, or of NaN."""
import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp

N = 3_000_003
GUARD = "? 0 : 2147483647)) < 2147483647)"


def text_of(function, n=N, dtype=np.float32):
    return jax.jit(function).lower(jax.ShapeDtypeStruct((n,), dtype)).as_text()


@pytest.mark.parametrize(("function", "extreme"), [(jnp.argmax, 2000), (jnp.argmin, -2000)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16", "bfloat16", "int64"])
def test_the_first_of_equals_is_found_wherever_it_lies(function, extreme, dtype):
    with jax.enable_x64(dtype in ("float64", "int64")):
        compiled = jax.jit(function)
        plain = (np.random.default_rng(0).random(N) * 1000).astype(jnp.dtype(dtype))
        assert compiled(plain) == getattr(np, function.__name__)(plain.astype(np.float64))
        for place in (0, 5, 2047, 2048, N // 2, N - 1500, N - 1):
            x = plain.copy()
            x[[place, -1]] = extreme
            assert compiled(x) == place
            if plain.dtype.kind != "i":
                x[place] = np.nan
                assert compiled(x) == place


def test_zeros_of_either_sign_are_equal():
    x = np.full(N, -1, np.float32)
    x[2_000_000], x[2_500_000] = -0.0, 0.0
    assert jax.jit(jnp.argmax)(x) == 2_000_000


@pytest.mark.parametrize("function", [
    jnp.argmax, jnp.argmin, lambda x: (x * 2 + 1).argmin(), lambda x: (x.argmax(), x.argmin())])
def test_chunks_with_another_extreme_are_not_looked_at(function):
    assert GUARD in text_of(function)
    assert GUARD in text_of(function, dtype=np.int32)


@pytest.mark.parametrize("function", [
    jnp.max, lambda x: (x == x.max()).argmax(), lambda x: jnp.argmax(x.reshape(3, -1), 1)])
def test_other_loops_stay(function):
    assert GUARD not in text_of(function)
    assert GUARD not in text_of(jnp.argmax, 1000)


def test_several_at_once_are_those_of_numpy():
    x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
    y = np.random.default_rng(2).standard_normal(N).astype(np.float32)
    got = jax.jit(lambda x, y: (x.argmax(), x.max(), y.argmin(), (x * y).argmax()))(x, y)
    assert [got[0], got[2], got[3]] == [x.argmax(), y.argmin(), (x * y).argmax()]
    assert got[1] == x.max()
