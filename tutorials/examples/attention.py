"""A tiny attention block learns to sort digits.

Eight digits go in; position by position, the block says which digit stands there once they are sorted. One head is
written for one sequence; `vmap` makes heads and batches of it. https://arxiv.org/abs/1706.03762.

    python tutorials/examples/attention.py
"""

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax, nn, random

DIGITS, LENGTH, WIDTH, HEADS = 10, 8, 32, 4
STEPS, BATCH, RATE = 300, 64, 3e-3


def init(key):
    """Embeddings of digits and positions, the matrices of the heads, and a perceptron."""
    keys = iter(random.split(key, 8))

    def matrix(*shape):
        return random.normal(next(keys), shape) / jnp.sqrt(shape[-2])

    return {"digits": matrix(DIGITS, WIDTH), "places": matrix(LENGTH, WIDTH),
            "query": matrix(HEADS, WIDTH, WIDTH // HEADS), "key": matrix(HEADS, WIDTH, WIDTH // HEADS),
            "value": matrix(HEADS, WIDTH, WIDTH // HEADS), "up": matrix(WIDTH, 4 * WIDTH),
            "down": matrix(4 * WIDTH, WIDTH), "out": matrix(WIDTH, DIGITS)}


def normalize(x):
    """Layer normalization without parameters: mean 0 and variance 1 along the last axis."""
    x = x - jnp.mean(x, axis=-1, keepdims=True)
    return x / jnp.sqrt(jnp.mean(x ** 2, axis=-1, keepdims=True) + 1e-6)


def head(x, query, key, value):
    """One head: each row of x f32[LENGTH, WIDTH] becomes a mean of values, weighted by how well queries meet keys."""
    queries, keys, values = x @ query, x @ key, x @ value
    return nn.softmax(queries @ keys.T / jnp.sqrt(queries.shape[1])) @ values


def logits(params, digits):
    """f32[LENGTH, DIGITS] from digits i32[LENGTH]."""
    x = params["digits"][digits] + params["places"]
    heads = jax.vmap(head, in_axes=(None, 0, 0, 0))(normalize(x), params["query"], params["key"], params["value"])
    x = x + jnp.moveaxis(heads, 0, 1).reshape(LENGTH, WIDTH)
    x = x + nn.gelu(normalize(x) @ params["up"]) @ params["down"]
    return normalize(x) @ params["out"]


def loss(params, digits):
    """Mean cross-entropy against the sorted digits i32[batch, LENGTH]."""
    scores = nn.log_softmax(jax.vmap(logits, in_axes=(None, 0))(params, digits))
    return -jnp.mean(jnp.take_along_axis(scores, jnp.sort(digits)[..., None], axis=-1))


@jax.jit
def train(params, key):
    """Adam on random digits; returns the parameters and the loss of every step."""

    def step(carry, inputs):
        params, mean, square = carry
        count, key = inputs
        value, grads = jax.value_and_grad(loss)(params, random.randint(key, (BATCH, LENGTH), 0, DIGITS))
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g ** 2, square, grads)
        rate = RATE * jnp.sqrt(1 - 0.99 ** count) / (1 - 0.9 ** count)
        params = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
        return (params, mean, square), value

    zeros = jax.tree.map(jnp.zeros_like, params)
    inputs = jnp.arange(1.0, STEPS + 1), random.split(key, STEPS)
    (params, _, _), losses = lax.scan(step, (params, zeros, zeros), inputs)
    return params, losses


def figures():
    """Train, and return the losses, the accuracy on new digits, and one example."""
    key_init, key_train, key_test = random.split(random.key(6), 3)
    params, losses = train(init(key_init), key_train)
    digits = random.randint(key_test, (500, LENGTH), 0, DIGITS)
    guesses = jnp.argmax(jax.jit(jax.vmap(logits, in_axes=(None, 0)))(params, digits), axis=-1)
    return {"losses": [float(x) for x in losses], "accuracy": float(jnp.mean(guesses == jnp.sort(digits))),
            "example": [digits[0].tolist(), guesses[0].tolist()]}


def main():
    """Print what `figures` finds."""
    found = figures()
    print("loss after 1, 100 and 300 steps:", *(f"{found['losses'][i]:.4f}" for i in (0, 99, 299)))
    print(f"{found['accuracy']:.1%} of the digits in their places; for example", *found["example"])


if __name__ == "__main__":
    main()
