"""Expressions as C text: what is an operand, what becomes a block."""

import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.c.code import INLINE_SIDE, Code
from tinytrace.codegen.c.lines import Line
from tinytrace.codegen.ir.arithmetic import (
    both,
    compare,
    either,
    floordiv,
    index_of,
    linear,
    maximum,
    minimum,
    mod,
    multiply,
    where,
)
from tinytrace.codegen.ir.inserted_operations import add
from tinytrace.codegen.ir.nodes import Node, apply, axis, cast, fresh_nodes, literal, load, number
from tinytrace.codegen.ir.statements import Buffer

F32, I32 = np.dtype(np.float32), np.dtype(np.int32)


@pytest.fixture(autouse=True)
def nodes():
    with fresh_nodes():
        yield


def expressions() -> dict[str, Node]:
    """One of every kind."""
    i, j, x, k = axis("i", 100), axis("j", 7), Buffer("x", (100,), F32, "input"), Buffer("k", (9,), I32, "input")
    before, within = compare("lt", i, j), compare("le", j, number(3))
    return {
        "axis": i, "sum": linear(1, [(i, 2)]), "number": number(-3), "lt": before, "le": within,
        "eq": compare("eq", i, j), "and": both(before, within), "or": either(before, within), "min": minimum(i, j),
        "max": maximum(i, j), "floordiv": floordiv(i, number(3)), "mod": mod(i, number(3)), "mul": multiply(i, j),
        "load": load(x, i, F32), "cast": cast(linear(0, [(i, 3)]), F32), "index": index_of(load(k, j, I32)),
        "where": where(before, load(x, i, F32), literal(1, F32)), "literal": literal(2, F32),
        "negative literal": literal(-2, F32), "apply": apply(add(F32), (load(x, i, F32), literal(1, F32))),
    }  # fmt: skip


@pytest.mark.parametrize("name", expressions())
def test_an_operand_is_one_word_or_call_or_stands_in_parentheses(name):
    """So it means the same whatever stands beside it."""
    text = str(Line.of(Code().operand(expressions()[name])))
    opened = re.fullmatch(r"\w*([(\[].*[)\]])|[\w.]+", text)
    assert opened, text
    depth = 0
    for place, letter in enumerate(opened[1] or ""):
        depth += (letter in "([") - (letter in ")]")
        assert depth > 0 or place == len(opened[1]) - 1, text


@pytest.mark.parametrize("operations", [1, INLINE_SIDE - 1, INLINE_SIDE + 1, 3 * INLINE_SIDE])
def test_a_choice_with_much_on_a_side_is_a_block(operations):
    i, x = axis("i", 100), Buffer("x", (100,), F32, "input")
    side = load(x, i, F32)
    for _ in range(operations):
        side = apply(add(F32), (side, literal(1, F32)))
    code = Code()
    value = code.value(where(compare("lt", i, number(50)), side, literal(0, F32)))
    lines = [str(line).strip() for line in code.lines]
    if operations < INLINE_SIDE:
        assert "?" in value + "".join(lines)
        assert not any(line.startswith("if") for line in lines)
    else:
        assert any(line.startswith("if (i < 50)") for line in lines)
        assert "?" not in value + "".join(lines)


def test_a_sum_is_computed_before_the_product_that_is_added():
    """What is computed first is held while functions are called: the sum alone, not the factors."""
    x = np.ones(8, np.float32)
    text = jax.jit(lambda x, y: jnp.sin(x) * jnp.cos(y) + jnp.tanh(x * y)).lower(x, x).as_text()
    assert re.findall(r"= tt_(\w+)_f32\(", text) == ["tanh", "sin", "cos", "fma"]
