"""Library functions outside of any trace: run plainly at first, and when calls repeat, as NumPy calls alone.

What `jnp.where(c, x, y)` does to arrays of certain types never changes: it is what its jaxpr says. So the third call
with arguments of the same types runs a recipe, the meanings in NumPy of the equations, one after the other, with no
promotion of types, no checks and no arrays in between. `FastCallable` (csrc/dispatch.c) finds the recipe and
`EagerEntry` (csrc/eager.c) runs it. The numbers are the same to the bit, for the same NumPy functions compute them.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinytrace._dispatch import Buffer, EagerEntry, FastCallable
from tinytrace.api.jit import JitFunction, TracedFunction
from tinytrace.api.large_calls import LARGE, compiled
from tinytrace.control_flow.pjit import pjit_p
from tinytrace.core.array import Array, fresh_elements
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, FLOAT64, DType
from tinytrace.core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.core.trace import to_numpy
from tinytrace.errors import JAXIndexError, JAXTypeError
from tinytrace.primitives.conversion import convert_element_type_p

NumPyFunction = Callable[..., Any]
MAX_LEAVES = 64
"""Of one call; csrc/eager.c."""
FOLDED = {FLOAT32, FLOAT64}
"""What Python's integers may become at once: the way over int32 gives the same."""


class EagerFunction(FastCallable):
    """A library function as it is called outside of traces.

    plain: what it does, in terms of other functions.  jitted: its form that can be traced.  arrays_alone: do Python's
    numbers mean something else to it than arrays of them?
    """

    def __init__(self, plain: Callable[..., Any], jitted: JitFunction, arrays_alone: bool = False) -> None:
        self.plain, self.jitted = plain, jitted
        self.leaf_types = (Array,) if arrays_alone else (Array, float, int, bool)
        self._configure(EagerFunction._first_call, *jitted.statics)

    def _first_call(self, *args: Any, **kwargs: Any) -> Any:
        result = self.plain(*args, **kwargs)
        self._learn(args, kwargs, self._second_call)
        return result

    def _second_call(self, *args: Any, **kwargs: Any) -> Any:
        traced, entry = self._traced(args, kwargs)
        self._learn(args, kwargs, (traced and _in_machine_code(traced)) or entry or self.plain)
        return self.plain(*args, **kwargs)

    def _traced(self, args: tuple[Any, ...],
                kwargs: dict[str, Any]) -> tuple[TracedFunction | None, EagerEntry | None]:
        """Return what such calls trace to and what answers them; None where only the function itself can."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                traced, leaves, order = self.jitted.traced(args, kwargs)
            except (JAXTypeError, JAXIndexError):  # it looks at values
                return None, None
        if warned or order != sorted(order) or not all(type(x) in self.leaf_types for x in leaves):
            return None, None
        entry = entry_of(traced, [type(x) for x in leaves])
        return traced if entry else None, entry


def entry_of(traced: TracedFunction, leaf_types: Sequence[type]) -> EagerEntry | None:
    """Return the call of a traced function on Arrays and Python scalars; None where NumPy alone cannot answer it."""
    jaxpr = traced.closed.jaxpr
    if traced.consts or jaxpr.effects or not jaxpr.outvars or len(leaf_types) > MAX_LEAVES:
        return None
    if not all(isinstance(v, Var) and v not in jaxpr.invars for v in jaxpr.outvars):
        return None  # an argument is handed through: it stays the same object
    recipe = _Recipe(jaxpr, traced.closed.consts, leaf_types)
    if recipe.refused or not recipe.steps:
        return None
    single = is_single(traced)
    function = recipe.function(single)
    return EagerEntry(function, recipe.scalar_types(function), tuple([v.aval for v in jaxpr.outvars]),
                      None if single else traced.out_tree.unflatten)


def _in_machine_code(traced: TracedFunction) -> Any:
    """Return what answers such calls in C; None where that does not pay."""
    program = compiled(traced.closed)
    if program is None:
        return None
    count = len(traced.closed.jaxpr.invars)
    return program.fast_entry((), range(count), None if is_single(traced) else traced.out_tree.unflatten)


def is_single(traced: TracedFunction) -> bool:
    """Is the result one array and no tree of them?"""
    return traced.out_tree.num_leaves == 1 and traced.out_tree.num_nodes == 1


class Step(NamedTuple):
    """One NumPy call: which values it takes, and where its result goes."""

    function: NumPyFunction
    inputs: tuple[int, ...]
    output: int
    several: bool
    """Are the results several? Then they go to `output` and the places after it."""
    cast: DType | None
    """The dtype that a scalar is converted to, if that is what the call does."""


class _Recipe:
    """The equations of a jaxpr as NumPy calls over numbered values: first the inputs, then constants and results."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any], kinds: Sequence[type]) -> None:
        self.kinds, self.avals = kinds, [v.aval for v in jaxpr.invars]
        self.out_aval: ShapedArray = jaxpr.outvars[0].aval
        self.values: list[Any] = [None] * len(kinds)
        self.steps: list[Step] = []
        self.refused = False
        self.outputs = self._run(jaxpr, list(range(len(kinds))), consts)
        self.casts = [self._fold_cast(i) if kind is not Array else None for i, kind in enumerate(kinds)]

    def _run(self, jaxpr: Jaxpr, inputs: Sequence[int], consts: Sequence[Any]) -> list[int]:
        """Append the steps of `jaxpr`; return where its results are."""
        places: dict[Var, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            places[var] = self._places_for(to_numpy(const, var.aval))

        def place(atom: Atom) -> int:
            return self._places_for(to_numpy(atom.val, atom.aval)) if isinstance(atom, Literal) else places[atom]

        for eqn in jaxpr.eqns:
            operands = tuple(map(place, eqn.invars))
            if eqn.primitive is pjit_p:
                closed = eqn.params["jaxpr"]
                found = self._run(closed.jaxpr, operands, closed.consts)
            elif eqn.primitive is convert_element_type_p and eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype:
                found = list(operands)  # the weak type alone has changed
            else:
                found = self._step(eqn, operands)
            places.update(zip(eqn.outvars, found, strict=True))
        return [place(v) for v in jaxpr.outvars]

    def _step(self, eqn: JaxprEqn, operands: tuple[int, ...]) -> list[int]:
        self.refused |= eqn.primitive.compiled_eagerly or any(True for _ in subjaxprs(eqn.params))
        first = self._places_for(*[None] * len(eqn.outvars))
        cast = eqn.params["new_dtype"] if eqn.primitive is convert_element_type_p else None
        self.steps.append(Step(eqn.primitive.in_numpy(eqn.params), operands, first, eqn.primitive.multiple_results,
                               cast))
        return list(range(first, len(self.values)))

    def _places_for(self, *values: Any) -> int:
        self.values += values
        return len(self.values) - len(values)

    def _fold_cast(self, i: int) -> DType | None:
        """Drop the conversion of a Python scalar, if it is all that happens to it; return the dtype that it is to."""
        uses = [step for step in self.steps if i in step.inputs]
        casts = {step.cast for step in uses}
        # A float that becomes a half one has been rounded to 32 bits in the jaxpr, and not by the plain function.
        self.refused |= self.kinds[i] is float and any(cast is not None and cast.itemsize < 4 for cast in casts)
        if len(uses) != 1 or not casts <= FOLDED or self.kinds[i] is float or i in self.outputs:
            return None
        self.steps.remove(uses[0])
        self.steps = [step._replace(inputs=tuple(i if k == uses[0].output else k for k in step.inputs))
                      for step in self.steps]
        self.outputs = [i if k == uses[0].output else k for k in self.outputs]
        return uses[0].cast

    def scalar_types(self, function: NumPyFunction) -> tuple[Callable[[Any], Any] | None, ...]:
        """Return, per input, what makes an operand of a Python scalar, None for an Array."""
        wrap = None if isinstance(function, np.ufunc) else np.asarray
        return tuple(None if kind is Array else _scalar_type(aval.dtype, cast, wrap)
                     for kind, aval, cast in zip(self.kinds, self.avals, self.casts, strict=True))

    def function(self, single: bool) -> NumPyFunction:
        """Return the steps as one function of the inputs."""
        first = self.steps[0]
        if single and len(self.steps) == 1 and not first.several and first.inputs == tuple(range(len(self.kinds))):
            return _into_pool(first.function, self.out_aval)
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


def _into_pool(function: NumPyFunction, aval: ShapedArray) -> NumPyFunction:
    """Let a ufunc with a large result write it into a block of the pool: its pages are there, and C finds it there."""
    plain = getattr(function, "for_large", function)
    if aval.nbytes < LARGE or not isinstance(plain, np.ufunc):
        return function

    def call(*operands: Any) -> Buffer:
        buffer, out = fresh_elements(aval)
        plain(*operands, out=out)
        return buffer

    return call


def _runner(template: Sequence[Any], steps: Sequence[tuple[Step, tuple[int, ...]]],
            outputs: int | Sequence[int]) -> NumPyFunction:
    def run(*inputs: Any) -> Any:
        values = [*inputs, *template]
        for (function, places, output, several, _), dead in steps:
            result = function(*[values[i] for i in places])
            if several:
                values[output:output + len(result)] = map(np.asarray, result)
            else:
                values[output] = result if type(result) is np.ndarray else np.asarray(result)
            for i in dead:
                values[i] = None
        return values[outputs] if isinstance(outputs, int) else [values[i] for i in outputs]

    return run
