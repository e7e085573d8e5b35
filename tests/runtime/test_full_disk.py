"""A disk that fills up while programs are compiled: every answer is right, and what is left behind is harmless.

A limit on the size of files stands for the disk: writes beyond it fail in Python, in the compiler and in the linker.
"""

from __future__ import annotations

import ast
import itertools
import resource
import warnings

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.runtime.programs import in_child

X = np.linspace(-2, 2, 1000, dtype=np.float32)
NEW = itertools.count(2)
STEPS = {0: [["the interpreter"]], 100_000: [[]]}
"""Which steps down are announced, several at once as the lowest; in between it depends on what does not fit."""


def right_answer(factor):
    """Asserts that a compiled program is right that is new for each factor; which steps down it announced."""
    with warnings.catch_warnings(record=True) as announced:
        warnings.simplefilter("always")
        greatest, running, ordered = jax.jit(lambda x: ((x * factor).max(), jnp.cumsum(jnp.exp(x)), jnp.sort(-x)))(X)
    np.testing.assert_allclose(greatest, (X * factor).max(), 1e-6)
    np.testing.assert_allclose(running, np.cumsum(np.exp(X)), 1e-4)
    np.testing.assert_array_equal(ordered, np.sort(-X))
    return ["the interpreter" if "with the interpreter" in str(each.message) else "memory only" for each in announced]


@pytest.mark.not_quick
@pytest.mark.parametrize("limit", [0, 1, 100, 1000, 3000, 5000, 8000, 12_000, 16_000, 24_000, 100_000])
def test_files_that_do_not_fit(limit, store_folder):
    factors = [next(NEW) for _ in range(3)]

    def with_limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return [right_answer(factor) for factor in factors]

    status, text = in_child(with_limit)
    assert status == 0, text
    announced = [step for steps in ast.literal_eval(text) for step in steps]
    assert announced in STEPS.get(limit, [[], ["memory only"], ["the interpreter"]])  # one warning
    with_room = [right_answer(factor) for factor in (*factors, next(NEW))]  # whatever the child left in the store
    assert with_room == [[]] * 4
