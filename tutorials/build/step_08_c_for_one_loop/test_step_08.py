"""Step 8: compiled programs do what the interpreted ones do."""

import numpy as np
import pytest
from hypothesis import given, settings
from programs import ANY, SHAPES, NumPy, arrays, close, few, function

pytestmark = pytest.mark.slow  # it starts the C compiler often


@settings(few, max_examples=10)
@given(ANY, SHAPES)
def test_compiled_programs_compute_what_numpy_computes(m, text, shape):
    x, y = arrays(shape)
    close(m.jit(function(text, m))(x, y), function(text, NumPy)(x, y))


@settings(few, max_examples=10)
@given(ANY, SHAPES)
def test_the_same_program_has_the_same_text(m, text, shape):
    x, y = arrays(shape)
    texts = {m.jit(function(text, m)).lower(x, y).as_text() for _ in range(3)}
    assert len(texts) == 1


def test_the_text_is_a_loop_in_c(m):
    text = m.jit(lambda x: x * 2.0).lower(m.arange(5.0)).as_text()
    assert "for (int64_t i0 = 0; i0 < 5; i0++) {" in text
    assert "2.0f" in text


@pytest.mark.parametrize(
    "program",
    [
        "lambda x: x",
        "lambda x: (x, x, x * 1.0)",
        "lambda x: 3",
        "lambda x: m.sum(x, axis=0)",
        "lambda x: m.sum(x, axis=1) + m.sum(x)",
        "lambda x: m.sum(x * x, axis=0) * x",
        "lambda x: m.where(x > 2.0, x, -1.0) * m.ones((2, 3))",
        "lambda x: (x > 1.0, x * 3 == x)",
        "lambda x: m.vmap(lambda a: a + 1.0, in_axes=1)(x)",
        "lambda x: m.jit(lambda a: a / 0.0 - 1.0)(x)",
        "lambda x: m.arange(3) * 2 + x",
        "lambda x: m.sum(m.ones((0, 2)) + m.sum(x))",
    ],
)
def test_shapes_sums_and_results(m, program):
    x = m.array(np.arange(6.0).reshape(2, 3))
    f = eval(program, {"m": m})
    expected, got = (m.tree_flatten(g(x))[0] for g in (f, m.jit(f)))
    for one, other in zip(expected, got, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype or np.ndim(one) == 0
        np.testing.assert_allclose(np.asarray(other), np.asarray(one), rtol=1e-6)


def test_integers_wrap_and_awkward_floats_stay(m):
    big = m.array([2**31 - 1, -(2**31)])
    assert np.asarray(m.jit(lambda x: x + x)(big)).tolist() == [-2, 0]
    odd = m.array([np.nan, np.inf, -np.inf, -0.0])
    assert str(np.asarray(m.jit(lambda x: x * 1.0)(odd))) == "[ nan  inf -inf  -0.]"


def test_values_of_closed_over_arrays_are_not_in_the_text(m):
    def text(weights):
        return m.jit(lambda x: x * m.array(weights)).lower(m.ones(2)).as_text()

    assert text([1.25, 3.75]) == text([2.5, 8.5])


def test_strides_and_views(m):
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    close(m.jit(lambda a: a * 2.0)(x[::-1, ::2]), x[::-1, ::2] * 2)
    close(m.jit(lambda a: a * 2.0)(x.T), x.T * 2)
