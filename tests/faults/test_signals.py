"""Signals at any moment: Ctrl-C is never lost and loses nothing, and handlers may call what they interrupt."""

from __future__ import annotations

import pytest

BEGIN = """\
import gc, pathlib, random, signal, threading, time
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, signal.default_int_handler)
def descriptors():
    paths = [pathlib.Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return {os.readlink(path) for path in paths if path.is_symlink()}
def soon(seconds, number=signal.SIGINT):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    timer.start()
    return timer
def interrupted(function, seconds):
    "Call a function that a signal meets after so many seconds; its result, or None if it was interrupted."
    result = None
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-5))
        result = function()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    return result
"""

PROGRAMS = {
    # The signal comes while C computes between two callbacks; the second one must not take it for its own success.
    "Ctrl-C between two callbacks": """
        def program(x):
            x = jax.pure_callback(begin, x, x)
            x = jax.lax.fori_loop(0, 3_000_000, lambda i, x: jnp.sin(x) + x * 0.5, x)
            return jax.pure_callback(lambda y: y + 1, x, x)
        armed = False
        def begin(y):
            if armed: signal.setitimer(signal.ITIMER_REAL, 0.005)
            return y
        f = jax.jit(program)
        expected = f(np.float32(1))
        armed = True
        for _ in range(10):
            try:
                f(np.float32(1))
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError("Ctrl-C was lost")
        armed = False
        assert f(np.float32(1)) == expected
        """,
    "Ctrl-C before the first line of a callback": """
        from tinytrace.runtime import callbacks
        calls = 0
        def trace(frame, event, argument):
            global calls
            if event == "call" and frame.f_code.co_name == "_call" and frame.f_code.co_filename == callbacks.__file__:
                calls += 1
                raise KeyboardInterrupt
        f = jax.jit(lambda x: jax.pure_callback(lambda y: y + 1, x, x))
        assert f(np.float32(1)) == 2
        sys.settrace(trace)
        try:
            f(np.float32(1))
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("Ctrl-C was lost")
        finally:
            sys.settrace(None)
        assert calls == 1 and f(np.float32(1)) == 2
        """,
    "what a callback raises, of any class": """
        class Odd(BaseException): pass
        for error in (ValueError("a"), KeyboardInterrupt(), SystemExit(3), Odd(), StopIteration(), GeneratorExit()):
            def fail(y): raise error
            f = jax.jit(lambda x: jax.pure_callback(fail, x, x))
            for _ in range(3):
                try:
                    f(np.float32(1))
                except BaseException as caught:
                    assert caught is error, caught
                else:
                    raise AssertionError("lost")
        """,
    "Ctrl-C at random moments of tracing": """
        def deep(x, depth):
            for _ in range(depth):
                x = jax.vmap(lambda y: jnp.where(y > 0, jnp.sin(y), y))(x)
                x = jax.lax.cond(x[0] > 0, lambda z: z * 2, lambda z: z, x)
            return x
        x = np.linspace(-1, 1, 7, dtype=np.float32)
        def trace():
            return str(jax.make_jaxpr(jax.grad(lambda x: deep(x, 2).sum()))(x))
        expected = trace()
        begun = time.perf_counter(); trace(); whole = time.perf_counter() - begun
        random.seed(0)
        for _ in range(60):
            result = interrupted(trace, random.random() * whole)
            assert result is None or result == expected
            assert jnp.sin(0.0) == 0 and isinstance(jnp.ones(2) + 1, jax.Array)
        assert trace() == expected
        """,
    # Every call and return of the tracer is such a moment; the exception is kept, as interactive shells keep it.
    "Ctrl-C as any function of the tracer begins or returns": """
        from tinytrace.core.trace import bottom_trace, current_trace
        def trace():
            with jax.ensure_compile_time_eval():
                two = jnp.sum(jnp.ones(2))
            f = lambda x: jax.lax.cond(x[0] > 0, lambda z: z * two, jnp.sin, jax.vmap(jnp.cos)(x)).sum()
            return str(jax.make_jaxpr(jax.grad(f))(np.ones(3, np.float32)))
        expected = trace()
        def at_moment(number):
            "Trace with a Ctrl-C at the moment of that number, and return the moments there were."
            moments = []
            def moment(frame, event, argument):
                code = frame.f_code
                if not ("tinytrace" in code.co_filename or "contextlib" in code.co_filename):
                    return None
                frame.f_trace_lines = False
                if event in ("call", "return"):
                    moments.append((code, event))
                    if len(moments) == number:
                        raise KeyboardInterrupt
                return moment
            sys.settrace(moment)
            try:
                assert trace() == expected
            finally:
                sys.settrace(None)
            return moments
        numbers = {}
        for number, moment in enumerate(at_moment(0), 1):
            numbers.setdefault(moment, []).append(number)
        kept = []
        # Of each function's moments one: the first call, and the last return, when more is under way.
        for number in sorted({same[-1 if event == "return" else 0] for (_, event), same in numbers.items()}):
            try:
                at_moment(number)
            except KeyboardInterrupt as error:
                kept.append(error)
            assert current_trace() is bottom_trace, number
        assert len(kept) > 200, len(kept)
        del kept
        assert trace() == expected
        """,
    # A hit on disk stays on the main thread: every seventh of its steps in Python is such a moment.
    "Ctrl-C at moments of a hit on disk": """
        from tests.runtime.programs import adder, answer, expected
        from tinytrace.runtime import ladder
        source = adder(1)
        assert answer(ladder.load(source)) == expected(1)
        def mapped():
            return pathlib.Path("/proc/self/maps").read_text().count("tinytrace:")
        def hit_at_moment(number):
            "Find the program on disk, with a Ctrl-C at the moment of that number; how many moments there were."
            moments = 0
            def moment(frame, event, argument):
                nonlocal moments
                frame.f_trace_opcodes = "tinytrace" in frame.f_code.co_filename
                moments += event == "opcode"
                if event == "opcode" and moments == number:
                    raise KeyboardInterrupt
                return moment
            ladder.clear_memory()
            sys.settrace(moment)
            try:
                ladder.load(source)
            finally:
                sys.settrace(None)
            return moments
        hit_at_moment(0)
        moments, before = hit_at_moment(0), (descriptors(), mapped())
        assert ladder.stats.compiles == 1 and ladder.stats.disk_hits == 2 and moments > 300, (ladder.stats, moments)
        for number in range(1, moments, 7):
            try:
                hit_at_moment(number)
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError(f"Ctrl-C was lost at {number}")
            assert answer(ladder.load(source)) == expected(1)
            assert (descriptors(), mapped()) == before, number
        assert ladder.stats.compiles == 1
        """,
    "Ctrl-C at random moments of running": """
        f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
        x = np.ones((300, 300), np.float32) / 300
        expected = float(f(x))
        random.seed(2)
        def run():
            for _ in range(20): assert float(f(x)) == expected
            return True
        for _ in range(40):
            interrupted(run, random.random() * 0.02)
        assert run()
        """,
    # A handler runs on the main thread, in the middle of whatever that does.
    "a handler that calls the function which is being compiled": """
        answers = []
        def handler(number, frame):
            answers.append(float(f(np.float32(3))))
        signal.signal(signal.SIGUSR1, handler)
        for n in range(8):
            f = jax.jit(lambda x, n=n: jnp.cos(x) * (n + 2))
            f.eval_shape(np.float32(3))  # not while it is traced: then the handler's call would be part of the trace
            timer = soon(0.01 + 0.01 * n, signal.SIGUSR1)
            assert abs(float(f(np.float32(3))) - np.cos(3) * (n + 2)) < 1e-4
            timer.join()
            time.sleep(0.01)
            assert abs(answers[-1] - np.cos(3) * (n + 2)) < 1e-4
        assert len(answers) == 8
        """,
    "a handler that finds on disk what is found on disk": """
        from tests.runtime.programs import adder, answer, expected
        from tinytrace.runtime import ladder
        found = []
        def handler(number, frame):
            found.append(ladder.load(adder(1)))
            assert answer(found[-1]) == expected(1)
        signal.signal(signal.SIGUSR1, handler)
        ladder.load(adder(1))
        for name in ("artifact_key", "_from_memory", "Executable", "_remember"):
            before = getattr(ladder, name)
            def interrupted(*args):
                setattr(ladder, name, before)
                signal.raise_signal(signal.SIGUSR1)
                return before(*args)
            ladder.clear_memory()
            setattr(ladder, name, interrupted)
            executable = ladder.load(adder(1))
            assert answer(executable) == expected(1) and ladder.load(adder(1)) is executable
        assert len(found) == 4 and ladder.stats.compiles == 1, (found, ladder.stats)
        """,
    "a handler that compiles at every moment": """
        count = 0
        def handler(number, frame):
            global count
            count += 1
            with jax.ensure_compile_time_eval():
                assert float(jax.jit(lambda x: x * 2 + 1)(3.0)) == 7
            if not done: signal.setitimer(signal.ITIMER_REAL, 0.003)
        done = False
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        for n in range(6):
            f = jax.jit(lambda x: jnp.sum(jnp.sin(x)) * (n + 1))
            np.testing.assert_allclose(f(np.ones(5, np.float32)), np.sin(1) * 5 * (n + 1), 1e-5)
        done = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert count > 5, count
        """,
    # The main thread then holds the lock of all imports, and of the module: whatever compiles must import nothing.
    "a handler that compiles in the middle of an import": """
        import importlib.abc, importlib.util, warnings
        warnings.simplefilter("ignore")
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path=None, target=None):
                if name.startswith("interrupted"):
                    signal.raise_signal(signal.SIGUSR1)
                    return importlib.util.spec_from_loader(name, self)
            def exec_module(self, module):
                signal.raise_signal(signal.SIGUSR1)
        sys.meta_path.insert(0, Finder())
        imported, answers, number = [], [], 0
        def audit(event, arguments):
            if event == "import" and threading.current_thread() is not threading.main_thread():
                imported.append(arguments[0])
        sys.addaudithook(audit)
        def handler(*_):
            global number
            number += 1
            f = jax.jit(lambda x: sum(jnp.sin(x * i) for i in range((1 + number % 4) * 200)))
            answers.append(float(f(np.float32(0))))
        signal.signal(signal.SIGUSR1, handler)
        folder = os.environ["TINYTRACE_CACHE_DIR"]
        odd = pathlib.Path(folder).parent / "odd-compiler"
        odd.write_bytes(b"#!/bin/sh\\nprintf '\\\\377\\\\001 \\\\342\\\\200\\\\250'; exit 1\\n")
        odd.chmod(0o700)
        for compiler in ("", "", str(odd), "/no/such/compiler"):
            jax.config.update("tinytrace_compiler", compiler) if compiler else None
            __import__(f"interrupted{number}")
        assert answers == [0.0] * 8 and not imported, (answers, imported)
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_signals(sandbox, name):
    program = "\n".join(line[8:] for line in PROGRAMS[name].splitlines())
    sandbox.fork(BEGIN + program + "\nprint('right')", timeout=120).require_right()
