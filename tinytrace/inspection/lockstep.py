"""Lockstep: a program's executable forms side by side, up to the first value in which one of them is wrong.

    tinytrace.lockstep(f)(x)

The jaxpr as traced is run equation by equation; then what each pass made of it, jaxprs and kernels, in NumPy; then its
C, stopped behind kernel after kernel. The first pass, or the first kernel in C, whose result is further from the form
before it than its operations allow is told: with the value, the equations, the user's line (by the source map), and a
program of five lines that shows it, as small as `shrink` makes it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tinytrace.api.program import Program
from tinytrace.codegen.ir.kernel import Kernel, Nest, inner_programs
from tinytrace.codegen.ir.nodes import walk
from tinytrace.codegen.ir.statements import Buffer, Combine, For, Stmt, expressions
from tinytrace.codegen.source_map import Equation, SourceMap
from tinytrace.control_flow.bodies import stored
from tinytrace.core.avals import aval_of
from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.dtypes import KeyType, is_complex, is_float, is_inexact, part_dtype
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, eval_jaxpr, subjaxprs
from tinytrace.core.kinds import Call, Scalar, kind_of
from tinytrace.core.trace import interpreting
from tinytrace.inspection.prefixes import Prefixes, lowered_with_arguments
from tinytrace.inspection.shrink import Shrunk, shrink
from tinytrace.primitives.elementwise import Elementwise
from tinytrace.records import dataclass

UNSTATED = 8.0
"""Units in the last place that an operation may be off of which nobody has stated a bound."""


@dataclass(frozen=True)
class Difference:
    """The first value in which two forms of a program differ.

    Args:
      stage: the pass, or `C`, that changed it.
      place: the result, or the kernel and its array.
      element: which element of it.
      got, expected: what this form and the one before it compute.
      allowed: how much they may differ, by the operations between them.
      equations: the equations that compute it, as far as that is known, with the user's lines.
      smallest: the smallest program that differs, with its arguments.
    """

    stage: str
    place: str
    element: tuple[int, ...]
    got: Any
    expected: Any
    allowed: float
    equations: list[Equation] = field(default_factory=list)
    smallest: Shrunk | None = None

    def as_python(self) -> str:
        """Return a program of five lines that prints what is computed, and what should be."""
        if self.smallest is None or self.smallest.args is None:
            return ""
        program, args = self.smallest.program, self.smallest.args
        with interpreting():
            expected = eval_jaxpr(program.jaxpr, program.consts, *args)
        text = program.pretty_print(width=10**6)
        return "\n".join([
            "import numpy as np; from numpy import inf, nan",
            "import tinytrace as jax",
            f"program = lambda *args: jax.core.eval_jaxpr(jax.parse_jaxpr({text!r}), [], *args)",
            f"args = [{', '.join(map(array_text, args))}]",
            f"print('expected', [{', '.join(map(array_text, expected))}], 'got', jax.jit(program)(*args))"])

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.element))}]" if self.element else ""
        values = f"is {self.got}, should be {self.expected} (allowed: {self.allowed:.3g})"
        lines = [f"{self.stage}: {self.place}{at} {values}"]
        lines += [f"    {e.text}    {e.file}:{e.line}" if e.file else f"    {e.text}" for e in self.equations]
        return "\n".join([*lines, *([self.as_python()] if self.smallest is not None else [])])

    __repr__ = __str__


@dataclass(frozen=True)
class Agreement:
    """All forms of a program compute the same, as far as their operations allow."""

    forms: tuple[str, ...]

    def __str__(self) -> str:
        return f"{len(self.forms)} forms agree: {', '.join(self.forms)}"

    __repr__ = __str__

    def __bool__(self) -> bool:
        return False


def lockstep(fun: Callable[..., Any]) -> Callable[..., Difference | Agreement]:
    """Return a function that runs all executable forms of `fun` and returns the first difference, or their agreement.

    The agreement is false, so that `assert not lockstep(f)(x)` holds when nothing differs.

    Raises: ValueError for a program with effects, such as prints: it runs many times.

    >>> import tinytrace.numpy as jnp
    >>> def f(x):
    ...     return jnp.tanh(x) * 2
    >>> bool(lockstep(f)(jnp.arange(3.0)))
    False
    """
    def run(*args: Any, **kwargs: Any) -> Difference | Agreement:
        lowered, arrays = lowered_with_arguments(fun, args, kwargs)
        closed = lowered._traced.jaxpr
        if closed.effects:
            raise ValueError(f"lockstep runs a program once for each of its forms, and this one has effects each time "
                             f"({', '.join(sorted(map(str, closed.effects)))}): take its callbacks out first.")
        return _Comparison(closed, arrays, lowered.source_map).result(lowered)

    return run


class _Comparison:
    """One program on one set of arguments."""

    expected: list[Any]
    bounds: list[float]

    def __init__(self, closed: ClosedJaxpr, args: list[Any], source_map: SourceMap) -> None:
        self.closed, self.args, self.source_map = closed, args, source_map
        self.forms = ["jaxpr"]

    def result(self, lowered: Any) -> Difference | Agreement:
        program: Program = lowered._program
        self.expected = _evaluated(self.closed, self.args)
        self.bounds = bounds_of(self.closed, self.args, self.expected)
        for name, form, got in self.forms_of(program, lowered.passes):
            if (wrong := self.compare(name, got, form)) is not None:
                if form == "C":
                    wrong = self.first_kernel(program) or wrong
                return self.explained(wrong, form)
        return Agreement(tuple(self.forms))

    def forms_of(self, program: Program, passes: Any) -> Iterator[tuple[str, str, list[Any]]]:
        """Yield what each form of the program computes, in the order of their making, with its name and its kind."""
        planned = False
        for step in passes:
            if isinstance(step.after, ClosedJaxpr):
                yield step.name, "jaxpr passes", _evaluated(step.after, self.args)
                continue
            for name, kernels in [(step.name, step.after)] if planned else [("plan", step.before),
                                                                           (step.name, step.after)]:
                outs = kernels.run_in(None, *program.kernel_inputs(self.args))
                yield name, "kernels", program._results(self.args, outs)
            planned = True
        if program.kernel_jaxpr.jaxpr.eqns:
            yield "the layout of the workspace", "kernels", program.run_kernels(self.args)
            if program.executable is not None:
                yield "C", "C", program(self.args)

    def compare(self, stage: str, got: Sequence[Any], form: str) -> Difference | None:
        self.forms.append(stage)
        for k, (ours, theirs, bound) in enumerate(zip(got, self.expected, self.bounds, strict=True)):
            wrong = first_difference(stored(ours), stored(theirs), bound, form == "jaxpr passes")
            if wrong is not None:
                return Difference(stage, f"result {k}", wrong, stored(ours)[wrong], stored(theirs)[wrong], bound)
        return None

    def first_kernel(self, program: Program) -> Difference | None:
        """Return the first value that C computes otherwise than NumPy does, kernel by kernel."""
        prefixes = Prefixes(program, self.args)
        agrees, differs = 0, len(prefixes.kernels)
        wrong = self.kernel_difference(prefixes, differs)
        while differs - agrees > 1:
            middle = (agrees + differs) // 2
            found = self.kernel_difference(prefixes, middle)
            agrees, differs, wrong = (agrees, middle, found) if found is not None else (middle, differs, wrong)
        return wrong or self.kernel_difference(prefixes, differs)

    def kernel_difference(self, prefixes: Prefixes, count: int) -> Difference | None:
        """Return where what the first `count` kernels write differs between C and NumPy: the last of them first."""
        machine, numpy = prefixes.in_c(count), prefixes.in_numpy(count)
        values = [x for x in numpy.values() if x.size]
        bound = sum(kernel_units(k) for k in prefixes.kernels[:count]) * _unit_and_scale(values)
        needed = set(prefixes.outputs) | {b for k in prefixes.kernels[count:] for b in k.reads}
        written = {buffer: k for k in range(count) for buffer in prefixes.kernels[k].writes}
        seen = needed & written.keys() & machine.keys() & numpy.keys()
        for buffer in sorted(seen, key=lambda b: (-written[b], b.name)):
            ours, theirs = (x[buffer][:buffer.size].reshape(buffer.shape) for x in (machine, numpy))
            wrong = first_difference(ours, theirs, bound)
            if wrong is not None:
                kernel = prefixes.kernels[written[buffer]]
                place = f"{buffer.name} of kernel {written[buffer] + 1} ({kernel.title()})"
                return Difference("C", place, wrong, ours[wrong], theirs[wrong], bound,
                                  self.equations_of(kernel, buffer))
        return None

    def equations_of(self, kernel: Kernel, buffer: Buffer) -> list[Equation]:
        """Return the equations that compute an array: those that name it, or all of the kernel."""
        named = [e for e in kernel.equations if any(buffer.name in value.names for value in e.results)]
        wanted = {equation.operation for equation in named or kernel.equations}
        ids = {eqn.ids[0] for eqn in self.closed.jaxpr.walk() if set(eqn.ids) & kernel.eqns}
        numbers = {key: k for k, key in enumerate(dict.fromkeys(eqn.ids[0] for eqn in self.closed.jaxpr.walk()))}
        found = [self.source_map.equations[numbers[key]] for key in sorted(ids)]
        return [e for e in found if e.text.split(" = ")[-1].split("[")[0].split(" ")[0] in wanted] or found

    def explained(self, wrong: Difference, form: str) -> Difference:
        """Add the smallest program that differs in this form, and its equations."""
        try:
            with interpreting():
                smallest = shrink(self.closed, lambda closed, *args: differs(closed, args, form), self.args)
        except ValueError:  # a later pass mends what this one broke
            return wrong
        left = {key for eqn in smallest.program.jaxpr.walk() for key in eqn.ids}
        numbers = list(dict.fromkeys(eqn.ids[0] for eqn in self.closed.jaxpr.walk()))
        equations = wrong.equations or [self.source_map.equations[k] for k, key in enumerate(numbers) if key in left]
        return Difference(wrong.stage, wrong.place, wrong.element, wrong.got, wrong.expected, wrong.allowed,
                          equations, smallest)


def differs(closed: ClosedJaxpr, args: Sequence[Any], form: str) -> bool:
    """Do the equations of a program and one of its other forms (`jaxpr passes`, `kernels`, `C`) differ on `args`?"""
    expected = _evaluated(closed, args)
    program = Program(closed)
    if form == "jaxpr passes":
        got = _evaluated(program.jaxpr, args)
    else:
        got = program.run_kernels(args) if form == "kernels" else program(args)
    results = zip(got, expected, bounds_of(closed, args, expected), strict=True)
    signs = form == "jaxpr passes"
    return any(first_difference(stored(x), stored(y), bound, signs) is not None for x, y, bound in results)


def _evaluated(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    with interpreting():
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)


# --- how far two forms may be apart ---------------------------------------------------------------------------------

def first_difference(got: Any, expected: Any, bound: float, signs: bool = False) -> tuple[int, ...] | None:
    """Return the first element in which two arrays differ: floats by more than `bound`, all else at all.

    signs: whether zeros must have the same sign even where there is rounding.
    """
    if is_complex(expected.dtype):
        wrong = _differ(got.real, expected.real, bound, signs) | _differ(got.imag, expected.imag, bound, signs)
    elif is_float(expected.dtype):
        wrong = _differ(got, expected, bound, signs)
    else:
        wrong = np.asarray(got != expected)
    places = np.argwhere(wrong)
    return tuple(map(int, places[0])) if len(places) else None


def _differ(got: Any, expected: Any, bound: float, signs: bool) -> np.ndarray[Any, Any]:
    x, y = (np.asarray(a, np.float64) for a in (got, expected))
    signs = signs or bound == 0
    same = (x == y) & ((np.signbit(x) == np.signbit(y)) | (not signs)) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        return np.asarray(~(same | ((x != y) & (np.abs(x - y) <= bound))))


def bounds_of(closed: ClosedJaxpr, args: Sequence[Any], expected: Sequence[Any]) -> list[float]:
    """Return for each result how far two computations of it may be apart: by the equations that it needs."""
    jaxpr = closed.jaxpr
    found = []
    for k in range(len(jaxpr.outvars)):
        smaller, _ = dce_jaxpr(jaxpr, [i == k for i in range(len(jaxpr.outvars))])
        found.append(rounding(smaller.eqns, [*args, *expected]))
    return found


def rounding(eqns: Sequence[JaxprEqn], values: Sequence[Any]) -> float:
    """Return how far two computations of these equations may be apart: the units of all, on the scale of the values."""
    units = sum(_equation_units(eqn) for eqn in _all_equations(eqns))
    return units * _unit_and_scale([stored(x) for x in values]) if units else 0.0


def _all_equations(eqns: Sequence[JaxprEqn]) -> Iterator[JaxprEqn]:
    for eqn in eqns:
        inner = list(subjaxprs(eqn.params))
        times = int(eqn.params.get("length", 1)) if inner else 1
        for jaxpr in inner:
            yield from [*_all_equations(jaxpr.eqns)] * max(1, min(times, 100))
        if not inner:
            yield eqn


def _equation_units(eqn: JaxprEqn) -> float:
    """Return the units in the last place that an equation may be off; 0 for what is exact wherever it is computed."""
    if not any(is_inexact(v.aval.dtype) for v in eqn.outvars):
        return 0.0
    if isinstance(eqn.primitive, Elementwise):
        kind = kind_of(eqn)
        if isinstance(kind, Call):  # of complex numbers: a program on their parts
            return sum(map(_equation_units, kind.jaxpr.eqns))
        assert isinstance(kind, Scalar)
        ulp = kind.operation.ulp
        return 2 * UNSTATED if ulp is None else 0.0 if ulp == 0 else 2 * ulp + 1  # exact mode is not assumed
    if eqn.primitive.name in _MOVES:
        return 0.0
    return 2.0 * UNSTATED + max((atom.aval.size for atom in eqn.invars if not isinstance(atom, Literal)), default=1)


_MOVES = frozenset([
    "broadcast_in_dim", "concatenate", "copy", "dynamic_slice", "dynamic_update_slice", "gather", "iota", "pad", "rev",
    "reduce_max", "reduce_min", "reshape", "scatter", "select_n", "slice", "sort", "squeeze", "transpose", "clamp",
])  # fmt: skip
"""Operations that give elements of their operands, as they are."""


def kernel_units(kernel: Kernel) -> float:
    """Return the units in the last place that C and NumPy may be apart in one kernel."""
    if not isinstance(kernel, Nest):
        return max(1.0, sum(kernel_units(k) for program in inner_programs(kernel) for k in program)) * 100
    return 2.0 + _units(kernel.body, 1)


def _units(body: Sequence[Stmt], folded: int) -> float:
    total = 0.0
    for stmt in body:
        operations = [node.args[0] for node in walk(expressions(stmt)) if node.op == "apply"]
        total += sum(2 * UNSTATED if op.ulp is None else 2 * op.ulp + 1 for op in operations)
        if isinstance(stmt, Combine):
            total += folded
        inner = getattr(stmt, "body", ())
        total += _units(inner, folded * stmt.axis.args[1] if isinstance(stmt, For) else folded)
    return total


def _unit_and_scale(values: Sequence[Any]) -> float:
    """Return a unit in the last place of the largest finite number."""
    scale = unit = 0.0
    for x in values:
        if is_inexact(x.dtype) and x.size:
            numbers = np.abs(x if is_complex(x.dtype) else np.asarray(x, np.float64))
            scale = max(scale, float(np.max(numbers, initial=1.0, where=np.isfinite(numbers))))
            unit = max(unit, {1: 2.0**-2, 2: 2.0**-7, 4: 2.0**-23, 8: 2.0**-52}[part_dtype(x.dtype).itemsize])
    return unit * scale


def array_text(x: Any) -> str:
    """Return an array as Python: its numbers and its type."""
    value = stored(x)
    dtype = aval_of(x).dtype
    if isinstance(dtype, KeyType):
        words = np.ascontiguousarray(value).view(np.uint32).reshape(*value.shape, -1)
        made = f"np.array({words.tolist()}, 'uint32')"
        return f"jax.random.wrap_key_data({made}, impl={dtype.generator!r})"
    kind = repr(value.dtype.name) if value.dtype.isbuiltin == 1 else f"jax.numpy.{value.dtype.name}"
    return f"np.array({value.tolist()}, {kind}).reshape({value.shape})" if not value.size else \
        f"np.array({value.tolist()}, {kind})"
