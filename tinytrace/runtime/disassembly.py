"""The machine code of a program, instruction by instruction, each with the line of C that it is from.

The program is compiled once more, with line numbers and otherwise as always (compilers promise that these change no
instruction); what is cached is left alone. `objdump`, a part of the same tools as the assembler, reads the object.

Source: https://sourceware.org/binutils/docs/binutils/objdump.html, options --line-numbers and --inlines.
"""
from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence

from tinytrace.codegen.csource import CSource
from tinytrace.config import config
from tinytrace.records import NamedTuple
from tinytrace.runtime.compiler import SOURCE, which
from tinytrace.runtime.discovery import current_compiler, current_store
from tinytrace.runtime.failures import CompileError, Step
from tinytrace.runtime.flags import LINK, SUPPORT
from tinytrace.runtime.places import scratch_folder, write_file
from tinytrace.runtime.process import idle

DISASSEMBLER = "objdump"
_LINES = ("-d", "--line-numbers", "--inlines", "--no-show-raw-insn")
_FUNCTION = re.compile(r"[0-9a-f]+ <(.+)>:$")
_PLACE = re.compile(r"(inlined by )?.*" + re.escape(SOURCE) + r":(\d+)\b")
_UNLINKED = re.compile(r"\s+# [0-9a-f]+ <.*>$")  # where an address will be when the object is linked
_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\t(.*?)\s*$")


class NoDisassembly(Exception):
    """There is no machine code to be shown; the message says why, and what would help."""


class Instruction(NamedTuple):
    """One instruction.

    Args:
      function: the C function that it is in.
      address: bytes from the beginning of the object's code.
      text: as the disassembler writes it.
      lines: the lines of C, counted from 1, that it is from: of an inlined function, then where that is called.
    """

    function: str
    address: int
    text: str
    lines: tuple[int, ...]


def disassemble(source: CSource) -> list[Instruction]:
    """Return the instructions that the C compiler makes of a program.

    Raises: NoDisassembly if there is no compiler or no disassembler, or if one of them fails.
    """
    reader = which(DISASSEMBLER)
    if reader is None:
        raise NoDisassembly(f"there is no {DISASSEMBLER} on PATH: install binutils")
    steps: list[Step] = []
    try:
        compiler = current_compiler(current_store(steps), steps, idle)
    except CompileError as error:
        raise NoDisassembly(f"there is no machine code: {error}") from error
    unlinked = [flag for flag in compiler.flags(source.quick) if flag not in (*LINK, *SUPPORT)]
    try:
        with scratch_folder() as folder:
            write_file(os.path.join(folder, SOURCE), source.text.encode())
            _run([compiler.command[0], *unlinked, "-g", "-c", SOURCE, "-o", "kernel.o"], folder)
            return list(_instructions(_run([reader, *_LINES, "kernel.o"], folder).splitlines()))
    except OSError as error:
        raise NoDisassembly(f"no file can be written for the compiler: {error}") from error


def _run(argv: Sequence[str], folder: str) -> str:
    """Return what a command prints."""
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": folder}
    try:
        done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
                              timeout=config.compile_timeout or None, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoDisassembly(f"{argv[0]} cannot be run: {error}") from error
    if done.returncode:
        raise NoDisassembly(f"{argv[0]} failed with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _instructions(listing: Sequence[str]) -> Iterator[Instruction]:
    function = ""
    lines: tuple[int, ...] = ()
    begun = True
    for row in listing:
        if found := _INSTRUCTION.match(row):
            yield Instruction(function, int(found[1], 16), _UNLINKED.sub("", found[2]), lines)
            begun = True
        elif found := _PLACE.match(row):
            if begun:  # what is said again begins with the innermost line, or goes without it
                lines = lines[:1] if found[1] else ()
            lines, begun = (*lines, int(found[2])), False
        elif found := _FUNCTION.match(row):
            function, lines = found[1], ()
