"""Hypothesis strategies for tracing programs: types, arrays with their awkward values, trees, and whole programs.

    @given(cases())
    def test_my_transformation(case):
        program, arguments = case
        got = my_transformation(program.function())(*arguments)
        ...

Arguments are arrays of tinytrace, so that `x.at[0]` and `x.astype(...)` work un-jitted too. A failing case is shrunk to
few short lines and shown as a Python text that runs by itself.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.control import currently_in_test_context
from hypothesis.extra import numpy as hnp

from tinytrace import random
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BFLOAT16
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.numpy import asarray
from tinytrace.records import NamedTuple
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.testing.random_programs import Case, Program, Step, draw_program
from tinytrace.testing.steps import ALL_STEPS, CORE_STEPS, PURE_STEPS
from tinytrace.testing.transformed import KINDS, Transformation
from tinytrace.testing.values import Dtype, Shape

ALL_DTYPES = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32")
MOST_DRAWN = 125
"""Elements of an array that are drawn one by one."""
_INPUT_DTYPES = (*["float32"] * 4, "int32", "int32", "bool", "uint8")


# --- types and arrays ----------------------------------------------------------------------------------------------

def dtypes(names: tuple[str, ...] = ALL_DTYPES) -> st.SearchStrategy[Dtype]:
    """NumPy dtypes that exist without `enable_x64`, or those that are named."""
    return st.sampled_from([BFLOAT16 if name == "bfloat16" else np.dtype(name) for name in names])


SIDES_OF_KERNELS = (1, 2, 3, 6, 8, 9, 12, 17, 31, 33, 64)
"""Sides on both sides of where loops become others: rows by lanes, whole vectors and a rest, calls of the host."""


def shapes(max_dims: int = 3, max_side: int = 5, large: bool = False) -> st.SearchStrategy[Shape]:
    """Shapes, with sides of 0 and 1 among them; or `large` ones, with SIDES_OF_KERNELS."""
    sides = SIDES_OF_KERNELS if large else [*range(1, max_side + 1)] * 2 + [0]  # seldom 0: of nothing, all is true
    ranks = st.sampled_from([0, *[rank for rank in range(1, max_dims + 1) for _ in range(2)]])
    return ranks.flatmap(lambda rank: st.tuples(*[st.sampled_from(sides)] * rank))


def avals(dtypes: st.SearchStrategy[Dtype] | None = None, shapes: st.SearchStrategy[Shape] | None = None
          ) -> st.SearchStrategy[ShapedArray]:
    """Types of arrays, `f32[3,4]`, weak ones among them (scalars of those dtypes that Python's numbers have)."""
    def typed(dtype: Dtype, shape: Shape, weak: bool) -> ShapedArray:
        return ShapedArray(shape, dtype, weak and not shape and dtype.name in ("int32", "float32"))

    return st.builds(typed, dtypes or _all_dtypes(), shapes or _all_shapes(), st.booleans())


def arrays(dtype: Dtype | str | None = None, shape: Shape | None = None, bound: float = math.inf
           ) -> st.SearchStrategy[Any]:
    """Arrays of tinytrace, their elements drawn from `elements`; of any dtype or shape where none is given."""
    kinds = _all_dtypes() if dtype is None else st.just(np.dtype(dtype))
    sizes = _all_shapes() if shape is None else st.just(shape)
    return st.tuples(kinds, sizes).flatmap(lambda pair: _filled(*pair, bound))


@functools.cache
def _filled(dtype: Dtype, shape: Shape, bound: float) -> st.SearchStrategy[Any]:
    """Arrays whose elements are drawn one by one, and, as often, arrays in which hardly two elements are equal.

    Of many elements, which take long to draw, there are the latter alone.
    """
    varied = st.integers(0, 20).map(lambda first: asarray(_varied(dtype, shape, bound, first)))
    if math.prod(shape) > MOST_DRAWN:
        return varied
    return hnp.arrays(dtype, shape, elements=elements(dtype, bound), fill=st.nothing()).map(asarray) | varied


def _varied(dtype: Dtype, shape: Shape, bound: float, first: int) -> Any:
    """An array of unlike numbers in turn, from the number `first` on."""
    numbers: list[Any]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers = [7, 3, int(info.max), 1, 5, int(info.min), 0, 2, *([-1, -6] if info.min else [9, 13])]
    elif math.isfinite(bound):
        numbers = [x * bound for x in (0.296875, -0.859375, 0.703125, -0.109375, 0.984375, -0.578125, 0.453125)]
    else:
        numbers = [1.3, -2.75, math.nan, 0.4, -0.0, -0.6, math.inf, 3.5, 0.0, -1.7, -math.inf]
    count = math.prod(shape)
    return np.resize(np.roll(np.array(numbers), -first), count).astype(dtype).reshape(shape)


_all_dtypes, _all_shapes = dtypes, shapes


def elements(dtype: Dtype, bound: float = math.inf) -> st.SearchStrategy[Any]:
    """Scalars of a dtype, the awkward ones often: NaN, infinities, -0.0, the smallest and the largest integer.

    With a finite `bound`, floats lie between -bound and bound.
    """
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        edges = sorted({low, high, 0, 1, max(-1, low), high - 1})
        return st.sampled_from(edges) | st.integers(max(-5, low), 5) | st.integers(low, high)
    if math.isfinite(bound):
        return st.integers(-64, 64).map(lambda n: dtype.type(n * bound / 64))
    awkward = [0.0, -0.0, 1.0, -1.0, 0.5, 2.75, math.inf, -math.inf, *[math.nan] * 4]
    if dtype == BFLOAT16:
        return st.sampled_from(awkward).map(dtype.type)
    largest = float(np.finfo(dtype).max)
    # Denormals are left out: whether they survive is a choice that compilers may make.
    any_float = st.floats(width=16 if dtype.itemsize == 2 else 32, allow_subnormal=False)
    special = st.sampled_from([*awkward, largest, -largest])
    return st.one_of(special, special, any_float).map(dtype.type)


def random_keys() -> st.SearchStrategy[Any]:
    """Keys for random numbers: one, or an array of three."""
    one = st.integers(0, 2**31 - 1).map(random.key)
    return one | one.map(lambda key: random.split(key, 3))


# --- what else a call may hold -------------------------------------------------------------------------------------

class Pair(NamedTuple):
    """A container with named fields."""

    first: Any
    second: Any


def pytrees(leaves: st.SearchStrategy[Any] | None = None, max_leaves: int = 5) -> st.SearchStrategy[Any]:
    """Containers of arrays, or of `leaves`: tuples, lists, dicts, named tuples and None, one in the other."""
    leaf = arrays(shape=()) if leaves is None else leaves
    names = st.sampled_from(["a", "b", "W"])

    def containers(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        some = st.lists(inside, max_size=3)
        return some | some.map(tuple) | st.dictionaries(names, inside, max_size=3) | st.builds(Pair, inside, inside)

    return st.recursive(leaf | st.none(), containers, max_leaves=max_leaves)


def static_values() -> st.SearchStrategy[Any]:
    """Values for static arguments: hashable, among them some that are equal and yet not the same (1, 1.0, True)."""
    alike = st.sampled_from([0, False, 0.0, 1, True, 1.0, "1", -1])
    objects = st.sampled_from([np.float32, max, min])
    other = st.integers(-3, 3) | st.text(alphabet="ab", max_size=2) | st.none() | objects
    return alike | other | st.tuples(alike, other) | st.frozensets(st.integers(0, 3), max_size=2)


def keys() -> st.SearchStrategy[ArtifactKey]:
    """Keys of compiled programs, often alike in all fields but one."""
    words = st.sampled_from(["", "a", "b"])
    return st.builds(ArtifactKey, words, words, st.lists(words, max_size=2).map(tuple), st.integers(0, 1), words)


def transformations(max_size: int = 2) -> st.SearchStrategy[Transformation]:
    """Transformations of a program, one after the other: jitted, mapped, differentiated, checkpointed, or none."""
    return st.lists(st.sampled_from(list(KINDS)), max_size=max_size).map(lambda names: Transformation(*names))


# --- programs ------------------------------------------------------------------------------------------------------

@st.composite
def programs(draw: st.DrawFn, max_inputs: int = 3, max_steps: int = 8, contraction: bool = False,
             steps: Sequence[Step] = PURE_STEPS, tame: bool = False, large: bool = False) -> Program:
    """Random programs over `jnp` and `lax`, well typed, every result used.

    Half of the float inputs are tame (between -4 and 4), so that functions with rounding can be followed; the others
    hold anything. Results are compared by `tinytrace.testing.values.agree`; with `contraction` they may differ as
    far as fused multiply-adds let them.

    Args:
      steps: the families of operations, `tinytrace.testing.steps.ALL_STEPS` for calls of the host too.
      tame: whether all float inputs are tame.
      large: whether the inputs are large, so that kernels are those of vectors and of the host.
    """
    return draw_program(draw, steps, _inputs(max_inputs, tame, large), max_steps, contraction)


@functools.cache
def _inputs(most: int, tame: bool, large: bool) -> st.SearchStrategy[list[tuple[Shape, Dtype, bool]]]:
    """Shape, dtype, and whether it is tame, of each input of a program."""
    kinds = st.tuples(shapes(large=large), dtypes(_INPUT_DTYPES), st.just(True) if tame else st.booleans())
    return st.lists(kinds, min_size=1, max_size=most)


@st.composite
def cases(draw: st.DrawFn, max_inputs: int = 3, max_steps: int = 8, contraction: bool = False,
          steps: Sequence[Step] = PURE_STEPS, tame: bool = False, large: bool = False) -> Case:
    """Random programs with arguments: `program, arguments = case`; printed, a Python text that runs."""
    program = draw(programs(max_inputs, max_steps, contraction, steps, tame, large))
    case = Case(program, [draw(_filled(value.dtype, value.shape, value.bound)) for value in program.inputs])
    last_drawn[:] = [case]
    return case


def programs_with_arguments(max_inputs: int = 3, max_steps: int = 8, contraction: bool = False, large: bool = False
                            ) -> st.SearchStrategy[Case]:
    """Cases of the steps that most programs consist of: those that need nothing but loops in C."""
    return cases(max_inputs, max_steps, contraction, CORE_STEPS, large=large)


last_drawn: list[Case] = []
"""The case that was drawn last: after a failure, the one that Hypothesis shows."""


@st.composite
def jaxprs(draw: st.DrawFn, max_steps: int = 10, steps: Sequence[Step] = ALL_STEPS) -> ClosedJaxpr:
    """Jaxprs of random programs, transformed or not; events count their primitives and sizes."""
    program, arguments = draw(cases(2, max_steps, steps=steps))
    transformation, function = draw(transformations()), program.function()
    closed: ClosedJaxpr
    try:
        closed = make_jaxpr(transformation(function))(*arguments)
    except (NotImplementedError, ValueError, TypeError) as error:
        # such as a loop without reverse mode, a callback without tangents, forward mode of a function with reverse
        # only, tangents of `top_k` of nothing, whose gather JAX refuses, too
        told = "forward-mode autodiff|size at index . in gather"
        if isinstance(error, TypeError) and not re.search(told, str(error)):
            raise
        closed = make_jaxpr(function)(*arguments)
    note(closed)
    return closed


def note(closed: ClosedJaxpr) -> None:
    """Let Hypothesis' statistics tell how often each primitive was drawn, and how large programs were."""
    if currently_in_test_context():
        for name in sorted({eqn.primitive.name for eqn in closed.jaxpr.walk()}):
            event(f"primitive {name}")
        event("equations", f"{2 ** math.frexp(sum(1 for _ in closed.jaxpr.walk()))[1]} at most")
