"""The caches in memory and on disk against a model made of dicts: whatever is done, in whatever order.

A process may call, clear, evict, change a static value, fork, lose and regain its store, and export and import it,
while another process calls and clears with the same store. Before each call the model says where its answer comes from,
and `f.why` must say so too.
"""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tinytrace as jax
from tests.api.cache_process import BOUND, Holder, Process
from tests.examples import examples
from tests.runtime.programs import in_child
from tinytrace.api.static_state import StaleStaticWarning
from tinytrace.runtime.archive import export_store, import_store
from tinytrace.runtime.inventory import current_inventory
from tinytrace.runtime.places import open_store

pytestmark = pytest.mark.compiled

SETTINGS = settings(examples(20, fast=6), deadline=None, stateful_step_count=50,
                    suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
KINDS = st.tuples(st.integers(0, 1), st.integers(1, 2), st.integers(2, 3))
"""Which function, how many elements, which static value."""


class Model:
    """What one process should remember: per function the kinds of calls, oldest use first, and loaded programs."""

    def __init__(self, disk):
        self.calls = {0: [], 1: []}
        self.programs = {0: set(), 1: set()}
        self.loaded = set()
        self.disk = disk

    def origin(self, kind):
        """Where the answer of a call comes from."""
        if kind in self.calls[kind[0]]:
            return "hit"
        if kind in self.loaded:
            return "memory"
        return "disk" if kind in self.disk else "compiler"

    def call(self, kind):
        calls = self.calls[kind[0]]
        if kind in calls:
            calls.remove(kind)
        calls.append(kind)
        if len(calls) > BOUND:
            del calls[:max(1, BOUND // 4)]
        self.programs[kind[0]].add(kind)
        if kind not in self.loaded:
            self.disk.add(kind)
        self.loaded.add(kind)

    def clear(self, function):
        self.calls[function].clear()
        self.loaded -= self.programs[function]
        self.programs[function].clear()


class Caches(RuleBasedStateMachine):
    other: subprocess.Popen
    folder = ""
    runs = 0

    @initialize()
    def begin(self):
        Caches.runs += 1
        self.store = os.path.join(self.folder, f"store{Caches.runs}")
        self.disk = set()
        self.here, self.there = Model(self.disk), Model(self.disk)
        self.process = Process(self.store, self.folder)
        self.holder, self.seen = Holder(2), None
        assert self.ask("begin", self.store) is None

    def teardown(self):
        if hasattr(self, "process"):
            self.process.end()

    def ask(self, *request):
        """Let the other process do something."""
        self.other.stdin.write(json.dumps(request) + "\n")
        self.other.stdin.flush()
        return json.loads(self.other.stdout.readline())

    def check(self, model, kind, told):
        origin, why, value = told
        assert origin == why == model.origin(kind)
        assert value == [float(kind[2] + kind[0])] * kind[1]
        model.call(kind)

    @rule(kind=KINDS)
    def call(self, kind):
        self.check(self.here, kind, self.process.call(*kind))

    @rule(kind=KINDS)
    def call_in_another_process(self, kind):
        self.check(self.there, kind, self.ask("call", *kind))

    @rule(kind=KINDS)
    def call_in_a_fork(self, kind):
        status, told = in_child(lambda: self.process.call(*kind))
        assert (status, told) == (0, str((*[self.here.origin(kind)] * 2, [float(kind[2] + kind[0])] * kind[1])))
        if self.here.origin(kind) == "compiler":
            self.disk.add(kind)

    @rule(function=st.integers(0, 1))
    def clear_one(self, function):
        self.process.functions[function].clear_cache()
        self.here.clear(function)

    @rule()
    def clear_all(self):
        jax.clear_caches()
        for function in (0, 1):
            self.here.clear(function)
        self.here.loaded.clear()
        self.seen = None

    @rule()
    def clear_the_other_process(self):
        self.ask("clear")
        for function in (0, 1):
            self.there.clear(function)
        self.there.loaded.clear()

    @rule()
    def clear_the_store(self):
        open_store().clear()
        self.disk.clear()

    @precondition(lambda self: self.disk)
    @rule()
    def carry_away(self):
        """The store is exported, emptied, and imported again."""
        file = os.path.join(self.folder, "programs.zip")
        written = export_store(current_inventory(), file)
        open_store().clear()
        assert len(current_inventory()) == 0
        imported = import_store(current_inventory(), file)
        os.unlink(file)
        assert (list(imported.added), imported.foreign, imported.damaged) == (written, {}, {})

    @rule(n=st.integers(2, 3))
    def change_a_static_value(self, n):
        """A miss if it has changed since it was used, and never a stale answer."""
        self.holder.n = n
        why = self.process.by_holder.why(np.ones(1, np.float32), self.holder)
        assert why.hit == (self.seen == n)
        assert (why.reason == "static changed") == (self.seen not in (None, n))
        assert self.process.call_with(self.holder) == [float(n - 3)]
        self.seen = n

    @invariant()
    def the_tables_are_those_of_the_model(self):
        if not hasattr(self, "process"):
            return
        for number, function in enumerate(self.process.functions):
            assert function._cache_size() == len(function.cache) == len(self.here.calls[number])
            assert {(number, key.leaves[0].shape[0], int(key.statics[0].text)) for key in function.cache} \
                == set(self.here.calls[number])


@pytest.mark.not_quick
@pytest.mark.filterwarnings(f"ignore::{StaleStaticWarning.__module__}.{StaleStaticWarning.__name__}")
def test_the_caches_do_what_the_model_does(tmp_path):
    command = [sys.executable, "-m", "tests.api.cache_process", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        Caches.other, Caches.folder = other, str(tmp_path)
        Caches.TestCase.settings = SETTINGS
        try:
            Caches.TestCase("runTest").runTest()
        finally:
            other.stdin.close()
            other.kill()
