"""Compilers of every kind, and values of CC: the right answer, one warning at most, and no memory of what was wrong."""

from __future__ import annotations

import os
import shutil
import textwrap

import pytest

from tests.faults.harness import ANSWER

PROGRAM = ANSWER + "check(); print('right')"
LIMITED = {"TINYTRACE_COMPILE_TIMEOUT": "2"}
GCC = shutil.which("gcc") or "gcc"

# What a script that is named by CC does: {gcc} stands for the compiler that works, {out} for the file after -o.
WHEN_COMPILING = 'case "$*" in *"-x c"*) {then};; *) exec {gcc} "$@";; esac\n'
OUT = 'for word in "$@"; do out="$word"; done\n'  # -o and its file come last
ODD = {
    "garbage with status 0": OUT + WHEN_COMPILING.format(gcc=GCC, then="head -c 9999 /dev/urandom > $out"),
    "garbage that begins as an ELF file": OUT + WHEN_COMPILING.format(
        gcc=GCC, then=f'{GCC} "$@" && head -c 3000 $out > $out.2 && head -c 9999 /dev/urandom >> $out.2 && '
                      "head -c 64 $out > $out.3 && head -c 9999 /dev/zero >> $out.3 && mv $out.3 $out"),
    **{f"a library cut to {size} bytes": OUT + WHEN_COMPILING.format(
        gcc=GCC, then=f'{GCC} "$@" && head -c {size} $out > $out.2 && mv $out.2 $out')
       for size in (0, 1, 16, 63, 64, 500, 4096, 5000)},
    "a library of nothing": OUT + WHEN_COMPILING.format(
        gcc=GCC, then=f"echo | {GCC} -shared -nostdlib -x c - -o $out"),
    "an object that is no library": OUT + WHEN_COMPILING.format(gcc=GCC, then=f'{GCC} "$@" -c -o $out'),
    "no file, status 0": WHEN_COMPILING.format(gcc=GCC, then="exit 0"),
    "a directory for a file": OUT + WHEN_COMPILING.format(gcc=GCC, then="mkdir $out"),
    "a FIFO for a file": OUT + WHEN_COMPILING.format(gcc=GCC, then="mkfifo $out"),
    "a link to an endless file": OUT + WHEN_COMPILING.format(gcc=GCC, then="ln -s /dev/zero $out"),
    "a file of a terabyte": OUT + WHEN_COMPILING.format(gcc=GCC, then="truncate -s 1T $out"),
    "a failure": WHEN_COMPILING.format(gcc=GCC, then="echo no; exit 3"),
    "a signal": WHEN_COMPILING.format(gcc=GCC, then="kill -SEGV $$"),
    "a failure without end": WHEN_COMPILING.format(gcc=GCC, then="yes error"),
    "a failure that prints binary": WHEN_COMPILING.format(gcc=GCC, then="head -c 99999 /dev/urandom; exit 1"),
    "a failure of one long line": WHEN_COMPILING.format(gcc=GCC, then="head -c 9999999 /dev/zero; exit 1"),
    "hangs": WHEN_COMPILING.format(gcc=GCC, then="sleep 77"),
    "hangs with its output closed": WHEN_COMPILING.format(gcc=GCC, then="exec >&- 2>&-; sleep 77"),
    "hangs when asked for its version": 'case "$*" in *--version*) sleep 77;; esac\n' + f'exec {GCC} "$@"\n',
    "hangs always": "sleep 77\n",
    "prints binary": "head -c 9999 /dev/urandom\n",
    "prints nothing": "exit 0\n",
    "prints blank lines": "printf '\\n \\n\\t\\n\\f\\n'\n",
    "prints without end": "yes\n",
    "prints zeros without end": "cat /dev/zero\n",
    "fails": "exit 1\n",
    "its interpreter is missing": None,
    "is empty": "",
}  # fmt: skip
# These work, however they look: they must be used, without a warning.
FINE = {
    "blank lines before its version": f'case "$*" in *--version*) printf "\\n \\n";; esac; exec {GCC} "$@"\n',
    "a version that is binary": f'case "$*" in *--version*) printf "\\377\\001gcc\\n";; *) exec {GCC} "$@";; esac\n',
    "a plan that is binary": f'case "$*" in *-###*) head -c 9999 /dev/urandom;; *) exec {GCC} "$@";; esac\n',
    "a plan that is empty": f'case "$*" in *-###*) ;; *) exec {GCC} "$@";; esac\n',
    "a plan of blank lines": f'case "$*" in *-###*) printf "\\n \\n  \\n";; *) exec {GCC} "$@";; esac\n',
    "a plan with an unbalanced quote": f"case \"$*\" in *-###*) echo ' \"cc1';; *) exec {GCC} \"$@\";; esac\n",
    "a plan without files": f"case \"$*\" in *-###*) printf 'COLLECT_GCC=gcc\\n cc1\\n as\\n collect2\\n';; "
                            f'*) exec {GCC} "$@";; esac\n',
    "a plan without end": f'case "$*" in *-###*) yes;; *) exec {GCC} "$@";; esac\n',
    "a plan that fails": f'case "$*" in *-###*) exit 1;; *) exec {GCC} "$@";; esac\n',
    "much output with status 0": WHEN_COMPILING.format(gcc=GCC, then=f'head -c 9999999 /dev/zero; exec {GCC} "$@"'),
    "children that stay": f'sleep 77 & exec {GCC} "$@"\n',
}  # fmt: skip


