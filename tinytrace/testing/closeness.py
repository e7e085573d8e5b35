"""`jax._src.public_test_util`: trees that are as close as their types allow, and the checks of derivatives.

Libraries' tests import it. Source: `jax._src.public_test_util` of JAX 0.4.35.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.dtypes import BFLOAT16, FLOAT0, canonicalize_dtype, is_complex, is_inexact
from tinytrace.core.trees import tree_map
from tinytrace.testing.gradient_checks import check_grads as check_grads
from tinytrace.testing.gradient_checks import check_jvp as check_jvp
from tinytrace.testing.gradient_checks import check_vjp as check_vjp

Tolerance = float | dict[Any, float] | None
_DEFAULTS = {np.dtype(np.float16): 1e-3, np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-15,
             np.dtype(np.complex64): 1e-6, np.dtype(np.complex128): 1e-15, BFLOAT16: 1e-2}
_NARROW = 1e-1
"""Of floats of eight bits."""


def tolerance(dtype: Any, tol: Tolerance = None) -> float:
    """Return how far numbers of a type may be apart: `tol`, or what it says of the type, or a few roundings.

    >>> tolerance(np.float32), tolerance(np.float32, {np.float32: 0.5}), tolerance(np.int32)
    (1e-06, 0.5, 0.0)
    """
    if tol is not None and not isinstance(tol, dict):
        return tol
    dtype = canonicalize_dtype(np.dtype(dtype))
    own = {np.dtype(key): value for key, value in (tol or {}).items()}
    return own.get(dtype, _DEFAULTS.get(dtype, _NARROW if is_inexact(dtype) else 0.0))


def check_close(xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = "") -> None:
    """Check that two trees have the same shapes, and numbers as close as `tolerance` allows, times their sizes.

    Raises: AssertionError, which says where they differ.

    >>> check_close({"a": 1.0}, {"a": 1.0 + 1e-7})
    >>> check_close([1, 2], [1, 3])
    Traceback (most recent call last):
    AssertionError: ...
    """
    tree_map(lambda x, y: _compare(np.asarray(x), np.asarray(y), atol, rtol, err_msg), xs, ys)


def _compare(x: Any, y: Any, atol: Tolerance, rtol: Tolerance, message: str) -> None:
    assert x.shape == y.shape, f"{message}: shape {x.shape} instead of {y.shape}"
    if FLOAT0 in (x.dtype, y.dtype):
        assert x.dtype == y.dtype, f"{message}: dtype {x.dtype} instead of {y.dtype}"
        return
    limits = [max(tolerance(x.dtype, tol), tolerance(y.dtype, tol)) * x.size for tol in (atol, rtol)]
    if is_inexact(x.dtype) or is_inexact(y.dtype):
        wide = complex if is_complex(x.dtype) or is_complex(y.dtype) else float
        x, y = x.astype(wide), y.astype(wide)
    np.testing.assert_allclose(x, y, atol=limits[0], rtol=limits[1], err_msg=message)
