"""Strategies for cases: small programs, as text.

    functions(["{} * {}", "sin({})"], inputs=2)     "def f(a, b):\\n    c = a * b\\n    return sin(c)\\n"
    numbers()                                       "1.5"
    template("{f}\\nevaluate(f, {x})", f=..., x=...)  the text with each name drawn
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from hypothesis import strategies as st

Texts = st.SearchStrategy[str]


def template(pattern: str, **parts: Texts) -> Texts:
    """Texts of a pattern `"... {name} ..."`, each name drawn from its strategy."""
    return st.fixed_dictionaries(parts).map(lambda drawn: pattern.format(**drawn))


def numbers(low: float = -4.0, high: float = 4.0) -> Texts:
    """Multiples of a half, as text; they shrink towards 0.0, and no two operations confuse them as 1.0 and 2.0 do."""
    return st.integers(round(2 * low), round(2 * high)).map(lambda n: repr(n / 2))


def integers(low: int = -9, high: int = 9) -> Texts:
    """Integers, as text."""
    return st.integers(low, high).map(repr)


def vectors(size: int, low: float = -4.0, high: float = 4.0) -> Texts:
    """Arrays f32[size], as text over `jnp`."""
    return st.lists(numbers(low, high), min_size=size, max_size=size).map(
        lambda xs: f"jnp.array([{', '.join(xs)}])" if xs else "jnp.zeros(0)"
    )


@st.composite
def functions(
    draw: st.DrawFn, operations: Sequence[str], inputs: int = 1, most: int = 4, name: str = "f", results: int = 1
) -> str:
    """A function of `inputs` arguments: up to `most` lines of one operation each, no line left unused if it can be.

    Args:
      operations: patterns with one `{}` per operand.
      results: how many values it returns; a tuple if more than one.
    """
    letters = iter(string.ascii_lowercase)
    arguments = [next(letters) for _ in range(inputs)]
    values, lines = list(arguments), []
    for _ in range(draw(st.integers(1, most))):
        operation = draw(st.sampled_from(operations))
        operands = [draw(st.sampled_from(values[::-1])) for _ in range(operation.count("{}"))]
        result = next(letters)
        lines.append(f"    {result} = {operation.format(*operands)}")
        values.append(result)
    returned = [values[-1], *(draw(st.sampled_from(values)) for _ in range(results - 1))]
    return "\n".join([f"def {name}({', '.join(arguments)}):", *lines, f"    return {', '.join(returned)}", ""])
