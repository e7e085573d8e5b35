"""`Array`: an immutable block of numbers with an aval; its bytes live in a pooled buffer or in a NumPy array.

Executables write results into pooled 64-byte aligned buffers and know arrays by integer address only; the NumPy view
is made when Python first looks inside. Operators and methods (`+`, `.sum()`, `.at`) are installed by `numpy`.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tinytrace import _dispatch
from tinytrace._dispatch import ArrayBase, Buffer
from tinytrace._runtime import ffi, lib
from tinytrace.core import basearray, dlpack, views
from tinytrace.core.avals import ShapedArray
from tinytrace.core.device import CPU as CPU
from tinytrace.core.device import Device as Device
from tinytrace.core.dtypes import KeyType, canonicalize_dtype, is_integer
from tinytrace.core.placements import given_sharding, placed_as
from tinytrace.core.storage import storage_type
from tinytrace.errors import JaxRuntimeError
from tinytrace.tracebacks import api_boundary

# The block pool of csrc/alloc.c and the calls of csrc/call.c, for the types of csrc/dispatch.c.
_dispatch.set_pool(*(int(ffi.cast("uintptr_t", ffi.addressof(lib, name)))
                     for name in ("tt_alloc", "tt_free", "tt_call", "tt_call_on_blocks", "tt_parallel_for")))


ITERATED = 256
"""Rows of which an iteration makes arrays at a time."""


class _Window:
    """What `np.asarray` reads to make a view of memory, and what keeps the memory's owner alive behind the view.

    NumPy takes it for a foreign owner: what is read-only behind a window cannot be made writable again.
    """

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], itemsize: int, readonly: bool,
                 strides: tuple[int, ...] | None = None) -> None:
        self._owner = owner
        self.__array_interface__ = {"data": (address, readonly), "shape": shape, "strides": strides,
                                    "typestr": f"|V{itemsize}", "version": 3}


class Array(ArrayBase):
    """An immutable n-dimensional array; made by `tinytrace.numpy` functions and compiled calls.

    The block of the pool that holds its elements is set once, and stays until the array is deleted: by `delete`, or by
    a call that it was donated to. Who looks at them (`np.asarray`) shares memory that cannot be written, by no flag and
    through no base, and that lives as long as he does.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.Array.html.
    """

    __slots__ = ()
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    @property
    def block(self) -> Buffer:
        """The block of the pool that holds the contiguous elements; who holds it may read, whatever other threads do.

        Raises: RuntimeError when the array has been deleted.
        """
        # Programs want 64-byte alignment and readable bytes after the end, which NumPy does not promise.
        block = self._buffer or self._settle(_copy_to_pool(self._value))
        if block is None:
            raise deleted_error(self.aval)
        return block

    @property
    def address(self) -> int:
        """Where the contiguous elements lie; valid as long as this array lives and is not deleted."""
        address: int = self.block.address
        return address

    def again(self, aval: ShapedArray) -> Array:
        """Return another array of the same elements, which stays when this one is deleted."""
        block, view = self._buffer, self._view
        if block is None and view is None:
            raise deleted_error(self.aval)
        return Array(aval, block, view)

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)
    itemsize = property(lambda self: self.aval.dtype.itemsize)
    nbytes = property(lambda self: self.aval.nbytes)

    def block_until_ready(self) -> Array:
        """Return self: execution is synchronous, every result is ready."""
        if self._deleted:
            raise JaxRuntimeError("INVALID_ARGUMENT: BlockHostUntilReady() called on deleted or donated buffer")
        return self

    def is_deleted(self) -> bool:
        """Has it been deleted, by `delete` or by a call that it was donated to?"""
        return self._deleted

    def delete(self) -> None:
        """Give the elements up: whoever asks this array for them gets a RuntimeError from now on.

        >>> x = array_from_host(np.zeros(3, np.float32), ShapedArray((3,), np.dtype("float32")))
        >>> x.delete()
        >>> x.tolist()
        Traceback (most recent call last):
        RuntimeError: Array has been deleted with shape=float32[3].
        """
        self._delete()

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the elements; nothing keeps them there but this array."""
        if self._deleted:
            raise JaxRuntimeError("INVALID_ARGUMENT: UnsafeBufferPointer( called on deleted or donated buffer")
        return self.address

    def on_device_size_in_bytes(self) -> int:
        """Return how many bytes the elements take."""
        if self._deleted:
            raise JaxRuntimeError("INVALID_ARGUMENT: GetOnDeviceSizeInBytes() called on deleted or donated buffer")
        return int(self.nbytes)

    @property
    def device(self) -> Device:
        """The one device, this machine's CPU."""
        self._check_not_deleted()
        return CPU

    def _check_not_deleted(self) -> None:
        if self._deleted:
            raise deleted_error(self.aval)

    @property
    def sharding(self) -> Any:
        """Where its parts lie: as it was given, else all on the one device, a `jax.sharding.SingleDeviceSharding`."""
        return given_sharding(self) or views.sharding.SingleDeviceSharding(CPU)

    @property
    def committed(self) -> bool:
        """Was it put where it lies, on a device or by a sharding? Results of operations were not."""
        return given_sharding(self) is not None

    def platform(self) -> str:
        """Return "cpu"."""
        return CPU.platform

    def is_ready(self) -> bool:
        """Return True: execution is synchronous."""
        self._check_not_deleted()
        return True

    is_fully_addressable = True

    @property
    def is_fully_replicated(self) -> bool:
        """Does each device have all of it?"""
        return bool(self.sharding.is_fully_replicated)

    @property
    def addressable_shards(self) -> list[Any]:
        """Its parts, one for each device, as `jax.Shard`s: all of it on the one device."""
        self._check_not_deleted()
        return [views.sharding.Shard(CPU, self)]

    global_shards = addressable_shards

    def addressable_data(self, index: int) -> Array:
        """Return the part with this number; raises IndexError for another than 0, the whole."""
        self._check_not_deleted()
        return [self][index]

    def copy_to_host_async(self) -> None:
        """Do nothing: the elements are in the host's memory."""
        self._check_not_deleted()

    def devices(self) -> set[Device]:
        """Return the set of devices that hold this array: the one there is."""
        self._check_not_deleted()
        return {CPU}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if isinstance(self.aval.dtype, KeyType):
            raise TypeError("JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use "
                            "jax.random.key_data(arr) if you wish to extract the underlying integer array.")
        value: np.ndarray[Any, Any] = self._value
        if dtype is None and not copy:
            return value
        return np.array(value, dtype=dtype) if copy else np.asarray(value, dtype=dtype)

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """Return the elements as a DLPack capsule, for the `from_dlpack` of another library."""
        value = self.__array__()
        return dlpack.as_capsule(value, _window(value, readonly=False), stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's number of the device: the CPU."""
        return dlpack.CPU_DEVICE

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return int(self.aval.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        self._check_not_deleted()
        stop = int(self.aval.shape[0])
        return itertools.chain.from_iterable(
            self._rows(i, min(i + ITERATED, stop)) for i in range(0, stop, ITERATED))

    def _rows(self, start: int, stop: int) -> list[Array]:
        """Return parts along the first axis; each becomes an array of NumPy's, or a block, when it is needed."""
        return _dispatch.rows(self, self.aval.update(shape=self.aval.shape[1:]), start, stop)

    def __bool__(self) -> bool:
        if self.aval.size == 0:
            raise ValueError("The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
                             "array is not empty.")
        if self.aval.size > 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. "
                             "Use a.any() or a.all()")
        return bool(self._value)

    def _scalar(self) -> Any:
        if self.aval.shape != ():
            raise TypeError(f"Only scalar arrays can be converted to Python scalars; got arr.ndim={self.ndim}")
        if isinstance(self.aval.dtype, KeyType):
            raise TypeError("Keys are no numbers: use jax.random.key_data to read their words.")
        return self._value

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self.aval.shape != () or not is_integer(self.aval.dtype):
            raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
        return int(self._value)

    @api_boundary
    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use "
            "x = x.at[idx].set(y) or another .at[] method: "
            "https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.ndarray.at.html")

    def item(self, *args: Any) -> Any:
        """Return one element as a Python scalar."""
        return self._value.item(*args)

    def tolist(self) -> Any:
        """Return the elements as nested Python lists."""
        return self._value.tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """Return the bytes of the elements, in the order of rows ("C") or of columns ("F")."""
        return bytes(self._value.tobytes(order))

    def __format__(self, spec: str) -> str:
        is_number = self.ndim == 0 and not isinstance(self.aval.dtype, KeyType)
        return format(self._value[()], spec) if is_number else format(str(self), spec)

    def __str__(self) -> str:
        return str(self._value) if not isinstance(self.aval.dtype, KeyType) else repr(self)

    def __repr__(self) -> str:
        aval = self.aval
        if aval.dtype.name == "token":
            return f"<jax._src.core.Token object at {id(self):#x}>"  # as JAX prints it
        if isinstance(aval.dtype, KeyType):
            return f"Array({aval.shape}, dtype={aval.dtype.name}) overlaying:\n{_key_words(self)}"
        tail = f"dtype={aval.dtype.name}" + (", weak_type=True)" if aval.weak_type else ")")
        if aval.size == 0:
            return f"Array([], shape={aval.shape}, {tail}"
        text = np.array2string(self._value, separator=", ", prefix="Array(", suffix=",")
        last_line = len(text) - text.rfind("\n") + 1
        fits = last_line + len(tail) + 1 <= np.get_printoptions()["linewidth"]
        return f"Array({text},{' ' if fits else ' ' * len('Array(')}{tail}"  # no line break: so JAX prints it

    @property
    def _buf(self) -> Any:
        text = "INVALID_ARGUMENT: Cannot convert a token-shape buffer to a numpy array."
        raise JaxRuntimeError(text) if self.aval.dtype.name == "token" else AttributeError("_buf")

    def __reduce__(self) -> tuple[Any, ...]:
        return _array_from_pickle, (np.array(self._value), self.aval)

    def __copy__(self) -> Array:
        """Return an array with memory of its own, which lives on when this one is deleted or donated."""
        copied: Array = placed_as(array_from_numpy(np.array(self._value), self.aval), self)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return self.__copy__()


