"""The debugger: moves, values under the user's names, and changes."""
import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.inspection import recording as recording_module
from tinytrace.inspection.debugger.session import debugger
from tinytrace.inspection.recording import record
from tinytrace.testing.strategies import programs_with_arguments


def f(x):
    y = jnp.sin(x) * 2
    z = lax.fori_loop(0, 3, lambda i, c: c * y, x)
    w = jnp.log(z - 100)
    return w.sum()


LINE = f.__code__.co_firstlineno
X = jnp.arange(1.0, 4.0)


def primitive(session):
    return session.event.equation.primitive.name


@examples(150, fast=15)
@given(programs_with_arguments())
def test_a_recording_computes_what_the_program_computes(case):
    program, arguments = case
    closed = jax.make_jaxpr(program.function())(*arguments)
    with interpreting():
        recording = record(closed, [jnp.asarray(x) for x in arguments])
        expected = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
    assert recording.error is None
    for got, want in zip(recording.results, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    for event in recording.events:
        known = recording.values_at(event.number)
        assert all(atom in known for atom in event.equation.invars if isinstance(atom, jax.core.Var))


def test_step_next_out_and_back():
    session = debugger(f)(X)
    assert primitive(session) == "sin"
    assert primitive(session.step()) == "mul"
    assert primitive(session.step()) == "scan"
    assert primitive(session.step()) == "add"
    assert session.where()[0] == "in scan, run 0"
    assert primitive(session.out()) == "sub"
    assert primitive(session.back()) == "mul"
    assert session.where()[0] == "in scan, run 2"
    assert primitive(session.to(2).next()) == "sub"
    assert session.to(10**6).event is None
    assert session.where() == ["the end"]
    assert session.next().out().step().event is None


def test_until_line_primitive_nan_and_condition():
    session = debugger(f)(X)
    assert primitive(session.until(primitive="scan")) == "scan"
    assert primitive(session.to(0).until(line=LINE + 3)) == "sub"
    assert primitive(session.to(0).until(nan=True)) == "log"
    assert "z" in session.values
    assert primitive(session.to(0).until(condition=lambda v: bool((v["z"] > 10).any()))) == "sub"
    assert session.until(primitive="nothing").event is None


def test_until_nan_looks_at_complex_numbers():
    session = debugger(lambda z: jnp.exp(z * 2) + 1)(jnp.complex64(100 + 1j)).until(nan=True)
    assert primitive(session) == "exp"


def test_values_have_the_users_names():
    session = debugger(f)(X).until(primitive="log")
    np.testing.assert_allclose(session["y"], np.sin(X) * 2, rtol=1e-6)
    assert list(session.values)[:3] == ["x", "a", "y"]
    with pytest.raises(KeyError, match="no variable 'w' has a value here; there are: x, a, y"):
        session["w"]


def test_what_a_body_captures_has_its_name_there():
    session = debugger(f)(X).until(primitive="add")
    assert "y_1" in session.values
    np.testing.assert_array_equal(session["y"], session["y_1"])
    np.testing.assert_array_equal(session["y"], session.to(0).until(primitive="scan")["y"])


def test_a_changed_value_is_followed_by_everything_behind_it():
    session = debugger(f)(X).until(primitive="scan")
    session["y"] = np.full(3, 10.0, np.float32)
    session.until(primitive="log")
    np.testing.assert_array_equal(session["z"], np.arange(1, 4) * 1000)
    np.testing.assert_allclose(session.results[0], np.log(np.arange(1, 4) * 1000 - 100).sum(), rtol=1e-6)
    session["x"] = jnp.zeros(3)
    np.testing.assert_array_equal(session.until(primitive="log")["x"], 0)
    with pytest.raises(TypeError, match=r"f32\[3\] is wanted, not one of type f32\[2\]"):
        session["y"] = jnp.zeros(2)


def test_one_iteration_can_be_changed():
    session = debugger(lambda x: lax.fori_loop(0, 3, lambda i, c: c + 1.0, x))(0.0)
    session.until(primitive="add").until(primitive="add")
    inside = next(name for name, value in session.values.items() if value.dtype == jnp.float32)
    with pytest.raises(ValueError, match="comes into this program from outside"):
        session[inside] = 5.0


def test_errors_end_the_recording_and_are_raised_for_results():
    def broken(x):
        return jax.pure_callback(lambda y: 1 / 0, x, jnp.sin(x))
    session = debugger(broken)(1.0)
    assert primitive(session.step()) == "pure_callback"
    assert "ZeroDivisionError" in session.step().step().where()[0]
    with pytest.raises(ZeroDivisionError):
        session.results  # noqa: B018
    short = debugger(lambda x: lax.fori_loop(0, 100, lambda i, c: c + 1.0, x), limit=10)(0.0)
    with pytest.raises(RuntimeError, match="followed for 10 equations only"):
        short.results  # noqa: B018


def test_a_recording_keeps_no_more_than_so_many_bytes(monkeypatch):
    monkeypatch.setattr(recording_module, "LARGEST", 10_000)
    session = debugger(lambda x: lax.fori_loop(0, 100, lambda i, c: c + 1.0, x))(jnp.zeros(500))
    assert 5 < len(session.recording.events) < 20
    assert not session.recording.complete
    assert "until the limit" in session.page.extent()
    assert session.until(primitive="add")["i" if "i" in session.values else "loop_carry_0"] == 0


def test_a_program_without_equations_has_its_arguments():
    session = debugger(lambda x: x)(1.0)
    assert session["x"] == 1.0
    session["x"] = 2.0
    assert session.results == [2.0]


def test_a_jitted_function_with_static_arguments():
    session = debugger(jax.jit(lambda x, n, *, flag: x ** n if flag else x, static_argnums=1, static_argnames="flag"))(
        3.0, 2, flag=True)
    assert primitive(session) == "integer_pow"
    assert session.results == [9.0]


def test_reprs():
    recording = debugger(f)(X).recording
    assert repr(recording) == "<recording of 12 equations, with results>"
    assert repr(recording.outermost) == "<frame of the program: 6 equations>"
    assert repr(recording.events[5].frame) == "<frame of a body of event 2, run 1: 2 equations>"
