"""From C text to something that runs: the only layer that knows the disk, the compiler and the C runtime.

What finds and compiles programs is imported when the first one is asked for: `import tinytrace` does not wait for it.
"""
from typing import TYPE_CHECKING, Any

from tinytrace.own_code import imported
from tinytrace.runtime import threads as threads
from tinytrace.util import lazy_submodules

if TYPE_CHECKING:
    from tinytrace.runtime import compiler as compiler
    from tinytrace.runtime import discovery as discovery
    from tinytrace.runtime import inventory as inventory
    from tinytrace.runtime import ladder as ladder
    from tinytrace.runtime import lowerings as lowerings

_NAMES = "compiler", "discovery", "inventory", "ladder", "lowerings"
_submodules = lazy_submodules(__name__, *_NAMES)


def __getattr__(name: str) -> Any:
    return imported(lambda: _submodules(name)) if name in _NAMES else _submodules(name)
