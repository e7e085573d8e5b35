"""Two arrays share a place only where their elements cannot be taken for one another."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace import lax

X, Y = np.random.default_rng(0).standard_normal((2, 40)).astype(np.float32)


def density(params):
    """The logarithm of the density of a line and its noise, given X and Y."""
    intercept, slope, log_noise = params
    residual = (Y - intercept - slope * X) / jnp.exp(log_noise)
    return -0.5 * jnp.sum(residual ** 2) - X.size * log_noise - 0.5 * jnp.sum(params ** 2)


def leaps(position, momentum):
    """Steps whose second half reads rows of what the first half has updated element by element."""
    def leap(_, state):
        position, momentum = state
        momentum += 0.02 * jax.grad(density)(position)
        position += 0.04 * momentum
        return position, momentum + 0.02 * jax.grad(density)(position)

    return lax.fori_loop(0, 3, leap, (position, momentum))


@pytest.mark.parametrize("chains", [1, 3, 4, 8])
def test_what_is_updated_in_place_is_read_as_it_is_then(chains):
    position, momentum = np.random.default_rng(1).standard_normal((2, chains, 3)).astype(np.float32)
    expected = in_numpy(jax.vmap(leaps), position, momentum)
    for ours, theirs in zip(jax.jit(jax.vmap(leaps))(position, momentum), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
