"""Step 10: when a call is a hit."""

import functools

import numpy as np
import pytest


def counted(m, **options):
    """A jitted function, and the list that grows whenever it is traced."""
    traces = []

    def f(x, n=2):
        traces.append(x)
        return x * n

    return m.jit(f, **options), traces


@pytest.mark.parametrize(
    ("calls", "entries"),
    [
        ("f(1.0); f(2.0); f(3.5)", 1),
        ("f(1.0); f(1)", 2),
        ("f(m.arange(3.0)); f(m.ones(3)); f(m.zeros(3))", 1),
        ("f(m.arange(3.0)); f(m.arange(4.0)); f(m.arange(3))", 3),
        ("f(1.0); f(m.array(1.0))", 2),
        ("f([1.0, 2.0][0]); f(True)", 2),
        ("f(2.0, 3); f(2.0, 4); f(2.0, 4.0)", 2),
        ("f(2.0, 3); f(2.0, n=3)", 2),
    ],
)
def test_kinds_of_calls(m, calls, entries):
    f, traces = counted(m)
    exec(calls, {"f": f, "m": m, "np": np})
    assert f._cache_size() == entries
    assert len(traces) <= entries
    exec(calls, {"f": f, "m": m, "np": np})
    assert f._cache_size() == entries
    f.clear_cache()
    assert f._cache_size() == 0


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnums": (1,)}, {"static_argnames": ["n"]}])
def test_static_arguments_are_part_of_the_key(m, options):
    f, traces = counted(m, **options)
    assert [float(f(2.0, n)) for n in (3, 4, 3, 4)] == [6, 8, 6, 8]
    assert f._cache_size() == len(traces) == 2


def test_a_static_argument_is_a_value_while_tracing(m):
    @functools.partial(m.jit, static_argnames="flag")
    def f(x, flag):
        return m.sin(x) if flag else m.cos(x)

    assert [float(f(0.0, flag=flag)) for flag in (True, False, True)] == [0, 1, 0]
    assert f._cache_size() == 2


def test_jit_of_the_same_function_is_shared_and_of_another_not(m):
    traces = []

    def body(x):
        traces.append(x)
        return x + 1

    for _ in range(5):
        m.jit(body)(1)
    assert len(traces) == 1
    for _ in range(5):
        m.jit(lambda x: body(x))(1)
    assert len(traces) == 6


def test_what_is_known_besides_the_leaves_is_part_of_the_key(m):
    class Box:
        def __init__(self, x, label):
            self.x, self.label = x, label

    m.register_pytree_node(Box, lambda b: ((b.x,), {"label": b.label}), lambda aux, xs: Box(*xs, **aux))
    f = m.jit(lambda b: b.x * 2.0)
    for box in (Box(1.0, "a"), Box(2.0, "a"), Box(1.0, "b")):
        f(box)
    assert f._cache_size() == 2


def test_the_error_names_the_function_and_the_argument(m):
    def relu(x, slope):
        return x if x > 0 else slope * x

    with pytest.raises(m.TracerBoolConversionError) as caught:
        m.jit(relu)(1.0, 0.1)
    line = relu.__code__.co_firstlineno
    assert str(caught.value).splitlines()[1] == (
        f"The error occurred while tracing the function relu at {__file__}:{line} for jit. This concrete value was not "
        "available in Python because it depends on the value of the argument x.")


def test_a_call_inside_another_trace_is_not_remembered_with_its_tracers(m):
    def outer(y):
        inner = m.jit(lambda x: x * y)
        return inner(2.0) + inner(3.0)

    assert [float(m.jit(outer)(y)) for y in (1.0, 10)] == [5, 50]
