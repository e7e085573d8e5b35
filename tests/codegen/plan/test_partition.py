"""Which loops share a kernel: many stages of small arrays do not, those that save passes over memory do."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace.codegen.plan.partition import MOST_STAGES, SMALL


def layers(x):
    for _ in range(MOST_STAGES):
        x = jnp.tanh(x - x.sum(axis=1, keepdims=True))
    return x


@pytest.mark.parametrize(("rows", "kernels"), [(8, 2), (SMALL // 4 // 16 + 1, 1)])
def test_many_stages_are_one_kernel_where_that_saves_passes_over_memory(rows, kernels):
    x = np.random.default_rng(0).standard_normal((rows, 16)).astype(np.float32)
    expected, = in_numpy(layers, x)
    np.testing.assert_allclose(jax.jit(layers)(x), expected, rtol=1e-4, atol=1e-5)
    assert len(jax.jit(layers).lower(x).kernels) == kernels


def dense(x, weights):
    for w in weights:
        x = jnp.tanh(x @ w)
    return x


def test_layers_are_equal_kernels_from_one_product_to_the_next():
    rng = np.random.default_rng(0)
    x, *weights = rng.standard_normal((13, 16, 16)).astype(np.float32) / 4
    expected, = in_numpy(dense, x, weights)
    np.testing.assert_allclose(jax.jit(dense)(x, weights), expected, rtol=1e-4, atol=1e-5)
    lowered = jax.jit(dense).lower(x, weights)
    assert len(lowered.kernels) == len(weights)
    assert lowered.as_text().count("tt_tanh_f32(") == 2  # one function for the input, one in place


def test_products_that_share_an_operand_are_one_loop():
    x, w, v = np.ones((3, 8, 16), np.float32)
    lowered = jax.jit(lambda x, w, v: (x @ w.T, x @ v.T)).lower(x, w, v)
    assert len(lowered.kernels) == 1


def log_softmax_of_complex(n, dtype=np.complex64):
    return jax.jit(jax.nn.log_softmax).lower(jax.ShapeDtypeStruct((n, 10), dtype))


def test_what_is_dear_once_a_row_of_complex_numbers_has_a_loop_over_rows():
    text = log_softmax_of_complex(1000).as_text()
    assert "const float cw = tt_atan2_f32" in text  # a loop of its own: nothing follows it inside
    assert "cx[i0] = __builtin_complex(cv, cw);\n    }\n" in text
    assert len(log_softmax_of_complex(1000).kernels) == 3
    assert len(log_softmax_of_complex(1000, np.float32).kernels) == 1


def test_dear_complex_numbers_that_are_joined_with_few_are_computed_where_they_go():
    """Each is needed once: the ends of a gradient are beside the differences."""
    differences = jax.jit(jnp.gradient).lower(jax.ShapeDtypeStruct((1000,), np.complex64))
    assert len(differences.kernels) == 2  # the ends, and all
