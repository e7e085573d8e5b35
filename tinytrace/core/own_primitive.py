"""One's own primitive, as JAX's documents make it: an empty room, filled rule by rule from outside.

    scale_p = Primitive("scale")
    scale_p.def_impl(lambda x: 2 * x)
    scale_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))

`interpreters/` has the tables of JAX by which the other rules are given. Such a primitive is known by its identity, not
by its name, so it is in no registry, and two of one name are two. A rule that is replaced counts from then on: what was
traced with the old one is forgotten. Outside of traces `impl` gets the arguments as they are and its result is
returned as it is. Source: JAX, "JAX Internals: primitives".
"""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import eval_jaxpr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.numpy_calls import to_numpy
from tinytrace.core.primitive import Primitive, install_own_primitive
from tinytrace.core.trace import is_eager, is_interpreting, refuse_tracer

Rule = Callable[..., Any]


class OwnPrimitive(Primitive):
    """What `Primitive("name")` makes."""

    remembers_types = False
    was_used = False
    """Has anything been traced with the rules as they are?"""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = sys._getframe(1).f_globals.get("__name__", "")

    def bind(self, *args: Any, **params: Any) -> Any:
        if not is_eager():
            self.was_used = True
            return super().bind(*args, **params)
        for x in args:
            refuse_tracer(x)
        return interpreted(self, args, params) if is_interpreting() else self.impl(*args, **params)

    def def_impl(self, impl: Rule) -> Rule:
        """Let `impl(*args, **params)` compute the primitive where nothing is traced; returns it, as decorators do."""
        set_rule(self, "impl", impl)
        return impl

    def def_abstract_eval(self, abstract_eval: Rule) -> Rule:
        """Let `abstract_eval(*avals, **params)` say the type of the result: a ShapedArray, or several."""
        set_rule(self, "abstract_eval", lambda *avals, **params: self._checked(abstract_eval(*avals, **params)))
        return abstract_eval

    def def_effectful_abstract_eval(self, abstract_eval: Rule) -> Rule:
        """Let `abstract_eval(*avals, **params)` say the type of the result, and the set of the effects."""
        set_rule(self, "abstract_eval", lambda *avals, **params: self._checked(abstract_eval(*avals, **params)[0]))
        set_rule(self, "effects", lambda *avals, **params: frozenset(abstract_eval(*avals, **params)[1]))
        return abstract_eval

    def def_custom_bind(self, bind: Rule) -> Rule:
        """Let `bind(*args, **params)` be called in the place of `bind`."""
        set_rule(self, "bind", bind)
        return bind

    def lower(self, *args: Any, **params: Any) -> Kind:
        error = NotImplementedError(f"MLIR translation rule for primitive '{self.name}' not found for platform cpu")
        error.add_note("Say how it is compiled: mlir.register_lowering(p, mlir.lower_fun(f)), for a function f over "
                       "jnp; with mlir.c_function(text) in C; or with mlir.call_impl, by calls of its impl in Python.")
        raise error

    def _checked(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)) != self.multiple_results and isinstance(result, Sequence | ShapedArray):
            raise ValueError(f"{self.name}.abstract_eval() method should return a tuple or a list iff "
                             f"{self.name}.multiple_results.")
        results = result if self.multiple_results else [result]
        if not isinstance(results, Sequence) or not all(isinstance(aval, ShapedArray) for aval in results):
            wanted = "a sequence of ShapedArrays" if self.multiple_results else "a ShapedArray"
            raise TypeError(f"the abstract evaluation of '{self.name}' must return {wanted}, "
                            f"and returned {result!r}: say the type as core.ShapedArray(shape, dtype)")
        return result

    def __reduce__(self) -> Any:
        return find_primitive, (self.name, self.module)


install_own_primitive(OwnPrimitive)


