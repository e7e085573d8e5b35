"""What is logged is what JAX 0.4.35 logs: the texts below are its own, but for ids, lines and times."""
import os
import re
import subprocess
import sys

import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.config import config

X3, X4 = jnp.ones(3), jnp.ones(4)


@pytest.fixture
def told(caplog):
    """Asks for logging, and gives what was logged since it was last asked."""
    before = config.values

    def messages(option, thunk):
        config.update(option, True)
        caplog.clear()
        try:
            thunk()
        finally:
            config.update(option, False)
        return [re.sub(r"at \S+:\d+(:\d+)? \(.*\)", "at LINE", re.sub(r"id=\d+", "id=1", re.sub(
            r" defined at \S+", " defined at PLACE", re.sub(r"\d\.\d+ sec", "T sec", message))))
            for message in caplog.messages]

    yield messages
    for name, value in before.items():
        config.update(name, value)


def explained(told, thunk):
    (message,) = told("jax_explain_cache_misses", thunk)
    return message


def test_types(told):
    f = jax.jit(lambda x, y=1.0: x)
    assert explained(told, lambda: f(X3)) == (
        "TRACING CACHE MISS at LINE because:\n  never seen function:\n    test_types.<locals>.<lambda> id=1"
        " defined at PLACE")
    assert explained(told, lambda: f(X4)) == (
        "TRACING CACHE MISS at LINE because:\n  for test_types.<locals>.<lambda> defined at PLACE\n"
        "  never seen input type signature:\n    x: f32[4]\n"
        "  closest seen input type signature has 1 mismatches, including:\n"
        "    * at x, seen f32[3], but now given f32[4]")
    g = jax.jit(lambda x: x)
    g(jnp.float32(1))
    assert explained(told, lambda: g(1.0)).splitlines()[4:] == [
        "  closest seen input type signature has 1 mismatches, including:",
        "    * at x, seen f32[]{weak_type=False}, but now given f32[]{weak_type=True}",
        "where weak_type=True often means a Python builtin numeric value, and ",
        "weak_type=False means a jax.Array.",
        "See https://jax.readthedocs.io/en/latest/type_promotion.html#weak-types"]


def test_arguments(told):
    f = jax.jit(lambda x, y=1.0: x)
    f(X3)
    assert explained(told, lambda: f(X3, y=X3)).splitlines()[2:] == [
        "  never seen passing 1 positional args and 1 keyword args with keys:", "    'y'",
        "  closest seen is passing no keyword args"]
    assert explained(told, lambda: f({"a": X3})).splitlines()[2:] == [
        "  never seen passing 1 positional args and 0 keyword args with keys:", "    ",
        "  closest seen is passing no keyword args"]


def test_contexts(told):
    f = jax.jit(lambda x: x)
    f(X3)
    with jax.enable_x64():
        message = explained(told, lambda: f(X3))
    assert message.splitlines()[2:5] == [
        "  tracing context doesn't match, e.g. due to config or context manager",
        "  closest seen context tuple differs at positions:", "    0"]


def test_functions_made_again_on_one_line(told):
    messages = [explained(told, lambda: jax.jit(lambda x: x)(X3)) for _ in range(2)]
    assert messages[1] == messages[0] + (
        "\n  but seen another function defined on the same line; maybe the function is\n"
        "  being re-defined repeatedly, preventing caching?")


def test_static_arguments(told):
    f = jax.jit(lambda x, n: x, static_argnums=1)
    f(X3, 1)
    assert explained(told, lambda: f(X3, 2)).splitlines()[-1] == "    * at n, seen 1, but now given 2"


def test_compiles(told):
    @jax.jit
    def named(x, y, unused):
        return x * y + 1

    messages = told("jax_log_compiles", lambda: named(X3, jnp.float32(2), X4))
    assert messages == [
        "Finished tracing + transforming named for pjit in T sec",
        "Compiling named with global shapes and types [ShapedArray(float32[3]), ShapedArray(float32[])]. "
        "Argument mapping: (UnspecifiedValue, UnspecifiedValue).",
        "Finished jaxpr to MLIR module conversion jit(named) in T sec",
        "Finished XLA compilation of jit(named) in T sec"]
    assert told("jax_log_compiles", lambda: named(X3, jnp.float32(2), X4)) == []


def test_within_a_context(caplog):
    f = jax.jit(lambda x: x + 5)
    with jax.log_compiles(), jax.explain_cache_misses():
        f(X3)
    f(X4)
    assert [message.split()[0] for message in caplog.messages] == ["Finished", "TRACING", "Compiling", "Finished",
                                                                   "Finished"]


@pytest.mark.not_quick
def test_topics_of_the_environment():
    code = "import tinytrace as jax\nf = jax.jit(lambda x: x + 3)\nf(1.0)\nf(1.0)\nf(2)"
    environment = {**os.environ, "TINYTRACE_LOG": "trace,cache,compile,passes"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("trace", "miss", "load", "pass"))] == \
        ["miss", "trace", "pass", "load"] * 2
    assert "new key: x.dtype: f32 -> i32" in done.stderr
    plain = [line for line in lines if line.startswith(("trace", "load"))]
    assert [line for line in plain if not re.fullmatch(r"\w+ [<\w >]+ in \d+\.\d{3} ms", line)] == []
    environment["TINYTRACE_LOG"] = "traces"
    done = subprocess.run([sys.executable, "-c", "import tinytrace"], env=environment, capture_output=True, text=True,
                          check=False)
    assert "there is no topic 'traces', there are trace, cache, compile, passes" in done.stderr
