"""The current trace: scopes are a stack, and what leaves one late changes nothing."""

from __future__ import annotations

import pytest

import tinytrace as jax
from tinytrace.core.trace import TraceScope, bottom_trace, current_trace
from tinytrace.transforms.staging import DynamicJaxprTrace


@pytest.fixture
def traces():
    return DynamicJaxprTrace(bottom_trace), DynamicJaxprTrace(bottom_trace)


def test_leaving_a_scope_leaves_those_entered_after_it(traces):
    outer, inner = map(TraceScope, traces)
    outer.__enter__()
    inner.__enter__()
    assert current_trace() is traces[1]
    outer.__exit__(None, None, None)
    assert current_trace() is bottom_trace
    inner.__exit__(None, None, None)  # a generator that was closed late
    assert current_trace() is bottom_trace


def test_a_scope_can_be_entered_again_but_not_twice(traces):
    scope = TraceScope(traces[0])
    for _ in range(2):
        with scope, pytest.raises(RuntimeError, match="entered twice"):
            scope.__enter__()
    assert current_trace() is bottom_trace


def test_ended_is_called_unless_the_block_raised(traces):
    calls = []
    with TraceScope(traces[0], calls.append):
        assert traces[0].alive
    assert calls == [traces[0]]
    assert not traces[0].alive
    with pytest.raises(ZeroDivisionError), TraceScope(traces[1], calls.append):
        _ = 1 / 0
    assert calls == [traces[0]]
    assert not traces[1].alive


def test_a_trace_whose_scope_was_left_from_outside_is_dead_too(traces):
    outer, inner = TraceScope(traces[0]), TraceScope(traces[1], lambda trace: None)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert not traces[1].alive
    assert traces[0].alive


def test_compile_time_evaluation_decorates_functions():
    @jax.ensure_compile_time_eval()
    def half(x):
        return jax.numpy.sum(jax.numpy.ones(3)) * 0.5 + x

    assert half(1.0) == 2.5
    assert jax.jit(half)(1.0) == 2.5
