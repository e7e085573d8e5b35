"""tinytrace without its C extensions: the same meanings in Python, for machines where they cannot be built.

Tracing, printing, differentiating, batching, interpreting in NumPy and writing C text work; nothing is compiled, and
every call goes through Python. `TINYTRACE_PURE=1` chooses this on purpose, and where the extensions are missing (a
wheel built with that variable, Pyodide) it is chosen by itself. What the definitions of `dispatch` and `runtime` say in
Python is what csrc/ does in C; the registry's tests hold both to it.
"""
from __future__ import annotations

import importlib
import os
import sys
import warnings
from importlib.machinery import PathFinder

EXTENSIONS = {"tinytrace._dispatch": "tinytrace.pure.dispatch", "tinytrace._runtime": "tinytrace.pure.runtime"}
"""Which module takes the place of which extension."""


def choose() -> bool:
    """Put the Python definitions in the place of the extensions where that is wanted or needed; was it?"""
    wanted = os.environ.get("TINYTRACE_PURE", "0").lower() not in ("", "0", "false", "no", "off")
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not wanted and all(PathFinder.find_spec(name, [package]) is not None for name in EXTENSIONS):
        return False
    if not wanted and os.path.isfile(os.path.join(os.path.dirname(package), "csrc", "dispatch.c")):
        warnings.warn("tinytrace is imported from its sources, whose C extensions are not compiled: programs will be "
                      "interpreted. Run pip install --editable . there, or start Python in another folder; "
                      "TINYTRACE_PURE=1 says that this is wanted.", RuntimeWarning, stacklevel=3)
    for name, definition in EXTENSIONS.items():
        sys.modules[name] = importlib.import_module(definition)
    return True


PURE = choose()
"""Does this process run without the C extensions?"""
