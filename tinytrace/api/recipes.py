"""A traced function as NumPy calls, one after the other: no promotion of types, no checks, no arrays in between.

What `jnp.where(c, x, y)` does to arrays of certain types never changes: it is what its jaxpr says. `EagerEntry`
(csrc/eager.c) runs such a recipe for functions that NumPy may answer (see `eager`).
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tinytrace._dispatch import EagerEntry, HitCounter
from tinytrace.api.blocks import is_filling
from tinytrace.api.concrete import as_array
from tinytrace.api.exactness import called_program
from tinytrace.api.inner_loops import (
    FEW_LOOPS,
    MADE,
    MOST_LOOPS,
    OF_SYMBOLS,
    InnerLoops,
    arithmetic,
    inner_loop,
    is_broadcast,
    math_loop,
    numpy_function,
    own_loop,
)
from tinytrace.api.numpy_prices import is_view, loops_are_quick, microseconds
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, FLOAT64, DType
from tinytrace.core.formulas import Formula
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.numpy_calls import broadcast_shape, to_numpy
from tinytrace.passes.dce import dce
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.shaping import reshape_p, rev_p, transpose_p
from tinytrace.primitives.slicing import slice_p
from tinytrace.records import NamedTuple
from tinytrace.util import cache_by_jaxpr_anywhere

NumPyFunction = Callable[..., Any]
Answer = Callable[[int, tuple[ShapedArray, ...], bool], "EagerEntry | None"]
"""Makes what answers calls on so many elements with such results, for good or for a while; None: a compiler pays."""
IsBest = Callable[[tuple[ShapedArray, ...]], bool]
BUDGET = 15_000
"""Microseconds of NumPy's time on the calls of one program: then a compiler would have paid, which takes as long."""
EQUATION = 100
"""How many more a compiler takes for one of its equations."""
LOOP_BYTES, SEVERAL_BYTES, SLOW_LOOP = 1 << 16, 1 << 10, 64
"""Of a result up to which one inner loop of NumPy's does without NumPy (csrc/loops.c); a longer one can use threads. Of
one up to which a few of them do, which write and read what a compiled program holds in registers.
Elements of one up to which this is so if NumPy's loop has no vectors."""
SHOWN, MOST_SHOWN = 1 << 15, 4
"""Bytes of an argument from which a view of it takes less time than a copy; of so many results at most."""
HELD = 1 << 20
"""Bytes of an argument of which no small part is shown: for as long as there is a view all of its memory stays."""
FOLDED = {FLOAT32, FLOAT64}
"""What Python's integers may become at once: the way over int32 gives the same."""


def numpy_entry(closed: ClosedJaxpr, leaf_types: Sequence[type],
                unflatten: Callable[[list[Any]], Any] | None, may_be_compiled: bool = False) -> EagerEntry | None:
    """Return the call of a program on Arrays, NumPy arrays and Python scalars as NumPy calls.

    may_be_compiled: the entry answers some calls only (`calls_in_budget`), unless nobody can do better.
    None where a result is an Array among the arguments, which must stay the same object, or a constant.
    """
    found = numpy_call(closed, leaf_types, unflatten is None)
    if found is None:
        return None
    is_for_good = found[2] is not None and are_short(found[2], closed.jaxpr, closed.out_avals[0])
    calls = calls_in_budget(closed.jaxpr) if may_be_compiled and not is_for_good else -1
    return EagerEntry(*found, tuple(closed.out_avals), unflatten, calls)


def view_entry(closed: ClosedJaxpr, unflatten: Callable[[list[Any]], Any] | None,
               counter: HitCounter) -> EagerEntry | None:
    """Return the call of a program on Arrays whose results show what they are given; None where a copy is better.

    Nobody can tell a view: Arrays are never written to, and one that somebody looks at is not donated but copied. Who
    computes with one puts its elements in order first, once, as fast as a copy made here (csrc/copies.c).
    """
    largest = max((aval.nbytes for aval in (*closed.in_avals, *closed.out_avals)), default=0)
    if largest < SHOWN or len(closed.out_avals) > MOST_SHOWN:
        return None
    closed = dce(closed)  # what the trace left dead would be called each time
    if not makes_views(closed.jaxpr):
        return None
    if largest >= HELD and any(2 * aval.nbytes < largest for aval in closed.out_avals):
        return None
    found = numpy_call(closed, [Array] * len(closed.in_avals), unflatten is None)
    return found and EagerEntry(*found, tuple(closed.out_avals), unflatten, -1, counter)


