"""Random programs that all steps from the second can run, and what NumPy makes of them."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from course.cases import functions

UNARY = ("-{}", "m.sin({})", "m.cos({})", "m.tanh({})", "{} * 2.0", "1.0 - {}", "{} + 0.5", "{} / 4.0")
BINARY = ("{} + {}", "{} * {}", "{} - {}")
SMOOTH = functions(UNARY + BINARY, inputs=2, most=5)
"""Functions of two arrays of one shape, of which the derivative exists everywhere."""
ANY = functions((*UNARY, *BINARY, "m.where({} > {}, {}, 1.5)"), inputs=2, most=5)
SHAPES = st.sampled_from([(), (3,), (2, 3), (1, 4)])
few = settings(max_examples=25, deadline=None, derandomize=True, database=None,
               suppress_health_check=list(HealthCheck))  # fmt: skip


def function(text, m):
    """The function in a text, over the operations of `m`."""
    names = {"m": m}
    exec(text, names)
    return names["f"]


class NumPy:
    """What the programs call, in NumPy."""

    sin, cos, tanh, where, sum = np.sin, np.cos, np.tanh, np.where, np.sum


def arrays(shape, seed=0):
    """Two arrays of a shape."""
    x, y = np.random.default_rng(seed).uniform(-2, 2, (2, *shape)).astype(np.float32)
    return x, y


def close(got, expected, tolerance=1e-5):
    """Whether arrays agree up to rounding, in shape and dtype too."""
    got, expected = np.asarray(got), np.asarray(expected, np.float32)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
