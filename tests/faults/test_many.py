"""Many processes on one store: one compiles, all are right, and nobody minds who removes what."""

from __future__ import annotations

import textwrap

import pytest

from tests.faults.harness import ANSWER, LOADING


def test_32_cold_processes_on_one_key_compile_once(sandbox):
    """Forked before they know anything, and let go at one moment."""
    program = LOADING + """
import os
go, ready = os.pipe(), os.pipe()
children = {}
for _ in range(32):
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(go[1])
        os.read(go[0], 1)
        right()
        os.write(writer, b"%d" % stats.compiles)
        os._exit(0)
    os.close(writer)
    children[pid] = reader
os.close(go[1])
compiles = 0
for pid, reader in children.items():
    assert os.waitpid(pid, 0)[1] == 0
    compiles += int(os.read(reader, 9))
assert compiles == 1, compiles
print("right")
"""
    sandbox.fork(program).require_right(warned=[0])
    assert len(sandbox.entries()) == 1
    assert not sandbox.leftovers()


def test_real_processes_that_start_cold(sandbox):
    program = ANSWER + "from tinytrace.runtime.ladder import stats; check(); print(stats.compiles, 'right')"
    ended = [each.wait().require_right(warned=[0]) for each in [sandbox.start(program) for _ in range(4)]]
    assert sorted(each.output for each in ended) == ["0 right\n"] * 3 + ["1 right\n"]
    assert not sandbox.leftovers()


@pytest.mark.parametrize("removal", ["nothing", "clear", "prune", "rm -r"])
def test_16_processes_that_use_and_remove_at_random(sandbox, removal):
    """Each answer is right, no compile falls to the interpreter, and nobody has reason to warn."""
    program = LOADING + f"""
import glob, os, random, shutil, time
from tinytrace.runtime.places import open_store
cache, removal = os.environ["TINYTRACE_CACHE_DIR"], {removal!r}
def remove():
    if removal == "clear":
        open_store().clear()
    elif removal == "prune":
        config.update("cache_mib", 0)
        open_store().sweep()
    elif removal == "rm -r":
        shutil.rmtree(cache, ignore_errors=True)
def work(seed):
    chance = random.Random(seed)
    for _ in range(12):
        what = chance.random()
        if what < 0.2:
            remove()
        elif what < 0.5:
            forget()
        else:
            right(chance.randrange(3))
pids = []
for seed in range(16):
    pid = os.fork()
    if not pid:
        try:
            work(seed)
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    pids.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 16
forget()
right(4)
left = [path for name in ("building", "locks") for path in glob.glob(cache + "/*/" + name + "/*")]
assert not left, left
print("right")
"""
    sandbox.fork(textwrap.dedent(program)).require_right(warned=[0])
