"""Long folds: in pieces and blocks, running, over leading axes, around an estimate; their values and their accuracy."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import compiles_without_warnings, generated, same
from tinytrace.codegen.ir.verifier import verify
from tinytrace.runtime.threads import num_threads, set_num_threads

LONG = 300_001
"""Elements that are worth several threads, and leave a piece that is not full."""


def values(*shape, dtype=np.float32, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    return jnp.asarray((x * 50 if np.dtype(dtype).kind in "iu" else x).astype(dtype))


def checked(function, *args):
    """Returns the compiled results, after a look at the kernels."""
    verify(generated(function, *args).kernels)
    return jax.tree.leaves(jax.jit(function)(*args))


# --- running folds -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 1000, LONG])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_of_any_length(n, reverse):
    x = values(n)
    got, = checked(lambda x: jax.lax.cumsum(x, reverse=reverse), x)
    exact = np.asarray(x, np.float64)[::-1 if reverse else 1].cumsum()[::-1 if reverse else 1]
    np.testing.assert_allclose(np.asarray(got), exact, 1e-6, 2e-3)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "float16", "float32"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_folds_of_every_type(name, dtype):
    fold = getattr(jax.lax, name)
    x = values(6, 333, dtype=dtype)
    same(lambda x, y: (fold(x, 0), fold(y, 1)), x, x, tolerance=1e-2 if dtype == "float16" else 1e-4)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (1,), (3, 1, 4)])
def test_running_folds_of_single_elements(shape):
    x = values(*shape)
    for axis in range(len(shape)):
        assert compiles_without_warnings(generated(lambda x, axis=axis: jnp.cumsum(x, axis), x).source.text)
        same(lambda x, axis=axis: (jax.lax.cumsum(x, axis), jax.lax.cumlogsumexp(x, axis, reverse=True)), x)


@pytest.mark.parametrize("name", ["cumsum", "cummax", "cummin"])
def test_running_folds_in_pieces(name):
    x = values(LONG, dtype=np.int32)
    same(lambda x: getattr(jax.lax, name)(x), x)


def test_running_folds_keep_nan():
    x = np.asarray(values(LONG)).copy()
    x[200_000] = np.nan
    for fold in (jax.lax.cumsum, jax.lax.cummax):
        got = np.isnan(np.asarray(jax.jit(lambda x, fold=fold: fold(x))(x)))
        assert got[200_000:].all()
        assert not got[:200_000].any()


def test_a_running_sum_of_what_is_computed_and_of_what_is_padded():
    x = values(LONG)
    same(lambda x: jnp.cumsum(jnp.exp(x)), x, tolerance=1e-4)
    same(lambda x: jnp.cumsum(jnp.pad(x, (3, 4))) * 2, values(100), tolerance=1e-4)


# --- accuracy ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", [(1_000_000,), (2, 1_000_000), (100_003,), (3, 9000)])
def test_long_sums_lose_few_digits(shape):
    x = jnp.asarray(np.random.default_rng(0).random(shape, np.float32))
    got, = checked(lambda x: x.sum(-1), x)
    exact = np.asarray(x, np.float64).sum(-1)
    np.testing.assert_array_less(abs(np.asarray(got) - exact) / exact, 3e-7)


@pytest.mark.parametrize("shape", [(1_000_000,), (100_003,), (3, 10_000)])
def test_long_sums_of_equal_terms_lose_few_digits(shape):
    """Their errors do not cancel, for all have one sign."""
    x = jnp.full(shape, 0.1)
    got, = checked(lambda x: x.sum(-1), x)
    exact = np.asarray(x, np.float64).sum(-1)
    np.testing.assert_array_less(abs(np.asarray(got) - exact) / exact, 1e-6)


@pytest.mark.parametrize(("shape", "axes"), [((5256, 16, 31), (0, 2)), ((50_003, 3, 2), (0, 2)),
                                             ((9, 5, 20_000, 2, 17), (0, 2, 4)), ((3, 7, 9000), (0, 2))])
def test_long_sums_in_loops_in_loops_lose_few_digits(shape, axes):
    x = jnp.asarray((1 + np.random.default_rng(0).random(shape, np.float32)) / 1024)
    got, least = checked(lambda x: (x.sum(axes), x.min(axes)), x)
    exact = np.asarray(x, np.float64).sum(axes)
    np.testing.assert_array_less(abs(np.asarray(got) - exact) / exact, 2e-6)
    np.testing.assert_array_equal(least, np.asarray(x).min(axes))


def test_blocks_of_several_folds_at_once():
    x = values(2, 20_001)

    def f(x):
        e = jnp.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True), x.min(1), (x * 2).sum(1)

    same(f, x, tolerance=1e-4)


# --- over leading axes ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", [(512, 3000), (1000, 513), (5000, 16), (3, 777, 600), (20, 70, 5, 400), (140_000, 5)])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_folds_of_groups_of_rows(shape, dtype):
    x = values(*shape, dtype=dtype)
    for axes in {(0,), tuple(range(len(shape) - 1)), (len(shape) - 2,)}:
        got = checked(lambda x, axes=axes: (x.sum(axes), x.max(axes), (x * x).min(axes)), x)
        wide = np.asarray(x).astype(np.float64 if dtype == "float32" else dtype)
        np.testing.assert_allclose(np.asarray(got[0]), wide.sum(axes, dtype=wide.dtype), 1e-6, 1e-4)
        np.testing.assert_array_equal(np.asarray(got[1]), np.asarray(x).max(axes))
        np.testing.assert_allclose(np.asarray(got[2]), (np.asarray(x) ** 2).min(axes), 1e-6)


def test_folds_of_groups_keep_nan_and_the_results_that_are_wanted_twice():
    x = np.asarray(values(1100, 600)).copy()
    x[1099, 7] = np.nan
    top, total = checked(lambda x: (jnp.max(x, 0), 2 * x.sum(0) + x.sum(0)), jnp.asarray(x))
    assert np.flatnonzero(np.isnan(top)).tolist() == [7]
    assert np.flatnonzero(np.isnan(total)).tolist() == [7]


# --- sums around totals --------------------------------------------------------------------------------------------

def passes(function, *args, name="a"):
    """Returns how many kernels read an argument."""
    return sum(any(buffer.name == name for buffer in kernel.reads) for kernel in generated(function, *args).kernels)


def spread(x):
    c = x.mean()
    return c, ((x - c) ** 2).mean()


@pytest.mark.pairs
@pytest.mark.parametrize("function", [lambda x: (x.mean(), x.var()), spread])
@pytest.mark.parametrize("shape", [(1024, 1024), (LONG,), (4099, 67)])
@pytest.mark.parametrize(("mean", "deviation"), [(0, 1), (1e4, 1), (-3e5, 20), (1e-3, 1e-6)])
def test_mean_and_variance_read_once_as_exactly_as_twice(function, shape, mean, deviation):
    x = jnp.asarray((mean + deviation * np.random.default_rng(1).standard_normal(shape)).astype(np.float32))
    assert passes(function, x) == 1
    center, variance = checked(function, x)
    exact = np.asarray(x, np.float64)
    np.testing.assert_allclose(float(center), exact.mean(), 2e-7, 1e-6 * deviation)
    rounding = (np.finfo(np.float32).eps * mean) ** 2  # of the mean itself, which two passes suffer from too
    np.testing.assert_allclose(float(variance), exact.var(), 1e-6, 2 * rounding)


@pytest.mark.parametrize("make", [
    np.sort, lambda x: np.where(np.arange(x.size) % 4096 < 256, 1000 + x, x), lambda x: np.where(x > 3, 1e6, x),
    lambda x: np.full_like(x, 0.1), lambda x: np.arange(x.size) + x,
], ids=["sorted", "strange samples", "outliers", "equal", "rising"])
def test_variance_where_samples_mislead(make):
    x = make(np.random.default_rng(2).standard_normal(LONG).astype(np.float32)).astype(np.float32)
    got, = checked(jnp.var, jnp.asarray(x))
    exact = np.asarray(x, np.float64)
    np.testing.assert_allclose(float(got), exact.var(), 2e-6, (40 * np.finfo(np.float32).eps * exact.mean()) ** 2)


@pytest.mark.parametrize("shape", [(1024, 600), (3000, 67), (4099, 5), (3, 2000, 40)])
@pytest.mark.parametrize("mean", [0, 1e4])
def test_mean_and_variance_of_columns_are_read_once(shape, mean):
    x = jnp.asarray((mean + np.random.default_rng(1).standard_normal(shape)).astype(np.float32))
    axis = len(shape) - 2

    def f(x):
        return x.mean(axis), x.var(axis), (x * x).min(axis)

    assert passes(f, x) == 1
    center, variance, _ = checked(f, x)
    exact = np.asarray(x, np.float64)
    wrong = np.asarray(center) - exact.mean(axis)
    assert (abs(wrong) < 1e-6 * (1 + mean)).all()
    assert (abs(np.asarray(variance) - exact.var(axis)) < 3e-6 + 2 * wrong ** 2).all()


@pytest.mark.not_quick
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_mean_and_variance_of_other_types(dtype):
    with jax.enable_x64():
        x = jnp.asarray(np.random.default_rng(1).random((1024, 600)).astype(dtype))
        for axis in (None, 0, 1):
            same(lambda x, axis=axis: (x.mean(axis), x.var(axis), x.sum(axis), x.max(axis)), x,
                 tolerance=2e-3 if dtype == "float16" else 1e-12)


@pytest.mark.not_quick
def test_sums_around_totals_of_every_form():
    x = values(600, 700) + 30
    y = values(600, 700, seed=3) + x / 2 - 20
    w = abs(values(700, seed=4))

    def covariance(x, y):
        return ((x - x.mean()) * (y - y.mean())).sum()

    def weighted(x, w):
        return (w * (x - 2 * x.mean()) ** 2).sum(), (x * w).sum()

    def correlation(x, y):
        return covariance(x, y) / (x.std() * y.std() * x.size)

    assert passes(weighted, x, w) == 1
    assert passes(covariance, x, y, name="b") == 1  # around the mean of y, after that of x
    for function, args in ((covariance, (x, y)), (weighted, (x, w)), (correlation, (x, y))):
        got = checked(function, *args)
        exact = jax.tree.leaves(function(*(np.asarray(a, np.float64) for a in args)))
        np.testing.assert_allclose([float(a) for a in got], exact, 2e-5)


@pytest.mark.not_quick
def test_what_is_no_polynomial_or_not_linear_is_read_twice():
    x = values(LONG)
    for function in (lambda x: abs(x - x.mean()).sum(), lambda x: (((x - x.max()) ** 2).sum(), x.sum()),
                     lambda x: ((x - jnp.sqrt(x.sum() ** 2)) ** 2).sum(),
                     lambda x: jnp.exp(x - x.max()).sum(), lambda x: ((x - x.sum()) ** 2).max()):
        assert passes(function, x) == 2
        same(function, x, tolerance=1e-4)


def test_infinities_and_nan_reach_the_variance():
    for odd in (np.inf, -np.inf, np.nan):
        x = np.asarray(values(LONG)).copy()
        x[123_456] = odd
        center, variance = jax.jit(spread)(x)
        np.testing.assert_equal(float(center), odd)
        assert np.isnan(variance)


@pytest.mark.parametrize("shape", [(LONG,), (4096, 67)])
@pytest.mark.parametrize(("size", "mean"), [(1e20, 0), (1e25, 3), (1e34, 1)])
def test_squares_that_overflow_make_an_infinite_variance(shape, size, mean):
    x = jnp.asarray((size * (mean + np.random.default_rng(1).standard_normal(shape))).astype(np.float32))
    assert np.isinf(jax.jit(lambda x: (x.mean(0), x.var(0)))(x)[1]).all()


def test_pieces_far_from_each_other_make_an_infinite_variance():
    x = 1e17 * np.random.default_rng(1).standard_normal((512, 2048)).astype(np.float32)
    x[::2] += 1e22
    assert np.isposinf(jax.jit(spread)(x)[1])


@pytest.mark.not_quick
def test_what_is_no_sum_around_totals_does_not_join_one():
    x = values(LONG)

    def smallest(x):
        return x.var(), jnp.argmin(x)

    def masked(x):
        return x.var(), x.std(where=x > 0)

    def weighted(x):
        w = 1 + abs(x)
        mean = (w * x).sum() / w.sum()
        return x.std(), (w * (x - mean) ** 2).sum()

    for function in (smallest, masked, weighted):
        same(function, x, tolerance=1e-4)


# --- many updates of few elements ----------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("method", ["add", "multiply", "min", "max"])
def test_updates_in_pieces(method, dtype):
    index = jnp.asarray(np.random.default_rng(5).integers(-60, 60, LONG).astype(np.int32))  # some are out of bounds
    size = 20 if method in ("min", "max") else 50
    start, updates = values(size, dtype=dtype, seed=6), values(LONG, dtype=dtype)
    if method == "multiply":
        updates = jnp.where(jnp.arange(LONG) % 5000 == 0, updates, 1).astype(dtype)

    def f(start, index, updates):
        return getattr(start.at[index], method)(updates), start.sum()

    assert any(buffer.name.endswith("_partials") for kernel in generated(f, start, index, updates).kernels
               for buffer in kernel.writes)
    verify(generated(f, start, index, updates).kernels)
    same(f, start, index, updates, tolerance=1e-3)


def test_extremes_of_few_updates_each_are_found_in_one_piece():
    index = jnp.asarray(np.random.default_rng(5).integers(0, 500, LONG).astype(np.int32))
    start, updates = values(500, seed=6), values(LONG)

    def f(start, index, updates):
        return start.at[index].max(updates)

    assert not generated(f, start, index, updates).source.workspace
    same(f, start, index, updates)


def test_updates_of_rows_in_pieces_and_in_a_loop():
    index = jnp.asarray(np.random.default_rng(5).integers(0, 64, 20_000).astype(np.int32))
    x = values(20_000, 16)
    same(lambda x, index: jnp.zeros((64, 16)).at[index].add(x), x, index, tolerance=1e-3)
    same(lambda x, index: jnp.ones((64, 16)).at[index].subtract(x, mode="drop"), x, index, tolerance=1e-3)
    same(lambda x, index: jax.lax.fori_loop(0, 3, lambda k, y: y.at[index].add(k * x), jnp.zeros((64, 16))),
         x, index, tolerance=1e-3)


# --- any number of threads -----------------------------------------------------------------------------------------

def test_results_are_the_same_for_any_number_of_threads():
    x = values(1100, 700)
    index = jnp.asarray(np.random.default_rng(5).integers(0, 90, x.size).astype(np.int32))

    @jax.jit
    def f(x, index):
        flat = x.reshape(-1)
        return x.sum(), x.var(), x.sum(0), jnp.cumsum(flat), jnp.zeros(90).at[index].add(flat)

    results, before = [], num_threads()
    try:
        for threads in (1, 2, 5):
            set_num_threads(threads)
            results.append([np.asarray(y).tobytes() for y in f(x, index)])
    finally:
        set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("method", ["add", "set", "max"])
@pytest.mark.parametrize("count", [1023, 1024, 1025, 1536, 3000])
def test_updates_in_strips(method, count):
    """Where to and what with is computed first; what happens to collisions and to places outside stays."""
    start = values(700, seed=1)
    index = np.random.default_rng(2).integers(-900, 900, count).astype(np.int32)

    def f(start, index, updates):
        return getattr(start.at[index], method)(jnp.sin(updates) * 2)

    text = str(jax.jit(f).lower(start, index, values(count, seed=3)).as_text())
    assert ("i0_strip" in text) == (count >= 1024)
    verify(generated(f, start, index, values(count, seed=3)).kernels)
    same(f, start, index, values(count, seed=3))
