"""The BLAS, with its LAPACK, that matrix products and factorizations run on: found when the first program needs it."""

from __future__ import annotations

import os
from functools import cache
from importlib.machinery import PathFinder

from tinytrace._runtime import lib
from tinytrace.runtime import factorizations  # noqa: F401 - what programs ask for factorizations without LAPACK
from tinytrace.runtime.failures import Step, step_down


@cache
def provide_blas() -> None:
    """Load OpenBLAS from the package scipy-openblas32, once; without it, products run in plain C loops, and NumPy
    factors matrices."""
    for path in _candidates():
        if not lib.tt_blas_open(os.fsencode(path)):
            return
    step_down(Step("matrix products in plain C loops and factorizations by NumPy",
                   "the package scipy-openblas32 is missing or does not load",
                   "run pip install scipy-openblas32"))  # fmt: skip


def blas_path() -> str:
    """Where the library of OpenBLAS is, empty if it is not there."""
    return next(filter(os.path.exists, _candidates()), "")


def _candidates() -> list[str]:
    # The package is found but not imported: its import costs more than loading the library.
    spec = PathFinder.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return []
    folder = os.path.join(os.path.dirname(spec.origin), "lib")
    return [os.path.join(folder, name) for name in ("libscipy_openblas.so", "libscipy_openblas.dylib")]
