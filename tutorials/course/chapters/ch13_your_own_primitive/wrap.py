"""The rules of `wrap`, the primitive of chapter 13, and what they are tried with. `wrap` goes on at the beginning:

    wrap [1, 2, 3] by 4 is [1, 2, 3, 1, 2, 3, 1]
"""

import functools

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.avals import ShapedArray
from tinytrace.core.trace import interpreting


def wrap_type(x, axis, by):
    """The type of the result, of that of the operand: a solution of exercise 13.1."""
    if not 0 <= axis < x.ndim:
        raise TypeError(f"wrap needs an axis of its operand, {x.str_short()}; got {axis}")
    if by < 0 or x.shape[axis] == 0:
        raise TypeError(f"wrap cannot lengthen {x.str_short()} by {by} along axis {axis}")
    return x.update(shape=tuple(side + by * (k == axis) for k, side in enumerate(x.shape)))


def wrap_element(i, read, axis, n):
    """One element of the result: a solution of exercise 13.2."""
    return read(0, tuple(index % n if k == axis else index for k, index in enumerate(i)))


def wrap_transpose(ct, n, axis):
    """The cotangent of the operand, of that of the result: a solution of exercise 13.3."""
    size = ct.shape[axis]
    pieces = [padded(cut(ct, start, min(start + n, size), axis), n, axis) for start in range(0, size, n)]
    return functools.reduce(lambda x, y: x + y, pieces)


def wrap_batch(dim, axis):
    """The axis in the batch, and where the examples are in the result: a solution of exercise 13.4."""
    return axis + (axis >= dim), dim


# --- what the rules are written with ---


def cut(x, start, stop, axis):
    """The part of an array from `start` up to `stop` along an axis."""
    return lax.slice_in_dim(x, start, stop, axis=axis)


def padded(x, n, axis):
    """An array with zeros behind it, so that it has the length `n` along an axis."""
    return jnp.pad(x, [(0, n - side if k == axis else 0) for k, side in enumerate(x.shape)])


# --- what they are tried with ---


def array(*shape):
    """An array of this shape whose elements are all different."""
    return np.arange(1.0, 1 + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def wrapped(x, axis, by):
    """The meaning of `wrap`, in NumPy."""
    return np.take(x, np.arange(x.shape[axis] + by) % x.shape[axis], axis)


def typed(wrap_type, shape, dtype, weak, axis, by):
    """What a rule of types says, in words: `f32[3]`, with `~` behind a weak type."""
    aval = wrap_type(ShapedArray(shape, np.dtype(dtype), weak), axis, by)
    return aval.str_short() + ("~" if aval.weak_type else "")


def elements(wrap_element, shape, axis, by):
    """All elements of a result, each asked for by its index."""
    x = array(*shape)
    result = np.empty(tuple(side + by * (k == axis) for k, side in enumerate(shape)))
    for i in np.ndindex(result.shape):
        result[i] = wrap_element(i, lambda operand, index: x[inside(index, x.shape)], axis, shape[axis])
    return result.tolist()


def inside(index, shape):
    """The index, if it lies inside of the array.

    Raises: IndexError if it does not: C would read what is behind the array.
    """
    if not all(0 <= i < side for i, side in zip(index, shape, strict=True)):
        raise IndexError(f"reads {index}, of {shape}")
    return index


def pulled(wrap_transpose, shape, n, axis):
    """What a rule of transposing gives for a cotangent of this shape; nothing is compiled."""
    with interpreting():
        result = wrap_transpose(jnp.array(array(*shape)), n, axis)
        return np.asarray(result).tolist()


def batched(wrap_batch, shape, dim, axis, by):
    """What a rule of batching makes of examples along `dim`: their results, examples in front."""
    new_axis, new_dim = wrap_batch(dim, axis)
    return np.moveaxis(wrapped(array(*shape), new_axis, by), new_dim, 0).tolist()


# --- primitives to be tested ---


class Rules:
    """A primitive as its tester sees it: `wrap(x, axis, by)`, `pull(ct, n, axis)`, `shape(shape, axis, by)`.

    Args:
      fault: the name of what is wrong with it; empty for a right one.
    """

    def __init__(self, fault=""):
        self.fault = fault

    def wrap(self, x, axis, by):
        """The result."""
        n = x.shape[axis]
        index = np.arange(n + by)
        sources = {
            "repeats the last": np.minimum(index, n - 1),
            "wraps once": np.where(index < n, index, np.minimum(index - n, n - 1)),
            "comes back": np.where(index < n, index, n - 1 - index % n),
        }
        return np.take(x, sources.get(self.fault, index % n), axis)

    def pull(self, ct, n, axis):
        """The cotangent of the operand."""
        ct = np.moveaxis(ct, axis, 0)
        index = np.arange(ct.shape[0])
        total = np.zeros((n, *ct.shape[1:]), np.float32)
        target = n - 1 - index % n if self.fault == "adds at the wrong end" else index % n
        for i, k in enumerate(target):
            if not (self.fault == "cuts off" and i >= n):
                total[k] += ct[i]
        return np.moveaxis(total, 0, axis)

    def shape(self, shape, axis, by):
        """The shape of the result."""
        if self.fault == "says another shape":
            return (*shape[:-1], shape[-1] + by)
        return tuple(side + by * (k == axis) for k, side in enumerate(shape))


class ByConcatenation(Rules):
    """The same, written in another way."""

    def wrap(self, x, axis, by):
        copies = np.concatenate([x] * (1 + -(-by // x.shape[axis])), axis)
        return np.take(copies, range(x.shape[axis] + by), axis)


class InDouble(Rules):
    """The same, rounded in another way."""

    def pull(self, ct, n, axis):
        return super().pull(ct.astype(float) * (1 + 1e-7), n, axis)


RIGHT = {"right": Rules(), "by concatenation": ByConcatenation(), "in double": InDouble()}
FAULTY = ("repeats the last", "wraps once", "comes back", "adds at the wrong end", "cuts off", "says another shape")
TRIALS = (
    (array(3), 0, 2, array(5)),
    (array(2), 0, 5, array(7)[::-1]),
    (array(2, 3), 1, 2, array(2, 5)),
    (array(2, 3), 0, 1, array(3, 3)),
)
"""Operands, axes, lengths, and a cotangent of the result."""


def primitive(name):
    """A primitive by its name in RIGHT or FAULTY."""
    return RIGHT.get(name) or Rules(name)
