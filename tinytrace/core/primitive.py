"""A primitive is one room: everything the system knows of one operation stands in one class.

The contract, in the order in which every room keeps it:

    abstract_eval(*avals, **params)            -> aval (or list): the type of the result
    impl(*ndarrays, **params)                  -> ndarray (or list): its meaning, in NumPy
    jvp(primals, tangents, **params)           -> (out, out_tangent): Jacobian times vector; tangents may be `Zero`
    transpose(ct, *args, **params)             -> one cotangent (or None) per argument; linear args are UndefinedPrimal
    batch(args, dims, **params)                -> (out, out_dim): args mapped along dims (None: not mapped)
    lower(in_avals, out_avals, **params)       -> a kind of core.kinds: its meaning, in C

The interpreters call `jvp` only when some tangent is not `Zero`, `batch` only when some dim is not None, and the
`transpose` of a primitive with one result only when its `ct` is not `Zero`: a rule never handles these cases.

A rule that cannot exist says so with `refuse(reason)`; silence is an error, found by a test over the registry.

Nothing of the language is imported here: traces, jaxprs and kinds all speak of primitives. Rooms, which know them,
state the exact types of what their rules take and answer.

Primitives whose params are jaxprs (pjit, scan, cond, ...) may be split, and say how in three more rules:

    partial_eval(trace, args, **params)        -> outs: known args are plain values, unknown ones `trace`'s tracers
    dce(used_outs, eqn)                        -> (used_ins, eqn without the unused outputs, or None)
    partial_eval_eqn(saveable, unknown, inst, eqn) -> two equations and what flows between them (see transforms/policy)
"""
from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from tinytrace.util import current_trace_state as _state

registry: dict[str, Primitive] = {}
"""Every primitive by name, in the order of definition."""

param_types: dict[str, type] = {}
"""The records and enumerations that stand in parameters, by the name that a jaxpr prints: see `param_type`."""

NONE, ALL = slice(0), slice(None)
"""Which operands `Primitive.reads`: no more and no less than these, or the slice that a room says."""

ParamType = TypeVar("ParamType", bound=type)


def param_type(cls: ParamType) -> ParamType:
    """Let `core.parser` read parameters of class `cls`, a NamedTuple or an Enum, back from their text."""
    param_types[cls.__name__] = cls
    return cls


class Refusal:
    """A rule that cannot exist, with the reason; calling it raises NotImplementedError saying so."""

    def __init__(self, reason: str, name: str = "?", rule: str = "?") -> None:
        self.reason, self.name, self.rule = reason, name, rule

    def __get__(self, instance: Primitive | None, owner: type) -> Refusal:
        return Refusal(self.reason, instance.name if instance is not None else owner.__name__, self.rule)

    def __set_name__(self, owner: type, rule: str) -> None:
        self.rule = rule

    def __call__(self, *args: Any, **params: Any) -> NoReturn:
        what = _RULE_NAMES.get(self.rule, f"{self.rule.capitalize()} rule")
        error = NotImplementedError(f"{what} for '{self.name}' not implemented")
        error.add_note(f"It cannot exist: {self.reason}.")
        raise error


_RULE_NAMES = {
    "jvp": "Differentiation rule", "transpose": "Transpose rule (for reverse-mode differentiation)",
    "batch": "Batching rule", "lower": "Lowering rule", "impl": "Evaluation rule",
}  # fmt: skip
"""What JAX's messages call the rules."""


def refuse(reason: str) -> Any:
    """Return the value of a rule slot that cannot be filled: `transpose = refuse("not linear")`."""
    return Refusal(reason)


