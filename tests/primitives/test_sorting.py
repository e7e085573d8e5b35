"""Sorting in C against its meaning in NumPy, to the bit: lines of all lengths at which it goes another way."""
import itertools

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import _dispatch
from tinytrace._runtime import ffi, lib
from tinytrace.core import numpy_calls
from tinytrace.core.dtypes import BFLOAT16
from tinytrace.primitives.order_statistics import order_statistics_p
from tinytrace.primitives.sorting import sort_p, top_k_p
from tinytrace.runtime.threads import num_threads, set_num_threads

LENGTHS = (0, 1, 39, 300, 3000, 70_000)  # insertion, digits of 8, 9 and 11 bits, parts
AWKWARD = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 2.0])


def elements(dtype, shape, kind, seed=0):
    """Return elements of few values, or close together but for a few, or of any bits."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if kind == "few":
        return rng.choice(AWKWARD.astype(dtype) if dtype.kind in "fV" else np.arange(-3, 3).astype(dtype), shape)
    if kind == "close" and dtype.kind == "f":
        return (1 + rng.choice([0, 1000], shape) + rng.random(shape) * 1e-3).astype(dtype)
    return rng.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8).view(dtype).reshape(shape)


def same_bits(got, want):
    got, want = (np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}") for x in (np.asarray(got), want))
    return np.array_equal(got, want)


@pytest.fixture
def distributed():
    """A function after whose call everything is distributed by digits, until the test ends."""
    yield lambda: lib.tt_set_quicksorts(ffi.new("uintptr_t[]", lib.TT_QUICKSORTS))
    set_quicksorts()


QUICK = {"here": None, "everywhere": (2 ** 63 - 1, 0, 2 ** 63 - 1), "by digits": (2 ** 63 - 1, 0, 0),
         "merged": (2048, 8192, 2048)}
"""For how many bytes there are quicksorts: here, with AVX-512's vectors, for keys with positions, and on Zen 4."""


@pytest.fixture(params=QUICK)
def quick(request):
    """Sort as on such a CPU."""
    if QUICK[request.param]:
        lib.tt_sort_set_lengths(*QUICK[request.param])
    yield
    set_quicksorts()


def set_quicksorts():
    address = int(ffi.cast("uintptr_t", ffi.addressof(lib, "tt_set_quicksorts")))
    _dispatch.set_numpy(np.asarray, numpy_calls._quiet_context, address)


@pytest.mark.parametrize(("dtype", "n"), [*((np.float32, n) for n in LENGTHS), (np.int32, 300), (np.int32, 70_000),
                                      (np.float16, 3000), (np.float16, 70_000), (BFLOAT16, 300), (np.int8, 100),
                                      (np.int8, 3000), (np.uint16, 70_000)])
def test_lines_are_sorted_alone_and_with_others(dtype, n):
    sort = jax.jit(lambda x, y: (jax.lax.sort(x), jax.lax.sort((y, x, y), num_keys=2)))
    y = elements(np.int8, (n,), "few", seed=1)
    for kind in ("few", "close", "any"):
        x = elements(dtype, (n,), kind)
        alone, others = sort(x, y)
        assert same_bits(alone, sort_p.impl(x, dimension=0, is_stable=True, num_keys=1)[0]), kind
        for got, want in zip(others, sort_p.impl(y, x, y, dimension=0, is_stable=True, num_keys=2), strict=True):
            assert same_bits(got, want), kind


