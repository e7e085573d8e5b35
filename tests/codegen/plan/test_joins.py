"""Folds of one element of each joined array are written out: no loop asks which array it takes from."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import generated

X = np.random.default_rng(0).integers(-9, 9, (40, 50)).astype(np.float32)


def windows(x, axis=0):
    return jnp.stack([x[i:i + 38, j:j + 48] for i in range(3) for j in range(3)], axis)


def softmax(x):
    e = jnp.exp(windows(x))
    return e / e.sum(0)


@pytest.mark.parametrize(("function", "is_written_out"), [
    (lambda x: windows(x).min(0), True), (lambda x: jnp.abs(windows(x, 2)).sum(2), True),
    (lambda x: (windows(x) > 3).all(0), True), (lambda x: windows(jnp.sin(x)).max(0), True),
    (lambda x: windows(x).sum(1), False), (softmax, False),
    (lambda x: jnp.stack([x[i:i + 4] for i in range(33)]).max(0), False)])
def test_folds_of_joined_elements_are_written_out(function, is_written_out):
    source = generated(function, X).source
    assert ("i2" not in source.text) is is_written_out
    if is_written_out:
        assert source.workspace < 2 * X.nbytes
        np.testing.assert_allclose(jax.jit(function)(X), function(X), rtol=1e-6)
