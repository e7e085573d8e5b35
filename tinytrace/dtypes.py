"""Element types that NumPy does not have, and questions about types (`jax.dtypes`)."""
from typing import Any

from tinytrace.core.dtypes import BFLOAT16 as bfloat16  # noqa: N811 (JAX's names)
from tinytrace.core.dtypes import FLOAT0 as float0  # noqa: N811
from tinytrace.core.dtypes import canonicalize_dtype as _canonicalize_dtype
from tinytrace.core.dtypes import extended as extended
from tinytrace.core.dtypes import prng_key as prng_key
from tinytrace.core.dtypes import result_type as result_type
from tinytrace.core.dtypes import scalar_type_of as scalar_type_of
from tinytrace.numpy.scalar_types import finfo as finfo
from tinytrace.numpy.scalar_types import iinfo as iinfo
from tinytrace.numpy.scalar_types import issubdtype as issubdtype

__all__ = ["bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype", "prng_key",
           "result_type", "scalar_type_of"]


def canonicalize_dtype(dtype: Any) -> Any:
    """Return the dtype that values of `dtype` really have: 64-bit types narrow unless `enable_x64` is on.

    None stands for the dtype of Python floats. Raises TypeError for what is no dtype of an array.

    >>> canonicalize_dtype(None)
    dtype('float32')
    """
    return _canonicalize_dtype(float if dtype is None else dtype)
