"""`jax.extend`: for those who extend the system; `primitive` is this project's own way to write an operation."""
from typing import TYPE_CHECKING, Any

from tinytrace.util import lazy_names, lazy_submodules

if TYPE_CHECKING:
    from tinytrace.extend.room import primitive as primitive

_submodule = lazy_submodules(__name__, "backend", "core", "linear_util", "mlir", "random", "source_info_util")
_later = lazy_names(__name__, {"primitive": "room"})


def __getattr__(name: str) -> Any:
    return _later(name) if name == "primitive" else _submodule(name)
