"""Arrays of one number share one element; whoever gets memory to look at gets none that another array has."""

import copy
import ctypes
import pickle
import threading

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core import one_number
from tinytrace.core.avals import ShapedArray
from tinytrace.pure import PURE

MAKERS = {
    "zeros": lambda: jnp.zeros((4, 5)), "ones": lambda: jnp.ones((4, 5)), "empty": lambda: jnp.empty((4, 5)),
    "zeros_like": lambda: jnp.zeros_like(GIVEN), "ones_like": lambda: jnp.ones_like(GIVEN),
    "empty_like": lambda: jnp.empty_like(GIVEN), "one element": lambda: jnp.zeros((1, 1)),
    "large": lambda: jnp.zeros((300, 1000)), "bytes": lambda: jnp.ones((4, 5), np.int8),
    "jitted": lambda: jax.jit(jnp.zeros_like)(GIVEN),
    "one of two": lambda: jax.jit(lambda x: (x + 1, jnp.zeros_like(x)))(GIVEN)[1],
}
GIVEN = np.float32([[1, 2], [3, 4]])
PARTS = {
    "all": lambda x: x, "an element": lambda x: x[0, 0], "a row": lambda x: x[0], "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape(-1), "longer": lambda x: x[None], "again": lambda x: jax.jit(lambda x: x)(x),
    "broadcast": lambda x: jnp.broadcast_to(x, (2, *x.shape)),
}


def over_dlpack(x):
    """Where the elements are that a library may write to which takes DLPack as it was before version 1.0."""
    return np.from_dlpack(_Unversioned(x)).__array_interface__["data"][0]


class _Unversioned:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **request):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


EXPORTS = {
    "dlpack": over_dlpack, "pointer": lambda x: x.unsafe_buffer_pointer(),
    "numpy": lambda x: np.asarray(x).__array_interface__["data"][0],
    "buffer": lambda x: np.asarray(memoryview(x)).__array_interface__["data"][0],
}


@pytest.mark.pairs
@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_written_to_one_array_shows_in_no_other(maker, part, export):
    make = MAKERS[maker]
    expected = int(maker in ("ones", "ones_like", "bytes"))
    held = make()
    for _ in range(3):
        x = PARTS[part](make())
        ctypes.memset(EXPORTS[export](x), 77, x.itemsize)
    for y in (held, make(), make()[:1], make().T):
        assert (np.asarray(y) == expected).all()
        assert float(jax.jit(jnp.min)(y)) == float(jax.jit(jnp.max)(y)) == expected


def test_what_is_seen_lies_in_order_and_cannot_be_made_writable():
    for _ in range(3):
        seen = np.asarray(jnp.zeros((6, 7)))
        assert seen.flags.c_contiguous
        assert seen.view(np.int8).shape == (6, 28)
        with pytest.raises(ValueError, match="WRITEABLE"):
            seen.flags.writeable = True


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (2, 3), (0, 5), (100, 100), (5, 1, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "bfloat16", "float16", "float32", "complex64"])
def test_every_call_gives_what_the_first_gave(shape, dtype):
    for name, number in (("zeros", 0), ("ones", 1), ("empty", 0)):
        calls = [getattr(jnp, name)(shape, dtype) for _ in range(3)]
        calls += [getattr(jnp, f"{name}_like")(x) for x in calls]
        for x in calls:
            assert (x.shape, x.dtype, x.weak_type, x.nbytes) == (shape, jnp.dtype(dtype), False, calls[0].nbytes)
            assert x.tobytes() == np.full(shape, number, jnp.dtype(dtype)).tobytes()


def test_a_donated_array_is_overwritten_alone():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(3):
        x, y = jnp.zeros(1000), jnp.zeros(1000)
        for k in range(3):
            x = step(x)
            assert (np.asarray(x) == k + 1).all()
        assert not np.asarray(y).any()
        assert not np.asarray(jnp.zeros(1000)).any()


def test_deleted_copied_and_pickled():
    x, y = jnp.ones(50), jnp.ones(50)
    assert any(each is y for each in jax.live_arrays())
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    for z in (y, copy.copy(y), copy.deepcopy(y), pickle.loads(pickle.dumps(y)), jnp.array(y)):
        assert z.tolist() == [1.0] * 50


def test_shapes_and_types_that_are_equal_to_others_are_told_apart():
    for _ in range(2):
        assert jnp.zeros((1, 2)).shape == (1, 2)
        for wrong in ((1.0, 2), (1, 2.0), 1.5, "12"):
            with pytest.raises(TypeError):
                jnp.zeros(wrong)
        assert jnp.zeros(3).dtype == jnp.float32
        with jax.experimental.enable_x64():
            assert jnp.zeros(3).dtype == jnp.float64
        assert jax.make_jaxpr(lambda: jnp.zeros(3))().jaxpr.eqns


def test_threads_make_and_write_their_own():
    wrong = []

    def work(number):
        for size in range(2, 200):
            x = jnp.zeros(size)
            ctypes.memset(x.unsafe_buffer_pointer(), number, 4 * size)
            wrong.extend([size] if len(set(x.tobytes())) != 1 or np.asarray(jnp.zeros(size)).any() else [])

    threads = [threading.Thread(target=work, args=(k + 1,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(PURE, reason="without C there is no memory that arrays share")
def test_zeros_take_no_memory_until_they_are_needed():
    jnp.zeros(1 << 40, np.int8)
    x = jnp.zeros(1 << 40, np.int8)
    assert x.nbytes == 1 << 40
    assert x[12345].item() == 0


def test_there_is_room_for_so_many_numbers(monkeypatch):
    monkeypatch.setattr(one_number, "MOST", len(one_number._places) + 1)
    aval = ShapedArray((3,), np.dtype("int32"))
    found = [one_number.array_of_number(np.int32(k).tobytes(), aval) for k in (-123456, -234567, -123456)]
    assert [x if x is None else x.tolist() for x in found] == [[-123456] * 3, None, [-123456] * 3]