def find_primitive(name: str, module: str) -> Primitive:
    """Return a pickled primitive: the one of this name among the globals of the module that made it.

    Raises: LookupError when it is not there.
    """
    for value in vars(importlib.import_module(module)).values():
        if isinstance(value, Primitive) and value.name == name:
            return value
    raise LookupError(f"no global of module {module!r} is the primitive {name!r}, which was pickled: define it there")


# --- rules that are given from outside -------------------------------------------------------------------------

_forgetters: list[Callable[[], None]] = []


def when_rules_change(forget: Callable[[], None]) -> None:
    """Call `forget` when a rule is replaced with which something may have been traced."""
    _forgetters.append(forget)


def set_rule(primitive: Primitive, slot: str, rule: Rule) -> None:
    """Fill a slot of a room; what was traced with the rule before is forgotten."""
    setattr(primitive, slot, rule)
    _forget_uses(primitive)


def unset_rule(primitive: Primitive, slot: str) -> None:
    """Take a rule that was given from outside away; raises AttributeError when there is none."""
    delattr(primitive, slot)
    _forget_uses(primitive)


def _forget_uses(primitive: Primitive) -> None:
    if getattr(primitive, "was_used", True):
        for forget in _forgetters:
            forget()
        if isinstance(primitive, OwnPrimitive):
            primitive.was_used = False


def stated_rule(primitive: Primitive, slot: str) -> Rule | None:
    """Return the rule in a slot of a room, None where there is none."""
    silent = getattr(Primitive, slot), getattr(OwnPrimitive, slot)
    if slot not in vars(primitive) and getattr(type(primitive), slot) in silent:
        return None
    return getattr(primitive, slot)  # type: ignore[no-any-return]


# --- its meaning in NumPy ----------------------------------------------------------------------------------------

def interpreted(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Evaluate a primitive on concrete values by its `impl`, else by its lowering; the results have the promised types.

    >>> from tinytrace.core.trace import interpreting
    >>> double_p = Primitive("double")
    >>> rule = double_p.def_impl(lambda x: 2 * x), double_p.def_abstract_eval(lambda x: x)
    >>> interpreted(double_p, [np.float32(3)], {})
    array(6., dtype=float32)
    """
    avals = [aval_of(x) for x in args]
    out_avals = primitive.abstract_eval(*avals, **params)
    if stated_rule(primitive, "impl") is None and stated_rule(primitive, "lower") is not None:
        kind = primitive.lower(avals, out_avals if primitive.multiple_results else [out_avals], **params)
        if isinstance(kind, Call):
            outs = eval_jaxpr(kind.jaxpr.jaxpr, kind.jaxpr.consts, *args)
            return outs if primitive.multiple_results else outs[0]
    outs = primitive.impl(*(to_numpy(x, aval) for x, aval in zip(args, avals, strict=True)), **params)
    results = typed_results(primitive, outs, out_avals)
    return results if primitive.multiple_results else results[0]


def interpreted_elements(primitive: Primitive, dtype: Any, params: dict[str, Any], *args: Any) -> Any:
    """Return the results of an elementwise primitive of one's own for NumPy operands that broadcast."""
    return np.asarray(primitive.impl(*args, **params)).astype(dtype, copy=False)


def typed_results(primitive: Primitive, outs: Any, avals: Any) -> list[np.ndarray[Any, Any]]:
    """Return what `impl` gave as arrays of the promised types.

    Raises: TypeError when the shapes are not those that the abstract evaluation promised.
    """
    promised = list(avals) if primitive.multiple_results else [avals]
    given = [np.asarray(x) for x in (outs if primitive.multiple_results else [outs])]
    if [x.shape for x in given] != [aval.shape for aval in promised]:
        raise TypeError(f"'{primitive.name}' promises {', '.join(map(str, promised))} by its abstract evaluation, and "
                        f"its impl returned arrays of shape {', '.join(str(x.shape) for x in given)}")
    return [x.astype(aval.dtype, copy=False) for x, aval in zip(given, promised, strict=True)]
