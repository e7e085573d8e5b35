"""Operations on elements, each with a record: its name, its types, how C spells it, what NumPy does, how exact it is.

A record stands with its primitive: `Elementwise` makes it from the one statement of the room. What the code generator
puts in itself is in `codegen/ir/inserted_operations.py`. Two operations that are the same are one object.

    op = add_p.operation(f32, f32)
    op.name, op.arity, op.result, op.ulp, op.laws       'add', 2, float32, 0.5, {'commutative'}
    op.calls, op.divisions, op.mentions                 (), 0, (1, 1)
    op.numpy(x, y)                                      x + y
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from tinytrace.core.dtypes import BFLOAT16, FLOAT16, DType, is_half, is_inexact
from tinytrace.core.formulas import Formula, parts

LAWS: Final = {
    "commutative": "f(x, y) is f(y, x)",
    "associative": "f(f(x, y), z) is f(x, f(y, z)), but for rounding",
    "idempotent": "f(x, x) is x; of one operand: f(f(x)) is f(x)",
    "monotone": "larger operands give no smaller result",
    "odd": "f(-x) is -f(x)",
    "even": "f(-x) is f(x)",
    "involution": "f(f(x)) is x",
}
"""What may be said of the algebra of an operation, for operands that are numbers; tests hold every record to it."""

OF_WORDS = {f"tt_nextafter_{half}": f"tt_nextafter_words_{half}" for half in ("f16", "bf16")}
"""For functions of two-byte floats that are widened those of their bits: twice as many are in a vector."""

BITS_OF_HALVES: dict[DType, str] = {FLOAT16: "tt_f32_to_f16", BFLOAT16: "tt_exact_to_bf16"}
HALVES_OF_BITS: dict[DType, str] = {FLOAT16: "tt_f16_to_f32", BFLOAT16: "tt_bf16_to_f32"}
"""The functions that give the bits of a two-byte float, for which C computes with a float; and that float again."""


class Operation:
    """One operation on elements of given types; made by `operation` alone, so equal ones are one object."""

    __slots__ = ("arity", "calls", "chooses", "divisions", "factors", "flops", "formula", "is_arithmetic",
                 "is_one_step", "laws", "mentions", "name", "numpy", "operands", "result", "sides", "ulp")

    def __init__(self, name: str, operands: tuple[DType, ...], result: DType, formula: Formula,
                 numpy: Callable[..., Any], ulp: float | None, laws: frozenset[str]) -> None:
        self.name = name
        self.operands = operands
        self.arity = len(operands)
        self.result = result
        self.formula = formula
        """What C computes."""
        self.numpy = numpy
        """The meaning: maps arrays of the operands' types, which broadcast, to an array of the result's."""
        self.ulp = ulp
        """The result is off by at most so many units in the last place. 0: it is exact; 0.5: rounded once, and so the
        same wherever it is computed; None: nobody has stated a bound."""
        self.laws = laws
        found = list(parts(formula))
        self.calls = tuple(part.args[0] for part in found
                           if part.op == "call" and not part.args[0].startswith("__builtin_"))
        """The functions of csrc/math that it calls, as often as it does."""
        self.is_arithmetic = all(part.op in ("operand", "number") or (part.op == "infix" and part.args[0] in "+-*/")
                                 for part in found)
        """Is it made of C's own sums, differences, products and quotients alone?"""
        self.is_one_step = self.is_arithmetic and sum(part.op == "infix" for part in found) == 1
        """Is it one of these?"""
        self.divisions: int = sum(part.op == "infix" and part.args[0] == "/" for part in found)
        self.flops = 0 if formula.op == "operand" else 2 if formula.op == "fma" else 1
        """How many operations of programs it is: a conversion none, a product and a sum in one instruction two."""
        self.factors = _factors(formula)
        """The numbers of the two operands whose product it is; None for what is no product."""
        numbers = [part.args[0] for part in found if part.op == "operand"]
        self.mentions = tuple(numbers.count(k) for k in range(len(operands)))
        """How often each operand stands in the formula."""
        choices = [part for part in found if part.op == "choose"]
        self.chooses = bool(choices)
        """Is there a choice in the formula itself?"""
        chosen = [part for choice in choices for side in choice.args[1:] for part in parts(side)]
        self.sides = frozenset(part.args[0] for part in chosen if part.op == "operand")
        """The operands that stand on one side of a choice: they may not be evaluated."""

    @property
    def is_conversion(self) -> bool:
        """Is the result the operand, at most in another type?"""
        return self.formula.op == "operand"

    @property
    def is_copy(self) -> bool:
        """Is the result the operand?"""
        return self.is_conversion and self.operands == (self.result,)

    @property
    def sign_bit(self) -> str:
        """What C does to the bits of a two-byte float, if that is all the operation does: clear or flip its sign."""
        if self.operands != (self.result,) or not is_half(self.result):
            return ""
        match self.formula:
            case Formula(op="call", args=("tt_abs_f32", Formula(op="operand"))):
                return "& 0x7FFF"
            case Formula(op="prefix", args=("-", Formula(op="operand"))):
                return "^ 0x8000"
        return ""

    @property
    def word_function(self) -> str:
        """The function of csrc/math that makes the bits of a two-byte float of its operands' bits, if it has one."""
        match self.formula:
            case Formula(op="call", args=(name, *args)) if {*self.operands} == {self.result} and all(
                    isinstance(part, Formula) and part.op == "operand" for part in args):
                return OF_WORDS.get(name, "")
        return ""

    @property
    def reads_bits(self) -> bool:
        """Is the result the bits of a two-byte float, as an integer? In memory these are at hand."""
        return self.formula.op == "cast" and self.arity == 1 and self.calls == (BITS_OF_HALVES.get(self.operands[0]),)

    @property
    def bits(self) -> Formula | None:
        """What the bits are of the two-byte float that the result is, if it is made of such."""
        match self.formula:
            case Formula(op="call", args=(name, Formula() as bits)) if not any(map(is_half, self.operands)):
                return bits if name == HALVES_OF_BITS.get(self.result) else None
        return None

    @property
    def is_exact(self) -> bool:
        """Is the result the same wherever it is computed: exact, or rounded once?"""
        return self.ulp is not None and self.ulp <= 0.5

    def __repr__(self) -> str:
        return self.name


