"""The debugger's commands in a terminal; in a notebook it is the session that shows itself."""
import io
import types

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.inspection.debugger.test_session import X, f
from tinytrace.inspection.debugger.session import Session, debugger
from tinytrace.inspection.debugger.terminal import Terminal


def test_the_terminal_speaks_all_commands():
    script = "s\nn\n\nb 2\nb x\np 'z\nu\nu nan\np z\nset y = 1\nset q = 1\nu scan\ns\no\nw\nh\nc\nq\n"
    terminal = Terminal(debugger(f)(X), stdin=io.StringIO(script), stdout=io.StringIO())
    terminal.use_rawinput = False
    terminal.cmdloop()
    said = terminal.stdout.getvalue()
    assert "->    w:f32[3] = log d" not in said
    assert "-> w:f32[3] = log d" in said
    assert "until what?" in said
    assert "back by how many?" in said
    assert "no variable 'q' has a value here" in said
    assert "z = Array([" in said
    assert said.count("(jaxpr)") == script.count("\n")
    assert "h: this list" in said


def test_tinytrace_debug_is_the_terminal_and_still_the_module(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("s\nq\n"))
    monkeypatch.setattr(Terminal, "use_rawinput", False)
    (result,) = jax.debug(jnp.sin)(0.0)
    assert result == 0.0
    assert "-> a:f32[] = sin x" in capsys.readouterr().out
    assert callable(jax.debug.print)


def test_in_a_notebook_the_session_is_returned(monkeypatch):
    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(jax.debug.sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    session = jax.debug(f)(X)
    assert isinstance(session, Session)
    assert session._repr_html_().startswith("<iframe srcdoc=")
