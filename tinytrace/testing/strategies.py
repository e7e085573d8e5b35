"""Hypothesis strategies for tracing programs: dtypes, shapes, arrays with their awkward values, and whole programs.

    @given(programs_with_arguments())
    def test_my_transformation(case):
        program, arguments = case
        got = my_transformation(program.function())(*arguments)
        ...

A failing program is shrunk to few short lines and shown as Python text that runs by itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tinytrace.testing.programs import Program, draw_program
from tinytrace.testing.steps import ALL_STEPS
from tinytrace.testing.values import Dtype, Shape

ALL_DTYPES = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32")


def dtypes(names: tuple[str, ...] = ALL_DTYPES) -> st.SearchStrategy[Dtype]:
    """NumPy dtypes that exist without `enable_x64`, or those that are named."""
    return st.sampled_from([np.dtype(name) for name in names])


def shapes(max_dims: int = 3, max_side: int = 5) -> st.SearchStrategy[Shape]:
    """Shapes, with sides of 0 and 1 among them."""
    return st.lists(st.integers(0, max_side), max_size=max_dims).map(tuple)


def arrays(dtype: Dtype, shape: Shape, bound: float = math.inf) -> st.SearchStrategy[Any]:
    """NumPy arrays, their elements drawn from `elements`."""
    return hnp.arrays(dtype, shape, elements=elements(dtype, bound), fill=st.nothing())


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
    largest = float(np.finfo(dtype).max)
    awkward = [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, largest, -largest]
    # Denormals are left out: whether they survive is a choice that compilers may make.
    any_float = st.floats(width=16 if dtype.itemsize == 2 else 32, allow_subnormal=False)
    return st.sampled_from(awkward).map(dtype.type) | any_float.map(dtype.type)


@st.composite
def programs(draw: st.DrawFn, max_inputs: int = 3, max_steps: int = 8, contraction: bool = False) -> Program:
    """Random programs over `jnp` and `lax`: elementwise, comparison, selection, reductions, shapes, loops and branches.

    Half of the float inputs are tame (between -4 and 4), so that functions with rounding can be followed; the others
    hold anything. Results are compared by `tinytrace.testing.values.agree`; with `contraction` they may differ as
    far as fused multiply-adds let them.
    """
    kinds = st.tuples(shapes(), dtypes(("float32", "float32", "int32", "bool", "uint8")), st.booleans())
    return draw_program(draw, ALL_STEPS, st.lists(kinds, min_size=1, max_size=max_inputs), max_steps, contraction)


@st.composite
def programs_with_arguments(
    draw: st.DrawFn, max_inputs: int = 3, max_steps: int = 8, contraction: bool = False
) -> tuple[Program, list[Any]]:
    """Random programs, each with NumPy arrays to call it on."""
    program = draw(programs(max_inputs, max_steps, contraction))
    return program, [draw(arrays(value.dtype, value.shape, value.bound)) for value in program.inputs]
