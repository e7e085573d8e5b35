"""Hamiltonian Monte Carlo samples a posterior: the slope and intercept of a line, and the noise around it.

Leapfrog steps in a `fori_loop`, samples in a `scan`, chains by `vmap`, forces by `grad`: the transformations in one
another's arms. Neal, "MCMC using Hamiltonian dynamics", https://arxiv.org/abs/1206.1901.

    python tutorials/examples/hamiltonian_monte_carlo.py
"""

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax, random

CHAINS, WARMUP, SAMPLES, LEAPS, STEP = 8, 100, 400, 15, 0.04
X = jnp.linspace(-1, 1, 40)
TRUE = jnp.array([0.7, -1.2, jnp.log(0.3)])  # intercept, slope, logarithm of the noise


def log_density(params, y):
    """The logarithm of the posterior of f32[3], up to a constant: normal noise, normal priors."""
    intercept, slope, log_noise = params
    residual = (y - intercept - slope * X) / jnp.exp(log_noise)
    return -0.5 * jnp.sum(residual ** 2) - X.size * log_noise - 0.5 * jnp.sum(params ** 2)


def leapfrog(force, position, momentum):
    """Follow the dynamics for LEAPS steps; nearly conserves the energy."""

    def leap(_, state):
        position, momentum = state
        momentum += STEP / 2 * force(position)
        position += STEP * momentum
        return position, momentum + STEP / 2 * force(position)

    return lax.fori_loop(0, LEAPS, leap, (position, momentum))


def chain(key, y):
    """Positions f32[WARMUP + SAMPLES, 3] of one chain, and which proposals were accepted."""

    def density(position):
        return log_density(position, y)

    def sample(position, key):
        key_momentum, key_accept = random.split(key)
        momentum = random.normal(key_momentum, (3,))
        proposal, end = leapfrog(jax.grad(density), position, momentum)
        gain = density(proposal) - density(position) + 0.5 * (momentum @ momentum - end @ end)
        accepted = jnp.log(random.uniform(key_accept)) < gain
        position = jnp.where(accepted, proposal, position)
        return position, (position, accepted)

    return lax.scan(sample, jnp.zeros(3), random.split(key, WARMUP + SAMPLES))[1]


def figures():
    """Make data, sample, and return the moments of the posterior and the share of accepted proposals."""
    key_data, key_chains = random.split(random.key(5))
    y = TRUE[0] + TRUE[1] * X + jnp.exp(TRUE[2]) * random.normal(key_data, X.shape)
    positions, accepted = jax.jit(jax.vmap(chain, in_axes=(0, None)))(random.split(key_chains, CHAINS), y)
    kept = positions[:, WARMUP:].reshape(-1, 3)
    return {"first slopes": [float(x) for x in positions[0, :20, 1]],
            "mean": [float(x) for x in kept.mean(axis=0)], "deviation": [float(x) for x in kept.std(axis=0)],
            "accepted": float(accepted.mean())}


def main():
    """Print what `figures` finds."""
    found = figures()
    names = ("intercept", "slope", "log noise")
    for name, true, mean, deviation in zip(names, TRUE, found["mean"], found["deviation"], strict=True):
        print(f"{name}: {mean:.3f} ± {deviation:.3f} (it was {true:.3f})")
    print(f"accepted: {found['accepted']:.1%}")


if __name__ == "__main__":
    main()
