"""A state machine for caches: calls, changes of settings and clearings in any order, held against a model.

    TestMine = state_machine(f, st.tuples(arrays("float32", (3,)))).TestCase      pytest runs it

The model is a set of the kinds of calls that were made since the function was cleared: a call of a kind in it must
trace nothing, any other must trace once, and every result must be what the function gives un-jitted.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.control import currently_in_test_context
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tinytrace.api.jit import jit
from tinytrace.api.jit_cache import clear_caches
from tinytrace.config import config, override
from tinytrace.control_flow.bodies import stored
from tinytrace.core.avals import aval_of
from tinytrace.core.trace import interpreting
from tinytrace.core.trees import tree_flatten, tree_leaves, tree_map
from tinytrace.testing.assertions import assert_same
from tinytrace.testing.counting import count_compiles, count_traces
from tinytrace.testing.pairs import reveal
from tinytrace.testing.strategies import arrays


class CacheMachine(RuleBasedStateMachine):
    """Calls `function` jitted with drawn `arguments`; subclass it with others, or let `state_machine` do so.

    Hypothesis draws the order of the rules and shrinks a run that fails to the fewest steps; printed, they are Python.
    """

    function: ClassVar[Callable[..., Any]] = staticmethod(lambda x: reveal(x))
    arguments: ClassVar[st.SearchStrategy[tuple[Any, ...]]] = st.tuples(
        arrays("float32", (2,)) | arrays("int32", (2,)) | arrays("float32", ()))

    @initialize()
    def begin(self) -> None:
        """A function that nobody has called: the jitted one, and what counts its traces."""
        function = type(self).function
        self.traced: Callable[..., Any] = lambda *args: function(*args)
        self.jitted = jit(self.traced)
        self.kinds: set[Any] = set()
        self.calls: list[tuple[tuple[Any, ...], bool]] = []

    @rule(data=st.data())
    def call(self, data: st.DataObject) -> None:
        """A call with new arguments."""
        self.check(data.draw(type(self).arguments))

    @rule(data=st.data())
    def call_again(self, data: st.DataObject) -> None:
        """A call with the arguments of an earlier one."""
        if self.calls:
            args, wide = data.draw(st.sampled_from(self.calls))
            with override("exact", wide):
                self.check(args)

    @rule(data=st.data())
    def call_with_numpy(self, data: st.DataObject) -> None:
        """A call with NumPy arrays, which are written to afterwards."""
        args = tree_map(lambda x: np.array(stored(x)), data.draw(type(self).arguments))
        result = self.check(args)
        before = [stored(x).tobytes() for x in tree_leaves(result)]
        for x in tree_leaves(args):
            x.reshape(-1).view(np.uint8)[...] ^= 1
        assert [stored(x).tobytes() for x in tree_leaves(result)] == before, "a result shares memory with an argument"

    @rule(data=st.data())
    def call_exactly(self, data: st.DataObject) -> None:
        """A call under another setting, which is another kind of call."""
        with override("exact", True):
            self.check(data.draw(type(self).arguments))

    @rule(data=st.data())
    def call_in_a_thread(self, data: st.DataObject) -> None:
        """A call in another thread, which shares what is remembered."""
        args, raised = data.draw(type(self).arguments), []

        def run() -> None:
            try:
                self.check(args)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if raised:
            raise raised[0]

    @rule()
    def clear(self) -> None:
        """Forget what is remembered of this function."""
        self.jitted.clear_cache()
        self.kinds.clear()

    @rule()
    def clear_all(self) -> None:
        """Forget what is remembered of all functions: programs are found on disk again."""
        clear_caches()
        self.kinds.clear()

    @rule()
    def collect_garbage(self) -> None:
        """What is remembered is not lost when Python collects garbage."""
        gc.collect()

    @invariant()
    def size_is_bounded_by_the_calls(self) -> None:
        """There are no more entries than kinds of calls; an array and a NumPy array of a type are two."""
        if hasattr(self, "jitted"):
            assert self.jitted._cache_size() <= 2 * len(self.kinds), "there are entries of calls that nobody made"

    def check(self, args: tuple[Any, ...]) -> Any:
        """Call, and hold the result and the counters against the model."""
        kind = kind_of(args)
        known = kind in self.kinds
        with interpreting():
            expected = type(self).function(*args)
        with count_traces(self.traced) as traces, count_compiles() as compiles:
            got = self.jitted(*args)
        assert traces() == (not known), f"a call that {'is known' if known else 'is new'} traced {traces()} times"
        assert not (known and compiles()), "a call that is known compiled a program"
        if currently_in_test_context():  # not in another thread
            event("hit" if known else "miss")
        assert_same(tree_leaves(got), tree_leaves(expected), None, "the result: ")
        self.kinds.add(kind)
        self.calls.append((args, _is_exact()))
        return got


def kind_of(args: Any) -> Any:
    """Return what decides whether two calls are of one kind: tree, types and settings, and no value."""
    leaves, tree = tree_flatten(args)
    return tree, tuple(map(aval_of, leaves)), _is_exact()


def state_machine(function: Callable[..., Any], arguments: st.SearchStrategy[tuple[Any, ...]] | None = None
                  ) -> type[CacheMachine]:
    """Return the state machine of a function of one's own: its `TestCase` is for pytest and unittest.

    Args: arguments: draws tuples of arguments; without it, of one array.

    >>> import tinytrace.numpy as jnp
    >>> state_machine(jnp.sin).__name__
    'CacheMachineOf_sin'
    """
    fields: dict[str, Any] = {"function": staticmethod(function)}
    if arguments is not None:
        fields["arguments"] = arguments
    return type(f"CacheMachineOf_{getattr(function, '__name__', 'function')}", (CacheMachine,), fields)


def _is_exact() -> bool:
    return bool(config.exact)
