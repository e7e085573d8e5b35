"""Arrays: immutable, printed as JAX prints them, sharing memory with NumPy and giving it back."""
import copy
import ctypes
import gc
import pickle
import threading

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core import array
from tinytrace.pure import PURE


@pytest.mark.parametrize(("make", "text"), [
    (lambda: jnp.array([0.5, -1.5, 2.0]), "Array([ 0.5, -1.5,  2. ], dtype=float32)"),
    (lambda: jnp.array(3), "Array(3, dtype=int32, weak_type=True)"),
    (lambda: jnp.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
    (lambda: jnp.zeros((0,)), "Array([], shape=(0,), dtype=float32)"),
    (lambda: jnp.arange(4).reshape(2, 2), "Array([[0, 1],\n       [2, 3]], dtype=int32)"),
    (lambda: jax.jit(lambda x: x + 1)(29), "Array(30, dtype=int32, weak_type=True)"),
])
def test_repr(make, text):
    assert repr(make()) == text


def test_numpy_sees_the_same_memory_and_cannot_write():
    x = jax.jit(lambda x: x + 1)(jnp.arange(4.0))
    view = np.asarray(x)
    assert np.shares_memory(view, np.asarray(x))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        x[0] = 5


def test_c_takes_an_array_for_a_sequence():
    """`PySequence_GetItem` finds what `x[i]` is: NumPy's `lexsort` reads its keys by it."""
    item, check = ctypes.pythonapi.PySequence_GetItem, ctypes.pythonapi.PySequence_Check
    item.argtypes, item.restype, check.argtypes = [ctypes.py_object, ctypes.c_ssize_t], ctypes.py_object, [
        ctypes.py_object]
    x = jnp.array([[3.0, 1.0, 2.0], [1.0, 1.0, 0.0]])
    assert check(x)
    for i in (0, 1, -1, 7):
        assert item(x, i).tolist() == x[i].tolist()
    assert np.lexsort(x).tolist() == [2, 1, 0]
    assert jax.jit(lambda y: item(y, 1) + item(x, 0))(x).tolist() == [4.0, 2.0, 2.0]
    with pytest.raises(IndexError, match="Too many indices"):
        item(jnp.float32(1), 0)


def test_a_view_keeps_the_buffer_alive():
    view = np.asarray(jax.jit(lambda x: x + 1)(jnp.arange(1000.0)))
    gc.collect()
    for _ in range(50):
        jax.jit(lambda x: x * 0)(jnp.arange(1000.0))
    np.testing.assert_array_equal(view, np.arange(1, 1001))


def test_numpy_keeps_its_own_memory():
    source = np.arange(3.0, dtype=np.float32)
    x = jnp.array(source)
    source[:] = 7
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_conversions():
    assert int(jnp.array(3)) == 3
    assert float(jnp.array(2.5)) == 2.5
    assert [10, 20, 30][jnp.array(1)] == 20
    assert bool(jnp.array([True]))
    assert jnp.array([1, 2]).tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"Only scalar arrays can be converted to Python scalars; got arr\.ndim=1"):
        float(jnp.array([1.0]))
    with pytest.raises(TypeError, match="Only integer scalar arrays can be converted to a scalar index"):
        [1][jnp.array(0.0)]
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        bool(jnp.array([1, 2]))


def test_copies_and_pickles():
    x = jnp.arange(3.0)
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert repr(other) == repr(x)


def test_iteration_and_length():
    assert [float(row.sum()) for row in jnp.ones((3, 2))] == [2.0, 2.0, 2.0]
    assert len(jnp.ones((3, 2))) == 3
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(jnp.float32(1))


def test_too_much_memory_is_an_error_not_a_crash():
    with pytest.raises(MemoryError):
        jax.jit(lambda x: jnp.zeros((1 << 40,), jnp.float32) + x)(1.0)


