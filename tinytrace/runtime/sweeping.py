"""Removing from the store: leftovers of killed processes, and what was used longest ago when it grows over its limit.

What is alive is never told by a clock: a build and a lock are somebody's as long as they are locked. Times only order
entries by their last use; a time in the future, from before a clock was set back, counts as now.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress

from tinytrace.runtime.folders import Folder
from tinytrace.runtime.locks import is_dead
from tinytrace.runtime.store_layout import (
    BUILDING,
    COMPILERS,
    ENTRIES,
    ENTRY_FILES,
    FAILED,
    IS_BUILD,
    IS_DIGEST,
    IS_FAILURE,
    IS_NOTE,
    IS_SHARD,
    LOCKS,
    LOWERED,
    MATH,
    SWEPT,
)  # fmt: skip

_SWEEP_AFTER = 3600.0  # seconds from one sweep to the next
_KEPT_NOTES = 64  # compilers that are remembered
_KEPT_FAILURES = 32  # C texts that did not compile
_KEPT_LOWERINGS = 16384  # programs of which it is known which C they become, a quarter of a kilobyte each
_KEPT_MATH = 512  # math functions with a compiler's flags, some 5 kilobytes each


def remove_leftovers(root: Folder) -> None:
    """Remove builds and locks whose processes have ended."""
    with suppress(OSError), root.inner(BUILDING) as building:
        for name in filter(IS_BUILD, building.names()):
            if is_dead(building, name):
                building.remove_tree(name)
    with suppress(OSError), root.inner(LOCKS) as folder:
        for name in filter(IS_DIGEST, folder.names()):
            if is_dead(folder, name):
                folder.unlink(name)


def sweep_is_due(root: Folder) -> bool:
    """Whether the last sweep was more than an hour ago, or in the future; the first is an hour after the first use."""
    status = root.status(SWEPT)
    if status is None:
        _note_sweep(root)
        return False
    return not 0 <= time.time() - status.st_mtime <= _SWEEP_AFTER


def sweep(root: Folder, limit: int) -> None:
    """Remove what was used longest ago: entries until their sizes are at most `limit` bytes, old notes and failures."""
    _note_sweep(root)
    now = time.time()
    uses: list[tuple[float, int, str]] = []
    with suppress(OSError), root.inner(ENTRIES) as entries:
        for shard_name in filter(IS_SHARD, entries.names()):
            with suppress(OSError), entries.inner(shard_name) as shard:
                uses += [_use(shard, name, now) for name in filter(IS_DIGEST, shard.names())]
        total = sum(size for _, size, _ in uses)
        for _, size, name in sorted(uses):
            if total <= limit:
                break
            with suppress(OSError), entries.inner(name[:2]) as shard:
                shard.remove(name, ENTRY_FILES)
            total -= size
    _keep_newest(root, COMPILERS, IS_NOTE, _KEPT_NOTES)
    _keep_newest(root, FAILED, IS_FAILURE, _KEPT_FAILURES)
    _keep_newest(root, LOWERED, IS_DIGEST, _KEPT_LOWERINGS)
    _keep_newest(root, MATH, IS_DIGEST, _KEPT_MATH)


def clear(root: Folder) -> None:
    """Remove everything but what somebody is at work on."""
    remove_leftovers(root)
    sweep(root, -1)
    _keep_newest(root, COMPILERS, IS_NOTE, 0)
    _keep_newest(root, FAILED, IS_FAILURE, 0)
    _keep_newest(root, LOWERED, IS_DIGEST, 0)
    _keep_newest(root, MATH, IS_DIGEST, 0)


def _use(shard: Folder, name: str, now: float) -> tuple[float, int, str]:
    """When an entry was used last, how large its files are, and its name."""
    status = shard.status(name)
    if status is None or not stat.S_ISDIR(status.st_mode):
        return now, 0, name
    with suppress(OSError), shard.inner(name) as entry:
        size = sum(file.st_size for file in map(entry.status, ENTRY_FILES) if file)
        if status.st_mtime > now:
            os.utime(entry.descriptor)
        return min(status.st_mtime, now), size, name
    return now, 0, name


def _keep_newest(root: Folder, folder_name: str, is_ours: Callable[[str], object], count: int) -> None:
    with suppress(OSError), root.inner(folder_name) as folder:
        files = {name: status.st_mtime for name in folder.names() if is_ours(name) and (status := folder.status(name))}
        for name in sorted(files, key=files.__getitem__, reverse=True)[count:]:
            folder.unlink(name)


def _note_sweep(root: Folder) -> None:
    with suppress(OSError):
        if (status := root.status(SWEPT)) and stat.S_ISREG(status.st_mode):
            os.utime(SWEPT, dir_fd=root.descriptor, follow_symlinks=False)
        elif status is None:
            root.write(SWEPT, b"")
