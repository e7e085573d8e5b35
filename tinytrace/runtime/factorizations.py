"""Factorizations of compiled programs on a machine without LAPACK: by NumPy, as the primitives mean them."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace._runtime import ffi, lib
from tinytrace.core.primitive import registry
from tinytrace.runtime.callbacks import DONE, keep_exception

TYPES = tuple(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
"""Types of elements by their numbers (csrc/tt_host.h)."""

Meaning = Callable[[int, Sequence[int]], tuple[str, dict[str, Any]]]
"""From options (csrc/lapack.c) and addresses of results, of which 0 are not wanted, to a primitive and parameters."""

MEANINGS: tuple[Meaning, ...] = (
    lambda options, outs: ("cholesky", {}),
    lambda options, outs: ("triangular_solve", {
        "left_side": bool(options & 1), "lower": bool(options & 2), "transpose_a": bool(options & 4),
        "conjugate_a": bool(options & 8), "unit_diagonal": bool(options & 16)}),
    lambda options, outs: ("lu", {}),
    lambda options, outs: ("qr", {"full_matrices": bool(options)}),
    lambda options, outs: (
        ("eigh", {"lower": bool(options), "sort_eigenvalues": True, "subset_by_index": None}) if outs[0]
        else ("eigh_values", {"lower": bool(options)})),
    lambda options, outs: ("svd", {"full_matrices": bool(options), "compute_uv": bool(outs[1]),
                                   "subset_by_index": None, "algorithm": None}),
    lambda options, outs: ("eig", {"compute_left_eigenvectors": bool(outs[1]),
                                   "compute_right_eigenvectors": bool(outs[2])}),
    lambda options, outs: ("schur", {"compute_schur_vectors": bool(outs[1]), "sort_eig_vals": False,
                                     "select_callable": None}),
    lambda options, outs: ("hessenberg", {}),
    lambda options, outs: ("householder_product", {}),
    lambda options, outs: ("tridiagonal", {"lower": bool(options)}),
)
"""By the numbers of factorizations (csrc/lapack.h)."""


def factor(which: int, type: int, count: int, m: int, n: int, options: int, ins: Sequence[int],
           outs: Sequence[int]) -> None:
    """Do to matrices at the addresses `ins` what LAPACK would, and leave the results at `outs`."""
    name, params = MEANINGS[which](options, outs)
    shapes: list[tuple[int, ...]] = [(count, m, n)]
    if name == "triangular_solve":  # m and n are its order and the number of right sides
        shapes = [(count, m, m), (count, m, n) if params["left_side"] else (count, n, m)]
    elif name == "householder_product":
        shapes.append((count, options))
    operands = [_array(address, shape, TYPES[type]) for address, shape in zip(ins, shapes, strict=False)]
    with np.errstate(all="ignore"):
        found = registry[name].impl(*operands, **params)
    results = found if registry[name].multiple_results else [found]
    for address, result in zip(filter(None, outs), results, strict=True):
        _array(address, result.shape, result.dtype)[...] = result


def _array(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    memory = ffi.buffer(ffi.cast("char *", address), math.prod(shape) * dtype.itemsize)
    return np.frombuffer(memory, dtype).reshape(shape)


@ffi.def_extern(name="tt_python_factorization", error=0, onerror=keep_exception)  # type: ignore[untyped-decorator]
def _call(words: ffi.CData) -> int:
    which, type, count, m, n, options, *addresses = ffi.unpack(words, 13)
    factor(which, type, count, m, n, options, addresses[:2], addresses[2:])
    return DONE


lib.tt_set_factorization(lib.tt_python_factorization)
