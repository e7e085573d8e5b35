"""`tinytrace explore MODULE:FUNC --arg f32[8]`: the page of a function, without a program that asks."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import runpy
import sys
from collections.abc import Callable
from functools import reduce
from typing import Any

from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.core.parser import JaxprSyntaxError, parse_type
from tinytrace.inspection.explorer.explore import explore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the command takes."""
    parser.add_argument("function", metavar="MODULE:FUNC", help="a module's name or a file, and a function in it")
    parser.add_argument("--arg", action="append", default=[], metavar="TYPE",
                        help="one for each argument: a type such as f32[8,3], or a value as Python writes it")
    parser.add_argument("--out", metavar="FILE", help="where the page is written; else FUNC.html")


def run_explore(options: argparse.Namespace) -> None:
    """Write the page of a function, and say where."""
    name = options.function.rpartition(":")[2]
    page = explore(function_at(options.function))(*map(argument, options.arg))
    out = options.out or f"{name}.html"
    page.save(out)
    print(f"{page!r} is in {out}")


def function_at(place: str) -> Callable[..., Any]:
    """Return the function that `MODULE:FUNC` names; MODULE may be the path of a file.

    Raises: SystemExit, with a message, if there is none.
    """
    module, _, name = place.rpartition(":")
    if not module or not name:
        raise SystemExit(f"{place!r} is no function: write MODULE:FUNC, as in tinytrace.nn:selu, or FILE.py:FUNC")
    try:
        if module.endswith(".py"):
            found: Any = runpy.run_path(module)[name.partition(".")[0]]
            return reduce(getattr, name.split(".")[1:], found)  # type: ignore[no-any-return]
        sys.path.insert(0, os.getcwd())
        return reduce(getattr, name.split("."), importlib.import_module(module))  # type: ignore[return-value]
    except (ImportError, OSError, KeyError, AttributeError) as error:
        raise SystemExit(f"{place!r} is no function: {type(error).__name__}: {error}") from error


def argument(text: str) -> Any:
    """Return what an argument says: a type, or a value.

    Raises: SystemExit, with a message, if it is neither.

    >>> argument("f32[8,3]")
    ShapeDtypeStruct(shape=(8, 3), dtype=float32)
    >>> argument("(1, 2.5)")
    (1, 2.5)
    """
    try:
        aval = parse_type(text.strip())
        return ShapeDtypeStruct(aval.shape, aval.dtype)
    except JaxprSyntaxError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise SystemExit(f"--arg {text} is neither a type, as in f32[8,3], nor a value of Python") from error
