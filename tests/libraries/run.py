"""Runs programs of libraries: `python -m tests.libraries.run jax|tinytrace FOLDER PROGRAM...`; answers, one per line.

An answer is the list of the numbers and texts in what the program returns, or `! Class: message` if it raises.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import warnings
from typing import Any

import numpy as np

SECONDS = 120  # for one program
MODULES = ("neural_networks", "equations_and_samples")


def main() -> None:
    """Runs the programs named on the command line, or all."""
    library, folder, *wanted = sys.argv[1:]
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")
    if library == "tinytrace":
        importlib.import_module("tinytrace").install_as_jax()
    sys.path.append(folder)
    signal.signal(signal.SIGALRM, too_long)
    for name, program in programs().items():
        if not wanted or name in wanted:
            answers.write(json.dumps([name, answer(program)]) + "\n")
            answers.flush()


def programs() -> dict[str, Any]:
    """The programs by name."""
    modules = [importlib.import_module(f"tests.libraries.{module}") for module in MODULES]
    return {name: value for module in modules for name, value in vars(module).items() if "__" in name.strip("_")}


def answer(program: Any) -> Any:
    """What a program answers."""
    signal.alarm(SECONDS)
    try:
        leaves = sys.modules["jax"].tree_util.tree_leaves(program())
        return [plain(leaf) for leaf in leaves]
    except Exception as error:
        return f"! {type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.alarm(0)


def plain(leaf: Any) -> Any:
    """A leaf as JSON can hold it."""
    array = np.asarray(leaf)
    return array.astype(np.float64).tolist() if array.dtype.kind in "biuf" else str(leaf)


def too_long(*_: Any) -> None:
    """The handler of the alarm."""
    raise TimeoutError(f"the program took more than {SECONDS} seconds")


if __name__ == "__main__":
    main()
