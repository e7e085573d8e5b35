"""Rows whose folds are dear: what whole vectors leave over has a loop of its own; no element counts twice."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting


def text_of(function, *shape, dtype=np.float32):
    return jax.jit(function).lower(jax.ShapeDtypeStruct(shape, dtype)).as_text()


def sums(x):
    return jnp.exp(x).sum(1)


LENGTHS = [32, 35, 36, 40, 47, 100, 197, 200, 204, 2055]


@pytest.mark.parametrize("lengths", [LENGTHS[:5], LENGTHS[5:]])
@pytest.mark.parametrize("function", [
    sums, lambda x: jax.nn.softmax(x, 1), lambda x: jnp.tanh(x * 4).prod(1), lambda x: (jnp.sin(x) > 0).sum(1),
    lambda x: (jnp.exp(x), jnp.exp(x).sum(1), jnp.exp(x).max(1)), lambda x: jnp.exp(x * 1j).sum(1),
])
def test_every_element_counts_once(function, lengths):
    """Rows of several lengths in one program, each in loops of its own."""
    drawn = [np.random.default_rng(n).uniform(0.5, 1, (7, n)).astype(np.float32) for n in lengths]
    for x, found in zip(drawn, jax.jit(lambda xs: [function(rows) for rows in xs])(drawn), strict=True):
        with interpreting(), jax.enable_x64():
            want = function(jnp.asarray(x, np.float64))
        bound = max(2e-5, x.shape[1] * 2.0**-24)  # a rounding for each factor; one that is lost is at least 2e-4
        jax.tree.map(lambda a, b, bound=bound: np.testing.assert_allclose(a, b, rtol=bound), found, want)


@pytest.mark.parametrize("n", LENGTHS)
def test_the_first_and_last_element_count(n):
    for place in (0, n // 16 * 16 - 1, n - 1):
        marked = np.where(np.arange(n) == place, np.float32(3), np.float32(-200))[None]
        np.testing.assert_allclose(jax.jit(sums)(marked), np.exp(np.float32([3])), rtol=1e-6)


def test_what_is_left_over_has_a_variable_of_its_own():
    text = text_of(sums, 50, 200)
    assert "c_i_rest = 0.0f;" in text
    assert "i1 < 192;" in text
    assert "i1 < 8;" in text
    assert "[200 * i0 + i1 + 192]" in text


@pytest.mark.parametrize(("function", "n"), [
    (lambda x: x.sum(1), 200),  # as long as it takes to begin another loop
    (sums, 192), (sums, 195), (sums, 40 // 2),
    (lambda x: jnp.cumsum(jnp.exp(x), 1), 200),
    (lambda x: jnp.exp(x).sum(0), 200),
])
def test_other_loops_stay(function, n):
    assert "_rest" not in text_of(function, 50, n)
