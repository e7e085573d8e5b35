"""Whether a fold of the largest or smallest has seen NaN is kept in integers as wide as its elements."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import same

FOLDS = {"rows": lambda x: (x + 1).max(1), "all": lambda x: (x + 1).min(), "place": lambda x: jnp.argmax(x, 1),
         "softmax": lambda x: jax.nn.softmax(x + 1, 1)}


def numbers(dtype):
    x = np.random.default_rng(0).standard_normal((70, 300)).astype(dtype)
    x[[3, 50], [0, 299]] = np.nan
    return x


@pytest.mark.parametrize("case", FOLDS)
@pytest.mark.parametrize(("dtype", "flag"), [("float32", "int32_t"), ("float64", "int64_t"), ("float16", "int32_t")])
def test_flags_are_as_wide_as_elements(case, dtype, flag):
    with jax.enable_x64():
        found = re.findall(r"(\w+) \w+_nan = 0l*;", jax.jit(FOLDS[case]).lower(numbers(dtype)).as_text())
        assert found
        assert set(found) == {flag}
        same(FOLDS[case], numbers(dtype))


@pytest.mark.parametrize("fold", ["any", "all"])
@pytest.mark.parametrize(("dtype", "flag"), [("float32", "int32_t"), ("float64", "int64_t"), ("int16", "int16_t"),
                                             ("int8", "uint8_t")])
def test_truth_values_are_folded_as_wide_as_what_they_are_made_of(fold, dtype, flag):
    def of_rows(x):
        return getattr(x > 1, fold)(1), getattr(x > 1, fold)()

    with jax.enable_x64():
        for x in (numbers(np.float64), np.full((70, 300), 2.0), np.zeros((3, 0)), np.zeros((70, 300))):
            x = np.nan_to_num(x).astype(dtype)
            text = jax.jit(of_rows).lower(x).as_text()
            before = r"(\w+) \w+ = (?:0|1|-1)l*;\n(?: +(?:#ifdef \w+|{)\n)* +"
            found = re.findall(before + r"#pragma omp simd reduction\([|&]", text)
            assert set(found) == ({flag} if x.size else set())
            for got, want in zip(jax.jit(of_rows)(x), of_rows(x), strict=True):
                np.testing.assert_array_equal(np.asarray(got).view(np.uint8), np.asarray(want).view(np.uint8))


def test_nan_is_seen_and_nothing_else_is_taken_for_it():
    x = numbers(np.float32)
    assert np.flatnonzero(np.isnan(jax.jit(FOLDS["rows"])(x))).tolist() == [3, 50]
    assert np.asarray(jax.jit(FOLDS["place"])(x))[[3, 50]].tolist() == [0, 299]
    assert np.isnan(jax.jit(FOLDS["all"])(x))
    x[np.isnan(x)] = -np.inf
    assert not np.isnan(jax.jit(FOLDS["rows"])(x)).any()
