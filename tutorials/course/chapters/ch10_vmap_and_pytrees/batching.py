"""What chapter 10 needs: arrays whose elements tell where they are from, batches moved to the front, trees drawn."""

import numpy as np
from hypothesis import strategies as st

LEAVES = st.sampled_from(["1", "2", "'text'", "None"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda xs: f"[{', '.join(xs)}]"),
        inner.map(lambda x: f"({x},)"),
        st.tuples(inner, inner).map(lambda xs: f"({xs[0]}, {xs[1]})"),
        st.tuples(inner, inner).map(lambda xs: f"{{'b': {xs[0]}, 'a': {xs[1]}}}"),
    ),
    max_leaves=4,
)
"""Nested containers, as text."""


def array(*shape):
    """An array of this shape whose elements are all different.

    >>> array(2, 3).tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """
    return np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)


def front(result, dim):
    """A batched result with its batch dimension moved to the front, as a list."""
    return np.moveaxis(result, dim, 0).tolist()
