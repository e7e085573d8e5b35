"""Programs that random comparison with JAX found to be compiled wrongly: each stays right."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace import lax


def same(function, *args):
    """Asserts that a function gives the same numbers compiled and equation by equation in NumPy."""
    for ours, theirs in zip(jax.tree.leaves(jax.jit(function)(*args)), in_numpy(function, *args), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_two_results_of_one_kernel_do_not_take_the_place_of_one_temporary():
    x = jnp.array([0, 1])
    same(lambda x: jnp.vstack([jnp.cumsum(x) // 3, jnp.cumsum(x) % 3]), x)


@pytest.mark.pairs
@pytest.mark.not_quick
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(7, 7), (3, 3), (7, 5)])
def test_readers_of_a_running_sum_stand_in_its_loops_only_when_their_order_is_the_same(shape, axis, reverse):
    x = jnp.arange(float(shape[0] * shape[1])).reshape(shape)

    def running(x):
        return lax.cumsum(x, axis=axis, reverse=reverse)

    readers = [lambda x: x * running(x), lambda x: (x.T * 2) * running(x).T, lambda x: running(x).T * 2,
               lambda x: running(x.T), lambda x: x.reshape(shape[::-1]) * running(x.reshape(shape[::-1])),
               lambda x: lax.cumsum(running(x), axis=1 - axis) + running(x)]
    if shape[0] == shape[1]:
        readers += [lambda x: x * running(x).T, lambda x: x.T * running(x)]
    # Each has an operand of its own, and so loops of its own.
    same(lambda *xs: [reader(x) for reader, x in zip(readers, xs, strict=True)], *[x] * len(readers))


def test_the_maximum_of_a_few_small_numbers():
    """gcc 12 turned it into vectors from straight-line code, and got 255."""
    b = np.array([[0, 1, 2, 0], [3, 0, 0, 1], [0, 0, 0, 7]], np.uint8)
    np.testing.assert_array_equal(jax.jit(lambda b: jnp.max(jnp.sign(b), 1))(b), [1, 1, 1])
    np.testing.assert_array_equal(jax.jit(lambda b: jnp.min((b != 0).astype("int8"), 1))(b), [0, 0, 0])


def test_a_masked_maximum_beside_masked_sums():
    """gcc 12 made the use of a vectorised loop's variables depend on the mask, and read them from elsewhere."""
    x, y = np.random.default_rng(0).standard_normal((2, 300_000)).astype(np.float32)

    def f(x, y):
        mask = y > 0
        return (jnp.max(abs(x), where=mask, initial=0), jnp.sum(mask.astype("int32").astype("float32")),
                jnp.sum(x, where=mask))

    largest, count, total = jax.jit(f)(x, y)
    assert (float(largest), float(count)) == (abs(x)[y > 0].max(), (y > 0).sum())
    np.testing.assert_allclose(float(total), x[y > 0].sum(dtype=np.float64), 1e-4)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integer_division_by_a_number_in_the_text(dtype):
    """The compiler divides, except by 0 and -1: what those give is defined, and the processor traps."""
    info = np.iinfo(dtype)
    divisors = {1, 2, 3, 7, 64, 100, info.max, info.max - 1, 0, *([-1, -2, -7, info.min] if info.min else [])}
    numbers = np.array(sorted(divisors), dtype)

    def divided(x):
        return [(lax.div(x, lax.full_like(x, d)), lax.rem(x, lax.full_like(x, d)), x // d, x % d) for d in numbers]

    with jax.enable_x64(True):
        edges = [info.min, info.min + 1, info.min // 2, *range(100), info.max // 2, info.max - 1, info.max]
        x = jnp.asarray(np.array([*edges, *(y % info.max for y in (-1, -2, -3, -7, -100))], dtype))
        same(divided, x)
        same(divided, x[0])


def test_a_negated_sum_that_is_zero_is_minus_zero():
    """gcc makes one instruction of -(a * b + c), which computes -(a * b) - c: that is 0, not -0."""
    a, b = np.float32([0, 2, 0, 1]), np.float32([1, 3, -1, 1])
    c = np.float32([-0.0, -6, 0, 2])

    def negated(a, b, c):
        s = a * b + c
        return -s, s, -(a * b - c), -(c - a * b), -jnp.sum(jnp.stack([a * b, c]), 0), -a, -(a * b), -(a / b)

    for k in range(4):
        check_signs(negated, a[k], b[k], c[k])
    check_signs(negated, a, b, c)
    with jax.enable_x64(True):
        check_signs(negated, *(x.astype(np.float64) for x in (a, b, c)))


def check_signs(function, *args):
    """Asserts that a function gives the same bits compiled and in NumPy, the signs of zeros included."""
    for ours, theirs in zip(jax.jit(function)(*args), in_numpy(function, *args), strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


def test_routines_find_scalars_of_half_precision_in_memory():
    """While it is computed with, a float16 is a float; a routine that takes it by address wants two bytes."""
    bits = jax.jit(lambda x: lax.bitcast_convert_type(x + np.float16(1), np.uint16) + np.uint16(2))
    halves = jax.jit(lambda n: lax.bitcast_convert_type(n + np.uint16(1), np.float16) * 2)
    assert bits(np.float16(1)) == 16386
    assert halves(np.uint16(15360)) == np.float16(2.002)


@pytest.mark.slow
@pytest.mark.parametrize(("fold", "length"), [
    *((lax.cumsum, length) for length in (1, 2, 5, 17, 40, 1000)), (lax.cumprod, 17), (lax.cummax, 2), (lax.cummax, 40),
])
def test_running_folds_over_what_is_padded(fold, length):
    """Loops cut into segments, some of which are one iteration that is no loop any more."""
    x = jnp.asarray(np.random.default_rng(0).integers(-1, 2, (2, length)), "float32")
    edges = [((0, 0), edge) for edge in ((0, 1), (1, 0), (1, 1), (3, 2))]
    same(lambda x: [fold(jnp.pad(x, edge, constant_values=2), axis=1) for edge in edges], x)
    same(lambda x: [fold(jnp.pad(x, edge), axis=1, reverse=True) for edge in edges], x)


def test_what_was_read_from_a_place_is_not_what_stands_there_now():
    """The sum is that of the exponentials, which take the place of the numbers that the maximum was read from."""
    key, alpha = jax.random.key(3), np.float32([0.3, 2.0, 40.0])
    np.testing.assert_allclose(np.asarray(jax.random.dirichlet(key, alpha)).sum(), 1, 1e-6)

    def f(x):
        y = lax.fori_loop(0, 3, lambda i, y: y.at[i].set(y[i] * 2 - 1), x)
        e = jnp.exp(y - jnp.max(y))
        return e / jnp.sum(e)

    x = np.float32([0.5, -1, 0.25])
    wanted = np.exp(2 * x - 1) / np.exp(2 * x - 1).sum()
    np.testing.assert_allclose(jax.jit(f)(x), wanted, 1e-5)
