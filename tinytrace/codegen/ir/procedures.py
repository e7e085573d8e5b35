"""What a `Call` statement calls: functions of csrc/ and of the host over whole arrays, with what they mean in NumPy."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.dtypes import DType, short_name
from tinytrace.core.formulas import Formula, call_named, parts, place
from tinytrace.core.monoids import monoids
from tinytrace.records import dataclass

SHORT_TURNED = range(4, 32)
"""Elements of rows that have a transposition of their own."""
STATUS = "status"
"""The failure of calls whose answer is what a program returns (csrc/tt_host.h)."""


@dataclass(frozen=True, eq=False)
class Procedure:
    """Calls of C functions, one after the other, over the places of a `Call` statement."""

    name: str
    calls: tuple[Formula, ...]
    """What C writes: over the statement's places, by their names, which stand for addresses."""
    meaning: Callable[[dict[str, np.ndarray[Any, Any]]], None]
    """Does the same to memory: for each place a one-dimensional array, of what lies at its address and behind it."""
    failure: str = ""
    """What a program returns if a call's answer is not 0; nothing: there is no answer."""
    streams: bool = False
    """Does it store past the caches? Then a thread that is done with such stores says so."""

    @property
    def uses_host(self) -> bool:
        """Does it call an entry of `struct tt_host`?"""
        return any(part.op == "host" for call in self.calls for part in parts(call))


def stream(nbytes: int) -> Procedure:
    """Return the copy of `nbytes` from the place `part` to the place `to`, past the caches."""

    def copy(places: dict[str, np.ndarray[Any, Any]]) -> None:
        count = nbytes // places["part"].itemsize
        places["to"][:count] = places["part"][:count]

    return Procedure("stream", (call_named("tt_stream", place("to"), place("part"), nbytes),), copy, streams=True)


@functools.cache
def turned(bits: int, rows: int, columns: int, from_row: int, to_row: int) -> Procedure:
    """Return the transposition of a matrix at the place `from` to the place `to`; so far apart are rows of each."""

    def turn(places: dict[str, np.ndarray[Any, Any]]) -> None:
        j, i = np.mgrid[:rows, :columns]
        places["to"][i * to_row + j] = places["from"][j * from_row + i]

    name = f"tt_turn_rows_{bits}" if bits == 32 and columns in SHORT_TURNED else f"tt_turn_{bits}"
    call = call_named(name, place("to"), to_row, place("from"), from_row, rows, columns)
    return Procedure("turn", (call,), turn)


@functools.cache
def picked(bits: int, stride: int, count: int) -> Procedure:
    """Return the copy of `count` elements, which lie `stride` apart from the place `from` on, to the place `to`."""

    def pick(places: dict[str, np.ndarray[Any, Any]]) -> None:
        places["to"][:count] = places["from"][:stride * (count - 1) + 1:stride]

    return Procedure("pick", (call_named(f"tt_pick_{bits}", place("to"), place("from"), stride, count),), pick)


@functools.cache
def fold_rows(op: str, rows: int, length: int, distance: int) -> Procedure:
    """Return the sums or extremes, to the place `to`, of so many rows of floats; rows begin a distance apart at `x`."""

    def fold(places: dict[str, np.ndarray[Any, Any]]) -> None:
        x = _rows(places["x"], rows, length, distance)
        places["to"][:rows] = _row_sums(x) if op == "sum" else monoids[op].ufunc.reduce(x, 1)

    name = {"sum": "add", "max": "max", "min": "min"}[op]
    call = call_named(f"tt_{name}_rows_f32", place("to"), place("x"), distance, rows, length)
    return Procedure(f"{name} rows", (call,), fold)


@functools.cache
def dot_rows(rows: int, length: int, x_distance: int, y_distance: int) -> Procedure:
    """Return the sums, to the place `to`, of the products of rows of floats at the places `x` and `y`."""

    def dot(places: dict[str, np.ndarray[Any, Any]]) -> None:
        x, y = _rows(places["x"], rows, length, x_distance), _rows(places["y"], rows, length, y_distance)
        places["to"][:rows] = _row_sums(x * y)

    call = call_named("tt_dot_rows_f32", place("to"), place("x"), x_distance, place("y"), y_distance, rows, length)
    return Procedure("dot rows", (call,), dot)


def _rows(x: np.ndarray[Any, Any], rows: int, length: int, distance: int) -> np.ndarray[Any, Any]:
    i, j = np.mgrid[:rows, :length]
    rows_of_x: np.ndarray[Any, Any] = x[i * distance + j]
    return rows_of_x


def _row_sums(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the sums of rows, added up from 0 in their order, as kernels add."""
    sums: np.ndarray[Any, Any] = np.add.accumulate(x, 1)[:, -1] + x.dtype.type(0)
    return sums


@functools.cache
def widen_halves(count: int, dtype: DType) -> Procedure:
    """Return the conversion of `count` two-byte floats at the place `from` to floats in the strip `to`."""
    call = call_named(f"tt_widen_{short_name(dtype)}", place("to"), place("from"), count)
    return Procedure("widen", (call,), _copied(count))


@functools.cache
def round_halves(count: int, dtype: DType) -> Procedure:
    """Return the rounding of the `count` floats in `strip` to two bytes: for the kernel they are that already."""
    call = call_named(f"tt_round_strip_{short_name(dtype)}", place("strip"), count)
    return Procedure("round", (call,), lambda places: None)


@functools.cache
def narrow_halves(count: int, dtype: DType) -> Procedure:
    """Return the conversion of the `count` floats in the strip `from` to two-byte floats at the place `to`."""
    call = call_named(f"tt_narrow_{short_name(dtype)}", place("to"), place("from"), count)
    return Procedure("narrow", (call,), _copied(count))


def _copied(count: int) -> Callable[[dict[str, np.ndarray[Any, Any]]], None]:
    def copy(places: dict[str, np.ndarray[Any, Any]]) -> None:
        places["to"][:count] = places["from"][:count]

    return copy


PREFETCH = Procedure("prefetch", (call_named("__builtin_prefetch", place("row")),), lambda places: None)
"""Asks for the cache line of the place `row`; computes nothing."""
