"""A multilayer perceptron reads handwritten digits: over 97 % of images that it has not seen.

Minibatches by `lax.scan`, so that an epoch is one compiled program. Needs scikit-learn, for its 1797 images.

    python tutorials/examples/digits_mlp.py
"""

from functools import partial

from sklearn.datasets import load_digits

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax, nn, random

SIZES = (64, 128, 64, 10)
EPOCHS, BATCH, RATE, MOMENTUM = 30, 32, 0.05, 0.9


def data():
    """Shuffled: 1472 images f32[64] to train on, with labels, then the 325 others for the test."""
    images, labels = load_digits(return_X_y=True)
    order = random.permutation(random.key(0), len(labels))
    images = jnp.asarray(images / 16.0 - 0.5, jnp.float32)
    labels = jnp.asarray(labels, jnp.int32)
    train, test = order[:1472], order[1472:]
    return images[train], labels[train], images[test], labels[test]


def init(key):
    """Weights and biases of each layer."""
    keys = random.split(key, len(SIZES) - 1)
    sizes = zip(keys, SIZES[:-1], SIZES[1:], strict=True)
    return [(random.normal(k, (n, m)) * jnp.sqrt(2.0 / n), jnp.zeros(m)) for k, n, m in sizes]


def logits(params, image):
    """f32[10] from an image f32[64]."""
    *hidden, (weights, bias) = params
    for w, b in hidden:
        image = nn.relu(image @ w + b)
    return image @ weights + bias


def loss(params, images, labels):
    """Mean cross-entropy of a batch."""
    scores = jax.vmap(partial(logits, params))(images)
    return -jnp.mean(jnp.sum(nn.log_softmax(scores) * nn.one_hot(labels, 10), axis=1))


@jax.jit
def epoch(state, key, images, labels):
    """One pass over the images in random order; returns the new parameters and velocities, and the mean loss."""
    order = random.permutation(key, len(images)).reshape(-1, BATCH)

    def step(state, rows):
        params, velocity = state
        value, grads = jax.value_and_grad(loss)(params, images[rows], labels[rows])
        velocity = jax.tree.map(lambda v, g: MOMENTUM * v - RATE * g, velocity, grads)
        return (jax.tree.map(jnp.add, params, velocity), velocity), value

    state, losses = lax.scan(step, state, order)
    return state, jnp.mean(losses)


@jax.jit
def accuracy(params, images, labels):
    """Share of the images that are read right."""
    return jnp.mean(jnp.argmax(jax.vmap(partial(logits, params))(images), axis=1) == labels)


def figures():
    """Train, and return the loss of each epoch and the accuracy on unseen images."""
    images, labels, test_images, test_labels = data()
    key, start = random.split(random.key(0))
    params = init(start)
    state = params, jax.tree.map(jnp.zeros_like, params)
    losses = []
    for k in random.split(key, EPOCHS):
        state, value = epoch(state, k, images, labels)
        losses.append(float(value))
    return {"losses": losses, "test accuracy": float(accuracy(state[0], test_images, test_labels))}


def main():
    """Print what `figures` finds."""
    found = figures()
    print("loss after 1, 10 and 30 epochs:", *(f"{found['losses'][i]:.4f}" for i in (0, 9, 29)))
    print(f"test accuracy: {found['test accuracy']:.2%}")


if __name__ == "__main__":
    main()
