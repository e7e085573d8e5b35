"""What users see of an error: their own frames, JAX's message, their expression, and a line that would do."""
import functools
import json
import linecache
import re
import subprocess
import sys
import traceback

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.conftest import ROOT
from tests.goldens.mistakes_of_beginners import MISTAKES
from tests.goldens.tracebacks import FILE, shown
from tinytrace.config import override
from tinytrace.tracebacks import REMOVED, UnfilteredStackTrace

ORACLE = json.loads((ROOT / "tests" / "goldens" / "tracebacks.json").read_text())
PACKAGE = str(ROOT / "tinytrace")


@pytest.fixture
def quiet():
    with override("traceback_filtering", "quiet_remove_frames"):
        yield


def same(message):
    """A message without addresses, and without the frames that JAX keeps of a tracer's birth."""
    message = re.sub(r"When the value was created, the final.*?\n-+\n.*?\n-+\n", "", message, flags=re.DOTALL)
    return re.sub("0x[0-9a-f]+", "0x", message)


def notes_of(name):
    return [note for note in shown(MISTAKES[name].program, jax, jnp).notes if note != REMOVED]


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.usefixtures("quiet")
def test_mistakes_of_beginners(name):
    mistake, jax_shows = MISTAKES[name], ORACLE[name]
    found = shown(mistake.program, jax, jnp)
    assert found.frames <= jax_shows["frames"]
    assert (found.error, same(found.message)) == (jax_shows["error"], same(jax_shows["message"]))
    assert any(mistake.expression in note and FILE in note for note in found.notes), found.notes
    if mistake.repaired:
        assert any(note.startswith("This would do: ") and mistake.repaired in note for note in found.notes), found.notes


@pytest.mark.usefixtures("quiet")
def test_notes_are_those_of_the_golden_file(golden):
    texts = [f"## {name}\n{mistake.program}\n\n" + "\n".join(notes_of(name)) for name, mistake in MISTAKES.items()]
    golden("mistakes_of_beginners.txt", "\n\n".join(texts) + "\n")


REPAIRS = [name for name, mistake in MISTAKES.items()
           if mistake.repaired and name not in ("while", "range", "nonzero", "shape_of_value", "arange_of_value",
                                                "reshape_of_value", "in")]


@pytest.mark.parametrize("name", REPAIRS)
@pytest.mark.usefixtures("quiet")
def test_the_line_that_would_do_does(name):
    """Put in the place of the statement that is wrong, it runs."""
    program = MISTAKES[name].program
    line = next(note for note in notes_of(name) if note.startswith("This would do: ")).removeprefix("This would do: ")
    lines = program.split("\n")
    wrong = next(k for k, text in enumerate(lines) if MISTAKES[name].expression in text)
    indent = len(lines[wrong]) - len(lines[wrong].lstrip())
    end = wrong + 1
    if lines[wrong].lstrip().startswith("if "):  # with the branches, and what is behind them
        end = next(k for k in range(wrong, len(lines)) if lines[k] == "")
    repaired = [*lines[:wrong], " " * indent + line, *lines[end:]]
    exec("\n".join(repaired), {"jax": jax, "jnp": jnp, "np": np, "partial": functools.partial})


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("line", "would_do"), [
    ("fit = jax.grad(f)(jnp.ones(3))", "fit = jax.grad(lambda *args: f(*args).sum())(jnp.ones(3))"),
    ("e = 2; é = x + np.sin(x)", "é = x + jnp.sin(x)"),
    ("s = 'xx' if x else x", "s = jnp.where(x, 'xx', x)"),
    ("y = (x if x > 0 else\n     -x)", "y = (jnp.where(x > 0, x, -x))"),
])
def test_only_the_expression_is_replaced(line, would_do):
    def f(x):
        return x * 2

    names = {"jax": jax, "jnp": jnp, "np": np, "f": f}
    body = "\n".join("    " + part for part in line.split("\n"))
    program = f"@jax.jit\ndef g(x):\n{body}\n    return x\ng(1.0)\n"
    linecache.cache["mine.py"] = (len(program), None, program.splitlines(True), "mine.py")
    with pytest.raises(TypeError) as caught:
        exec(compile(program, "mine.py", "exec"), names)
    assert f"This would do: {would_do}" in caught.value.__notes__


def frames(error):
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def fails():
    def f(x):
        return x if x > 0 else -x

    return jax.jit(jax.grad(f))(1.0)


@pytest.mark.parametrize("mode", ["off", "quiet_remove_frames", "remove_frames", "tracebackhide"])
def test_modes(mode):
    with override("traceback_filtering", mode), pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        fails()
    error = caught.value
    inside = [name for name in frames(error) if name.startswith(PACKAGE)]
    notes = getattr(error, "__notes__", [])
    assert bool(inside) == (mode in ("off", "tracebackhide"))
    assert (REMOVED in notes) == (mode == "quiet_remove_frames")
    assert bool(notes) == (mode != "off")
    assert isinstance(error.__cause__, UnfilteredStackTrace) == (mode == "remove_frames")
    if mode == "remove_frames":
        assert any(name.startswith(PACKAGE) for name in frames(error.__cause__))
        assert "The stack trace below excludes JAX-internal frames." in str(error.__cause__)
    if mode == "tracebackhide":
        hidden = [frame.f_locals.get("__tracebackhide__", False) for frame, _ in traceback.walk_tb(error.__traceback__)
                  if frame.f_code.co_filename.startswith(PACKAGE)]
        assert all(hidden)


