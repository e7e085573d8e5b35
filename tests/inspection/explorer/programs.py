"""The programs whose pages are looked at: selu, a step of gradient descent, a scan and a stencil."""
import itertools

import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp


def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    logits = x @ w + b
    logits = logits - jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)
    return -jnp.mean(jnp.sum(logits * y, axis=1))


def step(params, x, y):
    grads = jax.grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def swing(start, forces):
    def body(x, force):
        x = jnp.sin(x) * force
        return x, x + 1

    return jax.lax.scan(body, start, forces)


def stencil(u):
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))


def array(*shape):
    return np.ones(shape, np.float32)


SIZES = [784, 128, 64, 10]
PARAMS = [(array(m, n), array(n)) for m, n in itertools.pairwise(SIZES)]
PROGRAMS = {
    "selu": (selu, (array(1000),)),
    "step": (step, (PARAMS, array(32, 784), array(32, 10))),
    "swing": (jax.vmap(swing), (array(4, 8), array(4, 100, 8))),
    "stencil": (stencil, (array(64, 64),)),
}


def page(name):
    """The explorer's page of one of the programs."""
    fun, args = PROGRAMS[name]
    return jax.explore(fun)(*args)
