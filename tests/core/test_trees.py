"""Pytrees: the texts and values of JAX 0.4.35, and the laws of flattening and rebuilding."""

import collections
import copy
import dataclasses
import enum
import pickle
import threading
from collections import OrderedDict, defaultdict, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import goldens
from tinytrace.core.key_paths import DictKey, keystr
from tinytrace.core.tree_operations import tree_transpose
from tinytrace.core.tree_paths import (
    broadcast_prefix,
    equality_errors,
    prefix_errors,
    tree_leaves_with_path,
    tree_map_with_path,
)
from tinytrace.core.tree_registry import register_dataclass, register_pytree_node, register_static
from tinytrace.core.trees import (
    INTERNED,
    LEAF,
    PyTreeDef,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)

SCENE, CASES = goldens.load("trees")
Point = namedtuple("Point", ["x", "y"])


@pytest.fixture(scope="module")
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=[case.program for case in CASES])
def test_answers_of_jax(case, scene):
    assert goldens.answer(case.program, scene) == case.answer


LEAVES = st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
KEYS = st.text(max_size=2)
TREES = st.recursive(
    LEAVES | st.none(),
    lambda trees: st.one_of(
        st.lists(trees, max_size=4),
        st.lists(trees, max_size=4).map(tuple),
        st.dictionaries(KEYS, trees, max_size=4),
        st.dictionaries(KEYS, trees, max_size=4).map(OrderedDict),
        st.dictionaries(KEYS, trees, max_size=4).map(lambda d: defaultdict(list, d)),
        st.tuples(trees, trees).map(lambda pair: Point(*pair)),
    ),
    max_leaves=12,
)


