"""Processes that are killed or stopped at each point of compiling and publishing: the others go on, and tidy up.

One process is struck by the signal; a second one then wants the same program, while the first one is dead or stands
still; and whatever is left of it is gone when the next program has been published.
"""

from __future__ import annotations

import textwrap

import pytest

from tests.faults.harness import LOADING, SILENT

# Where the signal strikes: before or after the n-th call of a function.
POINTS = {
    "before the store is opened": ("before", "places:open_store", 1),
    "before the own folder is marked": ("before", "folders:Folder.write", 1),
    "after the own folder is marked": ("after", "folders:Folder.write", 1),
    "before the compiler is asked": ("before", "probe:probe", 1),
    "while the compiler says what it is": ("before", "process:_read_to_end", 1),
    "before the compiler is noted": ("before", "folders:Folder.move", 1),
    "after the compiler is noted": ("after", "folders:Folder.move", 1),
    "before the lock is asked for": ("before", "locks:hold", 1),
    "with the lock": ("before", "ladder:_Search._compiled", 1),
    "with a folder to build in": ("before", "ladder:_Search._build", 1),
    "with the source written": ("before", "compiler:Compiler.compile", 1),
    "while it compiles": ("before", "process:_read_to_end", 5),
    "while it links": ("before", "process:_read_to_end", 6),
    "before it is loaded": ("before", "places:read_library", 1),
    "before it is published": ("before", "store:Store.publish", 1),
    "with one file found in its place": ("after", "folders:Folder.is_own", 1),
    "with two files found in their places": ("after", "folders:Folder.is_own", 2),
    "with all files written": ("after", "folders:Folder.write", 4),
    "before it is in its place": ("before", "folders:Folder.move", 2),
    "after it is in its place": ("after", "folders:Folder.move", 2),
    "before its old place is looked at": ("before", "folders:Folder.remove_tree", 2),
    "before the lock is released": ("before", "folders:Folder.unlink", 1),
    "after the lock is released": ("after", "folders:Folder.unlink", 1),
}

PROGRAM = LOADING + SILENT + """
import functools, glob, importlib, os, signal, time
when, target, number = {point!r}
module, _, path = target.partition(":")
cache = os.environ["TINYTRACE_CACHE_DIR"]

def strike():
    owner = importlib.import_module("tinytrace.runtime." + module)
    *classes, name = path.split(".")
    for part in classes:
        owner = getattr(owner, part)
    function, calls = getattr(owner, name), []
    @functools.wraps(function)
    def struck(*args, **kwargs):
        calls.append(1)
        if when == "before" and len(calls) == number:
            os.kill(os.getpid(), {signal})
        result = function(*args, **kwargs)
        if when == "after" and len(calls) == number:
            os.kill(os.getpid(), {signal})
        return result
    setattr(owner, name, struck)
    if not classes:
        import tinytrace.runtime as package
        for other in ("ladder", "discovery", "probe", "compiler", "store", "places", "executable", "process"):
            theirs = importlib.import_module("tinytrace.runtime." + other)
            if theirs.__dict__.get(name) is function:
                setattr(theirs, name, struck)

pid = os.fork()
if not pid:
    strike()
    right()
    os._exit(0)
status = os.waitpid(pid, os.WUNTRACED)[1]
assert os.WIFSTOPPED(status) or os.WIFSIGNALED(status), "the point was not reached"
begun = time.monotonic()
right()
waited = time.monotonic() - begun
assert waited < 25, waited
if os.WIFSTOPPED(status):
    os.kill(pid, signal.SIGCONT)
    assert os.waitpid(pid, 0)[1] == 0
forget()
right()
assert (stats.compiles, stats.disk_hits) == (0, 1)
right(2)  # whoever publishes tidies up
left = [path for name in ("building", "locks", "aside") for path in glob.glob(cache + "/*/" + name + "/*")]
assert not left, left
assert len(glob.glob(cache + "/*/entries/??/*")) == 2
print("right")
"""


def strike(sandbox, point: str, signal: str) -> None:
    program = textwrap.dedent(PROGRAM).format(point=POINTS[point], signal=signal)
    sandbox.fork(program).require_right(warned=[0])


@pytest.mark.parametrize("point", POINTS)
def test_killed(sandbox, point):
    strike(sandbox, point, "signal.SIGKILL")


@pytest.mark.parametrize("point", POINTS)
def test_stopped(sandbox, point):
    strike(sandbox, point, "signal.SIGSTOP")


def test_ctrl_c_at_random_moments_of_compiling(sandbox):
    program = LOADING + """
import glob, os, random, signal, threading
armed = False
def interrupt(number, frame):
    if armed:
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
right(0)
def descriptors():
    return len(os.listdir("/proc/self/fd"))
before, interrupted = descriptors(), 0
for n in range(1, 40):
    forget()
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, random.Random(n).random() * 0.1)
        right(n)
        armed = False
    except KeyboardInterrupt:
        interrupted += 1
    armed = False
    signal.setitimer(signal.ITIMER_REAL, 0)
assert interrupted > 5, interrupted
assert descriptors() == before
assert threading.active_count() == 1
for n in range(40):
    right(n)
print("right")
"""
    sandbox.fork(program).require_right(warned=[0])
    assert not sandbox.leftovers()
