"""The types in which elements lie in memory: those of numbers are NumPy's, keys are the words of which they consist."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from tinytrace.core.dtypes import KEY_TYPES, DType, KeyType


def storage_type(dtype: DType) -> np.dtype[Any]:
    """Return the NumPy type in which elements lie in memory: keys are the words of which they consist.

    >>> storage_type(KEY_TYPES["fry"]), storage_type(np.dtype("int8"))
    (dtype('uint64'), dtype('int8'))
    """
    return dtype.storage if isinstance(dtype, KeyType) else dtype


def key_type_of(dtype: DType) -> KeyType:
    """Return the type of keys, given itself or the type in which they lie in memory."""
    if isinstance(dtype, KeyType):
        return dtype
    noted: Mapping[str, str] = dtype.metadata or {}
    tag = noted.get("tag") or (dtype.names[0] if dtype.names else "fry")
    return cast(KeyType, KEY_TYPES[tag])
