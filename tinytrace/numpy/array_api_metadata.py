"""What the array API standard asks of a namespace about itself: its version, devices, dtypes, and what it can do.

See https://data-apis.org/array-api/latest/API_specification/inspection.html.
"""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from tinytrace.config import config
from tinytrace.core.array import CPU, Device
from tinytrace.core.dtypes import DType, canonicalize_dtype
from tinytrace.numpy.scalar_types import isdtype

__array_api_version__ = "2024.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", __array_api_version__)
"""Each version has all of those before it."""

_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
          "complex64", "complex128")
_WIDE = {"int64", "uint64", "float64", "complex128"}
_KINDS = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")


def __array_namespace__(self: Any, *, api_version: str | None = None) -> ModuleType:  # noqa: N807
    """Return the module with the functions of the array API standard: `tinytrace.numpy`.

    Raises: ValueError for a version of the standard that is not one of those that it has.

    >>> jnp.ones(3).__array_namespace__() is jnp
    True

    See https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__array_namespace__.html.
    """
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(f"{api_version=!r} is not available; available versions are: {list(_VERSIONS)}")
    return sys.modules["tinytrace.numpy"]


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807
    """Return what this namespace says of itself.

    >>> jnp.__array_namespace_info__().default_dtypes()["integral"]
    dtype('int32')

    See https://data-apis.org/array-api/latest/API_specification/generated/array_api.info.__array_namespace_info__.html.
    """
    return ArrayNamespaceInfo()


class ArrayNamespaceInfo:
    """Answers for the settings of now: 64-bit dtypes are there with `jax_enable_x64`."""

    def capabilities(self) -> dict[str, Any]:
        """Return what depends on the library: shapes of results never depend on elements under `jit`."""
        return {"boolean indexing": True, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """Return None: arrays are placed without being asked where."""

    def devices(self) -> list[Device]:
        """Return the list of devices: the CPU."""
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the dtypes of arrays that are made without one being named."""
        types = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}
        return {kind: canonicalize_dtype(scalar) for kind, scalar in types.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """Return the dtypes of a kind, of several, or all, by name.

        Raises: ValueError for a kind that the standard does not have.
        """
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        for one in kinds:
            if one not in _KINDS:
                raise ValueError(f"unrecognized kind {one!r}: it is one of {', '.join(_KINDS)}")
        found = [name for name in _NAMES if config.enable_x64 or name not in _WIDE]
        return {name: np.dtype(name) for name in found if isdtype(name, tuple(kinds))}