@given(TREES)
def test_unflatten_is_the_inverse_of_flatten(tree):
    leaves, treedef = tree_flatten(tree)
    again = tree_unflatten(treedef, leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert tree_flatten(again) == (leaves, treedef)


@given(TREES)
def test_equal_structures_are_one_object_and_survive_pickle_and_copy(tree):
    treedef = tree_structure(tree)
    assert tree_structure(tree_map(lambda leaf: 0, tree)) == treedef
    if "defaultdict" not in repr(treedef):  # its data holds a class, which is not among the exact types
        assert tree_structure(tree_map(lambda leaf: 0, tree)) is treedef
    for twin in (pickle.loads(pickle.dumps(treedef)), copy.deepcopy(treedef)):
        assert twin == treedef
        assert hash(twin) == hash(treedef)
        assert repr(twin) == repr(treedef)


@given(TREES)
def test_paths_lead_to_their_leaves(tree):
    assert [leaf for _, leaf in tree_leaves_with_path(tree)] == tree_leaves(tree)
    for path, leaf in tree_leaves_with_path(tree):
        assert eval(f"tree{keystr(path)}", {"tree": tree}) is leaf


@given(TREES, TREES)
def test_prefix_errors_exactly_where_flatten_up_to_fails(prefix, full):
    try:
        tree_structure(prefix).flatten_up_to(full)
        fits = True
    except ValueError:
        fits = False
    assert fits == (not prefix_errors(prefix, full))


@given(TREES, TREES)
def test_equality_errors_exactly_where_structures_differ(tree1, tree2):
    def with_leaves_of_one_type(tree):
        return tree_map(lambda leaf: 0, tree)

    errors = list(equality_errors(with_leaves_of_one_type(tree1), with_leaves_of_one_type(tree2)))
    assert bool(errors) == (tree_structure(tree1) != tree_structure(tree2))


@given(TREES, TREES)
def test_compose_is_the_structure_of_a_tree_of_trees(outer, inner):
    nested = tree_map(lambda leaf: inner, outer)
    assert tree_structure(outer).compose(tree_structure(inner)) == tree_structure(nested)


@given(TREES.filter(tree_leaves), st.integers(1, 3))
def test_transpose_twice_is_nothing(inner, n):
    outer_def, inner_def = tree_structure([0] * n), tree_structure(inner)
    tree = [inner_def.unflatten(range(i, i + inner_def.num_leaves)) for i in range(n)]
    assert tree_transpose(inner_def, outer_def, tree_transpose(outer_def, inner_def, tree)) == tree


def test_equal_but_different_static_data_never_merge():
    class Letter(enum.StrEnum):
        A = "a"

    for first, second in ([{"a": 0}, {Letter.A: 0}], [{1: 0}, {True: 0}], [{0.0: 0}, {-0.0: 0}]):
        for tree in (first, second, first):
            [key] = tree_structure(tree).unflatten([1])
            assert type(key) is type(next(iter(tree)))
            assert repr(key) == repr(next(iter(tree)))


def test_a_treedef_with_unhashable_data_hashes_and_compares():
    class Node:
        def __init__(self, child, data):
            self.child, self.data = child, data

    register_pytree_node(Node, lambda n: ((n.child,), n.data), lambda data, children: Node(*children, data))
    first, again, other = (tree_structure((Node(1, {"a": a}),)) for a in (2, 2, 3))
    assert first == again
    assert hash(first) == hash(again)
    assert first != other


def test_subclasses_of_containers_are_leaves():
    class MyList(list):
        pass

    value = MyList([1, 2])
    assert tree_leaves((value, collections.Counter(a=1))) == [value, collections.Counter(a=1)]


def test_a_type_registered_after_it_was_seen_as_a_leaf_becomes_a_node():
    class Wrapped:
        def __init__(self, item):
            self.item = item

    wrapped = Wrapped(3)
    assert tree_leaves([wrapped]) == [wrapped]
    register_pytree_node(Wrapped, lambda w: ((w.item,), None), lambda _, items: Wrapped(*items))
    assert tree_leaves([wrapped]) == [3]


def test_register_dataclass_as_a_bare_decorator():
    @register_dataclass
    @dataclasses.dataclass
    class Layer:
        weights: int
        name: str = dataclasses.field(metadata={"static": True})

    layer = Layer(1, "first")
    assert tree_leaves(layer) == [1]
    assert tree_map(lambda x: x + 1, layer) == Layer(2, "first")
    assert str(tree_structure(layer)) == "PyTreeDef(CustomNode(Layer[('first',)], [*]))"


def test_register_dataclass_names_what_is_missing():
    @dataclasses.dataclass
    class Wide:
        x: int
        y: int
        z: int

    with pytest.raises(ValueError, match=r"Missing fields: \{'y', 'z'\}\. Add them"):
        register_dataclass(Wide, ["x"], [])
    with pytest.raises(TypeError, match="needs both data_fields and meta_fields"):
        register_dataclass(Wide, ["x"])


def test_register_static_is_part_of_the_structure():
    @register_static
    class Mode(str):
        pass

    assert tree_leaves(Mode("fast")) == []
    assert tree_structure(Mode("fast")) == tree_structure(Mode("fast")) != tree_structure(Mode("slow"))


def test_default_dict_paths_name_the_right_leaf():
    # JAX 0.4.35 pairs the keys in insertion order with the leaves in sorted order; the path must lead to the leaf.
    tree = defaultdict(int, z=1, y=2)
    assert tree_leaves_with_path(tree) == [((DictKey("y"),), 2), ((DictKey("z"),), 1)]


def test_prefix_errors_name_the_keys_in_order():
    [error] = prefix_errors({"a": 1, "c": 2}, {"b": 1})
    assert str(error("in_axes")).endswith("so the symmetric difference on key sets is\n    a c b")


def test_trees_flattened_in_many_threads_share_their_structure():
    found = []
    start = threading.Barrier(8)

    def flatten():
        start.wait()
        found.extend(tree_structure({"only": (i, [i]), "here": {f"k{i}": i}}) for i in range(100))

    threads = [threading.Thread(target=flatten) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(set(map(id, found))) == 100


def test_the_table_of_structures_is_bounded(monkeypatch):
    monkeypatch.setattr("tinytrace.core.trees.INTERNED_LIMIT", len(INTERNED) + 5)
    before = tree_structure({"a key": 0})
    for i in range(10):
        tree_structure({f"another key {i}": 0})
    assert tree_structure({"a key": 0}) == before
    assert len(INTERNED) < 20


def test_map_with_path_and_broadcast_prefix():
    assert tree_map_with_path(lambda path, *xs: (keystr(path), *xs), [1, {"a": 2}], [3, {"a": 4}]) == [
        ("[0]", 1, 3),
        {"a": ("[1]['a']", 2, 4)},
    ]
    assert broadcast_prefix([1, 2], [{"a": 0, "b": (0, 0)}, 0]) == [1, 1, 1, 2]


def test_leaf_is_one_object():
    assert tree_structure(1) is LEAF is pickle.loads(pickle.dumps(LEAF)) is LEAF.compose(LEAF)
    assert LEAF != 3
    assert isinstance(LEAF, PyTreeDef)
