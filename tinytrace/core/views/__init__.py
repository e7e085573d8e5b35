"""Jaxprs and keys looked at as data: what differs, as a graph, as a table, ...; imported when first asked for.

What their methods that show them need stands here by name, because some of it lies above the language: the table says
where each is. It is complete by test.
"""
from __future__ import annotations

import importlib
from types import ModuleType

VIEWS = {
    "jaxpr_diff": "tinytrace.core.views.jaxpr_diff",
    "python_file": "tinytrace.inspection.python_file",
    "graph": "tinytrace.inspection.graph",
    "tables": "tinytrace.core.views.tables",
    "notebook": "tinytrace.inspection.notebook.showing",
    "sharding": "tinytrace.sharding",
    "gspmd_sharding": "tinytrace.gspmd_sharding",
    "source_info": "tinytrace.extend.source_info_util",
    "key_reuse": "tinytrace.experimental.key_reuse.tracking",
}


def __getattr__(name: str) -> ModuleType:
    if name not in VIEWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(VIEWS[name])
