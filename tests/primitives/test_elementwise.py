"""Elementwise primitives: jaxprs of tangents, cotangents and vectorizations, errors and edge values, as JAX's."""

import functools

import numpy as np
import pytest

import tinytrace as jax
from tests import goldens
from tinytrace import lax

NAMES = ("elementwise", "elementwise_errors", "elementwise_values")
FILES = {name: goldens.load(name) for name in NAMES}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases],
    ids=lambda x: (x if isinstance(x, str) else x.program)[:80])
def test_answers_of_jax(name, case):
    assert goldens.answer(case.program, dict(scene(name))) == case.answer


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_narrow_integers_are_shifted_by_every_distance(dtype):
    """Also by one outside [0, width), which leaves no bit of the number but the sign that an arithmetic shift keeps."""
    kind, width = np.dtype(dtype), 8 * np.dtype(dtype).itemsize
    limits = np.iinfo(kind)
    every = np.arange(limits.min, limits.max + 1, dtype=np.int64)
    distances = every if width == 8 else np.concatenate([every[:3], np.arange(max(limits.min, -20), 40), every[-3:]])
    x, by = (a.reshape(-1) for a in np.meshgrid(every if width == 8 else every[::37], distances))
    inside, bits = (by >= 0) & (by < width), x & (1 << width) - 1
    few = np.where(inside, by, 0)
    wanted = {lax.shift_left: np.where(inside, bits << few, 0),
              lax.shift_right_logical: np.where(inside, bits >> few, 0),
              lax.shift_right_arithmetic: x >> np.where(inside, by, width - 1)}
    if not limits.min:
        wanted.pop(lax.shift_right_arithmetic)
    for shift, numbers in wanted.items():
        got = jax.jit(shift)(x.astype(kind), by.astype(kind))
        np.testing.assert_array_equal(np.asarray(got), numbers.astype(kind))
