"""Asks JAX 0.4.35 for the figures of the example programs: `python -m tests.documents.programs`.

Run it from the root of the repository, in an environment made by `pip install jax==0.4.35 scikit-learn`. The programs
of tutorials/examples are run with jax in the place of tinytrace; programs.json keeps what they find.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import pathlib
import runpy
import sys
import types
from typing import Any

HERE = pathlib.Path(__file__).parent
STORED = HERE / "programs.json"
EXAMPLES = sorted((HERE.parent.parent / "tutorials" / "examples").glob("*.py"))


class TinytraceIsJax(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers `import tinytrace.x` with the module `jax.x`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name.split(".")[0] == "tinytrace" else None

    def exec_module(self, module: types.ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module("jax" + module.__name__.removeprefix("tinytrace"))


def figures(path: pathlib.Path) -> dict[str, Any]:
    """What the example at `path` finds."""
    found: dict[str, Any] = runpy.run_path(str(path))["figures"]()
    return found


def main() -> None:
    """Stores the figures of every example."""
    jax = importlib.import_module("jax")
    assert jax.__version__ == "0.4.35", f"the oracle is JAX 0.4.35, this is {jax.__version__}"
    sys.meta_path.insert(0, TinytraceIsJax())
    lines = [f'"{path.stem}": {json.dumps(rounded(figures(path)))}' for path in EXAMPLES]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def rounded(found: Any) -> Any:
    """Figures with as many digits as a float32 has."""
    if isinstance(found, dict):
        return {name: rounded(value) for name, value in found.items()}
    if isinstance(found, list):
        return [rounded(value) for value in found]
    return float(f"{found:.8g}") if isinstance(found, float) else found


if __name__ == "__main__":
    main()