Array.__name__ = Array.__qualname__ = "ArrayImpl"  # what `type(x)` prints in JAX
basearray.Array.register(Array)


def _read_only_view(aval: ShapedArray, buffer: Buffer | None, view: np.ndarray[Any, Any] | None
                    ) -> np.ndarray[Any, Any]:
    """Return what Python sees of an Array whose elements are in `buffer`, or else in NumPy's memory."""
    dtype = storage_dtype(aval)
    if buffer is None and view is None:
        raise deleted_error(aval)
    if buffer is not None:
        return np.asarray(_Window(buffer, buffer.address, aval.shape, dtype.itemsize, True)).view(dtype)
    assert view is not None
    return _window(view, readonly=True)


def _window(value: np.ndarray[Any, Any], readonly: bool) -> np.ndarray[Any, Any]:
    """Return the elements of `value` in the same memory, whether it may be written through `value` or not."""
    window = _Window(value, value.ctypes.data, value.shape, value.itemsize, readonly, value.strides)
    return np.asarray(window).view(value.dtype)


_dispatch.set_array_types(Array, np.ndarray, _read_only_view)


def deleted_error(aval: ShapedArray) -> RuntimeError:
    """Return what is raised when a deleted array is asked for its elements."""
    shape, name = aval.shape, aval.dtype.name
    if isinstance(aval.dtype, KeyType):
        shape, name = (*shape, *aval.dtype.key_shape), "uint32"
    return RuntimeError(f"Array has been deleted with shape={name}[{','.join(map(str, shape))}].")


