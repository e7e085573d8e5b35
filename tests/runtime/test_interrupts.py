"""Ctrl-C while a compiled program runs: it arrives when the call returns, and nothing is lost or damaged."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.runtime.test_alloc import read_stats
from tinytrace import codegen, runtime
from tinytrace.runtime import worker
from tinytrace.runtime.threads import num_threads, set_num_threads
from tinytrace.runtime.worker import run_apart


def long_loop(x, turns):
    return jax.lax.fori_loop(0, turns, lambda i, x: jnp.sin(x) + 1, x)


@pytest.fixture
def interrupt_soon():
    """A function: a tenth of a second later there is a SIGINT, which Python turns into KeyboardInterrupt."""
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    yield timer.start
    timer.join()


@pytest.fixture(params=[1, 3])
def threads(request):
    before = num_threads()
    set_num_threads(request.param)
    yield request.param
    set_num_threads(before)


def test_what_a_handler_raises_does_not_interrupt_work_in_its_middle():
    """Compiling and publishing are such work: the main thread, on which handlers run, waits for it."""
    class FromHandler(Exception):
        pass

    def handler(*_):
        raise FromHandler

    done = []

    def work(pulse):
        os.kill(os.getpid(), signal.SIGUSR1)
        for k in range(1000):
            done.append(k)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(FromHandler):
            run_apart(work)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(done) == 1000


@pytest.mark.parametrize("name", ["start", "wait"])
@pytest.mark.parametrize("is_before", [True, False])
def test_work_that_has_not_begun_or_has_ended_is_not_waited_for(monkeypatch, name, is_before):
    """Ctrl-C at the first and at the last moment of a compile returns at once."""
    monkeypatch.setattr(worker, "_CLEANING_UP", 0.5)  # longer than this work takes
    monkeypatch.setattr(worker, "_stopped", [])
    step = getattr(worker._Task, name)

    def interrupted(task):
        if is_before:
            raise KeyboardInterrupt
        step(task)
        raise KeyboardInterrupt

    monkeypatch.setattr(worker._Task, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_apart(lambda pulse: None)
    assert worker._stopped == [], "what is still waited for, or was in vain"


@pytest.mark.parametrize(("module", "name"), [(codegen.generate, "generate"), (runtime.ladder, "load")])
def test_a_call_in_the_middle_of_the_compilers_import_is_interpreted(monkeypatch, module, name):
    """As a handler makes it, which has begun while the main thread reads these modules for the first time."""
    monkeypatch.delattr(module, name)
    np.testing.assert_array_equal(jax.jit(lambda x: x * 3 - 1)(np.arange(5)), np.arange(5) * 3 - 1)
    monkeypatch.undo()
    np.testing.assert_array_equal(jax.jit(lambda x: x * 3 - 1)(np.arange(5)), np.arange(5) * 3 - 1)


def test_a_compiler_that_cannot_be_imported_is_an_error(monkeypatch):
    """And not a reason to interpret: so it would be when the C extensions are older than the package."""
    monkeypatch.delattr(runtime, "ladder")
    monkeypatch.setitem(sys.modules, "tinytrace.runtime.ladder", None)
    with pytest.raises(ImportError, match="halted"):
        jax.jit(lambda x: x * 3 - 2)(np.arange(5))


def test_it_arrives_when_the_call_returns(interrupt_soon, threads):
    compiled = jax.jit(long_loop)
    x = jnp.asarray(np.linspace(0, 1, 20_000, dtype=np.float32))
    before_loop = compiled(x, 10)  # compiled now, with the same argument types
    live = read_stats()["live_blocks"]

    def run_for_seconds():
        start = time.monotonic()
        interrupt_soon()
        while time.monotonic() < start + 20:
            compiled(x, 2000)

    with pytest.raises(KeyboardInterrupt):
        run_for_seconds()
    assert read_stats()["live_blocks"] == live
    np.testing.assert_array_equal(compiled(x, 10), before_loop)


def test_it_arrives_inside_a_callback(interrupt_soon):
    def wait(x):
        time.sleep(20)
        return x

    compiled = jax.jit(lambda x, wanted: jax.lax.cond(wanted, lambda x: jax.pure_callback(wait, x, x), jnp.sin, x))
    x = np.float32(1)
    expected = compiled(x, False)
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        compiled(x, True)
    assert compiled(x, False) == expected