class Primitive:
    """An operation of the language; subclass it, give it a `name`, and fill the six rules.

    `Primitive("name")` itself is one's own primitive, as in JAX: see `core/own_primitive.py`.
    """

    name: str
    multiple_results = False
    call_primitive = map_primitive = False
    """What JAX asks of primitives whose programs are functions, of which there are none here."""
    remembers_types = True
    """May results of `abstract_eval` be remembered by the types of the operands?"""
    compiled_eagerly = False
    """Outside a trace, compile and cache this equation instead of calling `impl` (loops, branches, jit calls)."""
    transpose_is_of_user = False
    """Does `transpose` answer what a rule of the user's answered? It is handed on as it is, numbers as numbers."""
    calls_user = False
    """Does `impl` call the user's Python? That sees the user's context variables and NumPy's warnings."""
    reads = NONE
    """The operands whose elements are numbers to it; the others it moves or hands on. Those of a type in which elements
    are only kept (`core/storage_types.py`) are read into a wider type, and so are what `impl` and `lower` are given."""
    composite = False
    """`lower` answers with a `Call` of a program that it writes itself; no parameter shows it."""
    fold: Callable[..., Any] | None = None
    """`fold(atom, **params)`: asked while staging; the Literal or Var that the result is without equation, or None."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Primitive:
        return object.__new__(_own_primitive[0] if cls is Primitive else cls)

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            self.name = name
        registry[self.name] = self

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace: run it, record it, or transform it."""
        return _state.trace.process_primitive(self, args, params)

    def get_bind_params(self, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return which functions `bind` takes before the operands, and its parameters: none, for programs are jaxprs.

        Interpreters ask it: `eqn.primitive.bind(*functions, *operands, **params)`.
        """
        return [], params

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        """Return what `impl` does to arrays with these parameters, once it has accepted arrays of their types."""
        return functools.partial(self.impl, **params) if params else self.impl

    def reads_of(self, operands: Sequence[Any]) -> slice:
        """Return which of these operands (avals, arrays) are numbers to it: `reads`, but where there are exceptions."""
        return self.reads

    # The rules are declared as `(*args: Any, **params: Any)`, which rooms may override with the exact signatures above.

    def abstract_eval(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Abstract evaluation for '{self.name}' not implemented")

    def check_params(self, *avals: Any, **params: Any) -> None:
        """Raise TypeError when an equation with operands and parameters such as these is no program."""

    def effects(self, *args: Any, **params: Any) -> frozenset[Any]:
        """The side effects of this equation; almost always none."""
        return frozenset()

    def impl(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Evaluation rule for '{self.name}' not implemented")

    def jvp(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Differentiation rule for '{self.name}' not implemented")

    def transpose(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError("Transpose rule (for reverse-mode differentiation) for "
                                  f"'{self.name}' not implemented")

    def batch(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Batching rule for '{self.name}' not implemented")

    def batch_along(self, axis: Any, /, *args: Any, **params: Any) -> Any:
        """Answer as `batch` does, told the `named_axes.Axis` too: for what uses names of axes, itself or in programs.

        It is also called when no argument is mapped, if the equation asks for the name of the axis.
        """
        return self.batch(*args, **params)

    def axis_names(self, params: dict[str, Any]) -> Sequence[Any]:
        """Return the names of axes that the operation itself asks for; almost always none."""
        return ()

    def binds(self, params: dict[str, Any]) -> Sequence[Any]:
        """Return the names of axes that the programs among the parameters may ask for."""
        return ()

    def lower(self, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Lowering rule for '{self.name}' not implemented")

    def partial_eval(self, *args: Any, **params: Any) -> Any:
        """Split into a part evaluated now and a part recorded; called when some args, not all, may be known.

        Runs with the parent of `trace` current, so `bind` evaluates the known part. `trace.is_known(x)`,
        `trace.instantiate(x)` (known value -> tracer) and `trace.record(primitive, tracers, params)` (one equation
        of the unknown part, returns its output tracers) are what a rule needs. Default: record everything.
        """
        trace, operands = args
        return trace.record(self, operands, params)

    def dce(self, used_outs: Sequence[bool], eqn: Any) -> tuple[list[bool], Any]:
        """Return which inputs are needed for `used_outs`, and the equation that computes no more than those."""
        return [True] * len(eqn.invars), eqn

    partial_eval_eqn: Callable[..., Any] | None = None
    """How to split an equation under a checkpoint policy; None: it is saved or recomputed as a whole."""

    def pp_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what an equation prints of its parameters, in the order of printing: all of them, by name."""
        return dict(sorted(params.items()))

    def parse_params(self, shown: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of which `pp_params` shows `shown`: the inverse, for `core.parser`."""
        return shown

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[..., Primitive], tuple[str, ...]]:
        return _primitive_of, (self.name, type(self).__module__)


_own_primitive: list[type[Primitive]] = [Primitive]


def install_own_primitive(cls: type[Primitive]) -> None:
    """Let `Primitive("name")` make a primitive of class `cls`, which is defined above this file."""
    _own_primitive[0] = cls


def _primitive_of(name: str, module: str) -> Primitive:
    """Return a pickled primitive; `module` defines those that are not there from the beginning."""
    if name not in registry:
        importlib.import_module(module)
    return registry[name]