def are_short(loops: InnerLoops, jaxpr: Jaxpr, result: ShapedArray, most_loops: int = FEW_LOOPS) -> bool:
    """Can nobody compute a program that inner loops compute in less time, for such a result?"""
    n = len(loops[0])
    is_small = result.nbytes <= (LOOP_BYTES if n == 1 else SEVERAL_BYTES)
    return n <= most_loops and is_small and (result.size <= SLOW_LOOP or loops_are_quick(jaxpr))


def calls_in_budget(jaxpr: Jaxpr, elements: int | None = None) -> int:
    """Return how many calls of a program NumPy may answer before a compiler would have paid; -1: all of them.

    What is a view to NumPy stays one.  elements: of the arrays of an elementwise program that stands for all shapes.
    """
    eqns = list(_all_equations(jaxpr))
    if makes_views(jaxpr):
        return -1
    return max(1, round((BUDGET + EQUATION * len(eqns)) / sum(microseconds(eqn, elements) for eqn in eqns)))


@cache_by_jaxpr_anywhere
def makes_views(jaxpr: Jaxpr) -> bool:
    """Does NumPy answer a program by views of its arguments, given that their elements lie in order?"""
    return not jaxpr.effects and _in_order(jaxpr, [True] * len(jaxpr.invars)) is not None


def _in_order(jaxpr: Jaxpr, inputs: Sequence[bool]) -> list[bool] | None:
    """Say of each output whether its elements lie in order, given that of the inputs; None if something is copied."""
    order: dict[Atom, bool] = dict(zip(jaxpr.invars, inputs, strict=True))
    for eqn in jaxpr.eqns:
        inner = called_program(eqn)
        if not all(isinstance(x, Var) and x in order for x in eqn.invars):
            return None
        operands = [order[x] for x in eqn.invars]
        if inner is not None:
            results = _in_order(inner.jaxpr, operands)
        elif not is_view(eqn) or _may_copy(eqn, operands[0]):
            return None
        else:
            before, after = eqn.invars[0].aval, eqn.outvars[0].aval
            is_whole = before.nbytes == after.nbytes and eqn.primitive not in (rev_p, transpose_p)
            results = [operands[0] and (is_whole or _is_piece(eqn))]
        if results is None:
            return None
        order.update(zip(eqn.outvars, results, strict=True))
    return [order.get(x, False) for x in jaxpr.outvars]


def _is_piece(eqn: JaxprEqn) -> bool:
    """Is a slice some neighbouring rows?"""
    if eqn.primitive is not slice_p or set(eqn.params["strides"] or [1]) != {1}:
        return False
    before, after = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    return before[1:] == after[1:]


def _may_copy(eqn: JaxprEqn, is_in_order: bool) -> bool:
    return eqn.primitive is reshape_p and not (is_in_order and eqn.params["dimensions"] is None)


def _all_equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    for eqn in jaxpr.eqns:
        inner = called_program(eqn)
        yield from [eqn] if inner is None else _all_equations(inner.jaxpr)


def numpy_call(closed: ClosedJaxpr, leaf_types: Sequence[type], single: bool, any_shape: bool = False,
               by_math_loops: bool = False) \
        -> tuple[NumPyFunction, tuple[Callable[[Any], Any] | None, ...], InnerLoops | None] | None:
    """Return a program as a function of NumPy's operands, what makes such operands of arguments, None for an Array, and
    which inner loop of the function computes it, if one alone does.

    single: is its result an array, and no list of them?  any_shape: an elementwise program stands for those of all
    shapes: scalars stay scalars, which NumPy broadcasts.  by_math_loops: may loops be those of csrc/math, whose last
    digits are not NumPy's?
    """
    jaxpr = closed.jaxpr
    if jaxpr.effects or not jaxpr.outvars:
        return None
    arrays = {v for v, kind in zip(jaxpr.invars, leaf_types, strict=True) if kind is Array}
    if not all(isinstance(v, Var) and v not in arrays for v in jaxpr.outvars):
        return None
    recipe = _Recipe(jaxpr, closed.consts, leaf_types, any_shape, by_math_loops)
    if any_shape and any(place in recipe.scalars for place in recipe.outputs):
        return None
    function = recipe.function(single)
    return function, recipe.operand_types(function), recipe.inner_loops() if single else None


