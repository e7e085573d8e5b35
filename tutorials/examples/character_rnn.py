"""A recurrent network learns a rhyme by heart, one character at a time, and says it.

The loop over characters is `lax.scan`, forward and backward; the loop over training steps is another.

    python tutorials/examples/character_rnn.py
"""

from functools import partial

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax, nn, random

TEXT = ("twinkle, twinkle, little star, how i wonder what you are! "
        "up above the world so high, like a diamond in the sky. ")
LETTERS = sorted(set(TEXT))
HIDDEN, STEPS, RATE = 64, 300, 0.01


def init(key):
    """The matrices of a gated recurrent unit and of the layer that reads it out."""
    k1, k2, k3 = random.split(key, 3)
    size = len(LETTERS)
    return {"in": random.normal(k1, (size, 3 * HIDDEN)) * 0.3,
            "state": random.normal(k2, (HIDDEN, 3 * HIDDEN)) / jnp.sqrt(HIDDEN),
            "bias": jnp.zeros(3 * HIDDEN),
            "out": random.normal(k3, (HIDDEN, size)) / jnp.sqrt(HIDDEN)}


def cell(params, hidden, letter):
    """The next state f32[HIDDEN], and the logits of the letter to come (https://arxiv.org/abs/1406.1078)."""
    from_letter = params["in"][letter] + params["bias"]
    reset_in, update_in, new_in = jnp.split(from_letter, 3)
    reset_state, update_state, new_state = jnp.split(hidden @ params["state"], 3)
    reset, update = nn.sigmoid(reset_in + reset_state), nn.sigmoid(update_in + update_state)
    hidden = update * hidden + (1 - update) * jnp.tanh(new_in + reset * new_state)
    return hidden, hidden @ params["out"]


def loss(params, letters):
    """Mean cross-entropy of predicting each letter from those before it."""
    _, scores = lax.scan(partial(cell, params), jnp.zeros(HIDDEN), letters[:-1])
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(scores), letters[1:, None], axis=1))


@jax.jit
def train(params, letters):
    """Descend along gradients scaled by their running sizes (RMSProp); return the parameters and every loss."""

    def step(carry, _):
        params, square = carry
        value, grads = jax.value_and_grad(loss)(params, letters)
        square = jax.tree.map(lambda s, g: 0.9 * s + 0.1 * g ** 2, square, grads)
        params = jax.tree.map(lambda p, s, g: p - RATE * g / jnp.sqrt(s + 1e-4), params, square, grads)
        return (params, square), value

    (params, _), losses = lax.scan(step, (params, jax.tree.map(jnp.zeros_like, params)), length=STEPS)
    return params, losses


@jax.jit
def recite(params, first):
    """The most likely letters after `first`, each fed back to find the next."""

    def step(carry, _):
        hidden, letter = carry
        hidden, scores = cell(params, hidden, letter)
        letter = jnp.argmax(scores)
        return (hidden, letter), letter

    return lax.scan(step, (jnp.zeros(HIDDEN), first), length=len(TEXT) - 1)[1]


def figures():
    """Train, and return the losses and what the network says when it is given the first letter."""
    letters = jnp.array([LETTERS.index(letter) for letter in TEXT])
    params, losses = train(init(random.key(2)), letters)
    said = TEXT[0] + "".join(LETTERS[i] for i in recite(params, letters[0]))
    return {"losses": [float(x) for x in losses], "said": said}


def main():
    """Print what `figures` finds."""
    found = figures()
    print("loss after 1, 100 and 300 steps:", *(f"{found['losses'][i]:.4f}" for i in (0, 99, 299)))
    print("it says:", found["said"])


if __name__ == "__main__":
    main()
