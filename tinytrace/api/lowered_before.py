"""Programs that an earlier process lowered: found on disk without kernels being planned and C being written.

The disk is asked by the program itself: its canonical form, the settings, and the code that lowers. What is found says
which C that became, and so which object; see `runtime/lowerings.py`. Nobody asks for a program that holds what another
process cannot know, and nobody does in a process where the code that lowers was changed.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tinytrace import codegen, runtime
from tinytrace.config import trace_context
from tinytrace.core.canonical import canonical_form
from tinytrace.core.jaxpr import Jaxpr
from tinytrace.own_code import is_as_imported, stamp

if TYPE_CHECKING:
    from tinytrace.runtime.ladder import Found
    from tinytrace.runtime.lowerings import Lowering


SMALL = 16
"""Up to so many equations a program is lowered sooner than it is looked up, once what lowers is imported."""
USUAL = 100
"""Up to so many nearly every program is compiled as one text with all effort: the compiler can start ahead of it."""


def is_worth_it(jaxpr: Jaxpr) -> bool:
    """Is it sooner to look a program up than to lower it? To import what lowers takes as long as to lower dozens."""
    return len(jaxpr.eqns) > SMALL or f"{codegen.__name__}.generate" not in sys.modules


def name_of(jaxpr: Jaxpr, exact: bool, reusable: frozenset[int]) -> str:
    """Return under which name the lowering of a program is remembered, empty if it is not.

    exact, reusable: what lowering is told besides, see `codegen.generate`.
    """
    code = stamp()
    form = canonical_form(jaxpr, exact, tuple(sorted(reusable)), trace_context()) if code else None
    return "" if form is None else runtime.lowerings.name_of(code, form)


def find_again(name: str) -> tuple[Lowering, Found] | None:
    """Return what an earlier process made of the program of a name, loaded; None if there is nothing."""
    store = runtime.discovery.current_store([]) if name else None
    lowering = runtime.lowerings.recall(store, name) if store is not None else None
    found = runtime.ladder.find_again(lowering) if lowering is not None and is_as_imported() else None
    return None if lowering is None or found is None else (lowering, found)


def is_new(name: str) -> bool:
    """Has no process lowered the program of a name? Then it will be compiled; of one without a name nobody knows."""
    store = runtime.discovery.current_store([])
    return bool(name) and (store is None or not runtime.lowerings.is_there(store, name))


def remember(name: str, lowering: Lowering) -> None:
    """Let later processes find what the program of a name, lowered at this moment, became."""
    store = runtime.discovery.current_store([]) if name else None
    if store is not None and not runtime.lowerings.is_there(store, name) and is_as_imported():
        runtime.lowerings.remember(store, name, lowering)