class Step(NamedTuple):
    """One NumPy call: which values it takes, and where its result goes."""

    function: NumPyFunction
    inputs: tuple[int, ...]
    output: int
    several: bool
    """Are the results several? Then they go to `output` and the places after it."""
    cast: DType | None
    """The dtype that a scalar is converted to, if that is what the call does."""
    own_loop: str | None
    """The name of the loop of csrc/own_loops.c that does the same."""


class _Recipe:
    """The equations of a jaxpr as NumPy calls over numbered values: first the inputs, then constants and results."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any], kinds: Sequence[type], any_shape: bool,
                 by_math_loops: bool) -> None:
        self.kinds = kinds
        self.avals = dict(enumerate(v.aval for v in jaxpr.invars))
        self.values: list[Any] = [None] * len(kinds)
        self.steps: list[Step] = []
        self.any_shape, self.by_math_loops = any_shape, by_math_loops
        self.scalars = {place for place, aval in self.avals.items() if not aval.shape}
        self.broadcasts: dict[int, int] = {}
        self.outputs = self._run(jaxpr, list(range(len(kinds))), consts)
        self._drop_broadcasts()
        self.casts = [self._fold_cast(i) if kind is not Array else None for i, kind in enumerate(kinds)]

    def _run(self, jaxpr: Jaxpr, inputs: Sequence[int], consts: Sequence[Any]) -> list[int]:
        """Append the steps of `jaxpr`; return where its results are."""
        places: dict[Var, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            places[var] = self._constant(const, var.aval)

        def place(atom: Atom) -> int:
            return self._constant(atom.val, atom.aval) if isinstance(atom, Literal) else places[atom]

        for eqn in jaxpr.eqns:
            operands = tuple(map(place, eqn.invars))
            closed = called_program(eqn)
            if closed is not None:
                found = self._run(closed.jaxpr, operands, closed.consts)
            elif eqn.primitive is convert_element_type_p and eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype:
                found = list(operands)  # the weak type alone has changed
            elif self.any_shape and is_filling(eqn):
                found = list(operands)
            elif self.by_math_loops and (formula := arithmetic(eqn)) is not None:
                found = [self._written_out(formula, operands, eqn.outvars[0].aval)]
            else:
                found = self._step(eqn, operands)
            places.update(zip(eqn.outvars, found, strict=True))
        return [place(v) for v in jaxpr.outvars]

    def _constant(self, value: Any, aval: ShapedArray) -> int:
        place = self._places_for(to_numpy(value, aval))
        self.avals[place] = aval
        return place

    def _step(self, eqn: JaxprEqn, operands: tuple[int, ...]) -> list[int]:
        function, own = numpy_function(eqn), own_loop(eqn) or (math_loop(eqn) if self.by_math_loops else None)
        if isinstance(function, np.ufunc) or own:
            operands = self._before_broadcasts(operands, eqn.outvars[0].aval.shape)
        first = self._places_for(*[None] * len(eqn.outvars))
        self.avals.update({first + k: v.aval for k, v in enumerate(eqn.outvars)})
        if is_broadcast(eqn):
            self.broadcasts[first] = self.broadcasts.get(operands[0], operands[0])
        if not self.scalars.issuperset(operands):
            self.scalars.difference_update(range(first, len(self.values)))
        cast = eqn.params["new_dtype"] if eqn.primitive is convert_element_type_p else None
        self.steps.append(Step(function, operands, first, eqn.primitive.multiple_results, cast, own))
        return list(range(first, len(self.values)))

    def _written_out(self, formula: Formula, operands: Sequence[int], result: ShapedArray) -> int:
        """Append the steps of an operation that is several of C's own; return where its result is."""
        match formula:
            case Formula(op="operand", args=(int(k),)):
                return operands[k]
            case Formula(op="number", args=(value,)):
                return self._constant(np.asarray(value, result.dtype), result.update(shape=()))
        symbol, *parts = formula.args
        inputs = tuple([self._written_out(part, operands, result) for part in parts])
        place = self._places_for(None)
        self.avals[place] = result
        if not self.scalars.issuperset(inputs):
            self.scalars.discard(place)
        self.steps.append(Step(OF_SYMBOLS[symbol], inputs, place, False, None, None))
        return place

    def _before_broadcasts(self, operands: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return operands that NumPy broadcasts by itself, and that give a result of this shape."""
        sources = tuple([self.broadcasts.get(i, i) for i in operands])
        known = all(i in self.avals for i in sources)
        return sources if known and broadcast_shape(*(self.avals[i].shape for i in sources)) == shape else operands

    def _drop_broadcasts(self) -> None:
        """Drop those that nobody needs any more, as each has been done without."""
        needed = set(self.outputs)
        for step in reversed(tuple(self.steps)):
            if step.output in self.broadcasts and step.output not in needed:
                self.steps.remove(step)
            else:
                needed.update(step.inputs)

    def _places_for(self, *values: Any) -> int:
        first = len(self.values)
        self.values += values
        self.scalars.update(range(first, len(self.values)))
        return first

    def _fold_cast(self, i: int) -> DType | None:
        """Drop the conversion of a Python scalar, if it is all that happens to it; return the dtype that it is to."""
        uses = [step for step in self.steps if i in step.inputs]
        if len(uses) != 1 or uses[0].cast not in FOLDED or self.kinds[i] not in (int, bool) or i in self.outputs:
            return None
        self.steps.remove(uses[0])
        self.steps = [step._replace(inputs=tuple(i if k == uses[0].output else k for k in step.inputs))
                      for step in self.steps]
        self.outputs = [i if k == uses[0].output else k for k in self.outputs]
        return uses[0].cast

    def operand_types(self, function: NumPyFunction) -> tuple[Callable[[Any], Any] | None, ...]:
        """Return, per input, what makes an operand of a Python scalar or a NumPy array, None for an Array."""
        wrap = None if isinstance(function, np.ufunc) else np.asarray
        return tuple(None if kind is Array else functools.partial(np.array, dtype=aval.dtype) if kind is np.ndarray
                     else _scalar_type(aval.dtype, cast, wrap)
                     for kind, aval, cast in zip(self.kinds, self.avals.values(), self.casts, strict=False))

    def inner_loops(self) -> InnerLoops | None:
        """Return the loops that take arguments as they are and give what is asked for, None if no few of them do."""
        n, loops = len(self.kinds), []
        made = {step.output: MADE + k for k, step in enumerate(self.steps)}
        if not 0 < len(self.steps) <= MOST_LOOPS or self.outputs != [self.steps[-1].output]:
            return None
        fixed = sorted({i for step in self.steps for i in step.inputs if i >= n and i not in made})
        if self.any_shape and any(self.avals[i].shape for i in fixed):
            return None
        for step in self.steps:
            avals = [self.avals[i] for i in step.inputs]
            dtypes = [self.casts[i] or aval.dtype if i < n else aval.dtype
                      for i, aval in zip(step.inputs, avals, strict=True)]
            places = [i if i < n else -1 - fixed.index(i) if i in fixed else made[i] for i in step.inputs]
            shapes, result = None if self.any_shape else [aval.shape for aval in avals], self.avals[step.output]
            is_number = self.any_shape and step.output in self.scalars
            loop = None if step.several else inner_loop(step.function, step.own_loop, places, dtypes, shapes,
                                                        result.dtype, result.shape, is_number)
            if loop is None:
                return None
            loops.append(loop)
        return tuple(loops), tuple([as_array(self.values[i], self.avals[i]) for i in fixed])

    def function(self, single: bool) -> NumPyFunction:
        """Return the steps as one function of the inputs."""
        if single and len(self.steps) == 1:
            step, = self.steps
            if not step.several and step.inputs == tuple(range(len(self.kinds))):
                return step.function
        return _runner(self.values[len(self.kinds):], self._with_dead(), self.outputs[0] if single else self.outputs)

    def _with_dead(self) -> list[tuple[Step, tuple[int, ...]]]:
        """Pair each step with the values that nobody needs after it."""
        needed = set(self.outputs)
        paired = []
        for step in reversed(self.steps):
            paired.append((step, tuple({i for i in step.inputs if i not in needed})))
            needed.update(step.inputs)
        return paired[::-1]


def _scalar_type(dtype: DType, cast: DType | None, wrap: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    made = dtype.type if cast is None else _through(dtype.type, cast.type)
    return made if wrap is None else _through(made, wrap)


def _through(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: second(first(x))


def _runner(template: Sequence[Any], steps: Sequence[tuple[Step, tuple[int, ...]]],
            outputs: int | Sequence[int]) -> NumPyFunction:
    def run(*inputs: Any) -> Any:
        values = [*inputs, *template]
        for (function, places, output, several, *_), dead in steps:
            result = function(*[values[i] for i in places])
            if several:
                values[output:output + len(result)] = map(np.asarray, result)
            else:
                values[output] = result if type(result) is np.ndarray else np.asarray(result)
            for i in dead:
                values[i] = None
        return values[outputs] if isinstance(outputs, int) else [values[i] for i in outputs]

    return run
