"""Element types that NumPy does not have, and questions about types (`jax.dtypes`)."""
from typing import Any

from ml_dtypes import bfloat16 as bfloat16

from tinytrace.core.dtypes import FLOAT0 as float0  # noqa: N811 (JAX's name)
from tinytrace.core.dtypes import DType, KeyType, canonicalized, result_type_and_weak, to_numpy_dtype
from tinytrace.core.dtypes import extended as extended
from tinytrace.core.dtypes import prng_key as prng_key
from tinytrace.core.dtypes import result_type as _result_type
from tinytrace.core.dtypes import scalar_type_of as scalar_type_of
from tinytrace.numpy.scalar_types import finfo as finfo
from tinytrace.numpy.scalar_types import iinfo as iinfo
from tinytrace.numpy.scalar_types import issubdtype as issubdtype

__all__ = ["bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype", "prng_key",
           "result_type", "scalar_type_of"]


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Return the dtype that values of `dtype` really have: 64-bit types narrow unless `enable_x64` is on.

    None stands for the dtype of Python floats; a dtype that no array has is returned as it is.

    Raises: TypeError for what is no dtype; ValueError for the dtype of random keys, unless `allow_extended_dtype`.

    >>> canonicalize_dtype(None)
    dtype('float32')
    """
    if isinstance(dtype, KeyType) and not allow_extended_dtype:
        raise ValueError(f"Internal: canonicalize_dtype called on extended dtype {dtype} with "
                         "allow_extended_dtype=False")
    return canonicalized(to_numpy_dtype(float if dtype is None else dtype))


def result_type(*args: Any, return_weak_type_flag: bool = False) -> DType | tuple[DType, bool]:
    """Return the dtype of an operation over `args`; with `return_weak_type_flag` also whether it is weak.

    >>> result_type(1, return_weak_type_flag=True)
    (dtype('int32'), True)
    """
    dtype = _result_type(*args)
    return (dtype, result_type_and_weak(*args)[1]) if return_weak_type_flag else dtype
