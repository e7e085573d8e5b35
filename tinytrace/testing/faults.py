"""Faults to plant: mistakes that a compiler of traced programs may have, each switched on for the length of a block.

    fault = FAULTS["lost NaN"]
    with fault.planted():
        assert INVARIANTS[fault.breaks].counter_example() is not None

A fault is small and stays inside the process; caches are emptied before and after it. What is compiled meanwhile is
kept on disk under its own C text, which no program without the fault has. Each must be caught by its invariant within
500 examples: that is how the invariants and strategies are tested.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

import numpy as np

from tinytrace.api import concrete, traced_calls
from tinytrace.api import jit as jit_module
from tinytrace.api.jit import JitFunction
from tinytrace.api.jit_cache import JitCache, StaticValue, clear_caches
from tinytrace.api.program import Program
from tinytrace.codegen import memory
from tinytrace.codegen.c import code, own_float16
from tinytrace.codegen.plan.names import Names
from tinytrace.core import numpy_calls, structure
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.formulas import Formula
from tinytrace.core.jaxpr import Literal
from tinytrace.core.kinds import IndexMap
from tinytrace.core.trees import tree_structure
from tinytrace.passes import algebra, cse
from tinytrace.primitives.arithmetic import add_p, max_p, mul_p, sub_p
from tinytrace.primitives.broadcasting import reduce_sum_p
from tinytrace.primitives.comparison import lt_p
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.reduction import reduce_max_p
from tinytrace.primitives.shaping import rev_p
from tinytrace.primitives.slicing import pad, slice_p
from tinytrace.primitives.transcendental import sin_p, tanh_p
from tinytrace.records import dataclass
from tinytrace.runtime.keys import ArtifactKey, sha256
from tinytrace.transforms import staging

Plant = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Fault:
    """One mistake.

    Args:
      name: as in `FAULTS["lost NaN"]`.
      sentence: what is wrong.
      breaks: the name of the invariant that catches it.
      plant: a context manager in which the mistake is made.
    """

    name: str
    sentence: str
    breaks: str
    plant: Plant

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the mistake inside the block."""
        forget_everything()
        try:
            with self.plant():
                yield
        finally:
            forget_everything()


def forget_everything() -> None:
    """Empty every table that remembers what was traced, typed or compiled."""
    clear_caches()
    numpy_calls._out_aval_cache.clear()
    staging._result_types.clear()


def replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> Plant:
    """Return what plants `change(old)` in the place of an attribute."""
    return lambda: mock.patch.object(owner, name, change(getattr(owner, name)))


# --- rules of primitives -------------------------------------------------------------------------------------------