@pytest.mark.parametrize("behind", [[], [1.0], [np.nan]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_of_both_signs_keep_their_order_wherever_they_end(dtype, behind):
    x = np.random.default_rng(0).permutation(np.array([-2.0, 0.0, -0.0] * 50 + behind * 20)).astype(dtype)
    with jax.enable_x64(True):
        got = jax.jit(jax.lax.sort)(x)
    assert same_bits(got, sort_p.impl(x, dimension=0, is_stable=True, num_keys=1)[0])


@pytest.mark.parametrize(("shape", "axis"), [((5, 37, 21), 1), ((70, 3), 0), ((3, 50), 1), ((40_000, 2), 0),
                                             ((0, 3), 0)])
def test_lines_along_any_axis(shape, axis):
    x = elements(np.float32, shape, "few")
    got = jax.jit(lambda x: (jax.lax.sort(x, axis), *jax.lax.sort((x, x), axis)))(x)
    want = sort_p.impl(x, dimension=axis, is_stable=True, num_keys=1)[0]
    assert all(same_bits(part, want) for part in got)


SHORT = {"inner": ((7, 33), (1, 16, 17, 40, 41, 64, 65)), "last": ((45,), (1, 2, 3, 5, 8, 9, 31, 40, 64, 65))}
"""The other dimensions, and lengths, of short lines: side by side, or one after the other."""


@pytest.mark.parametrize(("dtype", "lies"), [(np.float32, "last"), (np.float32, "inner"), (np.float64, "inner"),
                                             (np.int64, "last"), (np.uint8, "inner"), (BFLOAT16, "last")])
def test_many_short_lines_are_sorted_at_once(dtype, lies):
    (first, *others), lengths = SHORT[lies]
    before = lib.tt_set_vectors(4)
    sort = jax.jit(lambda xs: [(jax.lax.sort(x, 1), *jax.lax.sort((x, positions(x)), 1, num_keys=1)) for x in xs])
    try:
        for vectors, kind in itertools.product((4, 3, 0), ("few", "close", "any")):
            lib.tt_set_vectors(vectors)
            xs = [elements(dtype, (first, n, *others), kind) for n in lengths]
            with jax.enable_x64(True):
                sorted_lines = sort(xs)
            for x, got in zip(xs, sorted_lines, strict=True):
                want = sort_p.impl(x, positions(x), dimension=1, is_stable=True, num_keys=1)
                same = [same_bits(a, b) for a, b in zip(got, (want[0], *want), strict=True)]
                assert all(same), (vectors, kind, x.shape)
    finally:
        lib.tt_set_vectors(before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, BFLOAT16])
def test_the_largest_of_many_short_lines(dtype):
    places = [(n, k) for n in SHORT["last"][1] for k in {1, n // 3, n} - {0}]
    before = lib.tt_set_vectors(4)
    largest = jax.jit(lambda xs: [jax.lax.top_k(x, k) for x, (_, k) in zip(xs, places, strict=True)])
    try:
        for vectors, kind in itertools.product((4, 0), ("few", "any")):
            lib.tt_set_vectors(vectors)
            xs = [elements(dtype, (37, n), kind) for n, _ in places]
            with jax.enable_x64(True):
                found = largest(xs)
            for x, (n, k), got in zip(xs, places, found, strict=True):
                want = top_k_p.impl(x, k=k)
                assert all(same_bits(a, b) for a, b in zip(got, want, strict=True)), (vectors, kind, n, k)
    finally:
        lib.tt_set_vectors(before)


def positions(x):
    return np.broadcast_to(np.arange(x.shape[1], dtype=np.int32).reshape(-1, *[1] * (x.ndim - 2)), x.shape)


def beyond_the_caches():
    rare = np.random.default_rng(5).random(600_001) < 1e-5
    skewed = elements(np.uint32, (600_001,), "any") >> 9
    yield from (elements(np.float32, (600_001,), kind) for kind in ("few", "close", "any"))
    yield np.where(rare, ~skewed, skewed)  # nearly all have one first digit, and that is distributed again
    yield elements(np.int32, (2, 600_001), "any")  # lines that threads share out


@pytest.mark.parametrize("threads", [1, 3])
def test_items_beyond_the_caches_are_distributed_by_their_highest_digit_first(distributed, threads):
    distributed()
    before = num_threads()
    set_num_threads(threads)
    try:
        for x in beyond_the_caches():
            last = x.ndim - 1
            got = jax.jit(lambda x: (jax.lax.sort(x), jax.numpy.argsort(x)))(x)
            positions = np.broadcast_to(np.arange(x.shape[-1], dtype=np.int32), x.shape)
            want = sort_p.impl(x, positions, dimension=last, is_stable=True, num_keys=1)
            assert all(same_bits(a, b) for a, b in zip(got, want, strict=True))
    finally:
        set_num_threads(before)


def for_buckets():
    rng, n = np.random.default_rng(6), 70_001
    yield from (elements(np.float32, (n,), kind) for kind in ("few", "close", "any"))
    yield elements(np.uint32, (3, n), "any")  # lines that threads share out
    yield elements(np.uint32, (2_200_001,), "any") | np.uint32(0x80000000)  # beyond caches; one bit is the same
    yield rng.standard_normal(200_000).astype(np.float32)
    yield rng.integers(0, 2**32, n, dtype=np.uint32) & np.uint32(0xFFF0000F)  # a cell's keys differ in their last bits
    yield np.arange(n, dtype=np.int32)[::-1].copy() * np.int32(30_000)
    for share in (0.1, 0.9):  # cells with many keys, of which few bits are looked at first; or with nearly all of them
        same = rng.integers(0, 2**20, n, dtype=np.uint32) & np.uint32(0xF000F)
        yield np.where(rng.random(n) < share, same, rng.integers(0, 2**32, n, dtype=np.uint32))


@pytest.mark.not_quick
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("quick", ["everywhere"], indirect=True)
@pytest.mark.usefixtures("quick")
def test_keys_in_buckets(threads):
    before = num_threads()
    set_num_threads(threads)
    try:
        bucketed = []
        for x in for_buckets():
            before_it = lib.tt_sort_bucketed()
            positions = np.broadcast_to(np.arange(x.shape[-1], dtype=np.int32), x.shape)
            for descending in (False, True):
                got = jax.jit(lambda x, down=descending: jax.numpy.argsort(x, descending=down))(x)
                if not descending:
                    want = sort_p.impl(x, positions, dimension=x.ndim - 1, is_stable=True, num_keys=1)[1]
                    assert same_bits(got, want)
                elif x.ndim == 1 and x.dtype.kind != "f":
                    assert same_bits(got, np.argsort(~x, kind="stable").astype(np.int32))
            bucketed.append(lib.tt_sort_bucketed() - before_it)
        assert bucketed == [0, 0, 2, 6, 2, 2, 2, 1, 2, 0]  # not what has one cell for the most part, or is in order
    finally:
        set_num_threads(before)


@pytest.mark.not_quick
@pytest.mark.parametrize("quick", ["here", "everywhere"], indirect=True)
@pytest.mark.usefixtures("quick")
def test_what_keys_of_one_line_carry_along():
    rng = np.random.default_rng(8)
    for x in (*for_buckets(), elements(np.float32, (300_001,), "few"), np.float32([np.nan, 0, -0.0, np.nan, 1])):
        if x.ndim == 1:
            for values in (rng.integers(-9, 9, x.size, dtype=np.int32), rng.standard_normal(x.size).astype(np.float32)):
                got = jax.jit(lambda x, y: jax.lax.sort((x, y), num_keys=1)[1])(x, values)
                assert same_bits(got, sort_p.impl(x, values, dimension=0, is_stable=True, num_keys=1)[1])


def test_long_items_beyond_the_caches():
    with jax.enable_x64():
        x = elements(np.int64, (300_001,), "any") >> np.int64(3)
        got = jax.jit(lambda x: jax.numpy.lexsort([x, x >> np.int64(40)]))(x)
        np.testing.assert_array_equal(got, np.lexsort([x, x >> 40]))


def test_long_elements():
    with jax.enable_x64():
        for kind in ("few", "close", "any"):
            x = elements(np.float64, (50_000,), kind)
            alone, order = jax.jit(lambda x: (jax.lax.sort(x), jax.numpy.argsort(x)))(x)
            want = sort_p.impl(x, np.arange(x.size), dimension=0, is_stable=True, num_keys=1)
            assert same_bits(alone, want[0]), kind
            np.testing.assert_array_equal(order, want[1])


LONG = {
    "one number": lambda n: np.full(n, 7),
    "upper bits decide": lambda n: np.random.default_rng(0).integers(-2 ** 62, 2 ** 62, n),
    "what room there is decides": lambda n: np.random.default_rng(0).integers(0, 2 ** 40, n) - 5,
    "some neighbours are equal above": lambda n: np.random.default_rng(0).integers(0, n, n) * 2 ** 44 - np.arange(n),
    "the lowest bit alone decides": lambda n: np.random.default_rng(0).integers(0, 2, (2, n)).T @ [1, 2 ** 62],
    "upper bits tell nothing": lambda n: np.append(np.random.default_rng(0).integers(0, 1000, n - 1), 2 ** 62),
    "all equal above, in order": lambda n: np.append(np.arange(n - 1), 2 ** 62),
    "all equal above, the other way": lambda n: np.append(np.arange(n - 1)[::-1], 2 ** 62),
}


@pytest.mark.parametrize("n", [1, 2, 39, 1000, 70_000])
@pytest.mark.parametrize("kind", LONG)
def test_keys_and_positions_that_one_number_does_not_hold(kind, n):
    x = LONG[kind](n).astype(np.int64)
    with jax.enable_x64():
        run = jax.jit(lambda x, y, z: (jax.numpy.argsort(x), jax.numpy.argsort(y), jax.lax.top_k(z, n * 2 // 3)[1]))
        doubles = x.view(np.float64)  # subnormal numbers, infinities and NaN among them
        ints, floats, largest = run(x, doubles, x)
        np.testing.assert_array_equal(ints, np.argsort(x, kind="stable"))
        np.testing.assert_array_equal(floats, np.argsort(np.where(doubles == 0, 0, doubles), kind="stable"))
        np.testing.assert_array_equal(largest, np.argsort(~x, kind="stable")[:n * 2 // 3])


@pytest.mark.parametrize("k", [0, 1, 32, 33])
def test_the_largest_are_in_total_order(k):
    for shape in ((2, 50), (70_000,)):
        x = elements(np.float32, shape, "few")
        values, positions = jax.jit(lambda x: jax.lax.top_k(x, k))(x)
        want = top_k_p.impl(x, k=k)
        assert same_bits(values, want[0])
        np.testing.assert_array_equal(positions, want[1])


@pytest.mark.parametrize(("dtype", "shape", "k"), [
    (np.float32, (70_000,), 30_000), (np.float32, (3, 5000), 4999), (np.int32, (3, 5000), 40),
    (np.uint32, (5000,), 700), (np.float32, (200, 50), 33), (np.float64, (5000,), 2000), (np.int64, (9000,), 4500),
    (np.float16, (5000,), 100)])
def test_many_of_the_largest_are_chosen_before_they_are_sorted(dtype, shape, k):
    with jax.enable_x64():
        both = jax.jit(lambda x: jax.lax.top_k(x, k))
        values, positions = (jax.jit(lambda x, part=part: jax.lax.top_k(x, k)[part]) for part in (0, 1))
        for kind in ("few", "close", "any"):
            x = elements(dtype, shape, kind)
            want = top_k_p.impl(x, k=k)
            for got in (both(x), (values(x), positions(x))):
                assert same_bits(got[0], want[0]), kind
                np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32, np.float64, np.int64])
def test_the_largest_of_a_mask_are_in_their_order(dtype):
    """Lines with one value, two, and a third one at the end, which shows late; zeros of both signs."""
    rng = np.random.default_rng(0)
    with jax.enable_x64():
        for low, high, last in ((0, 1, 1), (0, 1, 2), (3, 3, 3), (-1 if np.dtype(dtype).kind == "i" else -0.0, 0, 0)):
            x = rng.choice(np.array([low, high], dtype), (2, 1000))
            x[:, -1] = last
            for k in (40, 700, 1000):
                want = top_k_p.impl(x, k=k)
                values, positions = jax.jit(lambda x, k=k: jax.lax.top_k(x, k))(x)
                assert same_bits(values, want[0]), (low, high, k)
                np.testing.assert_array_equal(positions, want[1])


@pytest.mark.parametrize("level", [4, 3, 0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint32, np.int64])
def test_the_largest_that_nobody_sorts_stand_as_in_the_line(dtype, level):
    """Short lines and long ones; one value, two, and what a sample at equal distances does not see.

    Of one line, values and positions, values alone and positions alone are one program, for each number of them; each
    chooses from an array of its own.
    """
    before, few = lib.tt_set_vectors(level), elements(dtype, (40_000,), "few")
    try:
        with jax.enable_x64():
            for x in (few[:1], few[:300], few[:2049], few, np.tile(few[:8], 700), np.full(5000, 3).astype(dtype),
                      np.repeat(few[:2], 3000), elements(dtype, (3, 5000), "any"), elements(dtype, (30_000,), "close")):
                n = x.shape[-1]
                counts = [k for k in (n, n // 2, 33, 1, 0) if k <= n]

                def chosen(*xs, counts=counts):
                    params, lines = [{"k": k, "is_sorted": False} for k in counts], iter(xs)
                    return [(top_k_p.bind(next(lines), **each), top_k_p.bind(next(lines), **each)[0],
                             top_k_p.bind(next(lines), **each)[1]) for each in params]

                found = jax.jit(chosen)(*[x] * 3 * len(counts))
                for k, (both, one, other) in zip(counts, found, strict=True):
                    values, positions = top_k_p.impl(x, k=k, is_sorted=False)
                    assert same_bits(both[0], values)
                    assert same_bits(one, values)
                    np.testing.assert_array_equal(both[1], positions)
                    np.testing.assert_array_equal(other, positions)
    finally:
        lib.tt_set_vectors(before)


def test_what_is_not_sorted_has_the_last_one_at_its_end_and_prints_as_jax_prints_it():
    x = np.float32([5, 1, 7, 5, 9, 5])
    values, positions = top_k_p.impl(x, k=4, is_sorted=False)
    assert values.tolist() == [7, 9, 5, 5]
    assert positions.tolist() == [2, 4, 0, 3]
    jaxpr = jax.make_jaxpr(lambda x: top_k_p.bind(x, k=4, is_sorted=False))(x)
    assert "top_k[k=4] a" in str(jaxpr)
    assert "is_sorted" not in str(jaxpr)


def test_a_result_that_nobody_reads_is_not_computed():
    program = jax.jit(lambda x: jax.numpy.partition(x, 500)).lower(np.ones(1000, np.float32))
    assert "->top_k(4, TT_UNORDERED | TT_FLOAT, 1, 1000, 499" in program.as_text()
    calls = [line for line in program.as_text().splitlines() if "->top_k(" in line]
    assert len(calls) == 2
    assert all(", 0)" in line for line in calls)


def test_minus_nan_is_less_than_all_numbers_as_in_jax():
    x = np.float32([-np.nan, 1, np.nan, np.inf, -np.nan, 0, -0.0, -np.inf])
    assert jax.jit(lambda x: jax.lax.top_k(x, 8))(x)[1].tolist() == [2, 3, 1, 5, 6, 7, 0, 4]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint32, BFLOAT16])
def test_places_of_a_sorted_line_are_selected(dtype):
    """Short lines, long ones and parts; equal elements, NaN and zeros of both signs; a sample that sees one value."""
    for shape in ((100,), (3, 2049), (70_000,)):
        n = shape[-1]
        seen = np.full(shape, 3).astype(dtype)
        seen.reshape(-1)[1::3] = 2
        few, any_ = elements(dtype, shape, "few"), elements(dtype, shape, "any")
        parts = ((0, 1), (n // 2, 2), (n - 10, 10), (n // 3, n // 8), (0, n), (5, 0))
        selected = jax.jit(lambda x, parts=parts: [order_statistics_p.bind(x, first=first, count=count)
                                                   for first, count in parts])
        for x in (few, any_, np.sort(any_), seen):
            want = sort_p.impl(x, dimension=x.ndim - 1, is_stable=True, num_keys=1)[0]
            for (first, count), got in zip(parts, selected(x), strict=True):
                assert same_bits(got, want[..., first:first + count]), (shape, first, count)


def test_long_elements_are_selected():
    with jax.enable_x64():
        for kind in ("few", "close", "any"):
            x = elements(np.float64, (50_000,), kind)
            got = jax.jit(lambda x: order_statistics_p.bind(x, first=20_000, count=30))(x)
            assert same_bits(got, sort_p.impl(x, dimension=0, is_stable=True, num_keys=1)[0][20_000:20_030])


def test_the_number_of_threads_is_not_seen():
    x = elements(np.float32, (200_000,), "close")
    sort = jax.jit(lambda x: (jax.lax.sort(x), jax.numpy.argsort(x), jax.lax.top_k(x, 20)[1],
                              order_statistics_p.bind(x, first=99_000, count=200)))
    results, before = [], num_threads()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.append([np.asarray(part) for part in sort(x)])
    set_num_threads(before)
    for other in results[1:]:
        assert all(same_bits(a, b) for a, b in zip(other, results[0], strict=True))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [41, 257, 513, 1000, 1025, 2047, 5000, 150_001])
@pytest.mark.usefixtures("quick")
def test_a_quicksort_of_the_host_gives_what_distributing_gives(distributed, n, threads):
    x = [elements(dtype, (n,), kind) for dtype in (np.float32, np.float64) for kind in ("few", "close", "any")]
    x += [np.sort(x[2])[::-1].copy(), np.sort(np.abs(x[1])), elements(np.float16, (n,), "any")]
    integers = np.int32, np.uint32, np.int64, np.uint64
    x += [elements(dtype, (n,), kind) for dtype in integers for kind in ("few", "any")]
    sort = jax.jit(lambda x: [(jax.lax.sort(part), jax.numpy.argsort(part), jax.numpy.lexsort([part[::-1], part]))
                              for part in x])
    before = num_threads()
    set_num_threads(threads)
    try:
        with jax.enable_x64():
            with_vectors = sort(x)
            distributed()
            without = sort(x)
    finally:
        set_num_threads(before)
    for got, want in zip(with_vectors, without, strict=True):
        assert all(same_bits(a, np.asarray(b)) for a, b in zip(got, want, strict=True))
