"""Step 9: fewer loops, the same results."""

import numpy as np
import pytest
from hypothesis import given, settings
from programs import ANY, NumPy, arrays, close, few, function

pytestmark = pytest.mark.slow  # it starts the C compiler often

SELU = "lambda x: 1.05 * m.where(x > 0, x, 1.67 * m.exp(x) - 1.67)"
SOFTMAX = "lambda x: m.exp(x) / m.sum(m.exp(x))"


@settings(few, max_examples=15)
@given(ANY)
def test_fused_programs_compute_what_numpy_computes(m, text):
    x, y = arrays((3, 5))
    close(m.jit(function(text, m))(x, y), function(text, NumPy)(x, y))


@pytest.mark.parametrize(
    ("program", "most"),
    [
        (SELU, 1),
        ("lambda x: m.sin(m.cos(m.tanh(x)))", 1),
        (SOFTMAX, 2),
        ("lambda x: m.sum(x * x)", 1),
        ("lambda x: x / m.sum(m.exp(x), axis=0)", 2),
    ],
)
def test_few_loops(m, program, most):
    f = eval(program, {"m": m})
    x = m.ones(100_000)
    kernels = m.jit(f).lower(x).kernels
    assert 1 <= len(kernels) <= most
    close(m.jit(f)(x), f(x), 1e-4)


def test_what_lies_between_is_not_stored(m):
    text = m.jit(eval(SELU, {"m": m})).lower(m.ones(1000)).as_text()
    assert text.count("for (int64_t") == 1
    assert "loop over 1000" in str(m.jit(eval(SELU, {"m": m})).lower(m.ones(1000)).kernels[0])


def test_what_is_read_elsewhere_is_stored(m):
    f = m.jit(lambda x: (m.sin(x), m.sum(m.sin(x)) * m.sin(x), m.sum(x) + m.sum(m.sin(x))))
    x = np.linspace(0, 1, 7, dtype=np.float32)
    for got, expected in zip(f(x), (np.sin(x), np.sin(x).sum() * np.sin(x), x.sum() + np.sin(x).sum()), strict=True):
        close(got, expected)


def test_a_sum_is_complete_before_it_is_read(m):
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    close(m.jit(lambda a: a - m.sum(a, axis=0))(x), x - x.sum(0))
    close(m.jit(lambda a: a * m.sum(a * m.sum(a)))(x), x * (x * x.sum()).sum())
