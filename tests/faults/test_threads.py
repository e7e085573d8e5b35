"""Threads that share arrays, jitted functions and containers: right answers, or clear errors, and no crash."""

from __future__ import annotations

import pytest

BEGIN = """\
import gc, threading
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
sys.setswitchinterval(1e-5)
failures = []
def together(work, count=16):
    start = threading.Barrier(count)
    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:
            failures.append(repr(error))
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not failures, failures[:3]
"""

PROGRAMS = {
    # The elements of an array that NumPy made are copied into the pool when the first program reads them: by each of
    # the threads, and the second block must not take the place of the first one, which is being read.
    "one large array of NumPy's": """
        f = jax.jit(lambda x: jnp.max(jnp.sin(x)))
        expected = float(np.sin(np.float32(1)))
        for _ in range(2):
            x = jnp.reshape(np.ones(16 << 20, np.float32), (2, 8 << 20))
            def work(number):
                np.testing.assert_allclose(float(f(x)), expected, 1e-6)
            together(work, 3)
        """,
    "one array of NumPy's, read and looked at": """
        f = jax.jit(lambda x: x + 1)
        source = np.arange(20_000, dtype=np.float32)
        f(source)
        for _ in range(60):
            x = jnp.reshape(source, (100, 200)).reshape(-1)
            def work(number):
                for _ in range(3):
                    assert (np.asarray(f(x)) == source + 1).all()
                    assert (np.asarray(x) == source).all()
            together(work, 8)
        """,
    "one function, cold": """
        for n in range(2):
            f = jax.jit(lambda x: jnp.tanh(x) * (n + 3))
            def work(number):
                np.testing.assert_allclose(f(np.ones(4, np.float32)), np.tanh(1) * (n + 3), 1e-5)
            together(work)
        """,
    "one function, warm": """
        f = jax.jit(lambda x, y: (x + y, [x, {"y": y}]))
        X = np.arange(100, dtype=np.float32)
        f(X, 1.0)
        def work(number):
            for i in range(300):
                out, [x, rest] = f(X, float(number))
                assert (np.asarray(out) == X + number).all() and float(rest["y"]) == number
        together(work)
        """,
    "a list that is renewed while it is read": """
        f = jax.jit(lambda xs: sum(xs))
        shared = [jnp.ones(3) for _ in range(8)]
        f(shared)
        stop = []
        def work(number):
            if number == 0:
                for _ in range(3000):
                    shared[:] = [jnp.ones(3) for _ in range(8)]
                stop.append(1)
            while not stop:
                assert (np.asarray(f(shared)) == 8).all()
        together(work, 5)
        """,
    "a dict that changes its size while it is read": """
        f = jax.jit(lambda d: sum(d.values()))
        shared = {str(i): jnp.ones(2) for i in range(4)}
        stop = []
        def work(number):
            if number == 0:
                for i in range(2000):
                    shared["other"] = jnp.ones(2)
                    del shared["other"]
                stop.append(1)
            while not stop:
                try:
                    assert float(f(shared)[0]) in (4.0, 5.0)
                except (RuntimeError, KeyError, ValueError) as error:  # Python's own answers to such a race
                    assert "dict" in str(error).lower() or "other" in str(error), error
        together(work, 5)
        """,
    "settings that change between calls": """
        f = jax.jit(lambda x: x * 2)
        f(1.0)
        stop = []
        def work(number):
            if number == 0:
                for i in range(300):
                    jax.config.update("jax_enable_x64", i % 2 == 0)
                jax.config.update("jax_enable_x64", False)
                stop.append(1)
            while not stop:
                assert float(f(1.5)) == 3.0
        together(work, 4)
        assert f(1.0).dtype == "float32", f(1.0).dtype
        """,
    "caches that are cleared between calls": """
        f = jax.jit(lambda x, n: x + n, static_argnums=1)
        stop = []
        def work(number):
            if number < 2:
                for _ in range(100):
                    (f.clear_cache if number else jax.clear_caches)()
                stop.append(1)
            while not stop:
                assert (np.asarray(f(np.ones(2, np.float32), number)) == number + 1).all()
        together(work, 5)
        """,
    "interned types": """
        from tinytrace.core.avals import ShapedArray
        made = [None] * 16
        for n in range(300):
            def work(number):
                made[number] = ShapedArray((n, 2, 3), np.dtype("float32"))
            together(work, 16 if n % 50 == 0 else 3)
            assert len({id(x) for x in made if x is not None and x.shape[0] == n}) == 1
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads(sandbox, name):
    program = "\n".join(line[8:] for line in PROGRAMS[name].splitlines())
    sandbox.fork(BEGIN + program + "\nprint('right')").require_right()


@pytest.mark.slow
def test_sixteen_threads_over_ten_thousand_keys(sandbox):
    """A function remembers its last 4,096 calls; every thread forgets and remembers at the same time."""
    sandbox.fork(BEGIN + """
# Traced, but not compiled: this is about the tables.
f = jax.jit(lambda x, n: x, static_argnums=1)
X = jnp.ones(2)
def work(number):
    for i in range(640):
        assert f(X, number * 640 + i) is X or (np.asarray(f(X, number * 640 + i)) == 1).all()
together(work)
assert f._cache_size() <= 4096
print('right')
""", timeout=240).require_right()
