"""What is kept: a product by loops reads windows in the array that they slide over, and vectors go with them."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.codegen.test_programs import generated
from tests.meanings import in_numpy
from tinytrace import lax

PROGRAMS = {
    "a vector": (jnp.convolve, (3000,), (9,)),
    "not turned round": (lambda x, w: jnp.correlate(x, w, "same"), (3000,), (9,)),
    "a matrix": (jax.scipy.signal.convolve2d, (60, 70), (3, 5)),
    "an image": (lambda x, w: lax.conv(x, w, (1, 1), "SAME"), (1, 1, 40, 40), (1, 1, 3, 3)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_windows_of_small_products_are_nowhere_in_memory(name, dtype):
    function, *shapes = PROGRAMS[name]
    args = [np.random.default_rng(0).integers(-9, 9, shape).astype(dtype) for shape in shapes]
    source = generated(function, *args).source
    most = 4 if dtype is np.complex64 else 2
    assert args[0].nbytes < source.workspace < most * args[0].nbytes  # the padded array, and no windows
    assert "lane" in source.text
    checked(function, *args, inputs=args)
    for got, want in zip(jax.tree.leaves(jax.jit(function)(*args)), in_numpy(function, *args), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("function", "shapes", "is_kept"), [
    (jnp.dot, ((70,), (70, 60)), False), (jnp.dot, ((60, 70), (70,)), False),
    (lambda x, y: jnp.einsum("bij,bj->bi", x, y), ((5, 20, 30), (5, 30)), False),
    (lambda x, y: x @ (y + 1).real, ((70,), (70, 60)), False), (lambda x, y: (x + 1) @ y, ((9, 8), (8, 7)), True),
    (lambda x, y: x @ jnp.exp(y), ((70,), (70, 60)), False), (lambda x, y: x @ jnp.sin(y), ((9, 8), (8, 7)), True)])
def test_a_matrix_that_is_needed_once_by_a_product_is_nowhere_in_memory(function, shapes, is_kept):
    args = [np.random.default_rng(0).integers(-9, 9, shape).astype(np.complex64) for shape in shapes]
    assert (generated(function, *args).source.workspace > max(x.nbytes for x in args) / 2) == is_kept
    checked(function, *args, inputs=args)
    for got, want in zip(jax.tree.leaves(jax.jit(function)(*args)), in_numpy(function, *args), strict=True):
        np.testing.assert_allclose(got, want, 1e-5)


def joined(x):
    return jnp.concatenate([jnp.sin(x) / x, jnp.exp(x)])


@pytest.mark.parametrize(("function", "is_kept"), [
    (joined, False), (lambda x: jnp.pad(jnp.exp(x) / x, 3), False),
    (lambda x: jnp.stack([jnp.sin(x), jnp.cos(x)]), False),
    (lambda x: jnp.concatenate([jnp.sin(x)] * 2), True), (lambda x: jnp.concatenate([jnp.sin(x[:9]), x]), True),
    (lambda x: jnp.tile(jnp.sin(x), (3, 1)), True), (lambda x: joined(x)[jnp.arange(5000) % 7], True),
])
def test_what_is_joined_is_computed_where_it_goes_unless_it_is_needed_again(function, is_kept):
    x = np.linspace(0.1, 3, 1000, dtype=np.float32)
    assert (generated(function, x).source.workspace > 0) == is_kept
    checked(function, x, inputs=[x])
    for got, want in zip(jax.tree.leaves(jax.jit(function)(x)), in_numpy(function, x), strict=True):
        np.testing.assert_allclose(got, want, 1e-5)


@pytest.mark.parametrize(("times", "is_kept"), [(1, False), (100, True)])
def test_what_a_gather_reads_few_elements_of_is_computed_where_it_reads(times, is_kept):
    x = np.random.default_rng(0).standard_normal((40, 200)).astype(np.float32)
    places = np.arange(40 * times) % 40
    source = generated(lambda x: jax.nn.log_softmax(x)[places, places], x).source
    assert (source.workspace >= x.nbytes) is is_kept


def test_places_are_computed_where_one_element_is_read_at_each():
    def f(x, i, j):
        return x[i, j] + x[i + 1, j] + x[i, j + 1] + x[i + 1, j + 1]

    x, (i, j) = np.arange(40_000, dtype=np.float32).reshape(200, -1), np.arange(2000).reshape(2, -1) % 190
    assert generated(f, x, i, j).source.workspace == 0
    np.testing.assert_array_equal(jax.jit(f)(x, i, j), f(*map(jnp.asarray, (x, i, j))))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.int8])
def test_a_copy_is_read_where_its_operand_is(dtype):
    x = np.arange(100).astype(dtype)
    text = jax.jit(jnp.copy).lower(x).as_text()
    assert "b[i0] = a[i0];" in text or "((uint64_t *)b)[i0] = ((const uint64_t *)a)[i0];" in text
    np.testing.assert_array_equal(jax.jit(lambda x: jnp.copy(x) + x)(x), x + x)


@pytest.mark.parametrize("fold", ["sum", "max", "any"])
def test_rows_of_eight_integers_are_written_out(fold):
    def of_rows(x):
        return getattr(x.reshape(-1, 8) * 2, fold)(1)

    x = np.arange(1000, dtype=np.int32) % 7
    source = generated(of_rows, x).source
    assert source.workspace == 0
    assert "reduction" not in source.text
    np.testing.assert_array_equal(jax.jit(of_rows)(x), of_rows(x))


def test_what_has_no_operand_is_no_window():
    assert jax.jit(lambda: jnp.arange(4.0) @ jnp.arange(4.0))() == 14


def pooled(function, size, step, fold=lax.max, init=-np.inf):
    return lambda x: lax.reduce_window(function(x), init, fold, (1, size, size, 1), (1, step, step, 1), "VALID")


@pytest.mark.parametrize(("function", "is_kept"), [
    (pooled(jax.nn.relu, 2, 2), False), (pooled(jnp.exp, 2, 2, lax.add, 0.0), False),
    (pooled(lambda x: jnp.exp(x) / 3, 2, 3), False), (pooled(jnp.exp, 3, 1, lax.add, 0.0), True),
    (lambda x: jax.nn.relu(x).reshape(2, 8, 2, 6, 2, 16).max((2, 4)), False),
    (lambda x: jnp.exp(x)[:, :8] + jnp.exp(x)[:, 1:9], True)])
def test_what_windows_have_once_is_computed_for_them(function, is_kept):
    x = np.random.default_rng(0).standard_normal((2, 16, 12, 16)).astype(np.float32)
    source = generated(function, x).source
    assert (source.workspace > 0) == is_kept
    checked(function, x, inputs=[x])
    want, = in_numpy(function, x)
    np.testing.assert_allclose(jax.jit(function)(x), want, 1e-5)


def crop(x, at):
    return lax.dynamic_slice(jnp.pad(x, 2), (at, at), (32, 40))


@pytest.mark.parametrize(("function", "is_kept"), [
    (crop, True), (lambda x, at: jnp.tanh(jnp.pad(x, 2))[jnp.arange(36) * at % 30], True),
    (lambda x, at: lax.dynamic_slice(x + 1, (at, at), (32, 40)), False),
    (lambda x, at: lax.dynamic_slice(jnp.pad(x, 2), (at, at), (8, 8)), False)])
def test_what_is_padded_is_there_before_much_of_it_is_read_at_computed_places(function, is_kept):
    x, at = np.random.default_rng(0).standard_normal((32, 40)).astype(np.float32), np.int32(3)
    source = generated(function, x, at).source
    assert (source.workspace >= x.nbytes) == is_kept
    checked(function, x, at, inputs=[x, at])
    want, = in_numpy(function, x, at)
    np.testing.assert_allclose(jax.jit(function)(x, at), want, 1e-6)


@pytest.mark.parametrize(("function", "is_kept"), [
    (lambda x, y, i: (x / y)[i], True), (lambda x, y, i: (x[::-1] * 2 + y)[i] + 1, True),
    (lambda x, y, i: (x / y)[i[:900]], False),                     # fewer than twice as many are read
    (lambda x, y, i: (x * 2 + x[0] + y[:5].sum())[i], False),      # of one array
    (lambda x, y, i: (x * 2 + x)[i] * y[i], False)])
def test_what_is_made_of_several_arrays_is_there_before_a_gather_reads_it_again_and_again(function, is_kept):
    x, y = np.random.default_rng(0).standard_normal((2, 500)).astype(np.float32)
    i = np.random.default_rng(1).integers(0, 500, 1000).astype(np.int32)
    source = generated(function, x, y, i).source
    assert (source.workspace >= x.nbytes) == is_kept
    checked(function, x, y, i, inputs=[x, y, i])
    np.testing.assert_allclose(jax.jit(function)(x, y, i), in_numpy(function, x, y, i)[0], 1e-5)


def spread(x, times):
    """Each element goes to five places, scaled: the gradient of a filter along rows."""
    return sum(jnp.pad(x * k, ((0, 0), (j, 4 - j))) for j, k in enumerate(times))


@pytest.mark.parametrize(("function", "is_kept"), [
    (lambda x: spread(jnp.exp(x), range(1, 6)), True), (lambda x: spread(x + 1, range(1, 6)), False),
    (lambda x: jnp.pad(jnp.exp(x) * 2, ((0, 0), (0, 4))), False)])
def test_what_is_read_at_several_distances_is_computed_once(function, is_kept):
    x = np.random.default_rng(0).standard_normal((24, 40)).astype(np.float32)
    source = generated(function, x).source
    assert (source.workspace > 0) == is_kept
    checked(function, x, inputs=[x])
    want, = in_numpy(function, x)
    np.testing.assert_allclose(jax.jit(function)(x), want, 1e-5)
