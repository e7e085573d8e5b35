"""From a jaxpr to kernels and from kernels to C text; opens no file and starts no process.

Imported when a program is first compiled: `import tinytrace` does not wait for it.
"""
from typing import TYPE_CHECKING, Any

from tinytrace.own_code import imported
from tinytrace.util import lazy_submodules

if TYPE_CHECKING:
    from tinytrace.codegen import checking as checking
    from tinytrace.codegen import generate as generate
    from tinytrace.codegen import source_map as source_map

_NAMES = "checking", "generate", "source_map"
_submodules = lazy_submodules(__name__, *_NAMES)


def __getattr__(name: str) -> Any:
    return imported(lambda: _submodules(name)) if name in _NAMES else _submodules(name)
