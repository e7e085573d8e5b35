"""Donated arguments: arrays that the caller gives up, so that results may take their places.

Which of them a call deletes is decided by types alone, as in JAX: each result takes the first donated argument of its
shape and dtype. What is left over is not usable, and stays. Whether the program computes in the place of a deleted
argument is the code generator's decision (`codegen.passes.donation`).

Source: https://docs.jax.dev/en/latest/faq.html#buffer-donation.
"""
from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tinytrace.api.signatures import Statics
from tinytrace.core.array import Array, deleted_error
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.jaxpr import Jaxpr
from tinytrace.core.trees import tree_flatten
from tinytrace.errors import JaxRuntimeError
from tinytrace.records import NamedTuple


class Donation(NamedTuple):
    """What becomes of the donated leaves of a kind of calls."""

    given: tuple[int, ...] = ()
    """The leaves that a call deletes."""
    unusable: tuple[ShapedArray, ...] = ()
    """The types of those that no result can take the place of."""
    used: tuple[int, ...] = ()
    """The leaves that the program reads or hands through."""

    def warn(self) -> None:
        """Warn, as JAX does when it lowers a function, of donated arguments that are not usable."""
        if self.unusable:
            warnings.warn(f"Some donated buffers were not usable: {', '.join(map(str, self.unusable))}.\nSee an "
                          "explanation at https://jax.readthedocs.io/en/latest/faq.html#buffer-donation.", stacklevel=2)

    def check(self, leaves: Sequence[Any]) -> None:
        """Raise RuntimeError for a deleted array, and for one that is donated and an argument once more."""
        for i in self.given:
            x = leaves[i]
            if type(x) is not Array:
                continue
            if x.is_deleted():
                raise deleted_error(x.aval)
            for k in self.used:
                if leaves[k] is x and k != i:
                    raise _given_twice(min(i, k), max(i, k), k in self.given)

    def delete(self, leaves: Sequence[Any]) -> None:
        """Delete the arrays that are given up, but those whose elements somebody looks at."""
        for i in self.given:
            x = leaves[i]
            if type(x) is Array and not x._looked_at:
                x.delete()


NO_DONATION = Donation()


def donated_leaves(donated: Statics, statics: Statics, args: Sequence[Any], kwargs: dict[str, Any]) -> list[bool]:
    """Return for each leaf of the dynamic arguments of a call whether it is donated."""
    if donated == Statics((), ()):
        return []
    positions = {n % len(args) for n in donated.nums if -len(args) <= n < len(args)} if args else set()
    hidden = {n % len(args) for n in statics.nums if -len(args) <= n < len(args)} if args else set()
    flags = [i in positions for i, arg in enumerate(args) if i not in hidden for _ in tree_flatten(arg)[0]]
    return flags + [name in donated.names for name in sorted(kwargs) if name not in statics.names
                    for _ in tree_flatten(kwargs[name])[0]]


def donation_of(jaxpr: Jaxpr, flags: Sequence[bool], keep_unused: bool) -> Donation:
    """Return what becomes of the inputs of `jaxpr` that are donated; what it does not use is kept, without a warning.

    flags: for each of the last inputs, whether it is donated; empty when none is.
    """
    if not any(flags):
        return NO_DONATION
    first = len(jaxpr.invars) - len(flags)
    used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep_unused)[1][first:]
    avals = [v.aval.strip_weak_type() for v in jaxpr.invars[first:]]
    waiting: dict[ShapedArray, list[int]] = defaultdict(list)
    for i, aval in enumerate(avals):
        if flags[i] and used[i]:
            waiting[aval].append(i)
    given = [waiting[aval].pop(0) for v in jaxpr.outvars if waiting.get(aval := v.aval.strip_weak_type())]
    left = sorted(i for indices in waiting.values() for i in indices)
    return Donation(tuple(sorted(given)), tuple(jaxpr.invars[first + i].aval for i in left),
                    tuple(i for i, is_used in enumerate(used) if is_used))


def _given_twice(i: int, k: int, both: bool) -> JaxRuntimeError:
    what, toy = ("donate the same buffer twice in", "f(donate(a), donate(a))") if both else \
        ("use a buffer that was previously donated in the same call to", "f(donate(a), a)")
    return JaxRuntimeError(f"INVALID_ARGUMENT: Attempt to {what} Execute() (flattened argument {k}, replica 0, "
                           f"partition 0, first use: {i}). Toy example for this bug: `{toy}`.")
