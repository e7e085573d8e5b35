"""What answers calls of a jitted function that are known, without Python: loops, views, or the compiled program."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace._dispatch import EagerEntry, FastEntry
from tinytrace.api.flattening import maker_of
from tinytrace.api.jit_cache import CompiledCall
from tinytrace.api.ready_loops import ready_loops
from tinytrace.api.recipes import view_entry


def entry_of(call: CompiledCall, leaf_order: Sequence[int]) -> EagerEntry | FastEntry | None:
    """Return the form of a call that the hit path takes, if it can.

    leaf_order: at which place each leaf is read.
    """
    if call.loop is not None:
        return ready_loops(call.program, call.consts, call.leaf_types, leaf_order, call.counter)
    is_in_order = all(i == place for i, place in enumerate(leaf_order))
    return (_view_entry(call) if is_in_order else None) or call.fast_entry(leaf_order)


def _view_entry(call: CompiledCall) -> EagerEntry | None:
    """Return what answers calls whose results show their arguments, which are Arrays and stay."""
    traced = call.record.traced
    if call.record.donation.given or traced.consts:
        return None
    return view_entry(traced.closed, maker_of(call.out_tree), call.counter)
