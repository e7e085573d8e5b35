"""The strategies draw what they promise, and the comparison of results sees what it should."""

import ast
import math
import re

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

import tinytrace.numpy as jnp
from tinytrace.testing.programs import Program
from tinytrace.testing.strategies import arrays, dtypes, elements, programs, programs_with_arguments, shapes
from tinytrace.testing.values import FLOAT32, INT32, Value, agree


@given(st.data(), dtypes(), shapes())
def test_arrays_have_their_type(data, dtype, shape):
    array = data.draw(arrays(dtype, shape))
    assert (array.dtype, array.shape) == (dtype, shape)


@given(arrays(FLOAT32, (8,), bound=4.0))
def test_bounded_arrays_are_bounded(array):
    assert np.all(np.abs(array) <= 4.0)


@pytest.mark.parametrize("wanted", [math.isnan, math.isinf, lambda x: x == 0 and math.copysign(1, x) < 0])
def test_awkward_floats_are_drawn(wanted):
    find(elements(FLOAT32), wanted)


@pytest.mark.parametrize("wanted", [np.iinfo(np.int32).min, np.iinfo(np.int32).max, 0, -1])
def test_awkward_integers_are_drawn(wanted):
    find(elements(INT32), lambda x: x == wanted)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["jnp.sin", "jnp.sum", "lax.pad", "lax.scan", "lax.cond", "lax.while_loop"])
def test_programs_of_every_family_are_drawn(word):
    assert word in find(programs(), lambda program: word in program.source).source


def test_a_program_shrinks_to_the_one_line_that_matters():
    program = find(programs(), lambda program: "lax.pad" in program.source)
    assert len(program.source.splitlines()) == 3


@given(programs())
def test_every_value_of_a_program_is_used(program):
    names = [node for node in ast.walk(ast.parse(program.source)) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    top_level = {line.split(" = ")[0].strip() for line in program.source.splitlines() if re.match(r"    \w+ = ", line)}
    assert top_level <= read


@given(programs_with_arguments())
def test_results_have_the_types_that_were_predicted(case):
    program, arguments = case
    results = program.function()(*map(jnp.asarray, arguments))
    assert [(r.shape, r.dtype) for r in results] == [(v.shape, v.dtype) for v in program.results]


def test_a_program_prints_as_python_with_the_types_of_its_arguments():
    program = Program("def program(a):\n    return a,\n", (Value("a", (2,), INT32),), (Value("a", (2,), INT32),))
    assert repr(program) == "\n# a: int32[2]\ndef program(a):\n    return a,\n"
    assert program.function()(3) == (3,)


X = Value("x", (2,), FLOAT32)


@pytest.mark.parametrize(
    ("ours", "theirs", "value", "complaint"),
    [
        ([1.0, np.nan], [1.0, np.nan], X, ""),
        ([1.0, -0.0], [1.0, 0.0], X, "x: float32[2], element (1,): -0.0 and 0.0 (no difference is allowed)"),
        ([1.0, np.inf], [1.0, np.nan], X, "x: float32[2], element (1,): inf and nan (no difference is allowed)"),
        ([1.0, 2.0], [1.0, 2.5], Value("x", (2,), FLOAT32, 4, 0.6), ""),
        ([1.0, 2.0], [1.0, 2.5], Value("x", (2,), FLOAT32, 4, 0.4),
         "x: float32[2], element (1,): 2.0 and 2.5 (a difference of 0.4 is allowed)"),
        ([1.0, np.inf], [1.0, np.inf], Value("x", (2,), FLOAT32, 4, 0.4), ""),
        ([1.0], [1.0, 2.0], X, "x: float32[2], but computed as float32[1]"),
    ],
)  # fmt: skip
def test_agree(ours, theirs, value, complaint):
    assert agree(np.float32(ours), np.float32(theirs), value) == complaint
