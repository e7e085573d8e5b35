"""The interpreter of C against what the C standard says."""

import numpy as np
import pytest

from course.c_interpreter import CError, run_c, value_of_c


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 / 2", 3), ("-7 / 2", -3), ("-7 % 2", -1), ("7 / 2.0f", 3.5), ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9),
        ("a > 2.0f ? 1 : 0", 1), ("!a", 0), ("(int32_t)2.9f", 2), ("(uint8_t)257", 1), ("2147483647 + 1 > 0", 1),
        ("1 && 0", 0), ("0 && 1 / 0", 0), ("1 || 1 / 0", 1), ("fabsf(-2.0f)", 2), ("-a", -3), ("x[1]", 6),
    ],
)  # fmt: skip
def test_values(expression, value):
    assert value_of_c(expression, a=3.0, x=np.array([5.0, 6.0], np.float32)) == value


def test_types():
    assert value_of_c("a * 0.1", a=3.0).dtype == np.float64
    assert value_of_c("a * 0.1f", a=3.0).dtype == np.float32
    assert value_of_c("0.1f").item() == np.float32(0.1).item() != 0.1


def test_a_program():
    x, y = np.arange(6, dtype=np.float32), np.zeros(2, np.float32)
    run_c("""
        #include <stdint.h>
        /* sums of rows */
        void sums(const float *x, float *y) {
            for (int64_t i = 0; i < 2; i++) {
                const float *const row = x + 3 * i; // a pointer that moves
                float sum = 0;
                for (int64_t j = 0; j < 3; ++j) sum += row[j];
                y[i] = sum;
            }
            if (y[0] > 100) { y[0] = -1; } else return;
            y[1] = -1;
        }
    """, x, y)  # fmt: skip
    assert y.tolist() == [3, 12]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("y[2] = 1;", "writes y[2], of 2"), ("y[0] = y[-1];", "reads y[-1], of 2"), ("z = 1;", "z is not declared"),
        ("for (;;) {}", "does not end"), ("y[0] = 1 / 0;", "divided by zero"),
        ("y[0] = ;", "not C"), ("f(y);", "not declared"),
        ("y[0.5f] = 1;", "index must be an integer"), ("goto a; a: ;", "no Goto"), ("1 = 2;", "cannot be assigned"),
    ],
)  # fmt: skip
def test_what_c_leaves_undefined_is_said(line, said):
    with pytest.raises(CError) as error:
        run_c(f"void f(float *y) {{ {line} }}", np.zeros(2, np.float32))
    assert said in str(error.value)
