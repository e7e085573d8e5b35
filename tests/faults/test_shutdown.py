"""Interpreters that end while something is compiled, run or remembered: in time, with their own status, silently."""

from __future__ import annotations

import pytest

BEGIN = """\
import atexit, gc, threading, time, weakref
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
X = np.linspace(-1, 1, 16, dtype=np.float32)
def check(n):
    np.testing.assert_allclose(jax.jit(lambda x: jnp.sin(x) * n + x)(X), np.sin(X) * n + X, 1e-5)
"""

PROGRAMS = {
    "in a function of atexit": """
        check(2)
        atexit.register(lambda: print("right"))
        atexit.register(lambda: (check(3), check(2)))
        """,
    "in a thread that outlives the main one": """
        def work():
            time.sleep(0.2)
            check(2); check(3)
            print("right")
        threading.Thread(target=work).start()
        """,
    "daemon threads that compile and run": """
        def work(number):
            while True: check(number * 1000 + int(time.time() * 10) % 4)
        for number in range(3): threading.Thread(target=work, args=(number,), daemon=True).start()
        check(2)
        print("right")
        """,
    "a thread that compiles in the background": """
        f = jax.jit(lambda x: jnp.sin(x).sum(), compile="background")
        f(X)
        print("right")
        """,
    "finalizers that call jitted functions": """
        f = jax.jit(lambda x: x + 1)
        f(1.0)
        class Last:
            def __del__(self, f=f, x=jnp.ones(3)):
                f(x)
        last = Last()
        module_cycle = [last]; module_cycle.append(module_cycle)
        print("right")
        """,
    "arrays, views and functions that live to the end": """
        f = jax.jit(lambda x: (x + 1, jax.debug.callback(lambda y: None, x))[0])
        kept = [np.asarray(f(X)), f(X), f]
        kept.append(kept)
        sys.modules["tinytrace.kept"] = kept
        print("right")
        """,
    "an exit inside of a callback": """
        def leave(y):
            print("right", flush=True)
            sys.exit(0)
        jax.jit(lambda x: jax.pure_callback(leave, x, x))(1.0)
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_shutdown(sandbox, name):
    program = "\n".join(line[8:] for line in PROGRAMS[name].splitlines())
    ended = sandbox.run(BEGIN + program).require_right()
    assert ended.errors == ""
