"""What is not used any more is given back: memory, mappings, descriptors, functions, over many shapes and lambdas."""

from __future__ import annotations

import pytest

BEGIN = """\
import gc, pathlib, weakref
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api import jit_cache
from tinytrace.api import loaded_code
from tinytrace.runtime import ladder
def mappings():
    return len(pathlib.Path("/proc/self/maps").read_text().splitlines())
def descriptors():
    return len(os.listdir("/proc/self/fd"))
def resident():
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4 // 1024  # MiB
def forgotten(make, *more):
    gc.collect()
    gc.disable()
    try:
        reference = weakref.ref(make())
        assert reference() is None, gc.get_referrers(reference())
    finally:
        gc.enable()
"""

PROGRAMS = {
    # Without the garbage collector: there are no cycles.
    "a jitted function": """
        def make():
            f = jax.jit(lambda x: x + 1)
            f(1.0); f(np.ones(3)); f(jnp.ones(3)); f(jnp.ones(3))
            return f
        make()
        forgotten(make)
        forgotten(lambda: make().__wrapped__)
        """,
    "a jitted method's instance": """
        class Model:
            @jax.jit
            def plain(x): return x
            def __call__(self, x): return x * 2
        def make():
            model = Model()
            f = jax.jit(model)
            f(1.0); f(1.0)
            return model
        forgotten(make)
        """,
    "what a function closes over": """
        class Held(np.ndarray): pass
        def make():
            big = np.ones(1000).view(Held)
            f = jax.jit(lambda x: x + np.asarray(big))
            f(1.0); f(1.0)
            return big
        make()
        forgotten(make)
        """,
    "the functions of callbacks": """
        def make():
            class Held: pass
            held = Held()
            def report(x): held
            f = jax.jit(lambda x: (jax.debug.callback(report, x), jax.pure_callback(lambda y: y, x, x))[1])
            f(1.0); f(1.0)
            return held
        reference = weakref.ref(make())
        gc.collect()
        assert reference() is None
        """,
    # The trace of a function is kept as long as the function: one that its own trace holds is for clear_caches.
    "a function in a callback of its own": """
        def make():
            class Held: pass
            held = Held()
            f = jax.jit(lambda x: (jax.debug.callback(lambda y: f and held and None, x), x)[1])
            f(1.0); f(1.0)
            return held
        reference = weakref.ref(make())
        jax.clear_caches()
        gc.collect()
        assert reference() is None
        """,
    "traced code": """
        def make():
            space = {}
            exec("def f(x): return jnp.sin(x) * 3", {"jnp": jnp}, space)
            jax.jit(space["f"])(1.0)
            return space["f"].__code__
        make()
        reference = weakref.ref(make())
        jax.clear_caches()
        gc.collect()
        assert reference() is None
        """,
    "a static value": """
        class Static:
            def __hash__(self): return 3
            def __eq__(self, other): return type(other) is Static
        f = jax.jit(lambda x, s: x, static_argnums=1)
        def make():
            static = Static()
            f(jnp.ones(2), static); f(jnp.ones(2), static)
            return static
        reference = weakref.ref(make())
        f.clear_cache()
        gc.collect()
        assert reference() is None
        """,
    # At once, not at the next call.
    "machine code, by clear_cache": """
        jnp.sin(1.0)
        jax.jit(lambda x: x + 1)(1.0)
        before = mappings()
        f = jax.jit(lambda x: x * 3 + 1)
        for n in range(1, 21): f(np.ones(n, np.float32)); f(np.ones(n, np.float32))
        assert mappings() >= before + 40
        f.clear_cache()
        assert mappings() <= before + 8, (before, mappings())
        """,
    "machine code, by clear_caches": """
        jax.jit(lambda x: x + 1)(1.0)
        before = mappings()
        functions = [jax.jit(lambda x, n=n: x * 3 + n) for n in range(20)]
        for f in functions: f(1.0); f(1.0)
        jax.lax.fori_loop(0, 3, lambda i, x: x * 2, 1.0)
        assert mappings() >= before + 40
        jax.clear_caches()
        assert mappings() <= before + 8, (before, mappings())
        assert float(functions[3](1.0)) == 6.0
        """,
    "machine code, beyond a bound": """
        loaded_code.MAX_LOADED = 16
        ladder._KEPT_IN_MEMORY = 8
        f = jax.jit(lambda x: x + 2)
        g = jax.jit(lambda x: x - 2)
        before = mappings()
        for n in range(1, 101):
            out = f(np.ones(n, np.float32))
            assert (np.asarray(out) == 3).all()
            if n > 90: assert (np.asarray(g(np.ones(n % 10, np.float32))) == -1).all()
            if n % 10 == 0:
                assert (np.asarray(f(np.ones(n // 2, np.float32))) == 3).all()
            assert mappings() <= before + 5 * (16 + 8 + 1), (before, mappings())
        """,
    "tables, beyond a bound": """
        jit_cache.MAX_ENTRIES = 64
        f = jax.jit(lambda x, n: x, static_argnums=1)
        x = jnp.ones(2)
        for n in range(1000):
            f(x, n)
            assert f._cache_size() <= 64
        cache = f._cache
        assert max(map(len, (cache.calls, cache.traces, cache.programs))) <= 64
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_given_back(sandbox, name):
    program = "\n".join(line[8:] for line in PROGRAMS[name].splitlines())
    sandbox.fork(BEGIN + program + "\nprint('right')").require_right()


@pytest.mark.slow
def test_twenty_thousand_lambdas(sandbox):
    """All of them do the same: they are traced, find one program, and are forgotten. A kept function would be 3 MiB."""
    sandbox.fork(BEGIN + """
def turn(n):
    for _ in range(n):
        assert jax.jit(lambda x: x * 2 + 1)(1.0) == 3.0
x = jnp.ones(2)
turn(2000)
before = resident(), mappings(), descriptors()
turn(18_000)
after = resident(), mappings(), descriptors()
assert after[0] <= before[0] + 2, (before, after)
assert after[1] <= before[1] + 20 and after[2] == before[2], (before, after)
print('right')
""", timeout=600).require_right()


@pytest.mark.slow
def test_ten_thousand_shapes(sandbox):
    """Of one function: the tables keep 4,096, machine code is loaded for as many. The compiler is left out of it."""
    sandbox.fork(BEGIN + """
# Every shape has a program of its own that hands its argument through, a jaxpr, a trace and a type.
f = jax.jit(lambda x: (x, 1.0))
def turn(first, last):
    for n in range(first, last):
        f(np.zeros((n, 0), np.float32))
turn(1, 5000)
before = resident(), mappings(), descriptors()
turn(5000, 10_000)
after = resident(), mappings(), descriptors()
assert f._cache_size() <= 4096
assert after[0] <= before[0] + 12, (before, after)
assert after[1] <= before[1] + 20 and after[2] == before[2], (before, after)
print('right')
""", timeout=300).require_right()
