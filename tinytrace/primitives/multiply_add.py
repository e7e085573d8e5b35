"""Products and sums in one rounding: what a machine has one instruction for. No user writes them, a pass does.

    fma  a * b + c          fms  a * b - c          fnma  c - a * b

The names are those of the instructions. On machines without them the product is rounded too.
Source: IEEE 754-2019, 5.4.1 (fusedMultiplyAdd).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace._runtime import ffi, lib
from tinytrace.core.formulas import fused
from tinytrace.core.numpy_calls import broadcast_shape
from tinytrace.primitives.arithmetic import mul
from tinytrace.primitives.elementwise import FLOAT, Elementwise, NDArray, in_float32, maybe_broadcast, neg


@in_float32
def multiply_add(a: Any, b: Any, c: Any) -> NDArray:
    """Return `a * b + c` of arrays of one type of floats, rounded once.

    >>> multiply_add(np.float64(0.1), np.float64(10), np.float64(-1))
    array(5.55111512e-17)
    """
    dtype = np.asarray(a).dtype
    shape = broadcast_shape(np.shape(a), np.shape(b), np.shape(c))
    out = np.empty(shape, dtype)
    function, kind = (lib.tt_fma_array_f64, "double[]") if dtype.itemsize == 8 else (lib.tt_fma_array_f32, "float[]")
    x, y, z = (ffi.from_buffer(kind, np.ascontiguousarray(np.broadcast_to(each, shape), dtype)) for each in (a, b, c))
    function(out.size, x, y, z, ffi.from_buffer(kind, out))
    return out


def _addend_tangent(g: Any, out: Any, a: Any, b: Any, c: Any) -> Any:
    return maybe_broadcast(np.shape(out), g)


fma_p = Elementwise("fma", [FLOAT, FLOAT, FLOAT], multiply_add, fused,
                    lambda g, out, a, b, c: mul(g, b),
                    lambda g, out, a, b, c: mul(a, g),
                    _addend_tangent, ulp=0.5)
fms_p = Elementwise("fms", [FLOAT, FLOAT, FLOAT], lambda a, b, c: multiply_add(a, b, np.negative(c)),
                    lambda a, b, c: fused(a, b, c, "addend"),
                    lambda g, out, a, b, c: mul(g, b),
                    lambda g, out, a, b, c: mul(a, g),
                    lambda g, *others: neg(_addend_tangent(g, *others)), ulp=0.5)
fnma_p = Elementwise("fnma", [FLOAT, FLOAT, FLOAT], lambda a, b, c: multiply_add(np.negative(a), b, c),
                     lambda a, b, c: fused(a, b, c, "product"),
                     lambda g, out, a, b, c: neg(mul(g, b)),
                     lambda g, out, a, b, c: neg(mul(a, g)),
                     _addend_tangent, ulp=0.5)
