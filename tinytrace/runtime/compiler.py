"""The C compiler: finding it and running it.

gcc's driver spends a quarter of a small compile on starting its stages, so where the driver tells their command lines
(probe.py) the stages are run directly. Where CC names a wrapper (ccache, a launcher script), that is what is called.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from typing import Any

from tinytrace.config import config
from tinytrace.csources import linked_functions
from tinytrace.records import NamedTuple
from tinytrace.runtime.failures import CompileError, TimeLimitError
from tinytrace.runtime.flags import LINK, NATIVE, SUPPORT, own_flags, quick_flags, remedy_for
from tinytrace.runtime.linked_math import LINKED, KeptMath, MathObjects
from tinytrace.runtime.process import TIME_IS_UP, Ahead, Finished, idle, run_together

SOURCE, LIBRARY = "kernel.c", "kernel.so"


class Pipeline(NamedTuple):
    """Commands that were run, each one's output the next one's input, in the folder of their files.

    >>> print(Pipeline("kernel.c", (("cc1", "-O2", "-"), ("as", "-o", "kernel0.o", "-"))))
    cc1 -O2 - < kernel.c | as -o kernel0.o -
    """

    stdin: str
    commands: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        first, *others = map(shlex.join, self.commands)
        return " | ".join([f"{first} < {self.stdin}" if self.stdin else first, *others])


PARTS = (("-DTT_PART=1",), ("-DTT_PART=2",))  # of a large program: codegen/c/split_compile.py
_OBJECTS = tuple(f"kernel{k}.o" for k in range(len(PARTS)))


class Compiler(NamedTuple):
    """A C compiler, known well enough to name what it makes.

    Args:
      command: the driver's argv without flags.
      identity: name, version and target, as the compiler states them, and a digest of its programs.
      target: the processor flags that -march=native stands for here.
      cpu: the kind of processor, see `probe.cpu_kind`.
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

    def flags(self, quick: int = 0) -> tuple[str, ...]:
        """The arguments that shape the object, those of the command among them: part of the artifact's key."""
        return (*self.command[1:], *self._own_flags(quick))

    def _own_flags(self, quick: int) -> tuple[str, ...]:
        return (*own_flags(self.identity), *quick_flags(self.identity, quick), *self.target, *LINK, *SUPPORT)

    def ahead(self) -> Ahead | None:
        """What may be started before there is a text, for a small program; None where that would not be sooner."""
        return Ahead((*_from_pipe(self.stages[0]), LINKED)) if self.stages and _has_two_cores() else None

    def compile(self, folder: str, quick: int = 0, parts: bool = False, pulse: Callable[[], None] = idle,
                ahead: Ahead | None = None, kept: KeptMath | None = None, cores: int = 0) -> tuple[Pipeline, ...]:
        """Compile kernel.c in `folder` to kernel.so there; its two parts at the same time, if there are two cores.

        Returns: what was run, now or for an earlier program that is linked to the same functions, with the names of
          files as they are in the folder.

        Args:
          quick: how little effort is made, see `flags.quick_flags`.
          pulse: called every now and then; what it raises stops the compiler.
          ahead: what was started before, and is given the text if it is for such.
          kept: the math functions that earlier processes have compiled.
          cores: how many cores to compile for, 0 for those that there are.

        Raises: CompileError with the command and its output when it fails, TimeLimitError when it takes too long.
        """
        options = quick_flags(self.identity, quick)
        pieces = PARTS if parts and (cores > 1 if cores else _has_two_cores()) else ((),)
        if self.stages and (ran := self._run_stages(folder, options, pieces, pulse, ahead, kept)):
            return ran
        driver = Pipeline(SOURCE, ((*self.command, "-x", "c", "-", *self._own_flags(quick), "-o", LIBRARY),))
        finished = _run_in(folder, (driver,), (), pulse)
        if finished.status or not os.path.exists(os.path.join(folder, LIBRARY)):
            how = finished.stopped or (f"failed with status {finished.status}" if finished.status else
                                       "ended with status 0 and made no file")
            argv = (*self.command, *own_flags(self.identity), *options, *NATIVE, *LINK, *SUPPORT, "-x", "c", SOURCE)
            if finished.stopped:
                raise _error(finished)(f"the C compiler {how}", argv, finished.output)
            remedy = remedy_for(finished.output)
            raise CompileError(f"the C compiler {how}", argv, finished.output, remedy=remedy)
        return (driver,)

    def _run_stages(self, folder: str, options: tuple[str, ...], parts: tuple[tuple[str, ...], ...],
                    pulse: Callable[[], None], ahead: Ahead | None, kept: KeptMath | None) -> tuple[Pipeline, ...]:
        """Run the stages one by one; nothing is returned when one of them fails, and the driver has the last word."""
        proper, assembler, linker = self.stages
        proper = (*proper, LINKED, *options)
        objects = _OBJECTS[:len(parts)]
        compiling = tuple(Pipeline(SOURCE, ((*_from_pipe(proper), *part), (*assembler, "-o", code)))
                          for part, code in zip(parts, objects, strict=True))
        math = MathObjects(folder, proper, linked_functions(_read(folder, SOURCE)), kept)
        files = (*objects, *math.files, _VERSIONS)
        try:
            is_met = ahead is not None and len(parts) == 1 and ahead.argv == compiling[0].commands[0] and \
                ahead.can_be_given(os.path.join(folder, SOURCE))
            math.write()
            making = {code: Pipeline("", (argv, (*assembler, "-o", code))) for code, argv in math.commands().items()}
            running = (*compiling, *(making[code] for code in math.missing()))
            linked = (*objects, *math.objects)
            linking = Pipeline("", ((*linker, "-o", LIBRARY, *linked),))
            with closing(_Linker(folder, linking.commands[0], files)) as waiting:
                def beside() -> None:
                    waiting.get_ready()
                    pulse()

                if not _run_to_end(folder, running, files, beside, ahead if is_met else None):
                    return ()
                math.keep()
                if _needs_support(os.path.join(folder, code) for code in linked):
                    linking = Pipeline("", ((*linking.commands[0], self.support),))
                elif waiting.has_linked(pulse):
                    return (*compiling, *making.values(), linking)
            has_run = _run_to_end(folder, (linking,), files, pulse) and os.path.exists(os.path.join(folder, LIBRARY))
            return (*compiling, *making.values(), linking) if has_run else ()
        except TimeLimitError:
            raise
        except (CompileError, OSError):
            return ()  # a stage that is not where it was, or has made nothing: the driver knows better
        finally:
            for name in files:
                with suppress(OSError):
                    os.unlink(os.path.join(folder, name))

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {
            "command": list(self.command), "identity": self.identity, "target": list(self.target), "cpu": self.cpu,
            "stages": [list(stage) for stage in self.stages], "support": self.support,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Compiler:
        """The compiler that `to_json` described; TypeError, KeyError or ValueError if it is none."""
        stages = tuple(map(_words, _listed(value["stages"])))
        if len(stages) not in (0, 3) or not all(stages):
            raise ValueError("a compiler has three stages, or none that can be run alone")
        texts = [value[name] for name in ("identity", "cpu", "support")]
        if not all(type(text) is str for text in texts):
            raise TypeError("identity, cpu and support are texts")
        identity, cpu, support = texts
        return cls(_words(value["command"]), identity, _words(value["target"]), cpu, stages, support)


def _run_to_end(folder: str, pipelines: tuple[Pipeline, ...], files: tuple[str, ...], pulse: Callable[[], None],
                ahead: Ahead | None = None) -> bool:
    """Run stages: do they end well?

    Raises: TimeLimitError when they take too long, for the driver would need as long.
    """
    finished = _run_in(folder, pipelines, files, pulse, ahead)
    if finished.stopped == TIME_IS_UP:
        raise TimeLimitError(f"the C compiler {finished.stopped}", pipelines[0].commands[0], finished.output)
    return not finished.status


def _from_pipe(proper: tuple[str, ...]) -> tuple[str, ...]:
    """The compiler proper, told to include its text: all that it makes ready before it reads a line, a third of a small
    compile, it then has ready before it waits for the text. Its main file it would read first."""
    if "-" not in proper or not os.path.exists(_PIPE):
        return proper
    at = proper.index("-")
    return (*proper[:at], "-include", _PIPE, os.devnull, *proper[at + 1:])


_PIPE = "/dev/stdin"
_VERSIONS = "kernel.map"


class _Linker:
    """The linker, started while the compiler is at work: when there are objects, it has ready what takes it half of its
    time. It reads a list of versions before it opens any object, and waits for it; an empty one changes nothing."""

    def __init__(self, folder: str, argv: tuple[str, ...], files: tuple[str, ...]) -> None:
        self._library, self._script = os.path.join(folder, LIBRARY), os.path.join(folder, _VERSIONS)
        self._ahead = Ahead((argv[0], "--version-script", _PIPE, *_placed(folder, argv[1:], files)))
        self._is_to_start = os.path.exists(_PIPE) and _has_two_cores()

    def get_ready(self) -> None:
        """Start it, if it has not been started: not before the compiler, which works longer and so is first in line."""
        if self._is_to_start:
            self._is_to_start = False
            with suppress(OSError, ValueError):  # who links when there are objects tells of it
                self._ahead.start()

    def has_linked(self, pulse: Callable[[], None]) -> bool:
        """Let it link: is there a library? Where it did not start, or wants no such list, there is none."""
        with open(self._script, "xb") as file:  # a codec would be imported, which may wait for ever
            file.write(b"{};\n")
        if not self._ahead.can_be_given(self._script):
            return False
        finished = run_compiler((self._ahead.argv,), stdin=self._script, pulse=pulse, ahead=self._ahead)
        return not finished.status and os.path.exists(self._library)

    def close(self) -> None:
        """End it, if it still waits."""
        self._ahead.close()


def _needs_support(objects: Iterable[str]) -> bool:
    """May objects call the compiler's helpers, whose names begin with __? To open their archive takes half a ms."""
    for name in objects:
        with open(name, "rb") as file:
            if b"__" in file.read():
                return True
    return False


def _run_in(folder: str, pipelines: tuple[Pipeline, ...], files: tuple[str, ...], pulse: Callable[[], None],
            ahead: Ahead | None = None) -> Finished:
    """Run commands on the files of a folder, where their temporary files are too and go with it."""
    stdin = os.path.join(folder, pipelines[0].stdin) if pipelines[0].stdin else os.devnull
    argvs = [tuple(_placed(folder, argv, files) for argv in pipeline.commands) for pipeline in pipelines]
    return run_compiler(*argvs, stdin=stdin, pulse=pulse, variables={"TMPDIR": folder}, ahead=ahead)


def _placed(folder: str, argv: tuple[str, ...], files: tuple[str, ...]) -> tuple[str, ...]:
    """A command with the names of files as they are in a folder."""
    return tuple(os.path.join(folder, word) if word == LIBRARY or word in files else word for word in argv)


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def _words(value: Any) -> tuple[str, ...]:
    if not all(type(word) is str for word in _listed(value)):
        raise TypeError(f"expected a list of texts, got {value!r}")
    return tuple(value)


def _listed(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError(f"expected a list, got {value!r}")
    return value


def find_command() -> tuple[str, ...]:
    """The argv of the C compiler: what CC names (it may have arguments), else the first of gcc and cc on PATH.

    Raises: CompileError if there is none.
    """
    try:
        wanted = shlex.split(config.compiler)
    except ValueError as error:
        raise CompileError(f"CC={config.compiler} is no command line: {error}",
                           remedy="set CC to a C compiler, its arguments as in a shell") from error
    for name, *arguments in [wanted] if wanted else [["gcc"], ["cc"]]:
        path = which(name)
        if path:
            return (path, *arguments)
    missing = f"CC={config.compiler}" if wanted else "gcc or cc on PATH"
    raise CompileError(f"no C compiler found: {missing}", remedy="install gcc, or set CC to a C compiler")


def which(name: str) -> str | None:
    """The path of a program, absolute where there is a working directory: shutil.which without its import."""
    folders = [""] if os.sep in name else os.get_exec_path()
    for path in (os.path.join(folder, name) for folder in folders):
        with suppress(ValueError):  # a null character
            if os.path.isfile(path) and os.access(path, os.X_OK):
                with suppress(FileNotFoundError):  # a working directory that was deleted
                    return os.path.abspath(path)
                return path
    return None


def run_compiler(*pipelines: tuple[tuple[str, ...], ...], stdin: str = os.devnull, pulse: Callable[[], None] = idle,
                 variables: Mapping[str, str] | None = None, ahead: Ahead | None = None) -> Finished:
    """Run pipelines of the compiler's commands within its time limit.

    Raises: CompileError if one cannot be started.
    """
    first = pipelines[0][0]
    task = f"compiling with {os.path.basename(first[0])}"
    try:
        return run_together(pipelines, stdin, config.compile_timeout, task, pulse, variables, ahead)
    except (OSError, ValueError) as error:  # ValueError: a null character
        raise CompileError(f"the C compiler cannot be started: {error}", first) from error


def _error(finished: Finished) -> type[CompileError]:
    return TimeLimitError if finished.stopped == TIME_IS_UP else CompileError


def _has_two_cores() -> bool:
    return len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)) > 1
