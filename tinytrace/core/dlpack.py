"""DLPack: the elements of arrays given to other libraries, and taken from them, without a copy.

NumPy makes and reads the capsules. It knows no bfloat16, which travels as 16-bit words whose dtype is corrected in the
capsule. Below version 1.0 a capsule cannot say that its elements are not to be written: who receives one must not.

See https://dmlc.github.io/dlpack/latest/python_spec.html.
"""
from __future__ import annotations

import ctypes
import enum
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from tinytrace.core.dtypes import BFLOAT16

OLDEST, VERSIONED = (0, 5), (1, 0)
_NUMPY_IS_VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
_UNSIGNED, _BFLOAT = 1, 4


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, by their numbers in DLPack's header; the others that it lists are not computed on here."""

    kDLCPU = 1  # noqa: N815 (DLPack's name)


CPU_DEVICE = (DLDeviceType.kDLCPU, 0)


def as_capsule(value: np.ndarray[Any, Any], alias: np.ndarray[Any, Any], stream: Any = None,
               max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None,
               copy: bool | None = None) -> Any:
    """Return `value`, which cannot be written, as a capsule; `alias` is the same memory where it can.

    Raises: BufferError for a version before 0.5, another device than the CPU, a stream, a dtype that DLPack lacks.
    """
    if max_version is not None and tuple(max_version) < OLDEST:
        raise BufferError(f"JAX does not support any version below {OLDEST} but version ({max_version}) was requested.")
    if dl_device is not None and tuple(dl_device) != CPU_DEVICE:
        raise BufferError(f"this array is in the memory of the CPU, whose dl_device is (1, 0), and {tuple(dl_device)} "
                          "was requested: copy it there with that device's library")
    if stream is not None:
        raise BufferError(f"the CPU has no streams: stream must be None, got {stream!r}")
    versioned = _NUMPY_IS_VERSIONED and max_version is not None and tuple(max_version) >= VERSIONED
    given = value if versioned else np.array(alias) if copy else alias
    words = given.view(np.uint16) if given.dtype == BFLOAT16 else given
    capsule = words.__dlpack__(max_version=max_version, copy=copy) if versioned else words.__dlpack__()
    if words is not given:
        _dtype_in(capsule).code = _BFLOAT
    return capsule


def elements_of(x: Any) -> np.ndarray[Any, Any]:
    """Return the elements of another library's array, or of a capsule, as a NumPy array over the same memory.

    Raises: TypeError for what is neither; BufferError for elements that are not in the CPU's memory or of a dtype that
    NumPy lacks.
    """
    if type(x).__name__ == "PyCapsule":
        warnings.warn("Calling from_dlpack with a DLPack tensor is deprecated. The argument to from_dlpack should be "
                      "an array from another framework that implements the __dlpack__ protocol.", DeprecationWarning,
                      stacklevel=4)
        x = _Holder(x)
    if not hasattr(x, "__dlpack__") or isinstance(x, ModuleType | type):
        raise TypeError("from_dlpack takes an array of a library that has DLPack's methods __dlpack__ and "
                        f"__dlpack_device__, as those of NumPy and torch, got {type(x).__name__}")
    try:
        return np.from_dlpack(x)
    except RuntimeError as error:  # what NumPy cannot take
        words = _bfloat16_as_words(x)
        if words is None:
            raise BufferError(f"NumPy cannot share the memory of this {type(x).__name__}: {error} Make it an array on "
                              "the CPU of a dtype that NumPy has first.") from error
        return words.view(BFLOAT16)


class _Holder:
    """Gives away a capsule that has been made already, once."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **request: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU_DEVICE


def _bfloat16_as_words(x: Any) -> np.ndarray[Any, Any] | None:
    """Return what an array of bfloat16 holds as 16-bit words over the same memory; None for other arrays."""
    if tuple(x.__dlpack_device__()) != CPU_DEVICE:
        return None
    capsule = x.__dlpack__()
    dtype = _dtype_in(capsule)
    if (dtype.code, dtype.bits, dtype.lanes) != (_BFLOAT, 16, 1):
        return None
    dtype.code = _UNSIGNED
    return np.from_dlpack(_Holder(capsule))


# --- inside a capsule ------------------------------------------------------------------------------------------

class _DType(ctypes.Structure):
    """DLDataType of dlpack.h."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


_DTYPE_AT = 20
"""Where the dtype lies in a DLTensor, after: void *data; int32 device type, device id; int32 ndim."""
_TENSOR_AT = {b"dltensor": 0, b"dltensor_versioned": 32}
"""Where the DLTensor lies, by the capsule's name: first, or after: uint32 major, minor; void *context, *deleter;
uint64 flags."""

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _dtype_in(capsule: Any) -> _DType:
    """Return the dtype in a capsule that nobody has taken yet, to be read and written in its place."""
    name = _name_of(capsule)
    if name not in _TENSOR_AT:
        raise BufferError(f"a DLPack capsule is named dltensor or dltensor_versioned until it is taken, got {name!r}")
    return _DType.from_address(_pointer_in(capsule, name) + _TENSOR_AT[name] + _DTYPE_AT)
