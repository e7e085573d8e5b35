"""The signatures of programs, and of equations: a table by primitive, and functions for those with programs inside.

A primitive that is not in the table consumes every key that it gets. Source: `jax.experimental.key_reuse`.
"""
from __future__ import annotations

import functools
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.control_flow.callbacks import debug_callback_p
from tinytrace.control_flow.pjit import pjit_p
from tinytrace.control_flow.remat import remat_p
from tinytrace.control_flow.shard_map import shard_map_p
from tinytrace.core.dtypes import KeyType
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from tinytrace.core.own_primitive import OwnPrimitive
from tinytrace.core.primitive import Primitive
from tinytrace.errors import KeyReuseError
from tinytrace.experimental.key_reuse.signatures import Forward, KeyReuseSignature, Sink, Source
from tinytrace.interpreters import batching, mlir
from tinytrace.primitives.random_bits import (
    random_bits_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
)
from tinytrace.random import random_gamma_p
from tinytrace.random.cloning import random_clone_p

Rule = Callable[[JaxprEqn], KeyReuseSignature]


def is_key(x: Any) -> bool:
    """Is a value, or a variable, of typed keys?"""
    return isinstance(getattr(getattr(x, "aval", None), "dtype", None), KeyType)


# --- programs --------------------------------------------------------------------------------------------------

_known: weakref.WeakKeyDictionary[Jaxpr, KeyReuseSignature] = weakref.WeakKeyDictionary()


def jaxpr_type_signature(jaxpr: Jaxpr) -> KeyReuseSignature:
    """Return what a program does to its inputs, then its constants.

    Raises: KeyReuseError when it uses a key twice.
    """
    if jaxpr not in _known:
        _known[jaxpr] = _Reader(jaxpr).signature()
    return _known[jaxpr]


