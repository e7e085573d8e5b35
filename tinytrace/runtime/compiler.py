"""The C compiler: finding it, knowing exactly what it is, and running it.

Knowing what it is costs two short runs of it; the answer is a `Compiler` value that the store keeps, so that a process
with a warm store starts no compiler at all. gcc's driver spends a quarter of a small compile on starting its stages,
so where the driver tells their command lines (`gcc -###`) the stages are run directly.
"""

from __future__ import annotations

import itertools
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from tinytrace.config import config
from tinytrace.runtime.failures import CompileError
from tinytrace.runtime.process import Finished, run_together

SOURCE, LIBRARY = "kernel.c", "kernel.so"
PARTS = (("-DTT_PART=1",), ("-DTT_PART=2",))  # of a large program: codegen/c/split_compile.py

# -O2 with the cost model of -O3's vectoriser: the same loops, for two thirds of the compile time at 100 operations.
# No vectors from straight-line code: gcc 12 makes 255 of the maximum of a few unsigned bytes that are 0 or 1.
# No jump threading: it duplicates parts of a loop's body, and where the use of a variable that `omp simd` makes one per
# lane becomes conditional so, gcc 12 reads past the lanes: a sum, or whether there was a NaN, comes from other memory.
# Functions that are declared inline are inlined however long they are: a loop with a call in it has no vectors.
# Never -ffast-math: NaN, infinities and -0 are exact here, and linking it sets flush-to-zero for the whole thread.
FLAGS = (
    "-std=gnu11", "-O2", "-ftree-loop-vectorize", "-fvect-cost-model=dynamic", "-fno-tree-slp-vectorize",
    "-fno-thread-jumps", "--param=max-inline-insns-single=400", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno",
    "-fno-trapping-math", "-fopenmp-simd", "-fPIC",
)  # fmt: skip
LINK_FLAGS = ("-shared", "-nostdlib")  # libc and libm are in the process that loads the object...
SUPPORT = ("-lgcc",) if sys.platform == "linux" else ()  # ...but not gcc's helpers, such as complex division
CONTRACT = {False: "-ffp-contract=fast", True: "-ffp-contract=off"}  # by `exact`
# By `quick`; what vectorises is named in FLAGS, and without the expensive ones a loop of 20 operations takes 1.4 times
# as long as with -O2, with them 1.06 times.
QUICK: dict[bool, tuple[str, ...]] = {False: (), True: ("-O1", "-fexpensive-optimizations")}
NATIVE = ("-march=native",)


class Compiler(NamedTuple):
    """A C compiler, known well enough to name what it makes.

    Args:
      command: the driver's argv without flags.
      identity: name, version and target, as the compiler states them.
      target: the processor flags that -march=native stands for here.
      cpu: the kind of processor, see `cpu_kind`.
      stages: the argv of compiler proper (stdin to stdout), assembler (from stdin) and linker, without files; empty
        when only the driver can be run.
      support: the library that -lgcc means, for the linker.
    """

    command: tuple[str, ...]
    identity: str
    target: tuple[str, ...]
    cpu: str
    stages: tuple[tuple[str, ...], ...] = ()
    support: str = ""

    def flags(self, exact: bool, quick: bool = False) -> tuple[str, ...]:
        """The arguments that shape the object, those of the command among them: part of the artifact's key."""
        return (*self.command[1:], *self._own_flags(exact, quick))

    def _own_flags(self, exact: bool, quick: bool) -> tuple[str, ...]:
        return (*FLAGS, *QUICK[quick], CONTRACT[exact], *self.target, *LINK_FLAGS, *SUPPORT)

    def compile(self, folder: str, exact: bool, quick: bool = False, parts: bool = False) -> None:
        """Compile kernel.c in `folder` to kernel.so there; its two parts at the same time, if there are two cores.

        Raises: CompileError with the command and its output when it fails or takes too long.
        """
        source, library = os.path.join(folder, SOURCE), os.path.join(folder, LIBRARY)
        options = (*QUICK[quick], CONTRACT[exact])
        if self.stages and self._run_stages(folder, options, PARTS if parts and _has_two_cores() else ((),)):
            return
        driver = (*self.command, "-x", "c", "-", *self._own_flags(exact, quick), "-o", library)
        finished = _run((driver,), stdin=source)
        if finished.status or not os.path.exists(library):
            how = "was stopped" if finished.timed_out else f"failed with status {finished.status}"
            shown = (*self.command, *FLAGS, *QUICK[quick], CONTRACT[exact], *NATIVE, *LINK_FLAGS, *SUPPORT, "-x", "c",
                     SOURCE)
            raise CompileError(f"the C compiler {how}", shown, finished.output)

    def _run_stages(self, folder: str, options: tuple[str, ...], parts: tuple[tuple[str, ...], ...]) -> bool:
        """Run the stages one by one; False when one of them fails, and the driver has the last word."""
        proper, assembler, linker = self.stages
        text, library = os.path.join(folder, SOURCE), os.path.join(folder, LIBRARY)
        objects = [os.path.join(folder, f"kernel{k}.o") for k in range(len(parts))]
        pipelines = [((*proper, *options, *part), (*assembler, "-o", code))
                     for part, code in zip(parts, objects, strict=True)]
        try:
            if _run(*pipelines, stdin=text).status:
                return False
            return not _run(((*linker, "-o", library, *objects, self.support),)).status and os.path.exists(library)
        finally:
            for code in objects:
                with suppress(FileNotFoundError):
                    os.unlink(code)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "command": list(self.command), "identity": self.identity, "target": list(self.target), "cpu": self.cpu,
            "stages": [list(stage) for stage in self.stages], "support": self.support,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Compiler:
        """The compiler that `to_json` described; TypeError or KeyError if it is none."""
        stages = tuple(tuple(stage) for stage in value["stages"])
        return cls(tuple(value["command"]), value["identity"], tuple(value["target"]), value["cpu"], stages,
                   value["support"])  # fmt: skip


