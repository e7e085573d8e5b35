"""Step 2: operations compute, or are written down."""

import numpy as np
import pytest
from hypothesis import given
from programs import SHAPES, SMOOTH, NumPy, arrays, close, few, function


@few
@given(SMOOTH, SHAPES)
def test_programs_compute_what_numpy_computes(m, text, shape):
    x, y = arrays(shape)
    got = function(text, m)(m.array(x), m.array(y))
    close(got, function(text, NumPy)(x, y))


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("m.arange(3) * 2", "Array([0, 2, 4], dtype=int32)"),
        ("m.arange(3.0) * 2", "Array([0., 2., 4.], dtype=float32)"),
        ("2.0 * m.arange(3)", "Array([0., 2., 4.], dtype=float32, weak_type=True)"),
        ("m.arange(3) + m.arange(3.0)", "Array([0., 2., 4.], dtype=float32)"),
        ("m.sin(0.0)", "Array(0., dtype=float32, weak_type=True)"),
        ("m.arange(3) > 1", "Array([False, False,  True], dtype=bool)"),
        ("1.0 - m.arange(2.0)", "Array([1., 0.], dtype=float32)"),
        ("-m.arange(2)", "Array([ 0, -1], dtype=int32)"),
    ],
)
def test_where_two_types_meet(m, program, shown):
    assert repr(eval(program, {"m": m})) == shown


def test_tracing_calls_the_function_once_and_never_with_numbers(m):
    seen = []

    def f(x):
        seen.append(x)
        return m.sin(x) * 2.0

    program = m.make_jaxpr(f)(3.0)
    assert [eqn.primitive.name for eqn in program.eqns] == ["sin", "mul"]
    assert len(seen) == 1
    assert not hasattr(seen[0], "value")
    assert seen[0].shape == ()


def test_what_touches_no_tracer_is_written_down_too(m):
    assert [eqn.primitive.name for eqn in m.make_jaxpr(lambda x: m.log(2.0))(1.0).eqns] == ["log"]


def test_a_tracer_knows_its_type(m):
    types = []

    def f(x):
        types.append((x[0].shape, x[0].dtype, len(x[1])))
        return x[0] * x[1]

    m.make_jaxpr(f)([m.arange(3), m.arange(3)])
    assert types == [((3,), np.int32, 3)]


def test_after_tracing_operations_compute_again(m):
    def fails(x):
        raise KeyError("x")

    with pytest.raises(KeyError):
        m.make_jaxpr(fails)(1.0)
    assert float(np.asarray(m.sin(0.0))) == 0.0
