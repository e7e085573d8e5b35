"""Keys that have been used: which arrays hold them, and the checks of `debug_key_reuse` where functions are called.

An Array has no field for it: those that have been consumed stand in a table for as long as they live.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.errors import KeyReuseError
from tinytrace.experimental.key_reuse.rules import is_key, jaxpr_type_signature, key_reuse_signatures
from tinytrace.experimental.key_reuse.signatures import KeyReuseSignature
from tinytrace.transforms.staging import trace_to_closed_jaxpr

_consumed: dict[int, tuple[weakref.ref[Any], Any]] = {}


def consumed(key: Any) -> Any:
    """Return which keys of an array have been used: False, True, or a bool for each.

    >>> from tinytrace import random
    >>> consumed(random.key(0))
    False
    """
    found = _consumed.get(id(key))
    return False if found is None else found[1]


def _note(key: Any, mask: Any) -> None:
    number = id(key)
    # The entry goes when the array does, before another can have its number.
    _consumed[number] = weakref.ref(key, lambda _: _consumed.pop(number, None)), mask


def check_program(jaxpr: Jaxpr) -> None:
    """Raise KeyReuseError when a program uses a key twice."""
    jaxpr_type_signature(jaxpr)


def call_program(closed: ClosedJaxpr, args: Sequence[Any], call: Callable[[], Any], leaves: Callable[[Any], Any]
                 ) -> Any:
    """Answer a call of a compiled function, and note what became of its keys.

    Raises: KeyReuseError when it gets a key that has been used, and uses it.
    """
    operands = [*args, *closed.consts]
    signature = jaxpr_type_signature(closed.jaxpr)
    _check(signature, operands, "jit-compiled function")
    result = call()
    _update(signature, operands, leaves(result))
    return result


def call_primitive(primitive: Primitive, args: Sequence[Any], params: dict[str, Any], call: Callable[[], Any]) -> Any:
    """Do the same for a primitive; one that is not known may do what it wants, as in JAX."""
    signature = key_reuse_signatures.get(primitive)
    if signature is None or not any(map(is_key, args)):
        return call()
    if not isinstance(signature, KeyReuseSignature):
        def once(*values: Any) -> Any:
            out = primitive.bind(*values, **params)
            return out if primitive.multiple_results else [out]

        signature = jaxpr_type_signature(trace_to_closed_jaxpr(once, list(map(aval_of, args))).jaxpr)
    _check(signature, args, str(primitive))
    result = call()
    _update(signature, args, result if primitive.multiple_results else [result])
    return result


def _check(signature: KeyReuseSignature, args: Sequence[Any], name: str) -> None:
    for sink in signature.sinks:
        if is_key(args[sink.idx]) and np.any(np.logical_and(consumed(args[sink.idx]), sink.mask)):
            raise KeyReuseError(f"Previously-consumed key passed to {name} at index {sink.idx}")


def _update(signature: KeyReuseSignature, args: Sequence[Any], outs: Sequence[Any]) -> None:
    for sink in signature.sinks:
        if type(args[sink.idx]) is Array and is_key(args[sink.idx]):
            _note(args[sink.idx], np.logical_or(consumed(args[sink.idx]), sink.mask))
    fresh = {source.idx: source.mask for source in signature.sources}
    given = {forward.out_idx: forward.in_idx for forward in signature.forwards}
    for i, out in enumerate(outs):
        if type(out) is Array and is_key(out):
            _note(out, consumed(args[given[i]]) if i in given else ~np.asarray(fresh.get(i, False)))
