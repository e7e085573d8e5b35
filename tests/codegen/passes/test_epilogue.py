"""Loops over the rows of a matrix product are parts of the product where that is allowed, and only there."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import compiles_without_warnings, generated, random, same
from tinytrace.codegen.ir.verifier import verify
from tinytrace.runtime.threads import num_threads, set_num_threads


def kernels_of(function, *args):
    """Returns the kernels, after looking whether they are well formed, and their C."""
    result = generated(function, *args)
    verify(result.kernels)
    assert compiles_without_warnings(result.source.text)
    return result.kernels, result.source.text


def dense(x, w, b):
    return jnp.maximum(x @ w + b, 0)


def two_layers(x, w, b):
    return jnp.tanh(dense(x, w, b) @ w + b)


def softmax_of_product(x, w, b):
    return jax.nn.softmax(x @ w + b)


def optimiser_step(x, g, w):
    return w - 0.1 * (x.T @ g)


def loop_of_layers(x, w, b):
    return jax.lax.fori_loop(0, 3, lambda i, x: jnp.sin(dense(x, w, b) @ w), x)


def stacked_layers(x, w, b):
    return jax.lax.scan(lambda x, b: (jnp.sin(dense(x, w, b) @ w), x * b), x, jnp.stack([b, b + 1]))


def many_rows_few_products(x, w, b):
    product = x @ w
    return product + b, product


W, B = random(48, 48) * 0.1, random(48)
CASES = {
    "dense": (dense, (random(130, 48), W, B), 1),
    "two layers": (two_layers, (random(130, 48), W, B), 2),
    "softmax": (softmax_of_product, (random(130, 48), W, B), 1),
    "optimiser": (optimiser_step, (random(130, 48), random(130, 70), random(48, 70)), 1),
    "loop": (loop_of_layers, (random(130, 48), W, B), 1),
    "stack": (stacked_layers, (random(130, 48), W, B), 1),
    "product needed twice": (many_rows_few_products, (random(130, 48), W, B), 1),
    "batch": (jnp.matmul, (random(16, 130, 70), random(16, 70, 90)), 0),
    "columns in blocks": (dense, (random(40, 300), random(300, 2500), random(2500)), 1),
}


@pytest.mark.parametrize("case", CASES)
def test_what_follows_row_by_row_is_part_of_the_product(case):
    function, args, count = CASES[case]
    text = kernels_of(function, *args)[1]
    assert text.count("host->sgemm_then(") >= count
    same(function, *args, tolerance=2e-4)


@pytest.mark.parametrize("case", CASES)
def test_results_do_not_depend_on_the_threads(case):
    function, args, _ = CASES[case]
    compiled = jax.jit(function)
    before, answers = num_threads(), set()
    for threads in (1, 2, 5):
        set_num_threads(threads)
        answers.add(tuple(np.asarray(x).tobytes() for x in jax.tree.leaves(compiled(*args))))
    set_num_threads(before)
    assert len(answers) == 1


@pytest.mark.parametrize("function", [
    lambda x, w: (x @ w)[::-1] + 1,  # an iteration reads another row
    lambda x, w: (x @ w).sum(axis=0),  # all rows flow together
    lambda x, w: (x @ w).T + x @ w,  # and here its columns
    lambda x, w: jnp.cumsum(x @ w, axis=0),
])  # fmt: skip
def test_what_does_not_go_row_by_row_waits(function):
    x = random(64, 64)
    assert "host->sgemm_then" not in kernels_of(function, x, x)[1]
    same(function, x, x, tolerance=2e-4)


def test_a_kernel_between_that_is_needed_keeps_its_place():
    def function(x, w):
        product = x @ w
        return product * product.sum()  # the sum reads all rows before the first is multiplied

    x = random(64, 64)
    assert "host->sgemm_then" not in kernels_of(function, x, x)[1]
    same(function, x, x, tolerance=2e-4)


def test_rows_do_not_overwrite_an_operand_that_other_rows_need():
    def function(x):
        h = jnp.sin(x)
        return h @ h * 2.0

    x = random(96, 96)
    same(function, x, tolerance=2e-4)
    same(lambda x: jax.lax.fori_loop(0, 4, lambda i, x: jnp.tanh(x @ x), x), x, tolerance=2e-4)


def test_a_sequel_moves_before_kernels_that_do_not_mind():
    def function(x, w):
        product = x @ w
        other = jnp.cumsum(w, axis=0)
        return other, product + 1

    kernels, text = kernels_of(function, random(64, 64), random(64, 64))
    assert "host->sgemm_then" in text
    assert len(kernels) == 2


def test_gradients_of_layers():
    def loss(x, w, b):
        return (two_layers(x, w, b) ** 2).sum()

    args = random(130, 48), W, B
    kernels_of(jax.grad(loss, argnums=(0, 1, 2)), *args)
    same(jax.grad(loss, argnums=(0, 1, 2)), *args, tolerance=2e-3)


@pytest.mark.parametrize("shape", [(40,), (2, 20), (9, 1, 3)])
def test_threads_take_whole_products_of_a_batch(shape):
    a, b = random(*shape, 40, 60), random(*shape, 60, 50)
    text = kernels_of(jnp.matmul, a, b)[1]
    assert "host->parallel_for" in text
    same(jnp.matmul, a, b, tolerance=2e-4)


def test_a_batch_with_an_operand_for_all():
    a, b = random(16, 40, 60), random(60, 50)
    same(jnp.matmul, a, b, tolerance=2e-4)
    same(lambda a, b: jnp.einsum("bij,kj->bik", a, b) + 1, a, b.T, tolerance=2e-4)


def test_few_products_are_cut_into_blocks():
    text = kernels_of(jnp.matmul, random(3, 128, 128), random(3, 128, 128))[1]
    assert "host->parallel_for" not in text


def test_an_epilogue_waits_for_the_numbers_that_it_reads():
    """Between the product and the loop over its rows stands the kernel that makes a factor: the loop comes after it."""
    x, w, b = random(130, 48), W, B

    def scaled(x, w, b):
        product = x @ w
        factor = jnp.sum(jnp.sin(b))
        return product * factor + b, factor

    def shifted(x, w, b):
        norm = jnp.sqrt(jnp.sum(b * b))
        return jnp.tanh((x @ w) / norm) * jnp.max(b)

    def by_another_product(x, w, b):
        return (x @ w) * (w @ b)[3] + (x @ w).sum()

    for function in (scaled, shifted, by_another_product):
        kernels_of(function, x, w, b)
        same(function, x, w, b)