def test_unknown_modes_are_refused():
    with pytest.raises(ValueError, match="new enum value must be in"):
        jax.config.update("jax_traceback_filtering", "loud")


@pytest.mark.usefixtures("quiet")
def test_errors_of_users_are_theirs():
    """What the user's own code raises has its frames, and no note of ours but the one that says what was removed."""
    def f(x):
        return {}["missing"]

    with pytest.raises(KeyError) as caught:
        jax.jit(jax.vmap(f))(jnp.ones(3))
    assert caught.value.__notes__ == [REMOVED]
    assert frames(caught.value) == [__file__, __file__]


@pytest.mark.usefixtures("quiet")
def test_awkward_errors_of_users_pass():
    """One that refuses notes, one that is raised twice, one that cannot print itself."""
    class Awkward(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    awkward = Awkward()
    awkward.__notes__ = "not a list"
    twice = ValueError("twice")

    def f(error):
        raise error

    for error in (awkward, twice, twice):
        with pytest.raises(type(error)) as caught:
            jax.jit(lambda x, error=error: f(error))(1.0)
        assert caught.value is error
    assert awkward.__notes__ == "not a list"
    assert twice.__notes__ == [REMOVED]


@pytest.mark.usefixtures("quiet")
def test_causes_are_short_too():
    def f(x):
        try:
            return bool(x > 0)
        except jax.errors.TracerBoolConversionError as error:
            raise RuntimeError("in vain") from error

    with pytest.raises(RuntimeError) as caught:
        jax.jit(f)(1.0)
    assert set(frames(caught.value) + frames(caught.value.__cause__)) == {__file__}


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("source", ["", "x = (", "# something else\n" * 30])
def test_source_that_is_not_there(source, monkeypatch):
    """Without the source, or with another one, the error is the same, and has no wrong note."""
    monkeypatch.setattr("tests.goldens.tracebacks.linecache.cache", {FILE: (1, None, source.splitlines(True), FILE)})
    names = {"jax": jax, "jnp": jnp}
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        exec(compile("jax.jit(lambda x: 1 if x else 2)(1.0)", FILE, "exec"), names)
    assert [note for note in caught.value.__notes__ if "This would do" in note] == []


PROGRAM = """
import {library} as jax, {library}.numpy as jnp
def f(x):
    if x > 0:
        return x
    return -x
jax.jit(jax.grad(f))(1.0)
"""
IN_IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
shell.run_cell({program!r})
"""


@pytest.mark.not_quick
@pytest.mark.parametrize("ipython", [False, True])
def test_what_is_printed(ipython, tmp_path):
    program = PROGRAM.format(library="tinytrace")
    (tmp_path / "mine.py").write_text(IN_IPYTHON.format(program=program) if ipython else program)
    run = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
                         env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    printed = run.stdout + run.stderr
    assert "if x > 0" in printed
    assert "TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[]." in printed
    assert "The expression is `x > 0` (" in printed
    assert "This would do: return jnp.where(x > 0, x, -x)" in printed
    places = re.findall(r"^(?:  )?(?:File |Cell In)", printed, re.MULTILINE)
    assert len(places) == 2 + ipython  # IPython shows the last frame, hidden or not
    assert len(re.findall(r"tinytrace/\w+/\w+\.py", printed)) == ipython


def loss(x):
    y = jnp.sqrt(x)
    z = jax.lax.fori_loop(0, 3, lambda i, c: c - y / x, x)
    return jnp.log(z - 1).sum()


FIRST = loss.__code__.co_firstlineno
IN_LOOP = f"(test_tracebacks.py:{FIRST + 2}, loss.<locals>.<lambda>)"


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("fun", "x", "wanted"), [
    (jax.jit(loss), [1, 1], rf"log \w+` \(test_tracebacks.py:{FIRST + 3}, loss\), with \w+ = \[-3., -3.\]"),
    (jax.jit(loss), [0, 0], f"{re.escape(IN_LOOP)}, in scan, run 0, with "),
    (loss, [0, 0], f"{re.escape(IN_LOOP)}, in scan, run 0, with "),
    (jax.jit(jax.grad(loss)), [0, 0], rf"div \w+ x` {re.escape(IN_LOOP)}, with "),
    (lambda x: jnp.log(x), [-1, 4], r"log \w+` \(.*\), with \w+ = \[-1.,  ?4.\]"),
    (jax.jit(lambda x: x / x), [0, 0], r"div x x` \(.*\), with x = \[0., 0.\]\.$")])
def test_the_equation_that_made_a_nan_is_named(fun, x, wanted):
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="invalid value") as caught:
        fun(jnp.array(x, jnp.float32))
    (note,) = [note for note in caught.value.__notes__ if note.startswith("The equation is `")]
    assert re.search(wanted, note), note