_operations: dict[tuple[Any, ...], Operation] = {}


def operation(name: str, operands: tuple[DType, ...], result: DType, formula: Formula, numpy: Callable[..., Any],
              ulp: float | None = None, laws: Iterable[str] = ()) -> Operation:
    """Return the operation with this name, these types and this formula: the one that exists, or a new one.

    ulp: the bound that its room states; None: what the formula tells.
    """
    key = name, operands, result, formula.key
    found = _operations.get(key)
    if found is None:
        stated = _plain_ulp(formula, operands, result) if ulp is None else ulp
        found = _operations.setdefault(key, Operation(name, operands, result, formula, numpy, stated, frozenset(laws)))
    return found


def _factors(formula: Formula) -> tuple[int, int] | None:
    match formula:
        case Formula(op="infix", args=("*", Formula(op="operand", args=(j,)), Formula(op="operand", args=(k,)))):
            return j, k
    return None


def _plain_ulp(formula: Formula, operands: tuple[DType, ...], result: DType) -> float | None:
    """Return the bound of an operation without a statement: what C guarantees of a formula of at most one rounding."""
    found = list(parts(formula))
    rounding = sum(part.op == "infix" and part.args[0] in ("+", "-", "*", "/") for part in found)
    if not is_inexact(result):
        return None if rounding and any(map(is_inexact, operands)) else 0.0
    if any(part.op in ("call", "fma") for part in found):  # fma: not every machine rounds it once
        return None
    if formula.op in ("operand", "cast"):
        return 0.5
    return None if rounding > 1 else 0.5 * rounding

