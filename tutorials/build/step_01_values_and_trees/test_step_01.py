"""Step 1: arrays have a type, and containers have leaves."""

import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import few

TREES = st.recursive(
    st.integers(0, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([1.0, 2.5], "Array([1. , 2.5], dtype=float32)"),
        ([[1, 2], [3, 4]], "Array([[1, 2],\n       [3, 4]], dtype=int32)"),
        ([True, False], "Array([ True, False], dtype=bool)"),
        (np.ones((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
        (np.float64(0.1), "Array(0.1, dtype=float32)"),
    ],
)
def test_arrays_show_their_values_and_their_type(m, value, shown):
    if "shape=(0, 3)" in shown and m.__name__ != "tinytrace":
        shown = "Array([], dtype=float32)"
    assert repr(m.array(value)) == shown


def test_an_array_is_a_value_of_its_own(m):
    ours = np.zeros(3, np.float32)
    x = m.array(ours)
    ours[0] = 7
    assert np.asarray(x).tolist() == [0, 0, 0]
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((3,), np.float32, 1, 3, 3)


def test_ranges(m):
    assert (repr(m.arange(3)), m.arange(2.0).dtype) == ("Array([0, 1, 2], dtype=int32)", np.float32)
    assert np.asarray(m.arange(2, 5)).tolist() == [2, 3, 4]


@few
@given(TREES)
def test_leaves_and_structure_make_the_container_again(m, tree):
    leaves, structure = m.tree_flatten(tree)
    assert all(type(leaf) is int for leaf in leaves)
    assert m.tree_unflatten(structure, leaves) == tree


def test_leaves_come_in_order_and_dictionaries_by_key(m):
    assert m.tree_flatten([1, (2, {"b": 4, "a": 3}), None, 5])[0] == [1, 2, 3, 4, 5]


def test_equal_structures_are_equal(m):
    one, other = (m.tree_flatten(tree)[1] for tree in ([1, {"a": 2}], [3, {"a": 4}]))
    assert one == other
    assert one != m.tree_flatten([1, {"b": 2}])[1]
    assert one != m.tree_flatten((1, {"a": 2}))[1]


def test_ones_own_class_can_be_a_container(m):
    class Params(collections.namedtuple("Params", "w name")):
        pass

    m.register_pytree_node(Params, lambda p: ((p.w,), p.name), lambda name, children: Params(*children, name))
    leaves, structure = m.tree_flatten({"p": Params([1, 2], "x")})
    assert leaves == [1, 2]
    assert m.tree_unflatten(structure, [3, 4]) == {"p": Params([3, 4], "x")}
    assert structure != m.tree_flatten({"p": Params([1, 2], "y")})[1]
