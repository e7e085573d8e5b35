"""Forked children run compiled programs of every sort, whatever the parent's threads are doing; none hangs."""

from __future__ import annotations

import _thread
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.runtime.programs import begin_child, in_child
from tinytrace import util
from tinytrace.runtime.folders import Folder
from tinytrace.runtime.ladder import stats
from tinytrace.runtime.threads import num_threads, set_num_threads
from tinytrace.runtime.worker import _Task

X = np.random.default_rng(0).normal(size=(700, 700)).astype(np.float32)


def rows(x):
    return jnp.tanh(x).sum(1)


def product(x):
    return x @ x


@pytest.fixture(autouse=True)
def three_threads():
    before = num_threads()
    set_num_threads(3)
    yield
    set_num_threads(before)


def digest(results) -> str:
    return str([hash(np.asarray(out).tobytes()) for out in jax.tree.leaves(results)])


@pytest.mark.parametrize("function", [rows, product, lambda x: (jnp.sort(x, 0), jnp.cumsum(x))])
def test_what_the_parent_has_run(function):
    compiled = jax.jit(function)
    here = digest(compiled(X))
    assert in_child(lambda: digest(compiled(X))) == (0, here)
    assert digest(compiled(X)) == here


def test_a_program_that_the_child_compiles():
    jax.jit(rows)(X)
    compiles = stats.compiles

    def in_new_program():
        out = jax.jit(lambda x: (jnp.cos(x) @ x)[7] * 3)(X)
        assert stats.compiles == compiles + 1
        return np.isfinite(np.asarray(out)).all()

    assert in_child(in_new_program) == (0, "True")


def test_a_child_of_a_child():
    compiled = jax.jit(lambda x: (rows(x), product(x)))
    here = digest(compiled(X))

    def fork_again():
        assert digest(compiled(X)) == here
        return in_child(lambda: digest(compiled(X)))

    assert in_child(fork_again) == (0, str((0, here)))


@pytest.mark.not_quick
@pytest.mark.parametrize("function", [rows, product])
def test_a_fork_while_another_thread_is_in_a_program(function):
    compiled, other = jax.jit(function), jax.jit(lambda x: rows(x) + product(x)[0])
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            compiled(X)

    here = digest((compiled(X), other(X)))
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert [in_child(lambda: digest((compiled(X), other(X)))) for _ in range(5)] == [(0, here)] * 5
    finally:
        stop.set()
        thread.join()


def test_a_fork_inside_a_callback():
    """The program of the parent is half done; the child runs others, and leaves."""
    answers = []

    def fork(x):
        answers.append(in_child(lambda: digest(jax.jit(rows)(X))))
        return x

    out = jax.jit(lambda x: jax.pure_callback(fork, x, x) + 1)(np.float32(1))
    assert (float(out), answers) == (2.0, [(0, digest(jax.jit(rows)(X)))])


def test_a_child_does_not_wait_for_work_of_a_thread_that_lives_in_its_parent_only():
    """A handler of a signal may fork while a worker compiles: in the child nothing ends that work."""
    end = threading.Event()
    task = _Task(lambda pulse: end.wait(20))
    task.start()

    def in_both_ways():
        begun = time.monotonic()
        task.stop()
        return not task.wait() and time.monotonic() - begun < 5

    try:
        assert in_child(in_both_ways) == (0, "True")
    finally:
        end.set()
    assert task.wait()
    assert task.result() is True


def test_a_child_that_is_forked_before_the_worker_has_begun(monkeypatch):
    """As by a handler that runs between the start of the thread and its first step."""
    start, ready = _thread.start_new_thread, threading.Event()

    def start_late(function, args):
        return start(lambda: ready.wait(20) and function(*args), ())

    monkeypatch.setattr(_thread, "start_new_thread", start_late)
    task = _Task(lambda pulse: 7)
    task.start()
    assert in_child(task.wait) == (0, "False")
    ready.set()
    assert task.wait()
    assert task.result() == 7


@pytest.mark.not_quick
def test_a_fork_that_had_begun_when_another_thread_imported_the_compiler():
    """A fork does not call the hooks of a module that was imported after it had begun."""
    code = """if True:
        import os, threading
        import tinytrace
        def import_it():
            import tinytrace.runtime.process
        def imported_elsewhere():
            thread = threading.Thread(target=import_it)
            thread.start()
            thread.join()
        os.register_at_fork(before=imported_elsewhere)
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        print(tinytrace.runtime.process.run(["echo", "done"]).output)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("done", "")


def test_no_import_begins_while_a_fork_is_on_its_way():
    began = threading.Event()
    thread = threading.Thread(target=lambda: (util._imported("tinytrace.runtime.process"), began.set()))
    with util.unforkable:
        thread.start()
        assert not began.wait(0.1)
    thread.join()
    assert began.is_set()


def test_no_property_is_computed_under_one_lock_for_all():
    """As Python 3.11's cached_property is: a child may find that lock held by a thread that it does not have."""
    files = pathlib.Path(jax.__file__).parent.rglob("*.py")
    assert [path for path in files if re.search(r"^ *@(functools\.)?cached_property", path.read_text(), re.M)] == []


def test_many_children_at_once():
    """As a data loader has them: all forked before any of them has finished."""
    compiled = jax.jit(rows)
    here = digest(compiled(X))
    waits = [begin_child(lambda: digest(compiled(X))) for _ in range(2 * (os.cpu_count() or 1))]
    assert [wait() for wait in waits] == [(0, here)] * len(waits)


def test_a_child_that_is_forked_while_a_file_is_written_writes_the_same_bytes(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    pids: list[int] = []
    fchmod = os.fchmod

    def forks(descriptor, mode):
        fchmod(descriptor, mode)
        pids.append(os.fork())

    status = 1
    try:
        with Folder(str(tmp_path)) as folder:
            monkeypatch.setattr(os, "fchmod", forks)
            folder.write("file", b"written once")
        status = 0
    finally:
        if pids == [0]:
            os._exit(status)
    monkeypatch.undo()
    assert os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]) == 0
    assert (tmp_path / "file").read_bytes() == b"written once"
