"""`jnp.ufunc`: functions of elements with NumPy's methods: reduce, accumulate, at, reduceat, outer.

Where a function has no method of its own, a loop over elements does it.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.api.shape_evaluation import eval_shape
from tinytrace.api.vmapping import vmap
from tinytrace.core.dtypes import BOOL
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.joining import append
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import Value, broadcast_to, canonicalize_axis, check_arraylike
from tinytrace.numpy.shapes import moveaxis
from tinytrace.numpy.taking import take
from tinytrace.numpy.vectorization import vectorize

_AT_IN_PLACE = """\
Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like
np.ufunc.at(). Instead, you can pass inplace=False and capture the result; e.g.
>>> arr = jnp.add.at(arr, ind, val, inplace=False)
"""


class ufunc:  # noqa: N801 (NumPy's name)
    """A function of `nin` elements with `nout` results, as a function of arrays; made by `jnp.frompyfunc`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.ufunc.html.
    """

    __name__: str
    _func: Callable[..., Any]
    nin: int
    nout: int
    nargs: int
    identity: Any
    _body: Callable[..., Any] | None
    _methods: dict[str, Callable[..., Any] | None]

    def __init__(self, func: Callable[..., Any], /, nin: int, nout: int, *, name: str | None = None,
                 nargs: int | None = None, identity: Any = None, call: Callable[..., Any] | None = None,
                 reduce: Callable[..., Any] | None = None, accumulate: Callable[..., Any] | None = None,
                 at: Callable[..., Any] | None = None) -> None:
        vars(self).update(
            __doc__=func.__doc__, __name__=name or func.__name__, _func=func, nin=operator.index(nin),
            nout=operator.index(nout), nargs=operator.index(nargs or nin), identity=identity, _body=call,
            _methods={"reduce": reduce, "accumulate": accumulate, "at": at})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name!r} of {self!r} cannot be set: programs are remembered for a ufunc as it is")

    def _key(self) -> tuple[Any, ...]:
        return self._func, self.__name__, self.identity, self.nin, self.nout, self.nargs

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ufunc) and self._key() == other._key()

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        if out is not None:
            raise NotImplementedError(f"out argument of {self}")
        if where is not None:
            raise NotImplementedError(f"where argument of {self}")
        if self._body is not None:
            return self._body(*args)
        check_arraylike(self.__name__, *args)
        return self._call_vectorized(*args)

    @library_jit("self")
    def _call_vectorized(self, *args: Any) -> Any:
        return vectorize(self._func)(*args)

    def _check_binary(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")

    @library_jit("self", "axis", "dtype", "out", "keepdims")
    def reduce(self, a: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False,
               initial: Any = None, where: Any = None) -> Value:
        """Combine the elements along `axis` into one: `jnp.add.reduce` is a sum."""
        check_arraylike(f"{self.__name__}.reduce", a)
        self._check_binary("reduce")
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.reduce()")
        if initial is not None:
            check_arraylike(f"{self.__name__}.reduce", initial)
        if where is not None:
            self._check_mask(where, initial)
        reduce = self._methods["reduce"] or self._reduce_by_loop
        return reduce(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    def _check_mask(self, where: Any, initial: Any) -> None:
        check_arraylike(f"{self.__name__}.reduce", where)
        if self.identity is None and initial is None:
            raise ValueError(f"reduction operation {self.__name__!r} does not have an identity, so to use a where mask "
                             "one has to specify 'initial'.")
        if asarray(where).dtype != BOOL:
            raise ValueError(f"where argument must have dtype=bool; got dtype={asarray(where).dtype}")

    def _reduce_by_loop(self, arr: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Value:
        arr = asarray(arr)
        initial = self.identity if initial is None else initial
        dtype = dtype or self._result_dtype(arr, arr)
        mask = None if where is None else broadcast_to(where, arr.shape)
        if isinstance(axis, tuple):
            raise NotImplementedError("tuple of axes")
        if axis is None:
            kept, axis, arr = (1,) * arr.ndim, 0, arr.ravel()
            mask = None if mask is None else mask.ravel()
        else:
            axis = canonicalize_axis(axis, arr.ndim)
            kept = (*arr.shape[:axis], 1, *arr.shape[axis + 1:])
        if axis != 0:
            arr = moveaxis(arr, axis, 0)
            mask = None if mask is None else moveaxis(mask, axis, 0)
        if initial is None and arr.shape[0] == 0:
            raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no identity")

        def step(i: Value, value: Value) -> Value:
            combined = self(value, arr[i].astype(dtype))
            return combined if mask is None else choose_where(mask[i], combined, value)

        first, start = (1, arr[0]) if initial is None else (0, initial)
        result = lax.fori_loop(first, arr.shape[0], step, broadcast_to(asarray(start).astype(dtype), arr.shape[1:]))
        return result.reshape(kept) if keepdims else result

    def _result_dtype(self, *args: Value) -> Any:
        return eval_shape(self._func, *[np.ones((), x.dtype) for x in args]).dtype

    @library_jit("self", "axis", "dtype")
    def accumulate(self, a: Any, axis: Any = 0, dtype: Any = None, out: None = None) -> Value:
        """Combine the elements along `axis` one after the other: `jnp.add.accumulate` is a running sum."""
        self._check_binary("accumulate")
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.accumulate()")
        return (self._methods["accumulate"] or self._accumulate_by_scan)(a, axis=axis, dtype=dtype)

    def _accumulate_by_scan(self, arr: Any, axis: Any, dtype: Any) -> Value:
        check_arraylike(f"{self.__name__}.accumulate", arr)
        arr = asarray(arr)
        dtype = dtype or self._result_dtype(arr, arr)
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        axis = canonicalize_axis(axis, arr.ndim)
        arr = moveaxis(arr, axis, 0)

        def step(carry: Any, _: None) -> Any:
            i, x = carry
            y = choose_where(i == 0, arr[0].astype(dtype), self(x.astype(dtype), arr[i].astype(dtype)))
            return (i + 1, y), y

        _, result = lax.scan(step, (0, arr[0].astype(dtype)), None, length=arr.shape[0])
        return moveaxis(result, 0, axis)

    @library_jit("inplace", static_argnums=(0,))
    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Value:
        """Return `a` with the function applied to its elements at `indices` (and `b`); `inplace` must be False."""
        if inplace:
            raise NotImplementedError(_AT_IN_PLACE)
        at = self._methods["at"] or self._at_by_scan
        return at(a, indices) if b is None else at(a, indices, b)

    def _at_by_scan(self, a: Any, indices: Any, *args: Any) -> Value:
        check_arraylike(f"{self.__name__}.at", a, *args)
        a = asarray(a)
        operands = [asarray(arg) for arg in args]
        dtype = self._result_dtype(a, *operands)
        a, operands = a.astype(dtype), [x.astype(dtype) for x in operands]
        index = indices if isinstance(indices, tuple) else (indices,)
        if not index:
            return a
        shapes = [np.shape(i) for i in index if not isinstance(i, slice)]
        shape = lax.broadcast_shapes(*shapes) if shapes else ()
        if not shape:
            return a.at[index].set(self(a.at[index].get(), *operands))
        if operands:
            tail = operands[0].shape[len(shape):]
            operands = [broadcast_to(operands[0], (*shape, *tail)).reshape(math.prod(shape), *tail)]
        index = tuple(i if isinstance(i, slice) else broadcast_to(i, shape).ravel() for i in index)

        def step(carry: Any, x: None) -> Any:
            i, out = carry
            place = tuple(ind if isinstance(ind, slice) else ind[i] for ind in index)
            return (i + 1, out.at[place].set(self(out.at[place].get(), *(arg[i] for arg in operands)))), x

        (_, result), _ = lax.scan(step, (0, a), None, math.prod(shape))
        return result

    @library_jit("self", "axis", "dtype")
    def reduceat(self, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: None = None) -> Value:
        """Reduce the stretches of `a` along `axis` that begin at `indices: i32[n]`."""
        self._check_binary("reduceat")
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.reduceat()")
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        a, indices = asarray(a), asarray(indices)
        if a.ndim == 0:
            raise ValueError(f"reduceat: a must have 1 or more dimension, got a.shape={a.shape!r}")
        if indices.ndim != 1:
            raise ValueError(f"reduceat: indices must be one-dimensional, got indices.shape={indices.shape!r}")
        if axis is None or isinstance(axis, (tuple, list)):
            raise ValueError("reduceat requires a single integer axis.")
        axis = canonicalize_axis(axis, a.ndim)
        out_ = take(a, indices, axis=axis)
        bounds = lax.expand_dims(append(indices, a.shape[axis]), [i for i in range(a.ndim) if i != axis])
        start = lax.slice_in_dim(bounds, 0, bounds.shape[axis] - 1, axis=axis)
        stop = lax.slice_in_dim(bounds, 1, bounds.shape[axis], axis=axis)

        def step(i: Value, value: Value) -> Value:
            layer = take(a, lax.expand_dims(i, (0,)), axis=axis)
            return choose_where((i > start) & (i < stop), self(value, layer), value)

        return lax.fori_loop(0, a.shape[axis], step, out_)

    @library_jit(static_argnums=(0,))
    def outer(self, A: Any, B: Any, /) -> Value:
        """Apply the function to each pair of an element of `A` and one of `B`."""
        self._check_binary("outer")
        check_arraylike(f"{self.__name__}.outer", A, B)
        pairs = vmap(vmap(self, (None, 0)), (0, None))
        result = pairs(lax.reshape(A, (np.size(A),)), lax.reshape(B, (np.size(B),)))
        return result.reshape(*np.shape(A), *np.shape(B))


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Make a `ufunc` of a function of `nin` scalars with `nout` results.

    >>> jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0).reduce(jnp.arange(4))
    Array(6, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.frompyfunc.html.
    """
    return ufunc(func, nin, nout, identity=identity)
