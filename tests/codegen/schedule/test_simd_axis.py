"""What every row of a result reads at a distance is packed once, or for each product of a stack, if it is there."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy

ROWS = {
    "a diagonal": lambda x: x + jnp.diag(x),
    "a column": lambda x: jnp.tanh(x) * x[:, 3],
    "two of them": lambda x: x * x[:, 5] - jnp.diag(x),
    "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda k, y: y * 0.5 + jnp.diag(y), x),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_diagonal_that_all_rows_read_is_packed(name):
    x = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    assert "_of_" in jax.jit(ROWS[name]).lower(x).as_text()
    checked(ROWS[name], x, inputs=[x])
    for a, b in zip(jax.tree.leaves(jax.jit(ROWS[name])(x)), in_numpy(ROWS[name], x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_is_not_there_for_all_is_not_packed():
    def guarded(x):
        return jnp.pad(jnp.diag(x), (0, 40)) + jnp.ones((30, 80), jnp.float32)
    x = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    checked(guarded, x, inputs=[x])
    np.testing.assert_array_equal(jax.jit(guarded)(x), np.pad(np.diag(x), (0, 40)) + np.ones((30, 80), np.float32))


@pytest.mark.parametrize(("distance", "lanes"), [(2, True), (4, True), (5, False)])
def test_folds_of_what_lies_few_places_apart_are_computed_side_by_side(distance, lanes):
    def down_the_columns(x):
        return jnp.sum(x[..., 0] * x[..., 1], 0)
    x = np.random.default_rng(0).standard_normal((200, 40, distance)).astype(np.float32)
    assert ("lane" in jax.jit(down_the_columns).lower(x).as_text()) == lanes
    checked(down_the_columns, x, inputs=[x])
    np.testing.assert_allclose(jax.jit(down_the_columns)(x), (x[..., 0] * x[..., 1]).sum(0), rtol=1e-4, atol=1e-4)


def kernel_of_each_channel(x, g):
    """The gradient of a convolution with a kernel for each channel."""
    _, h, w, c = g.shape
    taps = [jnp.sum(x[:, i:i + h, j:j + w] * g, (0, 1, 2)) for i in range(2) for j in range(2)]
    by_hand = jnp.stack(taps).reshape(2, 2, 1, c)
    def convolved(kernel):
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", feature_group_count=c,
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.vjp(convolved, jnp.zeros((2, 2, 1, c)))[1](g)[0], by_hand


@pytest.mark.parametrize(("function", "shapes"), [
    (lambda a, b: jnp.sum(a[:, :, None] * b[:, None], 0).transpose(2, 0, 1), [(200, 3, 32), (200, 5, 32)]),
    (lambda a, b: jnp.max(a[..., None, :] - b, (0, 1)).transpose(1, 0) + 1, [(9, 30, 20), (9, 30, 3, 20)]),
    (lambda x, g: kernel_of_each_channel(x, g)[0], [(3, 9, 9, 16), (3, 8, 8, 16)]),
])
def test_what_lies_side_by_side_is_computed_side_by_side_if_results_do_not(function, shapes):
    args = [np.random.default_rng(k).standard_normal(shape).astype(np.float32) for k, shape in enumerate(shapes)]
    channels = shapes[0][-1]
    assert f"lane < {channels};" in jax.jit(function).lower(*args).as_text()
    checked(function, *args, inputs=args)
    np.testing.assert_allclose(jax.jit(function)(*args), in_numpy(function, *args)[0], rtol=1e-4, atol=1e-4)


def test_the_gradient_of_a_kernel_for_each_channel():
    x, g = (np.random.default_rng(k).standard_normal((3, 7 + k, 7 + k, 16)).astype(np.float32) for k in (1, 0))
    by_fold, by_hand = jax.jit(kernel_of_each_channel)(x, g)
    np.testing.assert_allclose(by_fold, by_hand, rtol=1e-4, atol=1e-4)


def scores(x, y):
    return jnp.einsum("...ij,...kj->...ik", x, y)


@pytest.mark.parametrize(("shapes", "is_packed"), [
    ([(5, 8, 8), (5, 8, 8)], True), ([(5, 9, 16), (5, 8, 16)], True), ([(2, 3, 8, 12), (2, 3, 5, 12)], True),
    ([(5, 2, 8), (5, 8, 8)], True), ([(5, 4, 4), (5, 4, 4)], True), ([(5, 4, 20), (5, 8, 20)], False),
    ([(5, 4, 4), (5, 8, 4)], False), ([(5, 2, 4), (5, 4, 4)], False),
    ([(1, 8, 8), (1, 8, 8)], False), ([(5, 8, 8), (5, 3, 8)], False)])
def test_small_matrices_of_a_stack_are_turned_once_for_each_product(shapes, is_packed):
    x, y = (np.random.default_rng(k).integers(-9, 9, shape).astype(np.float32) for k, shape in enumerate(shapes))
    assert ("_of_" in jax.jit(scores).lower(x, y).as_text()) == is_packed
    np.testing.assert_array_equal(jax.jit(scores)(x, y), np.einsum("...ij,...kj->...ik", x, y))


@pytest.mark.parametrize("dtype", ["float64", "int32", "int8", "complex64", "float16", "bool"])
def test_they_have_any_type(dtype):
    with jax.enable_x64(True):
        x, y = np.random.default_rng(0).integers(0, 3, (2, 6, 8, 8)).astype(dtype)
        expected = np.einsum("...ij,...kj->...ik", x, y)
        np.testing.assert_array_equal(jax.jit(scores)(x, y), expected)


def test_what_follows_such_a_product_is_in_its_loop():
    def attention(q, k, v):
        return jax.nn.softmax(scores(q, k)) @ v

    q, k, v = np.random.default_rng(1).standard_normal((3, 50, 8, 8)).astype(np.float32)
    s = np.einsum("bij,bkj->bik", q, k)
    weights = np.exp(s - s.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(jax.jit(attention)(q, k, v), expected, rtol=2e-5, atol=2e-6)
