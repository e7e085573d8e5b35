"""The prompt of `jax.debug.breakpoint`, and looks at shardings; JAX's answers are in tests/goldens/debugging.txt."""

import importlib.util
import io
import threading

import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import breakpoints


class Typing(io.StringIO):
    """A stream on which somebody types: Ctrl-C where a line says so."""

    def readline(self, *args):
        line = super().readline(*args)
        if line == "^C\n":
            raise KeyboardInterrupt
        return line


def stopping(commands, **options):
    out = io.StringIO()

    @jax.jit
    def f(x):
        jax.debug.breakpoint(stdin=Typing("\n".join([*commands, ""])), stdout=out, **options)
        return 2 * x

    return f, out


def test_control_c_goes_back_to_the_prompt(capsys):
    f, out = stopping(["^C", "p x", "c"])
    assert f(3) == 6
    assert capsys.readouterr().out == "--KeyboardInterrupt--\n"
    assert out.getvalue().endswith("(jdb) Array(3, dtype=int32)\n(jdb) ")


@pytest.mark.parametrize("end", ["q", "exit", "EOF"])
def test_quitting_ends_the_program(end):
    f, _ = stopping([end])
    with pytest.raises(SystemExit):
        f(3)


def test_source_is_shown_around_the_line():
    f, out = stopping(["l", "bt", "u", "p commands", "c"], num_frames=2)
    f(3)
    text = out.getvalue()
    assert "->          jax.debug.breakpoint(stdin=" in text
    assert "return 2 * x" in text
    assert text.index("f(3)") < text.rindex("jax.debug.breakpoint(stdin=")  # the innermost frame is the last
    assert "*** NameError: name 'commands' is not defined" in text  # of a frame that is not on the stack any more


def test_debuggers_of_users():
    seen = []
    breakpoints.register_debugger("mine", lambda frames, thread, **options: seen.append((frames, thread, options)), -5)
    try:
        with pytest.raises(ValueError, match=r'^Debugger with name "mine" already registered\.$'):
            breakpoints.register_debugger("mine", print, 1)

        @jax.jit
        def f(x):
            y = [x, {"k": x * 2}, object]
            jax.debug.breakpoint(backend="mine", num_frames=1, shown=True)
            return y[1]["k"]

        worker = threading.Thread(target=f, args=(jnp.float32(4),))
        worker.start()
        worker.join()
    finally:
        del breakpoints._debuggers["mine"]
    [([frame], thread, options)] = seen
    assert (frame.locals["y"][1]["k"].tolist(), frame.locals["y"][2]) == (8.0, object)
    assert thread not in (None, threading.get_ident())
    assert options == {"shown": True}


def test_all_frames_can_be_asked_for():
    f, out = stopping(["bt", "c"], filter_frames=False)
    f(3)
    assert "tinytrace" in out.getvalue().partition("Traceback:")[2]


def test_a_variable_that_is_no_tree_is_shown_as_none():
    class Failing:
        pass

    def fail(_):
        raise RuntimeError

    jax.tree_util.register_pytree_node(Failing, fail, lambda aux, leaves: Failing())
    out = io.StringIO()
    value = Failing()
    jax.debug.breakpoint(stdin=io.StringIO("p value\nc\n"), stdout=out, num_frames=1)
    assert "(jdb) <cant_flatten>" in out.getvalue()
    assert value


def test_drawing_needs_rich(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^`visualize_sharding` requires `rich` to be installed\.$"):
        jax.debug.visualize_array_sharding(jnp.ones(3))


def test_drawing(capsys):
    pytest.importorskip("rich")
    jax.debug.visualize_array_sharding(jnp.ones((2, 4)), use_color=False, scale=0.4)
    assert capsys.readouterr().out.splitlines()[1:3] == ["│                  │", "│      CPU 0       │"]
    with pytest.raises(ValueError, match="only works for shapes with 1 and 2 dimensions"):
        jax.debug.visualize_array_sharding(jnp.ones((2, 4, 1)))
