"""The ten functions that are ufuncs in JAX 0.4.35: what `jnp.add` and `x + y` are."""
from __future__ import annotations

from typing import Any

from tinytrace.core.dtypes import BOOL
from tinytrace.numpy import arithmetic, bits
from tinytrace.numpy.cumulative import cumprod, cumsum
from tinytrace.numpy.promotion import Value
from tinytrace.numpy.reductions import all as reduce_all
from tinytrace.numpy.reductions import any as reduce_any
from tinytrace.numpy.reductions import prod, sum
from tinytrace.numpy.ufunc import ufunc


def _add_at(a: Any, indices: Any, b: Any) -> Value:
    if a.dtype == BOOL:
        return a.astype("int32").at[indices].add(b.astype(bool).astype("int32")).astype(bool)
    return a.at[indices].add(b)


def _multiply_at(a: Any, indices: Any, b: Any) -> Value:
    if a.dtype == BOOL:
        return a.astype("int32").at[indices].mul(b.astype(bool).astype("int32")).astype(bool)
    return a.at[indices].mul(b)


def _subtract_at(a: Any, indices: Any, b: Any) -> Value:
    return a.at[indices].subtract(b)


def _logical_and_reduce(a: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, initial: None = None,
                        where: Any = None) -> Value:
    if initial is not None:
        raise ValueError("initial argument not supported in jnp.logical_and.reduce()")
    result = reduce_all(a, axis=axis, keepdims=keepdims, where=where)
    return result if dtype is None else result.astype(dtype)


def _logical_or_reduce(a: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, initial: None = None,
                       where: Any = None) -> Value:
    if initial is not None:
        raise ValueError("initial argument not supported in jnp.logical_or.reduce()")
    result = reduce_any(a, axis=axis, keepdims=keepdims, where=where)
    return result if dtype is None else result.astype(dtype)


def _binary(function: Any, identity: Any = None, **methods: Any) -> ufunc:
    return ufunc(function, nin=2, nout=1, identity=identity, call=function, **methods)


add = _binary(arithmetic.add, 0, reduce=sum, accumulate=cumsum, at=_add_at)
multiply = _binary(arithmetic.multiply, 1, reduce=prod, accumulate=cumprod, at=_multiply_at)
subtract = _binary(arithmetic.subtract, at=_subtract_at)
negative = ufunc(arithmetic.negative, nin=1, nout=1, call=arithmetic.negative)
bitwise_and = _binary(bits.bitwise_and, -1)
bitwise_or = _binary(bits.bitwise_or, 0)
bitwise_xor = _binary(bits.bitwise_xor, 0)
logical_and = _binary(bits.logical_and, True, reduce=_logical_and_reduce)
logical_or = _binary(bits.logical_or, False, reduce=_logical_or_reduce)
logical_xor = _binary(bits.logical_xor, False)