def test_the_block_of_an_array_is_set_once(monkeypatch):
    """Two threads that copy NumPy's elements into the pool: the block that the first one reads stays."""
    x = jnp.reshape(np.ones(6, np.float32), (2, 3))
    assert x._buffer is None
    copy_to_pool, faster = array._copy_to_pool, []

    def overtaken(value):
        buffer = copy_to_pool(value)
        if not faster:
            faster.append(0)
            faster[0] = x.address  # another thread has copied meanwhile, and its program reads this block
        return buffer

    monkeypatch.setattr(array, "_copy_to_pool", overtaken)
    assert x.address == faster[0] == x._buffer.address
    np.testing.assert_array_equal(x, np.ones((2, 3)))


@pytest.mark.parametrize("make", [
    lambda: jnp.sin(jnp.arange(4.0)), lambda: jnp.arange(4.0)[::-1], lambda: jnp.reshape(np.ones(4), (2, 2)).T,
    lambda: jax.jit(lambda x: x + 1)(np.arange(4.0)), lambda: jnp.array([1, 2, 3, 4]), lambda: jnp.zeros((0, 2)),
    lambda: jnp.asarray(np.arange(4)), lambda: jnp.ones(4, jnp.bfloat16), lambda: jnp.broadcast_to(1.0, (2, 2)),
    lambda: next(iter(jnp.ones((2, 2)))), lambda: jax.random.key_data(jax.random.key(0)), lambda: jnp.float32(3),
    lambda: jax.device_get(jnp.sin(jnp.ones(3))),
])
def test_what_numpy_sees_cannot_be_made_writable(make):
    x = make()
    before = np.array(x)
    seen = np.asarray(x)
    while isinstance(seen, np.ndarray):
        assert not seen.flags.writeable
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
            seen.flags.writeable = True
        seen = seen.base
    np.testing.assert_array_equal(np.asarray(x), before)


def test_what_numpy_asks_of_an_array():
    x = jnp.arange(3, dtype=jnp.float32)
    assert x.__array__().dtype == np.float32
    assert x.__array__(np.float64).dtype == np.asarray(x, np.float64).dtype == np.float64
    copy = x.__array__(copy=True)
    copy[0] = 7
    assert x[0] == 0
    assert not np.shares_memory(np.array(x), np.asarray(x))


@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.uint8, jnp.int32])
def test_bounds_of_slices_may_be_numbers_of_any_kind(kind):
    x, two = np.arange(30.0, dtype=np.float32).reshape(5, 6), kind(2)
    for index in (slice(two, None), slice(None, two), slice(None, None, two), (slice(None), slice(two, two)),
                  (1, slice(two, 5, two)), (None, slice(None, two))):
        np.testing.assert_array_equal(jnp.asarray(x)[index], x[index])


def test_copies_of_arrays_have_memory_of_their_own_however_often_they_are_made():
    key, placed = jax.random.key(1), jax.device_put(jnp.arange(3.0), jax.devices()[0])
    seen = np.asarray(jnp.arange(6).reshape(2, 3)).T
    for x in (jnp.arange(5), jnp.zeros(5), jnp.float32(2), jnp.ones((3, 4)).T, jnp.arange(100_000), key, placed,
              jnp.array(seen), jnp.zeros((0, 3)), jnp.array(1.5)):
        for copied in [jnp.array(x) for _ in range(3)] + [jnp.copy(x) for _ in range(3)]:
            assert copied.aval == x.aval
            assert copied.committed == x.committed
            if x.dtype == key.dtype:
                assert jax.random.key_data(copied).tolist() == jax.random.key_data(x).tolist()
                continue
            assert not np.shares_memory(np.asarray(copied), np.asarray(x))
            assert np.asarray(copied).tolist() == np.asarray(x).tolist()


def test_a_copy_outlives_its_array():
    x = jax.numpy.arange(3.0)
    copies = copy.copy(x), copy.deepcopy(x), jax.numpy.array(x), jax.numpy.copy(x)
    x.delete()
    assert [y.tolist() for y in copies] == [[0, 1, 2]] * 4
    with pytest.raises(RuntimeError, match="deleted"):
        copy.copy(x)


SLICES = [slice(1, 3), slice(None), slice(2, 2), slice(-2, None), slice(None, None, 2), slice(3, None, -1), slice(9)]


def rows_in_every_way(x):
    """The parts of an array along its first axis, as arrays that nobody has looked at."""
    yield from ([x[i] for i in range(len(x))], list(x), list(jnp.unstack(x)), [x[i - len(x)] for i in range(len(x))])


