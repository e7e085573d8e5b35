"""A jitted function dies with its last name, whatever it went through: it leaves no cycles of references."""

import copy
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.transforms import staging


class Held:
    """Something that a function closes over."""


def raises(f):
    with pytest.raises(TypeError):
        f("no array")


# What a jitted function goes through before it is deleted; `f(x, n)` has a static n.
LIVES = {
    "made": lambda f: None,
    "called": lambda f: f(1.0, 2),
    "called again, on the hit path": lambda f: [f(jnp.ones(3), 2) for _ in range(5)],
    "called with keywords": lambda f: [f(x=np.ones(3), n=n) for n in (1, 2, 1)],
    "called with a tree": lambda f: f({"a": 1.0, "b": [2.0]}, 1),
    "failed": raises,
    "traced": lambda f: str(jax.make_jaxpr(lambda x: f(x, 2))(1.0)),
    "lowered": lambda f: f.lower(1.0, 2).as_text(),
    "compiled ahead": lambda f: f.lower(1.0, 2).compile()(1.0),
    "differentiated": lambda f: [jax.grad(lambda x: f(x, 2))(1.0), jax.vjp(lambda x: f(x, 2), 1.0)[1](1.0)],
    "mapped": lambda f: jax.vmap(lambda x: f(x, 2))(jnp.ones(3)),
    "called in a loop": lambda f: jax.lax.fori_loop(0, 3, lambda i, x: f(x, 2), 1.0),
    "called by another": lambda f: jax.jit(lambda x: f(x, 2))(1.0),
    "called as a method": lambda f: f.__get__(jnp.ones(2))(2),
    "not jitted": lambda f: with_disable_jit(lambda: f(1.0, 2)),
    "cleared": lambda f: [f(1.0, 2), f.clear_cache(), f(1.0, 2)],
    "copied": lambda f: copy.copy(f)(1.0, 2),
}


def with_disable_jit(call):
    with jax.disable_jit():
        return call()


def test_files_of_frames_are_remembered_in_a_bounded_number():
    """Each cell of a notebook is a file, and so is each text that is executed."""
    for n in range(3 * 8192):
        staging.is_internal(f"<cell {n}>")
    assert len(staging._is_internal) <= 8192 + 1
    assert not staging.is_internal(__file__)
    assert staging.is_internal(staging.__file__)


@pytest.mark.parametrize("life", LIVES)
def test_a_jitted_function_leaves_no_reference_cycles(life):
    """With its last name it dies, and with it the function, what that holds, and the tables."""
    gc.collect()
    gc.disable()
    try:
        references = lived(life)
        assert [name for name, reference in references.items() if reference() is not None] == []
    finally:
        gc.enable()


def test_what_is_made_once_leaves_nothing_that_refers_to_itself():
    """In a new process, with an empty store: the first compile, the first promotion, the first loop."""
    code = """if True:
        import gc
        import subprocess  # its first import leaves some
        import tinytrace as jax, tinytrace.numpy as jnp
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        jax.jit(lambda x: jnp.sin(x).sum())(jnp.ones(3))
        jax.lax.fori_loop(0, 3, lambda i, c: c + 1.0 * i, 1.0)
        gc.collect()
        print([x.__qualname__ for x in gc.garbage if hasattr(x, "__qualname__") and x.__module__ != "signal"])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def lived(life):
    """Weak references to a jitted function and to what belongs to it, after its life."""
    held = Held()

    def fun(x, n):
        return jax.tree.map(lambda x: x * n if held else x, x)

    f = jax.jit(fun, static_argnums=1, static_argnames="n")
    LIVES[life](f)
    objects = {"jitted": f, "function": fun, "held": held, "tables": f._cache}
    return {name: weakref.ref(x) for name, x in objects.items()}
