"""A Kalman filter follows a moving point through noisy measurements, and learns how noisy they are.

One coordinate is a `lax.scan` over time; `vmap` makes two coordinates of it; `grad` of the likelihood finds the
noise. Kalman, "A New Approach to Linear Filtering and Prediction Problems", 1960.

    python tutorials/examples/kalman_filter.py
"""

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax, random

TIMES, DT, PUSH, NOISE = 200, 0.1, 0.5, 0.8
MOVE = jnp.array([[1.0, DT], [0.0, 1.0]])  # of (position, velocity) over a time step
PUSHES = PUSH ** 2 * jnp.array([[DT ** 3 / 3, DT ** 2 / 2], [DT ** 2 / 2, DT]])  # covariance that a step adds
LOOK = jnp.array([1.0, 0.0])  # only the position is measured


def simulate(key):
    """A random path: true positions f32[TIMES] of one coordinate, and measurements of them."""
    key_push, key_noise = random.split(key)
    factor = PUSH * jnp.array([[jnp.sqrt(DT ** 3 / 3), 0.0], [jnp.sqrt(3 * DT) / 2, jnp.sqrt(DT) / 2]])

    def step(state, push):
        state = MOVE @ state + factor @ push
        return state, state[0]

    _, positions = lax.scan(step, jnp.array([0.0, 1.0]), random.normal(key_push, (TIMES, 2)))
    return positions, positions + NOISE * random.normal(key_noise, (TIMES,))


def track(measured, noise):
    """Estimated positions f32[TIMES], and the log-likelihood of the measurements if they have that noise."""

    def step(belief, seen):
        mean, covariance = belief
        mean, covariance = MOVE @ mean, MOVE @ covariance @ MOVE.T + PUSHES
        surprise, variance = seen - LOOK @ mean, LOOK @ covariance @ LOOK + noise ** 2
        gain = covariance @ LOOK / variance
        mean, covariance = mean + gain * surprise, covariance - jnp.outer(gain, LOOK @ covariance)
        likelihood = -0.5 * (surprise ** 2 / variance + jnp.log(2 * jnp.pi * variance))
        return (mean, covariance), (mean[0], likelihood)

    _, (positions, likelihoods) = lax.scan(step, (jnp.zeros(2), jnp.eye(2)), measured)
    return positions, jnp.sum(likelihoods)


@jax.jit
def find_noise(measured):
    """The noise that makes the measurements f32[2, TIMES] most likely: Newton's method in its logarithm."""

    def cost(log_noise):
        return -jnp.sum(jax.vmap(track, in_axes=(0, None))(measured, jnp.exp(log_noise))[1])

    def newton(log_noise, _):
        return log_noise - jax.grad(cost)(log_noise) / jax.grad(jax.grad(cost))(log_noise), jnp.exp(log_noise)

    last, path = lax.scan(newton, jnp.log(0.5), length=6)
    return jnp.exp(last), path


def figures():
    """Simulate, find the noise, follow the point; return errors with and without the filter."""
    positions, measured = jax.vmap(simulate)(random.split(random.key(3)))
    noise, path = find_noise(measured)
    tracked, likelihood = jax.jit(jax.vmap(track, in_axes=(0, None)))(measured, noise)

    def error(guess):
        return float(jnp.sqrt(jnp.mean((guess - positions) ** 2)))

    return {"noise": float(noise), "path": [float(x) for x in path], "measured error": error(measured),
            "tracked error": error(tracked), "log-likelihood": float(jnp.sum(likelihood)),
            "last position": [float(x) for x in tracked[:, -1]]}


def main():
    """Print what `figures` finds."""
    found = figures()
    print(f"noise: {found['noise']:.4f}, by way of", *(f"{x:.4f}" for x in found["path"]))
    print(f"error of the measurements: {found['measured error']:.4f}, of the filter: {found['tracked error']:.4f}")


if __name__ == "__main__":
    main()
