"""One's own elementwise primitive in C: as an expression over its operands, or as a function in C's own words.

    c_expression(lambda x, y: x * y + 1)
    c_function("float f(float x, float y) { return x * y + 1; }", "double f(double x, double y) { ... }")

The code generator takes such a primitive for one of its own operations: it fuses and vectorizes it. What it means in
NumPy, where programs are interpreted, is its `impl`.
"""
from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.codegen.c.types import variable_type
from tinytrace.core.avals import ShapedArray
from tinytrace.core.formulas import Formula, as_formula, call_named, operand
from tinytrace.core.kinds import Kind, Scalar
from tinytrace.core.operations import operation
from tinytrace.core.own_primitive import interpreted_elements
from tinytrace.core.primitive import Primitive
from tinytrace.core.storage_types import STORAGE_TYPES
from tinytrace.csources import MathFunction, add_function


class InC:
    """A lowering in C: a formula, made for operands of given types."""

    def __init__(self, formula: Callable[..., Formula]) -> None:
        self.formula = formula

    def kind(self, primitive: Primitive, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray],
             **params: Any) -> Kind:
        """Return what the code generator asks for.

        Raises: TypeError for operands of different shapes, and when there are several results.
        """
        shapes = {aval.shape for aval in in_avals if aval.shape}
        if len(out_avals) != 1 or len(shapes) > 1 or (shapes or {()}) != {out_avals[0].shape}:
            raise TypeError(
                f"'{primitive}' has a lowering in C, which says how one element of its result comes from one element "
                f"of each operand; {', '.join(x.str_short() for x in in_avals)} to "
                f"{', '.join(x.str_short() for x in out_avals)} is something else: use mlir.lower_fun")
        kept = [x.str_short() for x in (*in_avals, *out_avals) if x.dtype in STORAGE_TYPES]
        if kept:
            raise TypeError(f"'{primitive}' has a lowering in C, which computes no elements of {', '.join(kept)}: they "
                            "are only kept in this type. Convert them first: x.astype(jnp.float32), or to int8.")
        operands = [operand(k, aval.dtype) for k, aval in enumerate(in_avals)]
        dtypes = tuple(aval.dtype for aval in in_avals)
        return Scalar(operation(f"{primitive.name} (one's own)", dtypes, out_avals[0].dtype,
                                as_formula(self.formula(*operands, **params)),
                                functools.partial(interpreted_elements, primitive, out_avals[0].dtype, params)))


def c_expression(formula: Callable[..., Any]) -> InC:
    """Return the lowering of an elementwise primitive whose C is a formula: see `core/formulas.py`.

    formula: called with one operand each, and the parameters; it uses Python's operators and `call("exp", x)`.
    """
    return InC(formula)


def c_function(*texts: str) -> InC:
    """Return the lowering of an elementwise primitive that is a function in C; one text for each type of operands.

    A text is one function definition over `float`, `double`, `int32_t` and their like, which may use the functions
    of `csrc/math`; float16 and bfloat16 arrive as `float`.

    Raises: ValueError for a text that is no such definition.
    """
    functions = [_Function(text) for text in texts]

    def formula(*operands: Formula, **params: Any) -> Formula:
        types = [variable_type(x.dtype) for x in operands]
        for function in functions:
            if function.types == types:
                return call_named(function.symbol, *operands)
        raise TypeError(f"there is no C function over ({', '.join(types)}) among those given: "
                        f"{', '.join(map(str, functions))}")

    return InC(formula)


_DEFINITION = re.compile(r"\s*(?:static\s+)?(?:inline\s+)?(\w+)\s+(\w+)\s*\(([^(){}]*)\)\s*\{(.*)\}\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*(?:const\s+)?(\w+)\s+(\w+)\s*")
_ALPHABET = re.compile(r"[\t\n\x20-\x7e]*")


class _Function:
    """A function in C under a name that no other text has."""

    def __init__(self, text: str) -> None:
        found = _DEFINITION.fullmatch(text)
        parameters = [_PARAMETER.fullmatch(x) for x in found[3].split(",")] if found else []
        if not found or not all(parameters) or not _ALPHABET.fullmatch(text) or not _is_closed(found[4]):
            raise ValueError("a C function is given as one definition in printable ASCII, such as "
                             f"'float f(float x) {{ return x + 1; }}', not as {text!r}")
        self.result, self.name = found[1], found[2]
        self.types = [parameter[1] for parameter in parameters if parameter]
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.symbol = f"tt_own_{self.name}_{digest}"
        body = re.sub(rf"\b{self.name}\b", self.symbol, found[4])
        head = f"static inline {self.result} {self.symbol}({found[3].strip()})"
        needs = tuple(re.findall(r"\btt_(?!own_)\w+", body))
        add_function(self.symbol, MathFunction(f"{head} {{{body}}}\n", needs))

    def __str__(self) -> str:
        return f"{self.result} {self.name}({', '.join(self.types)})"


def _is_closed(body: str) -> bool:
    """Do the braces of a body end inside it, and is it without directives for the preprocessor?"""
    depth = 0
    for character in body:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0 and not re.search(r"^\s*#", body, re.MULTILINE)
