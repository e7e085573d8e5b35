"""A store that many read: that of a class, a cluster or an image. It is never written here.

An object is taken from it only if the directories and files belong to this user or to root and nobody else can write to
them: to load an object is to run it. Anything else there is a miss, and the C is compiled for this user's own store.
Who fills it runs with TINYTRACE_CACHE_DIR set to the directory, and then lets others read it: `chmod -R a+rX DIR`.
"""

from __future__ import annotations

import os

from tinytrace.runtime.folders import Folder
from tinytrace.runtime.store import Store
from tinytrace.runtime.store_layout import NAME


def trusted_owners() -> frozenset[int]:
    """This user, and root, who may do everything anyway."""
    return frozenset([os.geteuid(), 0])


class SharedStore(Store):
    """The entries of a directory that this process reads only.

    Raises: OSError if there is no store in it, or somebody could have put an object there.
    """

    def __init__(self, given: str) -> None:
        self.given = os.path.realpath(os.path.expanduser(given))
        self.root = os.path.join(self.given, NAME)
        self._trusted = trusted_owners()
        self.folder().close()

    def folder(self) -> Folder:
        with Folder(self.given, owners=self._trusted) as given:
            return given.inner(NAME)

    def _outermost(self) -> tuple[bytes, ...]:
        return os.fsencode(self.given), NAME.encode()

    def _owners(self) -> tuple[int, int]:
        return min(self._trusted), max(self._trusted)

    def _open(self) -> Folder:
        raise PermissionError(f"the shared store {self.given} is not written")
