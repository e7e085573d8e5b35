"""How long is a pendulum that was seen to swing? Runge-Kutta in a scan, and gradients through it.

    python tutorials/examples/runge_kutta.py
"""

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax, random

GRAVITY, DT, STEPS = 9.81, 0.02, 300
TRUE = {"length": jnp.float32(1.4), "friction": jnp.float32(0.25)}
START = jnp.array([1.2, 0.0])  # angle and angular velocity


def swing(params, state):
    """The rate of change of (angle, angular velocity)."""
    angle, velocity = state
    return jnp.array([velocity, -GRAVITY / params["length"] * jnp.sin(angle) - params["friction"] * velocity])


def runge_kutta(field, state, dt):
    """One step of the classical method of fourth order."""
    k1 = field(state)
    k2 = field(state + dt / 2 * k1)
    k3 = field(state + dt / 2 * k2)
    k4 = field(state + dt * k3)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def angles(params):
    """The angle f32[STEPS] over six seconds."""

    def step(state, _):
        state = runge_kutta(lambda s: swing(params, s), state, DT)
        return state, state[0]

    return lax.scan(step, START, length=STEPS)[1]


@jax.jit
def fit(params, seen):
    """Gauss-Newton: the parameters that bring `angles` closest to what was seen, and the error on the way."""

    def step(params, _):
        residual = angles(params) - seen
        slopes = jax.jacfwd(angles)(params)  # two columns f32[STEPS]
        a, b = slopes["length"], slopes["friction"]
        aa, ab, bb, ar, br = a @ a, a @ b, b @ b, a @ residual, b @ residual
        det = aa * bb - ab * ab
        new = {"length": params["length"] - (bb * ar - ab * br) / det,
               "friction": params["friction"] - (aa * br - ab * ar) / det}
        return new, jnp.sqrt(jnp.mean(residual ** 2))

    return lax.scan(step, params, length=8)


@jax.jit
def gradient(params, seen):
    """The gradient of the squared error, backward through all steps."""
    return jax.grad(lambda p: jnp.mean((angles(p) - seen) ** 2))(params)


def figures():
    """Swing, add noise, fit; return the parameters found, the errors, and the gradient at the start and the end."""
    seen = jax.jit(angles)(TRUE) + 0.02 * random.normal(random.key(4), (STEPS,))
    guess = {"length": jnp.float32(1.2), "friction": jnp.float32(0.1)}
    found, errors = fit(guess, seen)
    return {"length": float(found["length"]), "friction": float(found["friction"]),
            "errors": [float(x) for x in errors],
            "first gradient": [float(x) for x in jax.tree.leaves(gradient(guess, seen))],
            "last angle": float(angles(TRUE)[-1])}


def main():
    """Print what `figures` finds."""
    found = figures()
    print(f"length {found['length']:.4f} (it was 1.4), friction {found['friction']:.4f} (it was 0.25)")
    print("error:", *(f"{x:.4f}" for x in found["errors"]))
    print("gradient at the first guess (friction, length):", *(f"{x:.4f}" for x in found["first gradient"]))


if __name__ == "__main__":
    main()
