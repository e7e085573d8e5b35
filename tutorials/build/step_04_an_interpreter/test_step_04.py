"""Step 4: programs run."""

import numpy as np
import pytest
from hypothesis import given
from programs import ANY, SHAPES, NumPy, arrays, close, few, function

import tinytrace as jax
import tinytrace.numpy as jnp


@few
@given(ANY, SHAPES)
def test_a_program_means_what_its_function_means(m, text, shape):
    x, y = arrays(shape)
    f = function(text, m)
    (got,) = m.eval_jaxpr(m.make_jaxpr(f)(m.array(x), m.array(y)), m.array(x), m.array(y))
    close(got, function(text, NumPy)(x, y))


@few
@given(ANY, SHAPES)
def test_jit_changes_nothing(m, text, shape):
    x, y = arrays(shape)
    close(m.jit(function(text, m))(x, y), function(text, NumPy)(x, y))


@few
@given(ANY)
def test_calls_print_as_tinytrace_prints_them(m, text):
    """Two calls of one function would share one text, which the steps do not do."""
    if text.count("where") > 1:
        return
    x, y = arrays((3,))
    ours = m.make_jaxpr(m.jit(function(text, m)))(m.array(x), m.array(y))
    assert str(ours) == str(jax.make_jaxpr(jax.jit(function(text, jnp)))(x, y))


def test_jit_takes_and_returns_containers(m):
    got = m.jit(lambda p: {"sum": p["a"] + p["b"][0], "none": None, "one": 1})({"a": 1.0, "b": (m.arange(2.0),)})
    assert np.asarray(got["sum"]).tolist() == [1, 2]
    assert (got["none"], int(got["one"])) == (None, 1)


def test_the_truth_of_a_tracer_is_refused(m):
    with pytest.raises(m.TracerBoolConversionError, match=r"^Attempted boolean conversion of traced array with shape "):
        m.jit(lambda x: x if x > 0 else -x)(1.0)
    assert issubclass(m.TracerBoolConversionError, TypeError)


def test_a_tracer_that_got_away_is_refused(m):
    kept = []
    m.jit(lambda x: [kept.append(x), x][1])(1.0)
    with pytest.raises(m.UnexpectedTracerError):
        m.sin(kept[0])


def test_a_tracer_says_what_it_is(m):
    shown = []
    m.make_jaxpr(lambda x: [shown.append(repr(x)), x][1])(3.0)
    assert shown == ["Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>"]


def test_calls_in_calls(m):
    inner = m.jit(lambda x: x * 2.0)
    outer = m.jit(lambda x: inner(inner(x)) + 1.0)
    assert float(outer(3.0)) == 13.0
    assert m.make_jaxpr(outer)(3.0).eqns[0].primitive.name == "pjit"
