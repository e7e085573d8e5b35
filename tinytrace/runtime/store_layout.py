"""The names in the store's own folder; what has another name there was not written by the store."""

from __future__ import annotations

import re

from tinytrace.runtime.compiler import LIBRARY, SOURCE

NAME = "tinytrace-store-1"
"""The store's own folder; the number is that of this layout."""
MARKER = "CACHEDIR.TAG"
MARKER_TEXT = b"""\
Signature: 8a477f597d28d172789f06886806bc55
# This folder belongs to tinytrace: compiled programs, which are made again when they are missing.
# You may delete it at any time. About this file: https://bford.info/cachedir/
"""
META = "meta.json"
JAXPR = "program.jaxpr"
ENTRY_FILES = (SOURCE, LIBRARY, META, JAXPR)
ENTRIES, LOCKS, BUILDING, COMPILERS, FAILED, ASIDE = "entries", "locks", "building", "compilers", "failed", "aside"
LOWERED, MATH = "lowered", "math"
SWEPT = "swept"
LARGEST_OBJECT = 1 << 28
"""Bytes of a library that is read at all."""
LAYOUT = frozenset([MARKER, ENTRIES, LOCKS, BUILDING, COMPILERS, FAILED, ASIDE, LOWERED, MATH, SWEPT])

IS_SHARD = re.compile(r"[0-9a-f]{2}").fullmatch
IS_DIGEST = re.compile(r"[0-9a-f]{64}").fullmatch
IS_BUILD = re.compile(r"[0-9]+-[0-9a-f]{16}").fullmatch
IS_NOTE = re.compile(r"[0-9a-f]{32}\.json").fullmatch
IS_FAILURE = re.compile(r"[0-9a-f]{16}\.c").fullmatch
