"""The code that decides what C a program becomes: which version of it this is, and whether a process has changed it.

What lowering gives is remembered from one process to the next (`runtime/lowerings.py`), as long as the code that lowers
is the same. `stamp` tells so of its files, as Python tells it of a module's `.pyc`; `is_as_imported` tells it of what
the files became: who plants a rule, a pass or a fault in a running process sees its effect, and it stays in there.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType

from tinytrace._dispatch import held_by
from tinytrace.util import PACKAGE_FOLDER

PACKAGES = ("codegen", "control_flow", "core", "lax", "numpy", "passes", "primitives", "random", "transforms")
"""The folders with that code; beside them lie `csources.py`, and the extension module that holds its texts."""


@cache
def stamp() -> str:
    """Return the names, sizes and times of change of the files; nothing where they cannot be looked at."""
    try:
        return "\n".join(sorted(_files()))
    except OSError:
        return ""


def is_own(cls: type) -> bool:
    """Is a class made by that code? A user's own is in no file that is stamped."""
    return _is_in_packages(cls.__module__)


def is_as_imported() -> bool:
    """Do the modules of that code hold what they held when they were imported?

    What counts are functions, classes and objects, what is in them, and constants; not what a module remembers. Of
    modules of the code generator it is known if they were `imported`, of others from when they are first seen. Not seen
    are another `__code__` of a function, and what `records` writes late: `__init__` and `__new__` of a class.
    """
    _note(is_untouched=False)
    for module, deep, held in list(_noted.values()):
        if held == FOREIGN or held_by(module, __package__, deep) != held:
            return False
    return True


def imported(load: Callable[[], ModuleType]) -> ModuleType:
    """Import what imports the code generator, or some of it, and note what that holds before anybody can change it."""
    if _importing:  # in the midst of such an import
        return load()
    _note(is_untouched=False)
    _importing.append(None)
    try:
        return load()
    finally:
        _importing.clear()
        note_imports()


def note_imports() -> None:
    """Note what modules hold of which nothing is known: they were imported just now."""
    _note(is_untouched=True)


FOREIGN = -1
"""What `held_by` says of a module with a list in which somebody else's function stands, as a pass of the user's."""
_LATER = f"{__package__}.codegen."
_CORE = f"{__package__}.core"
"""Modules whose tables and objects tell of what is traced."""
_noted: dict[str, tuple[ModuleType, bool, int]] = {}
"""Each module, whether what is in its tables and objects counts, and what it held when it was imported."""
_importing: list[None] = []
_counted = [0]  # how many modules of anybody's there were when ours were gathered


def _note(is_untouched: bool) -> None:
    """Note what modules hold that are seen for the first time; those of the code generator only if it is untouched."""
    if _counted[0] == len(sys.modules):
        return
    _counted[0] = len(sys.modules)
    for name, module in list(sys.modules.items()):
        if name not in _noted and _is_in_packages(name) and isinstance(module, ModuleType):
            deep, is_known = not name.startswith(_CORE), is_untouched or not name.startswith(_LATER)
            _noted[name] = module, deep, held_by(module, __package__, deep) if is_known else FOREIGN


def _files() -> Iterator[str]:
    yield from _files_in(PACKAGE_FOLDER, "", False)
    for package in PACKAGES:
        yield from _files_in(os.path.join(PACKAGE_FOLDER, package), package, True)


def _files_in(folder: str, name: str, deep: bool) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".so")):
                status = entry.stat()
                yield f"{name}/{entry.name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
            elif deep and entry.name != "__pycache__" and entry.is_dir():
                yield from _files_in(entry.path, f"{name}/{entry.name}", deep)


def _is_in_packages(name: str) -> bool:
    root, _, rest = name.partition(".")
    return root == __package__ and (rest == "csources" or rest.partition(".")[0] in PACKAGES)
