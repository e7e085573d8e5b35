"""Directories by handle: nothing in them is reached through a link, and only what this user alone may write is read.

A handle stays on the directory that was opened, whatever is renamed or put in its place meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | _NO_LINK


class Folder:
    """An open directory that belongs to this user and that nobody else can write to; a context manager.

    owners: to whom it may belong instead, and all that is read from it.

    Raises: OSError (PermissionError when it is not private, NotADirectoryError when it is a link) if it is not that.
    """

    def __init__(self, path: str, inside: int | None = None, private: bool = True,
                 owners: frozenset[int] | None = None) -> None:
        self.descriptor = os.open(path, _FLAGS, dir_fd=inside)
        self.owners = frozenset([os.geteuid()]) if owners is None else owners
        try:
            if private:
                require_private(os.fstat(self.descriptor), self.owners)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the directory."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if "descriptor" in self.__dict__:
            self.close()

    def inner(self, name: str) -> Folder:
        """Open the directory `name` in this one."""
        return Folder(name, self.descriptor, owners=self.owners)

    def made(self, name: str) -> Folder:
        """Open the directory `name` in this one, made if it is missing."""
        with suppress(FileNotFoundError):
            return self.inner(name)
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self.descriptor)
            os.chmod(name, 0o700, dir_fd=self.descriptor)  # whatever the umask is
        return self.inner(name)

    @contextmanager
    def temporary(self, name: str) -> Iterator[Folder]:
        """A new directory `name` in this one, removed with all that is in it at the end."""
        spare: list[int] = []
        try:
            for _ in range(2):  # to remove it also when no descriptor is free then
                spare.append(os.dup(self.descriptor))
            with self.made(name) as folder:
                yield folder
        finally:
            for descriptor in spare:
                os.close(descriptor)
            self.remove_tree(name)

    def names(self) -> list[str]:
        """What is in it, in no order; nothing if it cannot be read."""
        try:
            return os.listdir(self.descriptor)
        except OSError:
            return []

    def status(self, name: str) -> os.stat_result | None:
        """What `name` is, None if it is not there; a link is a link."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return None

    def read(self, name: str, limit: int, private: bool = True) -> bytes:
        """The bytes of a regular file; OSError if it is anything else, not private, or longer than `limit`."""
        # Without O_NONBLOCK, opening a FIFO would wait for a writer.
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=self.descriptor)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise PermissionError(f"{name} is no regular file")
            if private:
                require_private(status, self.owners)
            if status.st_size > limit:
                raise OSError(f"{name} is longer than expected")
            return os.read(descriptor, status.st_size)
        finally:
            os.close(descriptor)

    def write(self, name: str, data: bytes) -> None:
        """Write a new file that only this user can change; FileExistsError if there is one.

        A child that a signal's handler forks meanwhile goes on writing, too: each byte has its place.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
        descriptor = os.open(name, flags, 0o600, dir_fd=self.descriptor)
        try:
            os.fchmod(descriptor, 0o600)
            rest, written = memoryview(data), 0
            while written < len(data):
                written += os.pwrite(descriptor, rest[written:], written)
        finally:
            os.close(descriptor)

    def is_own(self, name: str, data: bytes) -> bool:
        """Whether `name` is a file of these bytes with no other name; from now on only this user can change it."""
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=self.descriptor)
        except OSError:
            return False
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid not in self.owners or status.st_nlink != 1:
                return False
            os.fchmod(descriptor, 0o600)
            return status.st_size == len(data) and os.read(descriptor, len(data)) == data
        except OSError:
            return False
        finally:
            os.close(descriptor)

    def move(self, name: str, to: Folder, new_name: str) -> None:
        """Rename what is in this directory into another one of the same file system."""
        os.rename(name, new_name, src_dir_fd=self.descriptor, dst_dir_fd=to.descriptor)

    def unlink(self, name: str) -> None:
        """Remove a file or a link, as far as it is there and may be removed."""
        with suppress(OSError):
            os.unlink(name, dir_fd=self.descriptor)

    def remove(self, name: str, files: Iterable[str]) -> None:
        """Remove the directory `name` and those of `files` that are in it; if more is in it, that stays."""
        with suppress(OSError), self.inner(name) as folder:
            for file in files:
                folder.unlink(file)
            os.rmdir(name, dir_fd=self.descriptor)

    def remove_tree(self, name: str) -> None:
        """Remove the directory `name` with all that is in it, links as links; it must be one that tinytrace made."""
        status = self.status(name)
        if status is None:
            return
        if not stat.S_ISDIR(status.st_mode):
            self.unlink(name)
            return
        with suppress(OSError):
            with Folder(name, self.descriptor, private=False) as folder:  # compilers make folders under any umask
                for inner in folder.names():
                    folder.remove_tree(inner)
            os.rmdir(name, dir_fd=self.descriptor)


def make_folders(path: str) -> None:
    """Make the directory of an absolute path and those above it that are missing, for this user alone.

    Raises: OSError if that fails, before anything is made for a path that is too long.
    """
    missing = []
    while not _is_there(path):
        missing.append(path)
        path = os.path.dirname(path)
    for path in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            os.chmod(path, 0o700)  # whatever the umask is


def _is_there(path: str) -> bool:
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


def require_private(status: os.stat_result, owners: frozenset[int]) -> None:
    """PermissionError unless one of `owners` has it and nobody else can write to it: to load an object is to run it."""
    if status.st_uid not in owners:
        trusted = " or ".join(map(str, sorted(owners)))
        raise PermissionError(f"it belongs to user {status.st_uid}, not to user {trusted}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others may write to it (mode {stat.S_IMODE(status.st_mode):o})")