def find_command() -> tuple[str, ...]:
    """The argv of the C compiler: what CC names (it may have arguments), else the first of gcc and cc on PATH.

    Raises: CompileError if there is none.
    """
    wanted = shlex.split(config.compiler)
    for name, *arguments in [wanted] if wanted else [["gcc"], ["cc"]]:
        path = _which(name)
        if path:
            return (path, *arguments)
    missing = f"CC={config.compiler}" if wanted else "gcc or cc on PATH"
    raise CompileError(f"no C compiler found: {missing}", remedy="install gcc, or set CC to a C compiler")


def command_stamp(command: tuple[str, ...]) -> str:
    """A text that changes when the compiler's file, its flags or the processor do: the name it is remembered under."""
    stat = os.stat(command[0])
    return f"{' '.join((*command, *FLAGS))} {stat.st_size} {stat.st_mtime_ns} {stat.st_ino} {cpu_kind()}"


def cpu_kind() -> str:
    """The instruction set and the features of this processor, as the operating system names them."""
    wanted = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")
    try:
        with open("/proc/cpuinfo") as file:
            first = file.read(16384).split("\n\n")[0]
    except OSError:
        first = f"model: {os.uname().version}"
    pairs = (line.partition(":") for line in first.splitlines())
    return " ".join([os.uname().machine, *(value.strip() for name, _, value in pairs if name.strip() in wanted)])


def probe(command: tuple[str, ...]) -> Compiler:
    """Ask a compiler what it is: version, target, the meaning of -march=native, and its stages.

    Raises: CompileError if it cannot be run or does not answer.
    """
    version = _answer((*command, "--version")).splitlines()[0]
    machine = _answer((*command, "-dumpmachine"))
    plan = _run(((*command, "-###", *FLAGS, *NATIVE, *LINK_FLAGS, SOURCE, "-o", LIBRARY),))
    target, stages = _read_plan(command, plan.output) if not plan.status else ((), ())
    support = _answer((*command, "-print-libgcc-file-name")) if stages else ""
    return Compiler(command, f"{version}, {machine}", target or NATIVE, cpu_kind(), stages, support)


def _read_plan(command: tuple[str, ...], plan: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The target's flags and the argv of each stage, out of what `gcc -###` printed; nothing if it is not gcc's."""
    lines = [shlex.split(line) for line in plan.splitlines() if line.startswith(" ")]
    by_program = {os.path.basename(line[0]): line for line in lines}
    if not {"cc1", "as", "collect2"} <= by_program.keys():
        return (), ()
    proper, assembler, collect = by_program["cc1"], by_program["as"], by_program["collect2"]
    as_path, ld_path = _which(assembler[0]), _which(_answer((*command, "-print-prog-name=ld")))
    if SOURCE not in proper or "-m" not in collect or not (as_path and ld_path):
        return _target_flags(proper), ()
    return _target_flags(proper), (
        (*_without_files(proper, SOURCE), "-", "-o", "-"),
        (as_path, *_without_files(assembler[1:], assembler[-1]), "-"),
        (ld_path, "-shared", "-m", collect[collect.index("-m") + 1], "--hash-style=gnu", "-z", "noexecstack"),
    )


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


def _answer(command: tuple[str, ...]) -> str:
    finished = _run((command,))
    if finished.status or not finished.output.strip():
        raise CompileError("the C compiler does not say what it is", command, finished.output)
    return finished.output.strip()


def _run(*pipelines: tuple[tuple[str, ...], ...], stdin: str = os.devnull) -> Finished:
    first = pipelines[0][0]
    try:
        return run_together(pipelines, stdin, config.compile_timeout, f"compiling with {os.path.basename(first[0])}")
    except OSError as error:
        raise CompileError(f"the C compiler cannot be started: {error}", first) from error


def _has_two_cores() -> bool:
    return len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)) > 1


def _which(name: str) -> str | None:
    """The path of a program: shutil.which without the cost of importing shutil."""
    folders = [""] if os.sep in name else os.get_exec_path()
    candidates = (os.path.join(folder, name) for folder in folders)
    return next((path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK)), None)
