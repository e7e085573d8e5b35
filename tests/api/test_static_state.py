"""Static values that change: known calls are answered without Python while they stay, and are never stale."""
import warnings

import numpy as np
import pytest

import tinytrace as jax
from tests.api.test_dispatch import Watched
from tinytrace._dispatch import Guarded
from tinytrace.api.static_state import StaleStaticWarning, guards_of

X = np.ones(3, np.float32)


class Layer:
    def __init__(self):
        self.n, self.sizes, self.named, self.inner = 2, [3, [4]], {"a": 5, "b": (6, [7])}, None
        self.spare = None

    def sum(self):
        inner = self.inner.sum() if self.inner else 0
        return self.n + self.sizes[0] + sum(self.sizes[1]) + self.named["a"] + sum(self.named["b"][1]) + inner + \
            len(vars(self)) + len(self.sizes)


def nested():
    layer = Layer()
    layer.inner = Layer()
    return layer


CHANGES = {
    "an attribute": lambda c: setattr(c, "n", 30),
    "a new attribute": lambda c: setattr(c, "more", 1),
    "an attribute less": lambda c: c.inner.__dict__.pop("spare", None),
    "another __dict__": lambda c: setattr(c, "__dict__", {**vars(c), "n": 31}),
    "an item of a list": lambda c: c.sizes.__setitem__(0, 32),
    "a longer list": lambda c: c.sizes.append(1),
    "a list in a list": lambda c: c.sizes[1].append(33),
    "a value of a dict": lambda c: c.named.update(a=34),
    "a list in a tuple in a dict": lambda c: c.named["b"][1].clear(),
    "an object inside": lambda c: setattr(c.inner, "n", 35),
    "another object inside": lambda c: setattr(c, "inner", None),
    "a list of an object inside": lambda c: c.inner.sizes[1].extend([1, 2]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_is_seen_after_any_number_of_calls(change):
    f = Watched(lambda x, c: x * c.sum(), static_argnums=1)
    c = nested()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleStaticWarning)
        for _ in range(4):
            assert f(X, c).tolist() == [c.sum()] * 3
        before, earlier = f.misses, c.sum()
        assert f(X, c).tolist() == [earlier] * 3
        assert f.misses == before
        change(c)
        assert c.sum() != earlier
        for _ in range(4):
            assert f(X, c).tolist() == [c.sum()] * 3


def test_an_equal_object_in_its_place_is_looked_at_and_costs_no_trace():
    f = Watched(lambda x, c: x * c.n, static_argnums=1)
    c = Layer()
    for n in (1000.5, 1000.5, 1000.5):
        c.n = n * 1  # another float
        for _ in range(3):
            assert f(X, c).tolist() == [1000.5] * 3
    assert f.jitted._cache_size() == 1


def test_why_tells_what_a_call_does_where_a_state_comes_back():
    f = jax.jit(lambda x, c: x * c.n, static_argnums=1)
    c = Layer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleStaticWarning)
        for n, hit in ((2, False), (2, True), (2, True), (3, False), (2, False), (2, True), (3, False), (3, True)):
            c.n = n
            assert f.why(X, c).hit is hit
            traces = f.why(X, c).cost.traces
            assert f(X, c).tolist() == [n] * 3
            assert traces is not hit


@pytest.mark.parametrize("held", [np.arange(3), {1, 2}, frozenset([1]), type("Slots", (), {"__slots__": ("n",)})(),
                                  list(range(2000))], ids=lambda held: type(held).__name__)
def test_what_no_dict_or_list_tells_is_looked_at_by_python(held):
    c = Layer()
    c.n = held
    assert guards_of([(1, type("Value", (), {"value": c}))]) is None


def test_an_array_inside_that_is_written_is_seen():
    f = jax.jit(lambda x, c: x * int(c.n[0]), static_argnums=1)
    c = Layer()
    c.n = np.array([2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleStaticWarning)
        for n in (2, 5, 7):
            c.n[0] = n
            for _ in range(4):
                assert f(X, c).tolist() == [n] * 3


def test_a_guard_is_a_container_what_it_holds_and_whose_it_is():
    for guards in ((1,), ([],), (([], ()),), (((), (), None),), ([1], [1], None)):
        with pytest.raises(TypeError, match="a guard is a dict or a list"):
            Guarded(None, guards)