def parts_in_every_way(x):
    """Lists of parts that nobody has looked at, and what they are by NumPy."""
    expected = np.array(x)
    for rows in rows_in_every_way(x):
        yield rows, list(expected)
    yield [x[k] for k in SLICES], [expected[k] for k in SLICES]
    yield [x[1:][k] for k in SLICES], [expected[1:][k] for k in SLICES]


@pytest.mark.parametrize("make", [
    lambda: jnp.arange(6.0), lambda: jnp.arange(12).reshape(3, 4), lambda: jnp.arange(12.0).reshape(3, 4).T,
    lambda: jnp.arange(24.0).reshape(2, 3, 4)[:, ::-1], lambda: jnp.arange(24.0).reshape(2, 3, 4)[1],
    lambda: jnp.zeros((5, 2)), lambda: jnp.ones((3, 0)), lambda: jnp.array(np.arange(4, dtype=np.int8))[::-1],
])
def test_rows_are_what_numpy_shows_whatever_is_done_with_them_first(make):
    uses = {
        "numpy": np.asarray, "again": lambda row: np.asarray(jax.jit(lambda x: x)(row)),
        "copied": lambda row: np.asarray(jnp.array(row)), "operation": lambda row: np.asarray(row + row) // 2,
        "operation of another": lambda row: np.asarray(jnp.where(row == row, row, row)),
        "program": lambda row: np.asarray(jax.jit(lambda x: x * 3)(row)) // 3, "view": lambda row: row._view,
        "block": lambda row: np.asarray(row) if row.address else None, "pickled": lambda row: pickle.loads(
            pickle.dumps(row)), "reshaped": lambda row: np.asarray(row.reshape(-1)).reshape(row.shape),
        "broadcast": lambda row: np.asarray(jnp.broadcast_to(row, (2, *row.shape)))[1],
    }
    for use in uses.values():
        for rows, expected in parts_in_every_way(make()):
            gc.collect()
            for row, wanted in zip(rows, expected, strict=True):
                assert (row.shape, row.dtype) == (wanted.shape, wanted.dtype)
                assert np.asarray(use(row)).tolist() == wanted.tolist()
                assert [np.asarray(part).tolist() for part in row] == wanted.tolist() if row.ndim else True


def test_rows_outlive_their_array_and_are_deleted_alone():
    x = jax.jit(lambda x: x + 1)(jnp.arange(12.0).reshape(3, 4))
    rows, again, gone, slices = list(x), x[1], x[2], [x[1:], x[:2][1:]]
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(gone)
    donated = jax.jit(lambda x: x * 0, donate_argnums=0)(x)
    for _ in range(20):
        jax.jit(lambda x: x * 0)(jnp.arange(12.0).reshape(3, 4))
    assert [row.tolist() for row in rows] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    assert again.tolist() == slices[0][0].tolist() == slices[1][0].tolist() == [5, 6, 7, 8]
    assert not donated.any()


@pytest.mark.skipif(PURE, reason="without C the collector visits every object of Python")
def test_the_collector_does_not_visit_arrays():
    for x in (jnp.arange(3), jnp.zeros(3), jnp.arange(3)[1], np.float32(1) + jnp.ones(2), jax.random.key(0)):
        assert not gc.is_tracked(x)


def test_live_arrays_are_those_with_elements_newest_first():
    before = {id(x) for x in jax.live_arrays()}
    mine = [jnp.arange(3) + k for k in range(4)] + [jnp.arange(5)[2]]
    mine[1].delete()
    del mine[2]
    found = [id(x) for x in jax.live_arrays() if id(x) not in before]
    mine_found = [number for number in found if number in set(map(id, mine))]
    assert set(mine_found) == {id(x) for x in mine if not x.is_deleted()}
    if not PURE:
        assert mine_found == [id(x) for x in reversed(mine) if not x.is_deleted()]


def test_arrays_are_listed_while_threads_make_and_drop_them():
    stop = []

    def churn():
        while not stop:
            list(jnp.arange(50))

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        assert all(isinstance(x, jax.Array) for x in jax.live_arrays())
    stop.append(1)
    for thread in threads:
        thread.join()