@pytest.mark.parametrize("row", ODD)
def test_a_compiler_that_does(sandbox, row):
    """It is mended then, and used again by the next process that needs it."""
    text = ODD[row]
    path = sandbox.script("" if text is None else text)
    if text is None:
        with open(path, "w") as file:
            file.write("#!/nowhere/sh\n")
    mended = sandbox.script(f'exec {GCC} "$@"\n', "bin/mended")
    program = f"""
        import glob, os, shutil
        check()
        cache = os.environ["TINYTRACE_CACHE_DIR"]
        assert not glob.glob(cache + "/*/entries/??/*")
        shutil.copy({mended!r}, {path!r})
        forget()
        check()
        assert len(glob.glob(cache + "/*/entries/??/*")) == 1
        print("right")"""
    ended = sandbox.fork(ANSWER + textwrap.dedent(program), env={"CC": path, **LIMITED}).require_right(warned=[1])
    assert "the interpreter" in ended.warnings[0]
    assert len(ended.warnings[0]) < 6000
    assert not sandbox.leftovers()


TWICE = ANSWER + """
check()
forget()
check()
from tinytrace.runtime.ladder import stats
assert (stats.disk_hits, stats.compiles) == (1, 0)
print("right")
"""


@pytest.mark.parametrize("row", FINE)
def test_a_compiler_that_works_with(sandbox, row):
    env = {"CC": sandbox.script(FINE[row]), "TINYTRACE_COMPILE_TIMEOUT": "20"}
    sandbox.fork(TWICE, env=env).require_right(warned=[0])


VALUES = {
    "an unbalanced quote": 'gcc "',
    "a backslash": "gcc\\",
    "quotes around nothing": '""',
    "a directory": "/tmp",
    "nothing there": "/nowhere/gcc",
    "a name not on PATH": "no-such-compiler -x",
    "not executable": "/etc/passwd",
    "a device": "/dev/null",
    "surrogates": "\udcff\udc80",
    "control characters": "gcc\x1b[2J\n\x07",
    "an unknown flag": f"{GCC} --no-such-flag",
    "a flag that makes no library": f"{GCC} -c",
    "a flag that only checks": f"{GCC} -fsyntax-only",
    "a flag that only preprocesses": f"{GCC} -E",
    "an option without its value": f"{GCC} -o",
    "not a compiler": "/bin/echo",
    "very long": "x" * 100_000,
}
FROM_THE_ENVIRONMENT = ["surrogates", "control characters", "nothing there"]
"""Values that a new process reads; a fork is told the others."""
FINE_VALUES = {
    "empty": "",
    "spaces": "   ",
    "a path": GCC,
    "a name": "gcc",
    "flags": "gcc -O1 -DX=\\'y\\'",
    "a wrapper of another command": f"env LC_ALL=C {GCC}",
}


@pytest.mark.parametrize("row", VALUES)
def test_cc_names(sandbox, row):
    start = sandbox.run if row in FROM_THE_ENVIRONMENT else sandbox.fork
    ended = start(PROGRAM, env={"CC": VALUES[row], **LIMITED}).require_right(warned=[1])
    assert "the interpreter" in ended.warnings[0]
    assert not sandbox.entries()
    assert not sandbox.leftovers()


