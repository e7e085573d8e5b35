"""Assertions about one function: they accept what is right, and say what is wrong."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tinytrace.core.primitive import Primitive, registry
from tinytrace.testing import (
    FAULTS,
    CacheMachine,
    arrays,
    assert_backends_agree,
    assert_cache_invariants,
    assert_primitive_complete,
    assert_roundtrip,
    assert_transform_laws,
    cases,
    count_compiles,
    count_traces,
    state_machine,
)

X = jnp.arange(4.0) - 1.5


def f(x):
    return jnp.where(x > 0, jnp.tanh(x) * 2, jnp.maximum(x, -1.0)).sum(), {"y": -x}


def test_a_right_function_is_accepted():
    assert_backends_agree(f, X)
    assert_roundtrip(f, X)
    assert_cache_invariants(f, X)
    assert_transform_laws(f, X, smooth=True)


@given(cases(2, 3))
@examples(15)
def test_drawn_programs_are_accepted(case):
    program, arguments = case
    assert_roundtrip(program.function(), *arguments)


@pytest.mark.parametrize(("fault", "check", "message"), [
    ("lost NaN", lambda: assert_backends_agree(lambda x: jnp.maximum(x, 0.0), jnp.float32([1, np.nan])),
     r"kernels and jaxpr of[^~]*element \(1,\)"),
    ("wrong C", lambda: assert_backends_agree(lambda x: x - 3, X), r"C and jaxpr of[^~]*result 0: float32\[4\]"),
    ("literal without its sign", lambda: assert_roundtrip(lambda x: x * -2.0, X), "reads back as another program"),
    ("stale entry", lambda: assert_cache_invariants(f, X), "traced 0 times"),
    ("remembered answer", lambda: assert_cache_invariants(f, X), "a call with other values"),
    ("wrong batch axis", lambda: assert_transform_laws(lambda x: jnp.flip(x, 0), X), "mapped|under vmap"),
    ("wrong sign of a tangent", lambda: assert_transform_laws(jnp.sin, X, smooth=True), "difference quotient"),
])
def test_what_is_wrong_is_said(fault, check, message):
    with FAULTS[fault].planted(), pytest.raises(AssertionError, match=message):
        check()


def test_a_function_that_changes_its_mind_is_found():
    calls = []

    def counting(x):
        calls.append(None)
        return x + len(calls)

    with pytest.raises(AssertionError):
        assert_cache_invariants(counting, X)


def test_a_silent_primitive_is_found():
    class Silent(Primitive):
        name = "silent"

        def abstract_eval(self, x):
            return x

    silent = Silent()
    try:
        with pytest.raises(AssertionError, match="silent about impl"):
            assert_primitive_complete(silent)
    finally:
        del registry["silent"]
    assert_primitive_complete("add", [((np.float32([1, 2]), np.float32([3, 4])), {})])


def test_counters():
    double = jax.jit(lambda x: x * 2)
    other = jax.jit(lambda x: x * 3)
    with count_traces() as all_traces, count_traces(double) as traces, count_compiles() as compiles:
        double(1.0), double(2.0), double(1), other(1.0)
        assert (all_traces(), traces()) == (3, 2)
        assert repr(traces) == "2"
        assert compiles() <= 3


def test_complex_numbers_are_compared_by_their_parts():
    z = np.complex64([1 + 2j, -0.5j, 3])

    def wave(z):
        return jnp.exp(z * 1j) / (z + 4), jnp.sum(jnp.conj(z) * z)

    assert_backends_agree(wave, z)
    assert_transform_laws(wave, z, smooth=True)
    wrong = jax.custom_jvp(lambda z: z * z)
    wrong.defjvps(lambda g, out, z: g * z)
    with pytest.raises(AssertionError, match="difference quotient"):
        assert_transform_laws(wrong, z, smooth=True)


# --- state machines ----------------------------------------------------------------------------------------------

FEW = settings(max_examples=4, stateful_step_count=8, deadline=None)


class TestCaches(CacheMachine.TestCase):
    settings = FEW


TestMine = state_machine(lambda x, y: (x * 2 + y, jnp.sum(y)),
                         st.tuples(arrays("float32", (2,), 4.0), arrays("float32", (2,), 4.0))).TestCase
TestMine.settings = FEW


@pytest.mark.parametrize("fault", ["stale entry", "key without dtype"])
def test_a_state_machine_finds_what_is_planted(fault):
    class Kinds(CacheMachine):
        arguments = st.tuples(arrays("float32", (2,), 4.0) | arrays("int32", (2,)))

    run = Kinds.TestCase("runTest")
    run.settings = settings(max_examples=60, stateful_step_count=8, deadline=None, database=None, derandomize=True,
                            report_multiple_bugs=False, phases=[Phase.generate])
    with FAULTS[fault].planted(), pytest.raises(AssertionError):
        run.runTest()
