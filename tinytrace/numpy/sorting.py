"""Sorting, and the order in which elements stand sorted."""
from __future__ import annotations

from typing import Any

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.api.vmapping import vmap
from tinytrace.core.dtypes import complex_dtype, is_complex, is_unsigned
from tinytrace.numpy.array_creation import array, asarray, ones
from tinytrace.numpy.promotion import ArrayLike, Value, canonicalize_axis, check_arraylike, int_dtype
from tinytrace.numpy.shapes import ravel, swapaxes
from tinytrace.primitives.sorting import top_k_p

LONG = 1000
"""From so many elements on the two sides of a partition are in the order of the line; JAX has them sorted."""


@library_jit("axis", "kind", "order", "stable", "descending")
def sort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
         descending: bool = False) -> Value:
    """Return the elements in rising order along `axis`, of the flattened array when None; nan comes last.

    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.sort.html.
    """
    check_arraylike("sort", a)
    _refuse_kind_and_order("sort", kind, order)
    arr, axis = _along(a, axis)
    result = lax.sort(arr, dimension=axis, is_stable=stable)
    return lax.rev(result, (axis,)) if descending else result


@library_jit("axis", "kind", "order", "stable", "descending")
def argsort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
            descending: bool = False) -> Value:
    """Return the indices that sort the elements along `axis`.

    >>> jnp.argsort(jnp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.argsort.html.
    """
    check_arraylike("argsort", a)
    _refuse_kind_and_order("argsort", kind, order)
    arr, axis = _along(a, axis)
    places = lax.broadcasted_iota(int_dtype(), arr.shape, axis)
    if descending and stable:
        arr, places = lax.rev(arr, (axis,)), lax.rev(places, (axis,))
    _, order_ = lax.sort_key_val(arr, places, dimension=axis, is_stable=stable)
    return lax.rev(order_, (axis,)) if descending else order_


def _refuse_kind_and_order(function: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"'kind' argument to {function} is not supported. Use stable=True or stable=False to specify "
                        "sort stability.")
    if order is not None:
        raise TypeError(f"'order' argument to {function} is not supported.")


def _along(a: Any, axis: int | None) -> tuple[Value, int]:
    arr = ravel(a) if axis is None else asarray(a)
    return arr, canonicalize_axis(0 if axis is None else axis, arr.ndim)


@library_jit("axis")
def lexsort(keys: Any, axis: int = -1) -> Value:
    """Return the indices that sort by several keys, of which the last one counts first.

    >>> jnp.lexsort((jnp.array([3, 1, 2]), jnp.array([0, 0, -1])))
    Array([2, 1, 0], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.lexsort.html.
    """
    keys = tuple(keys)
    check_arraylike("lexsort", *keys)
    arrays = [asarray(key) for key in keys]
    if not arrays:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({key.shape for key in arrays}) > 1:
        raise ValueError("all keys need to be the same shape")
    if arrays[0].ndim == 0:
        return array(0, dtype=int_dtype())
    axis = canonicalize_axis(axis, arrays[0].ndim)
    places = lax.broadcasted_iota(int_dtype(), arrays[0].shape, axis)
    return lax.sort((*arrays[::-1], places), dimension=axis, num_keys=len(arrays))[-1]


@library_jit()
def sort_complex(a: ArrayLike) -> Value:
    """Return the elements sorted along the last axis, by real parts and then by imaginary parts, as complex numbers.

    >>> jnp.sort_complex(jnp.array([2.0, 1 + 2j, 1 - 1j]))
    Array([1.-1.j, 1.+2.j, 2.+0.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.sort_complex.html.
    """
    check_arraylike("sort_complex", a)
    arr = lax.sort(asarray(a))
    return lax.convert_element_type(arr, complex_dtype(arr.dtype))


@library_jit("kth", "axis")
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Value:
    """Return the elements in an order in which the smallest `kth` come first, then the next one, then the others.

    >>> jnp.partition(jnp.array([3, 1, 2, 0]), 1)
    Array([0, 1, 3, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.partition.html.
    """
    check_arraylike("partition", a)
    arr, axis = _along(a, axis)
    if is_complex(arr.dtype):
        raise NotImplementedError("jnp.partition for complex dtype is not implemented.")
    kth = canonicalize_axis(kth, arr.shape[axis])
    arr = swapaxes(arr, axis, -1)
    bottom = _largest(_reversed_order(arr), kth + 1)[0]
    bottom = -bottom - 1 if is_unsigned(arr.dtype) else -bottom
    top = _largest(arr, arr.shape[-1] - kth - 1)[0]
    return swapaxes(lax.concatenate([bottom, top], arr.ndim - 1), -1, axis)


@library_jit("kth", "axis")
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Value:
    """Return the indices of `partition`.

    >>> jnp.argpartition(jnp.array([3, 1, 2, 0]), 1)
    Array([3, 1, 0, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.argpartition.html.
    """
    check_arraylike("partition", a)
    arr, axis = _along(a, axis)
    if is_complex(arr.dtype):
        raise NotImplementedError("jnp.argpartition for complex dtype is not implemented.")
    kth = canonicalize_axis(kth, arr.shape[axis])
    arr = swapaxes(arr, axis, -1)
    bottom = _largest(_reversed_order(arr), kth + 1)[1]

    def zero_at(row: Value, places: Value) -> Value:
        return row.at[places].set(0)

    for _ in range(arr.ndim - 1):
        zero_at = vmap(zero_at)
    top = _largest(zero_at(ones(arr.shape), bottom), arr.shape[-1] - kth - 1)[1]
    return swapaxes(lax.concatenate([bottom, top], arr.ndim - 1), -1, axis)


def _largest(x: Value, k: int) -> Any:
    """Return the k largest elements along the last axis, the smallest of them last, and their positions."""
    return top_k_p.bind(x, k=k, is_sorted=False) if x.shape[-1] >= LONG else lax.top_k(x, k)


def _reversed_order(x: Value) -> Value:
    """Map elements so that the smallest become the largest."""
    return -(x + 1) if is_unsigned(x.dtype) else -x