@pytest.mark.parametrize("row", FINE_VALUES)
def test_cc_that_works_names(sandbox, row):
    sandbox.fork(TWICE, env={"CC": FINE_VALUES[row]}).require_right(warned=[0])


def test_cc_with_a_null_character(sandbox):
    sandbox.run(ANSWER + "jax.config.update('tinytrace_compiler', 'a\\0b')\n" + PROGRAM).require_right(warned=[1])


PATHS = ["two words", "quo'te\"s", "new\nline", "\udcff no text", "-dash", "na\u00efve", "$HOME;x"]


@pytest.mark.parametrize("name", PATHS)
def test_a_compiler_in_a_path_of(sandbox, name):
    folder = os.fsencode(sandbox.folder / name)
    os.mkdir(folder)
    os.symlink(GCC, folder + b"/gcc")
    with open(folder + b"/wrapper", "w") as file:
        file.write(f'#!/bin/sh\nexec {GCC} "$@"\n')
    os.chmod(folder + b"/wrapper", 0o700)
    program = """
import os, shlex
folder = os.path.dirname(os.environ["CC_PATH"])
for name in ("gcc", "wrapper"):
    jax.config.update("tinytrace_compiler", shlex.quote(os.path.join(folder, name)))
    forget()
    check()
jax.config.update("tinytrace_compiler", "gcc")
forget()
check(3)
print("right")
"""
    path = os.fsdecode(folder)
    env = {"CC_PATH": path + "/gcc", "PATH": path + ":" + os.environ["PATH"]}
    sandbox.fork(ANSWER + program, env=env).require_right(warned=[0])


@pytest.mark.parametrize("compiler", ["gcc-11", "gcc-12", "clang"])
def test_another_compiler(sandbox, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    sandbox.run(PROGRAM, env={"CC": compiler}).require_right(warned=[0, 1] if compiler == "clang" else [0])


@pytest.mark.parametrize("command", ["ccache gcc", "/usr/lib/ccache/gcc"])
def test_ccache_is_called_where_cc_names_it(sandbox, command):
    if not shutil.which(command.split()[0]):
        pytest.skip("ccache is not installed")
    log = sandbox.folder / "log"
    env = {"CC": command, "CCACHE_DIR": str(sandbox.folder / "ccache"), "CCACHE_LOGFILE": str(log)}
    sandbox.run(TWICE, env=env).require_right(warned=[0])
    assert log.read_text().count("kernel.so") >= 1


def test_a_compiler_that_is_upgraded_behind_a_launcher(sandbox):
    """The launcher's file stays the same; the programs of the old compiler are not taken for the new one's."""
    real = sandbox.script(f'exec {GCC} "$@"\n', "bin/real")
    newer = sandbox.script(f'case "$*" in --version) echo "gcc 99.0";; *) exec {GCC} "$@";; esac\n', "bin/newer")
    launcher = sandbox.script(f'exec {real} "$@"\n')
    program = f"""
import os
from tinytrace.runtime.ladder import stats
compiles = []
for turn in range(4):
    forget()
    check()
    compiles.append(stats.compiles)
    if turn == 1:
        os.replace({newer!r}, {real!r})
assert compiles == [1, 0, 1, 0], compiles
print("right")
"""
    sandbox.fork(ANSWER + program, env={"CC": launcher}).require_right(warned=[0])


def test_four_processes_with_a_compiler_that_hangs_do_not_wait_one_after_the_other(sandbox):
    """From the moment at which all are ready, they need about one time limit together; one after the other, four."""
    path = sandbox.script(ODD["hangs"])
    program = """
import sys, time
print("ready", flush=True)
sys.stdin.readline()
begun = time.monotonic()
check()
print(time.monotonic() - begun)
"""
    running = [sandbox.start(ANSWER + program, env={"CC": path, "TINYTRACE_COMPILE_TIMEOUT": "8"}) for _ in range(4)]
    for each in running:
        assert each.line() == "ready"
    for each in running:
        each.tell("go")
    ended = [each.wait().require_right(warned=[1], output="") for each in running]
    assert max(float(each.output) for each in ended) < 3 * 8
    assert not sandbox.leftovers()


def test_without_any_compiler(sandbox):
    ended = sandbox.run(PROGRAM, env={"PATH": str(sandbox.work)}).require_right(warned=[1])
    assert "install gcc" in ended.warnings[0]
