"""Step 6: batches."""

import numpy as np
import pytest
from hypothesis import given
from programs import ANY, SHAPES, NumPy, arrays, close, few, function


@few
@given(ANY, SHAPES)
def test_a_batch_is_the_stack_of_single_calls(m, text, shape):
    x, y = arrays((4, *shape))
    f = function(text, NumPy)
    close(m.vmap(function(text, m))(m.array(x), m.array(y)), np.stack([f(a, b) for a, b in zip(x, y, strict=True)]))


@few
@given(ANY, SHAPES)
def test_one_argument_for_all(m, text, shape):
    x, y = arrays((4, *shape))
    f = function(text, NumPy)
    got = m.vmap(function(text, m), in_axes=(0, None))(m.array(x), m.array(y[0]))
    close(got, np.stack([f(a, y[0]) for a in x]))


def test_ranks_are_aligned_behind_the_batch(m):
    scales, x = m.arange(3.0), m.array([[1.0, 2.0], [3.0, 4.0]])
    got = m.vmap(lambda s: s * x)(scales)
    close(got, np.arange(3.0)[:, None, None] * np.asarray(x))
    got = m.vmap(lambda row: row + x)(m.ones((3, 2)))
    close(got, np.ones((3, 2, 2)) + np.asarray(x))


def test_sums_other_axes_and_batches_of_batches(m):
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    close(m.vmap(lambda a: m.sum(a, axis=1))(m.array(x)), x.sum(2))
    close(m.vmap(m.vmap(m.sum))(m.array(x)), x.sum(2))
    close(m.vmap(m.sum, in_axes=2)(m.array(x)), x.sum((0, 1)))
    close(m.vmap(lambda a: m.ones(2))(m.array(x)), np.ones((2, 2)))


def test_the_batch_of_a_derivative(m):
    x = m.arange(3.0)
    close(m.vmap(lambda t: m.jvp(lambda t: t * t * t, (t,), (1.0,))[1])(x), 3 * np.arange(3.0) ** 2)


def test_containers_and_calls(m):
    got = m.vmap(m.jit(lambda p: {"y": p["a"] + p["b"]}))({"a": m.arange(3.0), "b": m.ones(3)})
    assert np.asarray(got["y"]).tolist() == [1, 2, 3]


def test_sizes_must_agree(m):
    with pytest.raises(ValueError, match="vmap got inconsistent sizes for array axes to be mapped"):
        m.vmap(lambda x, y: x + y)(m.ones(2), m.ones(3))
