"""Transforms by NumPy's pocketfft, one axis after the other; threads take lines, for NumPy lets them run side by side.

Each line is transformed by itself, so that results do not depend on the number of threads.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.dtypes import complex_dtype, is_complex, part_dtype
from tinytrace.runtime.threads import num_threads

NDArray = np.ndarray[Any, Any]
WORTH_SPREADING = 1 << 15
"""Elements of an array whose lines are shared out: with fewer, starting a thread may cost more than it saves."""


def transform(name: str, x: NDArray, lengths: Sequence[int]) -> NDArray:
    """Return the transform of the last axes, of `lengths` elements in the result or, of real ones, in the operand.

    name: what NumPy calls that of one axis.

    >>> transform("fft", np.float32([1, 2, 3, 4]), (4,))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    others = {"rfft": "fft", "irfft": "ifft"}.get(name, name)
    steps = [(others, length, axis - len(lengths)) for axis, length in enumerate(lengths[:-1])]
    last = (name, lengths[-1], -1)
    for step in [*steps, last] if name == "irfft" else [last, *steps[::-1]]:
        x = _along_axis(x, *step)
    return x


def _along_axis(x: NDArray, name: str, length: int, axis: int) -> NDArray:
    if name in ("fft", "ifft") and is_complex(x.dtype) and not x.imag.any():
        x = x.real  # NumPy has less to do
    function, axis = getattr(np.fft, name), axis % x.ndim
    cut = max((k for k in range(x.ndim) if k != axis), key=lambda k: x.shape[k], default=axis)
    parts = min(num_threads(), x.shape[cut]) if x.size >= WORTH_SPREADING and cut != axis else 1
    if parts < 2:
        return function(x, length, axis)  # type: ignore[no-any-return]
    shape = list(x.shape)
    shape[axis] = length // 2 + 1 if name == "rfft" else length
    out = np.empty(shape, part_dtype(x.dtype) if name == "irfft" else complex_dtype(x.dtype))

    def transform_part(part: int) -> None:
        place = (*[slice(None)] * cut, slice(x.shape[cut] * part // parts, x.shape[cut] * (part + 1) // parts))
        function(x[place], length, axis, out=out[place])

    _side_by_side(transform_part, parts)
    return out


def _side_by_side(work: Callable[[int], None], parts: int) -> None:
    """Do all parts, the first of them on this thread; plain threads, for pools take 6 ms to import."""
    errors: list[BaseException] = []

    def do(part: int) -> None:
        try:
            work(part)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=do, args=(part,)) for part in range(1, parts)]
    for thread in threads:
        thread.start()
    do(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
