"""What the C compiler is: version, target, and the programs behind its name; asked once and then remembered.

To ask costs a few short runs of it; the answer is a `Known` value that the store keeps, so that a process with a warm
store starts no compiler at all. It is believed as long as none of the compiler's programs has changed. What is behind a
wrapper cannot all be seen from outside, so a wrapper is asked for its version by every process.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tinytrace.records import NamedTuple
from tinytrace.runtime.compiler import LIBRARY, SOURCE, Compiler, run_compiler, which
from tinytrace.runtime.failures import CompileError, TimeLimitError
from tinytrace.runtime.flags import EVERY, LINK, NATIVE, family, own_flags, tuned
from tinytrace.runtime.keys import sha256
from tinytrace.runtime.process import TIME_IS_UP, idle

_SAMPLE = 1 << 16  # bytes at the start and at the end of a program that its digest is of


class Known(NamedTuple):
    """A compiler and what makes us believe that it is still that one.

    Args:
      compiler: what was found out.
      version: the first line that it prints when asked for its version.
      programs: what the programs behind it were, by path: size, time of change in ns, inode.
      is_wrapper: whether something else may stand behind its name at any time.
    """

    compiler: Compiler
    version: str
    programs: dict[str, list[int]]
    is_wrapper: bool

    def holds(self, command: tuple[str, ...]) -> bool:
        """Whether it is still the compiler behind a command, and this still the processor.

        Raises: CompileError if a wrapper does not answer.
        """
        if self.compiler.command != command or self.compiler.cpu != cpu_kind() or not self.programs:
            return False
        if any(_stamp(path) != stamp for path, stamp in self.programs.items()):
            return False
        return not self.is_wrapper or _version(command, idle) == self.version

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {**self._asdict(), "compiler": self.compiler.to_json()}

    @classmethod
    def from_json(cls, value: Any) -> Known:
        """What `to_json` described; TypeError, KeyError or ValueError if it is not that."""
        compiler, programs = Compiler.from_json(value["compiler"]), value["programs"]
        version, is_wrapper = value["version"], value["is_wrapper"]
        if type(programs) is not dict or type(version) is not str or type(is_wrapper) is not bool:
            raise TypeError("not what is known of a compiler")
        return cls(compiler, version, programs, is_wrapper)


def probe(command: tuple[str, ...], pulse: Callable[[], None] = idle) -> Known:
    """Ask a compiler what it is: version, target, the meaning of -march=native, and its stages.

    Raises: CompileError if it cannot be run or does not answer.
    """
    version = _version(command, pulse)
    machine = _answer((*command, "-dumpmachine"), pulse)
    asked = (*command, "-###", *own_flags(f"{version}, {machine}"), *NATIVE, *LINK, SOURCE, "-o", LIBRARY)
    plan = run_compiler((asked,), pulse=pulse, variables={"TMPDIR": "/tmp"})
    driver, target, stages = _read_plan(command, plan.output, pulse) if not plan.status else ("", (), ())
    is_wrapper = not driver or not _is_same_program(command[0], driver)
    support = _answer((*command, "-print-libgcc-file-name"), pulse) if stages else ""
    paths = [command[0], driver, *(stage[0] for stage in stages)]
    programs = {path: stamp for path in paths if path and (stamp := _stamp(path))}
    identity = f"{version}, {machine}, programs {_digest(list(programs))}"
    cpu = cpu_kind()
    number = family(identity)[1]
    target, stages = tuned(target, cpu, number), tuple(tuned(stage, cpu, number) for stage in stages)
    compiler = Compiler(command, identity, target or NATIVE, cpu, () if is_wrapper else stages, support)
    return Known(compiler, version, programs, is_wrapper)


def note_name(command: tuple[str, ...]) -> str:
    """The name under which a compiler is remembered: its command line, the flags that it was asked with, the CPU."""
    return "\n".join((*command, *EVERY, cpu_kind()))


def cpu_kind() -> str:
    """The instruction set and the features of this processor, as the operating system names them."""
    wanted = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(16384).split("\n\n")[0]
    except OSError:
        first = f"model: {os.uname().version}"
    pairs = (line.partition(":") for line in first.splitlines())
    return " ".join([os.uname().machine, *(value.strip() for name, _, value in pairs if name.strip() in wanted)])


# --- gcc's plan ------------------------------------------------------------------------------------------------------

Stages = tuple[tuple[str, ...], ...]


def _read_plan(command: tuple[str, ...], plan: str, pulse: Callable[[], None]) -> tuple[str, tuple[str, ...], Stages]:
    """The driver's own name, the target's flags and the argv of each stage, out of what `gcc -###` printed.

    Nothing where it is not gcc's.
    """
    names = [line.partition("=")[2] for line in plan.splitlines() if line.startswith("COLLECT_GCC=")]
    by_program = {os.path.basename(words[0]): words for words in map(_split, plan.splitlines()) if words}
    if len(names) != 1 or not {"cc1", "as", "collect2"} <= by_program.keys():
        return "", (), ()
    driver = which(names[0]) or ""
    proper, assembler, collect = by_program["cc1"], by_program["as"], by_program["collect2"]
    as_path, ld_path = which(assembler[0]), which(_answer((*command, "-print-prog-name=ld"), pulse))
    if SOURCE not in proper or "-o" not in proper or "-o" not in assembler or "-m" not in collect[:-1]:
        return driver, _target_flags(proper), ()
    if not as_path or not ld_path:
        return driver, _target_flags(proper), ()
    return driver, _target_flags(proper), (
        (*_without_files(proper, SOURCE), "-", "-o", "-"),
        (as_path, *_without_files(assembler[1:], assembler[-1]), "-"),
        (ld_path, "-shared", "-m", collect[collect.index("-m") + 1], "--hash-style=gnu", "-z", "noexecstack"),
    )


def _split(line: str) -> list[str]:
    """The words of a line that names a stage; none of any other."""
    if line.startswith(" "):
        with suppress(ValueError):  # an unbalanced quote
            return shlex.split(line)
    return []


def _target_flags(proper: list[str]) -> tuple[str, ...]:
    flags: list[str] = []
    for before, flag in itertools.pairwise(proper):
        if flag.startswith("-m"):
            flags.append(flag)
        elif before == "--param":
            flags += [before, flag]
    return tuple(flags)


def _without_files(argv: list[str], source: str) -> list[str]:
    """The argv without its source (the first mention: -dumpbase names it again) and without -o and its file."""
    words = argv.copy()
    words.remove(source)
    at = words.index("-o")
    return words[:at] + words[at + 2 :]


# --- asking ----------------------------------------------------------------------------------------------------------

def _version(command: tuple[str, ...], pulse: Callable[[], None]) -> str:
    return _answer((*command, "--version"), pulse).splitlines()[0]


def _answer(command: tuple[str, ...], pulse: Callable[[], None]) -> str:
    finished = run_compiler((command,), pulse=pulse)
    error = TimeLimitError if finished.stopped == TIME_IS_UP else CompileError
    if finished.stopped:
        raise error(f"the C compiler {finished.stopped} when it was asked what it is", command, finished.output)
    if finished.status or not finished.output.strip():
        raise error("the C compiler does not say what it is", command, finished.output)
    return finished.output.strip()


def _is_same_program(one: str, other: str) -> bool:
    """Whether two paths lead to one program, which is no script."""
    try:
        with open(one, "rb") as file:
            return file.read(2) != b"#!" and os.path.samefile(one, other)
    except OSError:
        return False


def _stamp(path: str) -> list[int] | None:
    """What changes when a file is replaced."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _digest(paths: Sequence[str]) -> str:
    """A digest of what programs are: their sizes, starts (where linkers note what they made) and ends."""
    samples = []
    for path in paths:
        with suppress(OSError), open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            samples.append(b"%d\n" % size + file.read(_SAMPLE))
            file.seek(max(0, size - _SAMPLE))
            samples.append(file.read(_SAMPLE))
    return sha256(b"".join(samples))[:12]
