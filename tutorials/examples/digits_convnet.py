"""A small convolutional network reads handwritten digits: over 98 % of images that it has not seen.

A convolution here is what it is by definition: nine shifted slices of the image, side by side, times a matrix. Needs
scikit-learn, for its 1797 images.

    python tutorials/examples/digits_convnet.py
"""

from functools import partial

from sklearn.datasets import load_digits

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax, nn, random

CHANNELS = (1, 8, 24)
EPOCHS, BATCH, RATE = 12, 32, 6e-3


def data():
    """Shuffled: 1472 images f32[8, 8, 1] to train on, with labels, then the 325 others for the test."""
    images, labels = load_digits(return_X_y=True)
    order = random.permutation(random.key(0), len(labels))
    images = jnp.asarray(images / 16.0 - 0.5, jnp.float32).reshape(-1, 8, 8, 1)
    labels = jnp.asarray(labels, jnp.int32)
    train, test = order[:1472], order[1472:]
    return images[train], labels[train], images[test], labels[test]


def init(key):
    """The kernels f32[9 * channels in, channels out] of two convolutions, and the matrix of the last layer."""
    k1, k2, k3 = random.split(key, 3)
    one, few, many = CHANNELS
    return {"conv1": random.normal(k1, (9 * one, few)) * jnp.sqrt(2 / (9 * one)),
            "conv2": random.normal(k2, (9 * few, many)) * jnp.sqrt(2 / (9 * few)),
            "dense": random.normal(k3, (2 * 2 * many, 10)) * jnp.sqrt(1 / (4 * many)),
            "bias": jnp.zeros(10)}


def convolve(image, kernel):
    """3 x 3 convolution of an image f32[h, w, c] with a kernel f32[9 * c, d], the borders filled with zeros."""
    height, width, _ = image.shape
    padded = jnp.pad(image, ((1, 1), (1, 1), (0, 0)))
    patches = [padded[i:i + height, j:j + width] for i in range(3) for j in range(3)]
    return jnp.concatenate(patches, axis=2) @ kernel


def pool(image):
    """The maximum of each 2 x 2 square."""
    height, width, channels = image.shape
    return jnp.max(image.reshape(height // 2, 2, width // 2, 2, channels), axis=(1, 3))


def logits(params, image):
    """f32[10] from an image f32[8, 8, 1]."""
    image = pool(nn.relu(convolve(image, params["conv1"])))
    image = pool(nn.relu(convolve(image, params["conv2"])))
    return image.reshape(-1) @ params["dense"] + params["bias"]


def loss(params, images, labels):
    """Mean cross-entropy of a batch."""
    scores = jax.vmap(partial(logits, params))(images)
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(scores), labels[:, None], axis=1))


def adam(params, state, grads):
    """One step of Adam (https://arxiv.org/abs/1412.6980); the state is its two moments and the count of steps."""
    mean, square, count = state
    count += 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g ** 2, square, grads)
    rate = RATE * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    params = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, (mean, square, count)


@jax.jit
def epoch(carry, key, images, labels):
    """One pass over the images in random order; returns the new parameters and state, and the mean loss."""
    order = random.permutation(key, len(images)).reshape(-1, BATCH)

    def step(carry, rows):
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params, images[rows], labels[rows])
        return adam(params, state, grads), value

    carry, losses = lax.scan(step, carry, order)
    return carry, jnp.mean(losses)


@jax.jit
def accuracy(params, images, labels):
    """Share of the images that are read right."""
    return jnp.mean(jnp.argmax(jax.vmap(partial(logits, params))(images), axis=1) == labels)


def figures():
    """Train, and return the loss of each epoch and the accuracy on unseen images."""
    images, labels, test_images, test_labels = data()
    key, start = random.split(random.key(1))
    params = init(start)
    zeros = jax.tree.map(jnp.zeros_like, params)
    carry = params, (zeros, zeros, 0.0)
    losses = []
    for k in random.split(key, EPOCHS):
        carry, value = epoch(carry, k, images, labels)
        losses.append(float(value))
    return {"losses": losses, "test accuracy": float(accuracy(carry[0], test_images, test_labels))}


def main():
    """Print what `figures` finds."""
    found = figures()
    print("loss after 1, 6 and 12 epochs:", *(f"{found['losses'][i]:.4f}" for i in (0, 5, 11)))
    print(f"test accuracy: {found['test accuracy']:.2%}")


if __name__ == "__main__":
    main()