class _Reader:
    """Goes through a program, and notes which keys are consumed, and which are other names of others."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.consumed: dict[Any, Any] = {}
        self.same_as: dict[Any, Any] = {}

    def signature(self) -> KeyReuseSignature:
        """Read the program."""
        for eqn in self.jaxpr.eqns:
            self._read(eqn)
        inputs, outputs = [*self.jaxpr.invars, *self.jaxpr.constvars], self.jaxpr.outvars
        return KeyReuseSignature(
            *(Sink(i, self.consumed[v]) for i, v in enumerate(inputs) if is_key(v) and np.any(self._state(v))),
            *(Source(i) for i, v in enumerate(outputs)
              if is_key(v) and self._origin(v) not in inputs and not np.any(self._state(v))),
            *(Forward(inputs.index(self._origin(v)), i) for i, v in enumerate(outputs)
              if is_key(v) and self._origin(v) in inputs))

    def _read(self, eqn: JaxprEqn) -> None:
        signature = key_reuse_signature_from_eqn(eqn)
        if eqn.primitive is assert_consumed_value_p:
            _check_consumed_value(eqn, self._state(eqn.invars[0]))
        for before, after in signature.forwards:
            self.same_as[eqn.outvars[after]] = eqn.invars[before]
        for sink in signature.sinks:
            if not 0 <= sink.idx < len(eqn.invars):
                raise KeyReuseError(f"In {eqn.primitive}, sink {sink.idx} out of range [0, {len(eqn.invars)}]")
            if self._consume(eqn.invars[sink.idx], sink.mask):
                raise KeyReuseError(f"In {eqn.primitive}, argument {sink.idx} is already consumed.")
        for var in eqn.outvars:
            if var not in self.same_as and is_key(var):
                self.consumed[var] = True
        for source in signature.sources:
            if not 0 <= source.idx < len(eqn.outvars):
                raise KeyReuseError(f"In {eqn.primitive}, source {source.idx} out of range [0, {len(eqn.outvars)}]")
            if is_key(eqn.outvars[source.idx]):
                self.consumed[self._origin(eqn.outvars[source.idx])] = False

    def _origin(self, var: Any) -> Any:
        while not isinstance(var, Literal) and var in self.same_as:
            var = self.same_as[var]
        return var

    def _state(self, var: Any) -> Any:
        origin = self._origin(var)
        return False if isinstance(origin, Literal) else self.consumed.get(origin, False)

    def _consume(self, var: Any, mask: Any) -> bool:
        """Consume keys; return whether one of them has been consumed before."""
        if not is_key(var):
            return False
        before = self._state(var)
        if np.any(np.logical_and(before, mask)):
            return True
        self.consumed[self._origin(var)] = np.logical_or(before, mask)
        return False


def key_reuse_signature_from_eqn(eqn: JaxprEqn) -> KeyReuseSignature:
    """Return what an equation does to its operands."""
    rule = key_reuse_signatures.get(eqn.primitive, unknown_signature)
    return rule if isinstance(rule, KeyReuseSignature) else rule(eqn)


def unknown_signature(eqn: JaxprEqn) -> KeyReuseSignature:
    """Return that of a primitive of which nothing is known: it consumes every key."""
    return KeyReuseSignature(*(Sink(i) for i, v in enumerate(eqn.invars) if is_key(v)))


# --- primitives for tests of keys ----------------------------------------------------------------------------------

consume_p, assert_consumed_value_p = OwnPrimitive("consume"), OwnPrimitive("assert_consumed_value")
for _primitive in (consume_p, assert_consumed_value_p):
    _primitive.def_impl(lambda x, **params: x)
    _primitive.def_abstract_eval(lambda x, **params: x)
    batching.defvectorized(_primitive)
    mlir.register_lowering(_primitive, mlir.lower_fun(lambda x, **params: x, multiple_results=False))


def consume(key: Any) -> Any:
    """Return a key as one that is consumed."""
    return consume_p.bind(key)


def assert_unconsumed(key: Any) -> None:
    """Let the check of a program raise AssertionError where this key has been consumed."""
    assert_consumed_value_p.bind(key, value=False)


def assert_consumed(key: Any, value: Any = True) -> None:
    """Let the check of a program raise AssertionError where this key has not been consumed."""
    assert_consumed_value_p.bind(key, value=value)


def _check_consumed_value(eqn: JaxprEqn, consumed: Any) -> None:
    expected = eqn.params["value"]
    if not np.all(consumed == expected):
        raise AssertionError(f"Expected key to be consumed in {eqn}" if np.all(expected) else
                             f"Expected key to not be consumed in {eqn}" if not np.any(expected) else
                             f"Expected {expected}, got {consumed} in {eqn}")


# --- rules -----------------------------------------------------------------------------------------------------

def _slice(eqn: JaxprEqn) -> KeyReuseSignature:
    if not is_key(eqn.invars[0]):
        return KeyReuseSignature(Forward(0, 0))
    params = eqn.params
    strides = params["strides"] or (1,) * len(params["start_indices"])
    taken = np.zeros(eqn.invars[0].aval.shape, bool)
    taken[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))] = True
    return KeyReuseSignature(Sink(0, taken), Source(0))


def _concatenate(eqn: JaxprEqn) -> KeyReuseSignature:
    if len(eqn.invars) == 1:
        return KeyReuseSignature(Forward(0, 0))
    return KeyReuseSignature(*map(Sink, range(len(eqn.invars))), Source(0))


def _program(name: str, eqn: JaxprEqn) -> KeyReuseSignature:
    jaxpr = eqn.params[name]
    return jaxpr_type_signature(jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr)


def _remat(eqn: JaxprEqn) -> KeyReuseSignature:
    return KeyReuseSignature() if eqn.params["differentiated"] else _program("jaxpr", eqn)  # the first pass said it all


def _cond(eqn: JaxprEqn) -> KeyReuseSignature:
    branches = [jaxpr_type_signature(branch.jaxpr) for branch in eqn.params["branches"]]
    sinks, sources = defaultdict(list), defaultdict(list)
    for branch in branches:
        for sink in branch.sinks:
            sinks[sink.idx].append(sink.mask)
        for source in branch.sources:
            sources[source.idx].append(source.mask)
    same = set.intersection(*(set(branch.forwards) for branch in branches))
    return KeyReuseSignature(*(Sink(i + 1, functools.reduce(np.logical_or, masks)) for i, masks in sinks.items()),
                             *(Source(i, functools.reduce(np.logical_and, masks)) for i, masks in sources.items()),
                             *(Forward(x.in_idx + 1, x.out_idx) for x in same))


def _scan(eqn: JaxprEqn) -> KeyReuseSignature:
    jaxpr = eqn.params["jaxpr"].jaxpr
    num_consts, num_carry = eqn.params["num_consts"], eqn.params["num_carry"]
    signature = jaxpr_type_signature(jaxpr)

    def refuse(reason: str) -> KeyReuseError:
        return KeyReuseError(f"scan body function leads to key reuse when repeatedly executed, because {reason}:\n"
                             f"  {signature=}\n  {eqn=}\n  {jaxpr=}")

    if any(np.any(sink.mask) for sink in signature.sinks if sink.idx < num_consts):
        raise refuse("key constants are repeatedly consumed")
    sinks = {x.idx - num_consts for x in signature.sinks if 0 <= x.idx - num_consts < num_carry and np.any(x.mask)}
    if not sinks <= {x.idx for x in signature.sources if x.idx < num_carry and np.any(x.mask)}:
        raise refuse("consumed inputs don't match sourced outputs")
    return signature


def _while(eqn: JaxprEqn) -> KeyReuseSignature:
    params = eqn.params
    ends = {}
    for name in ("cond", "body"):
        signature = jaxpr_type_signature(params[f"{name}_jaxpr"].jaxpr)
        consts = params[f"{name}_nconsts"]
        if any(np.any(sink.mask) for sink in signature.sinks if sink.idx < consts):
            raise _loop_error(f"{name} function leads to key reuse when repeatedly executed", eqn,
                              **{f"{name}_signature": signature})
        ends[name] = signature, {sink.idx - consts for sink in signature.sinks if sink.idx >= consts}
    (cond_signature, cond_sinks), (body_signature, body_sinks) = ends["cond"], ends["body"]
    sources = {source.idx for source in body_signature.sources}
    for name, sinks in (("cond", cond_sinks), ("body", body_sinks)):
        if not sinks <= sources:
            raise _loop_error(f"{name} function leads to key reuse when repeatedly executed", eqn,
                              **{f"{name}_signature": ends[name][0]})
    if body_sinks & cond_sinks:
        raise _loop_error("cond and body functions both use the same key", eqn, cond_signature=cond_signature,
                          body_signature=body_signature)
    return body_signature


def _loop_error(what: str, eqn: JaxprEqn, **signatures: KeyReuseSignature) -> KeyReuseError:
    shown = "".join(f"  {name}={signature!r}\n" for name, signature in signatures.items())
    return KeyReuseError(f"while_loop {what}: {shown}  {eqn=}")


_SAME = KeyReuseSignature(Forward(0, 0))
_FRESH = KeyReuseSignature(Source(0))
key_reuse_signatures: dict[Primitive, KeyReuseSignature | Rule] = {
    consume_p: KeyReuseSignature(Sink(0), Forward(0, 0)), assert_consumed_value_p: _SAME,
    random_clone_p: _FRESH, random_fold_in_p: _FRESH, random_seed_p: _FRESH, random_wrap_p: _FRESH,
    random_bits_p: KeyReuseSignature(Sink(0)), random_gamma_p: KeyReuseSignature(Sink(0)),
    random_split_p: KeyReuseSignature(Sink(0), Source(0)), random_unwrap_p: KeyReuseSignature(),
    **dict.fromkeys((lax.broadcast_in_dim_p, lax.copy_p, lax.convert_element_type_p, lax.device_put_p, lax.reshape_p,
                     lax.squeeze_p, lax.dynamic_slice_p, lax.gather_p), _SAME),
    lax.dynamic_update_slice_p: KeyReuseSignature(Sink(1), Forward(0, 0)),
    lax.scatter_p: KeyReuseSignature(Sink(2), Forward(0, 0)),
    **dict.fromkeys((debug_callback_p, lax.eq_p, lax.ne_p), KeyReuseSignature()),
    lax.slice_p: _slice, lax.concatenate_p: _concatenate, pjit_p: functools.partial(_program, "jaxpr"),
    shard_map_p: functools.partial(_program, "jaxpr"), remat_p: _remat, lax.cond_p: _cond, lax.scan_p: _scan,
    lax.while_p: _while,
}
"""What each primitive does to keys: a signature, or a function that tells it of an equation."""