def _transposed_slice(_: Any) -> Any:
    def transpose(ct: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Sequence[Any]:
        steps = strides or (1,) * len(start_indices)
        config = [(size - (start + (n - 1) * step + 1) if n else size, start, step - 1) for start, size, n, step in
                  zip(start_indices, x.aval.shape, np.shape(ct), steps, strict=True)]
        return [pad(ct, ct.dtype.type(0), config)]
    return transpose


def _batched_rev(_: Any) -> Any:
    return lambda args, dims, *, dimensions: (rev_p.bind(args[0], dimensions=dimensions), dims[0])


def _lowered_slice(_: Any) -> Any:
    return lambda in_avals, out_avals, *, start_indices, limit_indices, strides: IndexMap(
        lambda i, read: read(0, tuple(k + start for k, start in zip(i, start_indices, strict=True))))


def _without_weak(abstract_eval: Any) -> Any:
    return lambda *operands, **params: abstract_eval(*operands, **params).strip_weak_type()


def _sum_of_squares(_: Any) -> Any:
    return lambda ct, x, *, axes: [mul_p.bind(full, full) for full in _sum_transpose(ct, x, axes=axes)]


_sum_transpose = reduce_sum_p.transpose


# --- passes, kernels, C --------------------------------------------------------------------------------------------

def _key_without_params(key: Any) -> Any:
    return lambda eqn, operands: (whole := key(eqn, operands)) and (*whole[:2], *whole[3:])


def _plus_zero(eqn: Any, makers: Any) -> Any:
    zero = [isinstance(atom, Literal) and not np.asarray(atom.val).any() for atom in eqn.invars]
    return eqn.invars[0] if zero[1] else eqn.invars[1] if zero[0] else None


def _times_zero(times_one: Any) -> Any:
    def rule(eqn: Any, makers: Any) -> Any:
        numbers = [algebra._number(atom, makers) for atom in eqn.invars]
        for number, atom in zip(numbers, eqn.invars, strict=True):
            if algebra._is(number, 0):
                return atom
        return times_one(eqn, makers)
    return rule


def _turned_around(spelled: Any) -> Any:
    """C subtracts the first operand from the second."""
    def wrong(formula: Formula, operands: Any) -> Any:
        if formula.op == "infix" and formula.args[0] == "-":
            formula = Formula("infix", ("-", formula.args[2], formula.args[1]), formula.dtype)
        return spelled(formula, operands)
    return wrong


def _three_digits(spelled: Any) -> Any:
    return lambda value, dtype: f"{float(value):.3g}".replace("e+", "e") + ("f" if dtype.itemsize == 4 else "") \
        if dtype.kind == "f" and np.isfinite(value) and "." in f"{float(value):.3g}" else spelled(value, dtype)


def _lives_apart(_: Any) -> Any:
    return lambda self, other: False


def _numbered(fresh: Any) -> Any:
    numbers = itertools.count()
    return lambda self, wish: fresh(self, f"{wish}{next(numbers)}")


# --- caches --------------------------------------------------------------------------------------------------------

def _key_without_dtype(leaf_key: Any) -> Any:
    return lambda leaf: leaf.aval.shape if type(leaf) is Array else leaf_key(leaf)


def _strong(leaf_aval: Any) -> Any:
    return lambda self, *args: leaf_aval(self, *args).strip_weak_type()


def _lists_as_tuples(flatten: Any) -> Any:
    def wrong(tree: Any, *args: Any) -> Any:
        leaves, _ = flatten(tree, *args)
        return leaves, tree_structure(_tuples(tree))
    return wrong


def _tuples(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _tuples(item) for name, item in tree.items()}
    return tuple(map(_tuples, tree)) if type(tree) in (list, tuple) else tree


def _without_argv(_: Any) -> Any:
    return property(lambda self: sha256(repr({**self.to_json(), "argv": ""}).encode()))


def _remembered(call: Any) -> Any:
    """A program answers with what it gave first."""
    def wrong(self: Any, args: Any, *others: Any) -> Any:
        first = self.__dict__.setdefault("first_answer", [])
        if not first:
            first.append(call(self, args, *others))
        return first[0]
    return wrong


def _overwritten(call: Any) -> Any:
    """A program writes into its arguments."""
    def wrong(self: Any, args: Any, *others: Any) -> Any:
        results = call(self, args, *others)
        for x in args:
            if isinstance(x, Array) and x.nbytes:
                ctypes.memset(x.address, 0, x.nbytes)
        return results
    return wrong


@contextmanager
def _mutated_arguments() -> Iterator[None]:
    with _taught_nothing(), mock.patch.object(Program, "__call__", _overwritten(Program.__call__)):
        yield


def _taught_nothing() -> AbstractContextManager[Any]:
    """The hit path learns nothing, so that every call is answered by Python."""
    return mock.patch.object(JitFunction, "_teach", return_value=None)


@contextmanager
def _stale_answers() -> Iterator[None]:
    with _taught_nothing(), mock.patch.object(Program, "__call__", _remembered(Program.__call__)):
        yield


@contextmanager
def _borrowed_memory() -> Iterator[None]:
    with (mock.patch.object(concrete, "array_from_host", array_from_numpy),
          mock.patch.object(Program, "call_separately", Program.__call__)):
        yield


@contextmanager
def _without_settings() -> Iterator[None]:
    with (mock.patch.object(jit_module, "trace_context", tuple),
          mock.patch.object(traced_calls, "cache_context", tuple)):
        yield


FAULTS: dict[str, Fault] = {fault.name: fault for fault in [
    Fault("wrong sign of a tangent", "The derivative of sin is minus cos.", "derivatives",
          replaced(sin_p, "tangents", lambda rules: [lambda g, out, x: -rules[0](g, out, x)])),
    Fault("forgotten tangent", "A product has the tangent of its first operand only.", "derivatives",
          replaced(mul_p, "tangents", lambda rules: [rules[0], lambda g, out, x, y: mul_p.bind(x, g) * 0])),
    Fault("tangent of the result", "The derivative of tanh is computed from its operand.", "derivatives",
          replaced(tanh_p, "tangents", lambda rules: [lambda g, out, x: rules[0](g, x, x)])),
    Fault("cotangent in the wrong place", "The transpose of slice pads on the other side.", "derivatives",
          replaced(slice_p, "transpose", _transposed_slice)),
    Fault("nonlinear transpose", "The transpose of a sum squares the cotangent.", "derivatives",
          replaced(reduce_sum_p, "transpose", _sum_of_squares)),
    Fault("wrong batch axis", "Under vmap, rev turns the axes that it was given around, not those behind the batch.",
          "batches", replaced(rev_p, "batch", _batched_rev)),
    Fault("lost NaN", "In NumPy, the maximum of a NaN and a number is the number.", "kernels",
          replaced(max_p, "impl", lambda impl: lambda x, y: np.fmax(x, y))),
    Fault("comparison with equality", "In NumPy, < holds for equal numbers.", "kernels",
          replaced(lt_p, "impl", lambda impl: lambda x, y: np.less_equal(x, y))),
    Fault("conversion that rounds", "In NumPy, numbers are rounded to integers, not cut off.", "kernels",
          replaced(convert_element_type_p, "impl",
                   lambda impl: lambda x, **params: impl(np.round(x) if x.dtype.kind == "f" else x, **params))),
    Fault("wrong index", "Kernels ignore the strides of a slice.", "kernels",
          replaced(slice_p, "lower", _lowered_slice)),
    Fault("shared bytes", "Temporary arrays share bytes while both are needed.", "memory",
          replaced(memory.Life, "meets", _lives_apart)),
    Fault("empty maximum", "The maximum of nothing is taken for zero.", "kernels",
          replaced(reduce_max_p, "impl", lambda impl: lambda x, *, axes: np.maximum(
              impl(x, axes=axes), np.zeros((), x.dtype)))),
    Fault("wrong C", "In C, subtraction is turned around.", "machine code",
          replaced(code, "spelled_operation", _turned_around)),
    Fault("wrong number in C", "In C, numbers have three digits.", "machine code",
          replaced(own_float16, "spelled", _three_digits)),
    Fault("merged twins", "Two equations that differ in a parameter are merged.", "passes",
          replaced(cse, "key_of", _key_without_params)),
    Fault("lost sign of zero", "x + 0 is simplified to x.", "passes",
          lambda: mock.patch.dict(algebra._RULES, {add_p: _plus_zero})),
    Fault("product with zero", "x * 0 is simplified to 0, for NaN and infinities too.", "passes",
          lambda: mock.patch.dict(algebra._RULES, {mul_p: _times_zero(algebra._times_one)})),
    Fault("dropped weak type", "A difference of weakly typed operands has a strong type.", "weak types",
          replaced(sub_p, "abstract_eval", _without_weak)),
    Fault("unstable name", "Names in C have numbers that are never used again.", "texts",
          replaced(Names, "fresh", _numbered)),
    Fault("literal without its sign", "A literal is printed without its sign.", "round trip",
          replaced(Literal, "__repr__", lambda text: lambda self: text(self).lstrip("-"))),
    Fault("key without dtype", "Calls with arrays of one shape are one kind of call.", "kinds of calls",
          replaced(jit_module, "leaf_key", _key_without_dtype)),
    Fault("key without weak type", "A Python number is taken for an array of its type.", "kinds of calls",
          replaced(JitFunction, "_leaf_aval", _strong)),
    Fault("equal but not the same", "Static values are compared without their types: 1, 1.0 and True are one.",
          "kinds of calls", replaced(StaticValue, "__eq__", lambda eq: lambda self, other: self.value == other.value)),
    Fault("lists as tuples", "A list in an argument is taken for a tuple.", "kinds of calls",
          replaced(jit_module, "tree_flatten", _lists_as_tuples)),
    Fault("key without settings", "Settings are no part of what decides.", "settings", _without_settings),
    Fault("stale entry", "clear_cache() keeps what it should forget.", "forgetting",
          replaced(JitCache, "clear", lambda clear: lambda self: None)),
    Fault("remembered answer", "A program answers later calls with what it gave first.", "hits", _stale_answers),
    Fault("mutated argument", "A program writes into its arguments.", "hits", _mutated_arguments),
    Fault("borrowed memory", "An argument that is a result is not copied.", "hits", _borrowed_memory),
    Fault("equal zeros", "Programs that differ in the sign of a zero, or in 1 and True, are one.", "equal programs",
          replaced(structure, "literal_key", lambda key: lambda literal: literal.val)),
    Fault("wrong key field", "The digest of a compiled program leaves out the compiler's arguments.", "artifact keys",
          replaced(ArtifactKey, "digest", _without_argv)),
]}  # fmt: skip
"""Every fault by its name."""