def array_from_numpy(value: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
    """Wrap `value` (already of the aval's shape and dtype) without a copy; the caller gives it up."""
    if value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return Array(aval, None, value)


def array_of_own(value: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
    """Wrap `value`, which was made for this and which nobody else has."""
    value.setflags(write=False)
    return _dispatch.array_of_view(aval, value)  # type: ignore[no-any-return]


def _array_from_pickle(value: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
    """Return a pickled array in the dtype that it has under the settings of now: 64 bits may be off."""
    dtype = canonicalize_dtype(aval.dtype)
    aval = aval.update(dtype=dtype)
    return array_from_numpy(value.astype(storage_dtype(aval), copy=False), aval)


def array_from_host(value: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
    """Copy `value` (already of the aval's shape and dtype, in any memory order) into the pool."""
    return Array(aval, _copy_to_pool(value))


def _copy_to_pool(value: np.ndarray[Any, Any]) -> Buffer:
    buffer = Buffer(value.nbytes)
    if value.nbytes:
        np.copyto(_to_fill(buffer, value.shape, value.dtype), value)
    return buffer


def copy_of_block(block: Buffer) -> Buffer:
    """Return another block with the same bytes."""
    shape, dtype = (block.nbytes,), np.dtype(np.uint8)
    return _copy_to_pool(np.asarray(_Window(block, block.address, shape, 1, True)).view(dtype))


def _to_fill(buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.asarray(_Window(buffer, buffer.address, shape, dtype.itemsize, False)).view(dtype)


def storage_dtype(aval: ShapedArray) -> np.dtype[Any]:
    """Return the NumPy dtype in which elements are stored."""
    return storage_type(aval.dtype)


def _key_words(array: Array) -> np.ndarray[Any, Any]:
    words = np.ascontiguousarray(array._value).reshape(-1).view(np.uint32)
    return words.reshape(*array.shape, *array.dtype.key_shape)
