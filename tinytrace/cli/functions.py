"""Commands on one function: `tinytrace jaxpr MODULE:FUNC --arg f32[8] --static n=3`; kernels, c, asm, why, bench."""

from __future__ import annotations

import argparse
import ast
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.api.jit import JitFunction, jit
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.api.stages import Lowered
from tinytrace.cli.answers import NOT_FINE, Answer, WrongUse
from tinytrace.cli.explore import argument, function_at
from tinytrace.core.array import Array, array_from_host, storage_dtype
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BOOL, KeyType
from tinytrace.core.trees import tree_map
from tinytrace.runtime.disassembly import NoDisassembly, disassemble

HELP = {
    "jaxpr": "print the jaxpr of a function",
    "kernels": "print its fused kernels",
    "c": "print its C",
    "asm": "print its machine code, with the lines of C that it is from",
    "why": "say whether a call would be answered from memory or disk, and why not",
    "bench": "time its calls",
}


def add_arguments(parser: argparse.ArgumentParser, command: str) -> None:
    """Say which arguments a command on a function takes."""
    parser.add_argument("function", metavar="MODULE:FUNC", help="a module's name or a file, and a function in it")
    parser.add_argument("--arg", action="append", default=[], metavar="TYPE",
                        help="one for each argument: a type such as f32[8,3], or a value as Python writes it")
    parser.add_argument("--static", action="append", default=[], metavar="NAME=VALUE", help="a static argument")
    if command == "jaxpr":
        parser.add_argument("--simplified", action="store_true", help="the jaxpr that is compiled")
    elif command == "c":
        parser.add_argument("--full", action="store_true", help="with all that the compiler gets")
    elif command == "why":
        parser.add_argument("--seen", action="append", default=[], metavar="TYPE",
                            help="the arguments of an earlier call, to compare with")
    elif command == "bench":
        parser.add_argument("--repeat", type=int, default=5, metavar="N", help="how many times it is timed")


def run(options: argparse.Namespace) -> Answer:
    """Answer a command on a function."""
    statics = dict(map(_static, options.static))
    jitted = _jitted(function_at(options.function), statics)
    args = [argument(text) for text in options.arg]
    command: Callable[..., Answer] = _COMMANDS[options.command]
    try:
        return command(jitted, args, statics, options)
    except NoDisassembly as error:
        return Answer({"error": str(error)}, str(error), NOT_FINE)


def _jitted(fun: Callable[..., Any], statics: dict[str, Any]) -> JitFunction:
    if isinstance(fun, JitFunction) and set(statics) <= set(fun.statics.names):
        return fun
    inner = fun.__wrapped__ if isinstance(fun, JitFunction) else fun  # type: ignore[attr-defined]
    try:
        return jit(inner, static_argnames=tuple(statics))  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:
        raise WrongUse(f"{fun!r} cannot be jitted so: {error}") from error


def _static(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise WrongUse(f"--static {text}: write NAME=VALUE, as in --static n=3")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a word stands for itself


def _lowered(jitted: JitFunction, args: list[Any], statics: dict[str, Any]) -> Lowered:
    return jitted.lower(*args, **statics)


def _jaxpr(jitted: JitFunction, args: list[Any], statics: dict[str, Any], options: argparse.Namespace) -> Answer:
    traced = jitted.trace(*args, **statics)
    jaxpr = traced.lower().jaxpr if options.simplified else traced.jaxpr
    types = [[aval.str_short() for aval in avals] for avals in (jaxpr.in_avals, jaxpr.out_avals)]
    return Answer({"jaxpr": str(jaxpr), "inputs": types[0], "outputs": types[1], "equations": len(jaxpr.eqns)},
                  str(jaxpr))


def _kernels(jitted: JitFunction, args: list[Any], statics: dict[str, Any], options: argparse.Namespace) -> Answer:
    kernels = _lowered(jitted, args, statics).kernels
    return Answer({"kernels": [str(kernel.headed()) for kernel in kernels]}, str(kernels))


def _c(jitted: JitFunction, args: list[Any], statics: dict[str, Any], options: argparse.Namespace) -> Answer:
    text = _lowered(jitted, args, statics).as_text(full=options.full)
    return Answer({"c": text}, text.rstrip("\n"))


def _asm(jitted: JitFunction, args: list[Any], statics: dict[str, Any], options: argparse.Namespace) -> Answer:
    source = _lowered(jitted, args, statics).source
    lines, printed = source.text.split("\n"), []
    function, line = "", 0
    instructions = disassemble(source)
    for instruction in instructions:
        if instruction.function != function:
            function = instruction.function
            printed.append(f"{function}:")
        if instruction.lines and instruction.lines[0] != line:
            line = instruction.lines[0]
            printed.append(f"  ; {line}: {lines[line - 1].strip()}")
        printed.append(f"    {instruction.address:6x}  {instruction.text}")
    return Answer({"instructions": [instruction._asdict() for instruction in instructions]}, "\n".join(printed))


def _why(jitted: JitFunction, args: list[Any], statics: dict[str, Any], options: argparse.Namespace) -> Answer:
    if options.seen:
        jitted(*_values([argument(text) for text in options.seen]), **statics)
    why = jitted.why(*_values(args), **statics)
    return Answer(why.to_json(), str(why))


def _bench(jitted: JitFunction, args: list[Any], statics: dict[str, Any], options: argparse.Namespace) -> Answer:
    values = _values(args)
    first = timeit.timeit(lambda: jitted(*values, **statics), number=1)
    timer = timeit.Timer(lambda: jitted(*values, **statics))
    number, _ = timer.autorange()
    seconds = sorted(time / number for time in timer.repeat(max(options.repeat, 1), number))
    entry = next(reversed(list(jitted.cache.values())), None)
    value = {"first_call_seconds": first, "seconds": seconds, "best": seconds[0], "calls": number,
             "from": entry and entry.origin, "kernels": entry and entry.kernels}
    text = (f"{_duration(seconds[0])} a call, the best of {len(seconds)} times {number} calls "
            f"(the worst: {_duration(seconds[-1])})\n"
            f"first call: {_duration(first)}, its code came from: {entry.origin if entry else 'nowhere'}")
    return Answer(value, text)


_COMMANDS: dict[str, Callable[..., Answer]] = {
    "jaxpr": _jaxpr, "kernels": _kernels, "c": _c, "asm": _asm, "why": _why, "bench": _bench,
}  # fmt: skip


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _values(args: list[Any]) -> list[Any]:
    """Return arguments of which some are types as values: numbers that are the same in every run."""
    return [tree_map(lambda x: _array(x.aval) if isinstance(x, ShapeDtypeStruct) else x, arg) for arg in args]


def _array(aval: ShapedArray) -> Array:
    random = np.random.default_rng(0)
    dtype = storage_dtype(aval)
    if isinstance(aval.dtype, KeyType):
        words = random.integers(0, 1 << 32, (*aval.shape, aval.dtype.words), np.uint32)
        values = words.view(dtype).reshape(aval.shape)
    elif dtype == BOOL:
        values = random.integers(0, 2, aval.shape).astype(dtype)
    elif dtype.kind in "iu":
        values = random.integers(0, 10, aval.shape).astype(dtype)
    else:
        values = random.normal(size=aval.shape).astype(dtype)
    return array_from_host(np.asarray(values), aval)
