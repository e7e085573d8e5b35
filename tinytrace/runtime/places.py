"""Where things lie on disk: the directory of the store, and folders for compilers to work in."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from tinytrace.config import config
from tinytrace.runtime.compiler import LIBRARY
from tinytrace.runtime.failures import CompileError, printable
from tinytrace.runtime.folders import Folder
from tinytrace.runtime.store import Store, StoreUnusableError
from tinytrace.runtime.store_layout import LARGEST_OBJECT


def open_store() -> Store:
    """The store in the directory that TINYTRACE_CACHE_DIR names, or in the user's cache home; made if it is missing.

    Raises: StoreUnusableError if it cannot be made, or others could write to it: to load an object is to run it.
    """
    given = config.cache_dir or "the user's cache home"
    try:
        given = os.path.realpath(_expanded(config.cache_dir) if config.cache_dir else _cache_home())
        return Store(given)
    except (OSError, ValueError) as error:  # ValueError: a null character
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise StoreUnusableError(f"the cache directory {printable(given)} is unusable: {reason}") from error


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A private folder outside the store, for a compiler to work in; gone at the end.

    Raises: OSError if there is no directory that can be written.
    """
    name = f"tinytrace-{os.getpid()}-{os.urandom(8).hex()}"
    with ExitStack() as stack:
        reasons = []
        for base in filter(None, (os.environ.get("TMPDIR"), "/tmp", "/dev/shm")):
            try:
                base = os.path.realpath(base)
                folder = stack.enter_context(Folder(base, private=False))
                stack.enter_context(folder.temporary(name))
            except OSError as error:
                reasons.append(f"{printable(base)}: {error.strerror or error}")
                continue
            yield os.path.join(base, name)
            return
        raise OSError(f"no temporary directory can be written ({', '.join(reasons)})")


def _cache_home() -> str:
    home = os.environ.get("XDG_CACHE_HOME", "")  # which must be absolute, the XDG Base Directory Specification says
    return os.path.join(home if os.path.isabs(home) else os.path.join(_home(), ".cache"), "tinytrace")


def _home() -> str:
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home):
        with suppress(KeyError):  # a user without an entry, as in some containers
            home = pwd.getpwuid(os.getuid()).pw_dir
    if not os.path.isabs(home):
        raise OSError("this user has no home directory")
    return home


def _expanded(path: str) -> str:
    if not path.startswith("~"):
        return path
    if path == "~" or path.startswith("~" + os.sep):
        return _home() + path[1:]
    expanded = os.path.expanduser(path)
    if expanded == path:
        raise OSError("there is no such user")
    return expanded


def write_file(path: str, data: bytes) -> None:
    """Write a file that only this user can change."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)


def read_library(folder: str) -> bytes:
    """The bytes that a compiler wrote into a folder of ours, under any umask; CompileError if it is no plain file."""
    try:
        with Folder(folder, private=False) as opened:
            return opened.read(LIBRARY, LARGEST_OBJECT, private=False)
    except OSError as error:
        raise CompileError(f"what the C compiler made cannot be read: {error}") from error
