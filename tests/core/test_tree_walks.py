"""Walks over trees (csrc/trees.c) do what their definition in Python says, of hostile trees too, and leak nothing."""

import gc
import sys
import threading
from collections import namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace._dispatch as compiled
from tests.core.test_trees import TREES
from tinytrace.core.tree_registry import KINDS, register_pytree_node
from tinytrace.core.trees import INTERNED, LEAF, PyTreeDef, make_treedef, tree_flatten, tree_leaves, tree_map
from tinytrace.pure import trees as defined

defined.set_trees(KINDS, PyTreeDef, LEAF, INTERNED, make_treedef)
Pair = namedtuple("Pair", ["x", "y"])


def outcome(function, *args):
    try:
        return function(*args)
    except (ValueError, TypeError, RecursionError, KeyError, ZeroDivisionError) as error:
        return type(error), str(error)


def flattened(walks, tree, is_leaf=None):
    leaves = []
    return outcome(walks.flatten_into, leaves, tree, is_leaf), leaves


@given(TREES, TREES, st.sampled_from([None, lambda x: isinstance(x, dict), lambda x: x is None]))
def test_every_walk_is_that_of_its_definition(tree, other, is_leaf):
    ours, theirs = flattened(compiled, tree, is_leaf), flattened(defined, tree, is_leaf)
    assert ours == theirs
    treedef, leaves = ours
    gathered = []
    compiled.append_leaves(gathered, tree)
    assert gathered == flattened(defined, tree)[1]
    for walked in (tree, other):
        assert outcome(compiled.subtrees, treedef, walked) == outcome(defined.subtrees, treedef, walked)
    again = compiled.built(treedef, leaves)
    assert again == defined.built(treedef, leaves) == tree
    assert type(again) is type(tree)


KEYS = [{1: 0, False: 1}, {2: 0, 1: 1}, {1: 0, "a": 1}, {None: 0}, {(1, 2): 0, (0, 3): 1}, {2.5: 0, 1: 1}, {}]


@pytest.mark.parametrize("tree", KEYS, ids=str)
def test_keys_that_are_no_texts(tree):
    ours, theirs = flattened(compiled, tree), flattened(defined, tree)
    assert ours == theirs
    if isinstance(ours[0], PyTreeDef):
        wrong = {**tree, "b": 1}
        assert outcome(compiled.subtrees, ours[0], wrong) == outcome(defined.subtrees, ours[0], wrong)


def test_equal_structures_are_one_object_but_where_equal_data_differ():
    tree = {"a": [1, (2, None)], "b": Pair(1, {"c": 2})}
    assert tree_flatten(tree)[1] is tree_flatten(tree)[1]
    assert tree_flatten({1: 0})[1] == tree_flatten({True: 0})[1]
    assert list(tree_map(lambda x: x, {True: 0})) == [True]
    assert type(next(iter(tree_map(lambda x: x, {True: 0})))) is bool


class Meddler:
    """A node whose flattening changes the list that it stands in."""

    def __init__(self, around):
        self.around = around

    def flatten(self):
        self.around.clear()
        gc.collect()
        return (1, 2), None


register_pytree_node(Meddler, Meddler.flatten, lambda data, children: Meddler([]))


def test_a_node_that_empties_the_list_around_it_harms_nobody():
    around = [[object()]]
    around += [Meddler(around), [3]]
    leaves, treedef = tree_flatten(around)
    assert leaves[1:] == [1, 2, 3]
    assert treedef.num_leaves == 4


class Liar:
    """A node whose number of children is another one each time."""

    count = 0

    def flatten(self):
        Liar.count += 1
        return [0] * Liar.count, None


register_pytree_node(Liar, Liar.flatten, lambda data, children: Liar())


def test_a_node_with_another_number_of_children_each_time_is_refused():
    treedef = tree_flatten(Liar())[1]
    with pytest.raises(ValueError, match="arity mismatch"):
        treedef.flatten_up_to(Liar())


@pytest.mark.parametrize("walk", [tree_leaves, tree_flatten])
def test_a_tree_in_itself_is_too_deep(walk):
    tree = []
    tree.append(tree)
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        walk(tree)


def test_deep_trees_need_no_more_stack_than_there_is():
    def walk():
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(10**6)
        try:
            for depth in (9_000, 200_000):
                tree = 1
                for _ in range(depth):
                    tree = [tree]
                ends.append(outcome(lambda tree=tree: len(tree_leaves(tree))))
                while isinstance(tree, list):  # level by level: to give it up at once takes as much stack
                    tree = tree.pop()
        finally:
            sys.setrecursionlimit(limit)
    ends = []
    thread = threading.Thread(target=walk)
    thread.start()
    thread.join()
    assert ends == [1, (RecursionError, "maximum recursion depth exceeded while looking at a tree")]


def test_what_is_no_list_or_treedef_is_refused():
    wrong = [(compiled.flatten_into, (), 1), (compiled.flatten_into, []), (compiled.append_leaves, 1, 1),
             (compiled.built, 1, []), (compiled.built, LEAF, ()), (compiled.subtrees, 1, 2)]
    for function, *args in wrong:
        with pytest.raises(TypeError):
            function(*args)
    with pytest.raises(ValueError, match="too few leaves"):
        compiled.built(tree_flatten([1, 2])[1], [1])
    empty = PyTreeDef.__new__(PyTreeDef)
    for function in (compiled.built, compiled.subtrees):
        with pytest.raises(ValueError, match="PyTreeDef"):
            function(empty, [])


def test_an_error_of_is_leaf_is_passed_on():
    with pytest.raises(ZeroDivisionError):
        tree_flatten([1, 2], is_leaf=lambda x: 1 / 0)


def test_walks_leak_nothing():
    def walk():
        leaf = object()
        tree = {"a": [leaf, (leaf, None)], "b": Pair(leaf, {1: leaf}), "c": Meddler([])}
        leaves, treedef = tree_flatten(tree)
        treedef.unflatten(leaves)
        treedef.flatten_up_to(tree)
        tree_flatten(tree, is_leaf=lambda x: isinstance(x, tuple))
        for wrong in ([], {"a": 1}, {"a": [leaf], "b": 1, "c": 2}):
            outcome(treedef.flatten_up_to, wrong)
        outcome(tree_flatten, {1: 0, "a": 1})
        return sys.getrefcount(leaf) - len(leaves)

    first = walk()
    gc.collect()
    before = sys.getallocatedblocks()
    counts = {walk() for _ in range(200)}
    gc.collect()
    assert counts == {first}
    assert sys.getallocatedblocks() - before < 100
