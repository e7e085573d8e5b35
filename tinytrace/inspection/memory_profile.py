"""Arrays in memory as a profile for pprof: one sample for each type, its count and its bytes.

Source: profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), written by hand: a message is a
row of fields, each a number and a value. The numbers beside the fields are that file's.
"""
from __future__ import annotations

import collections
import gzip
from collections.abc import Iterable, Sequence
from typing import Any

Value = int | bytes


def as_pprof(arrays: Iterable[Any]) -> bytes:
    """Return a profile, compressed as pprof wants it: a function for each type of array, as if it had made them."""
    counts: collections.Counter[str] = collections.Counter()
    sizes: collections.Counter[str] = collections.Counter()
    for x in arrays:
        counts[x.aval.str_short()] += 1
        sizes[x.aval.str_short()] += x.nbytes
    strings = ["", "allocations", "count", "space", "bytes", *counts]
    fields: list[tuple[int, Value]] = [(1, _value_type(1, 2)), (1, _value_type(3, 4))]  # sample_type
    for number, name in enumerate(counts, 1):
        values = _varint(counts[name]) + _varint(sizes[name])
        line = _message([(1, number)])  # function_id
        fields += [(2, _message([(1, _varint(number)), (2, values)])),  # sample: location_id, value
                   (4, _message([(1, number), (4, line)])),  # location: id, line
                   (5, _message([(1, number), (2, strings.index(name))]))]  # function: id, name
    fields += [(6, text.encode()) for text in strings]  # string_table
    return gzip.compress(_message(fields))


def _value_type(kind: int, unit: int) -> bytes:
    return _message([(1, kind), (2, unit)])


def _message(fields: Sequence[tuple[int, Value]]) -> bytes:
    """Return fields one after the other: integers as varints, bytes with their length before them."""
    return b"".join(_varint(number << 3) + _varint(value) if isinstance(value, int) else
                    _varint(number << 3 | 2) + _varint(len(value)) + value for number, value in fields)


def _varint(value: int) -> bytes:
    """Return an integer in groups of seven bits, the lowest first.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])
