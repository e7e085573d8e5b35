"""Folds of one element of each joined array are written out: no loop asks which array it takes from."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.codegen.test_programs import generated
from tests.meanings import in_numpy

X = np.random.default_rng(0).integers(-9, 9, (40, 50)).astype(np.float32)


def windows(x, axis=0):
    return jnp.stack([x[i:i + 38, j:j + 48] for i in range(3) for j in range(3)], axis)


def spread(x):
    w = windows(x)
    return w.std(0), w.max(0) - w.min(0)


def several(x):
    w = jnp.where(windows(x) > 3, 1.0, 2.0)
    return w.max(0) * w.min(0)


def also_kept(x):
    w = windows(x)
    return w.sum(0), w


def softmax(x):
    e = jnp.exp(windows(x))
    return e / e.sum(0)


@pytest.mark.parametrize(("function", "is_written_out"), [
    (lambda x: windows(x).min(0), True), (lambda x: jnp.abs(windows(x, 2)).sum(2), True),
    (lambda x: (windows(x) > 3).all(0), True), (lambda x: windows(jnp.sin(x)).max(0), True),
    (spread, True), (several, True), (also_kept, False),
    (lambda x: windows(x).sum(1), False), (softmax, False),
    (lambda x: jnp.stack([x[i:i + 4] for i in range(33)]).max(0), False)])
def test_folds_of_joined_elements_are_written_out(function, is_written_out):
    source = generated(function, X).source
    assert ("i2" not in source.text) is is_written_out
    if is_written_out:
        assert source.workspace < 2 * X.nbytes
    checked(function, X, inputs=[X])
    for got, want in zip(jax.tree.leaves(jax.jit(function)(X)), in_numpy(function, X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
