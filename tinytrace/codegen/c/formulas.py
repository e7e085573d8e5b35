"""Formulas as C: the one place where what an operation computes becomes text."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tinytrace.codegen.c.lines import HOST, named
from tinytrace.codegen.ir.two_byte_floats import OF_FLOAT16
from tinytrace.core.dtypes import FLOAT32, FLOAT64
from tinytrace.core.formulas import Formula, suffix
from tinytrace.records import NamedTuple


class Text(NamedTuple):
    """An expression in C."""

    text: str
    whole: bool
    """Is it one word or call, which needs no parentheses wherever it stands?"""
    is_sum: bool = True
    """May it be a sum, which a compiler would negate term by term, so that a zero has the wrong sign?"""

    @property
    def operand(self) -> str:
        """As an operand of others: in parentheses, unless it needs none."""
        return self.text if self.whole else f"({self.text})"


_OPERAND = "\x10"
"""Stands before and behind the number of an operand in a template: C has no such character."""


def spelled_operation(formula: Formula, operands: Sequence[Text]) -> Text:
    """Return a formula over these operands in C."""
    pieces, whole, is_sum = _template(formula, tuple([(x.whole, x.is_sum) for x in operands]))
    return Text("".join([piece if isinstance(piece, str) else operands[piece].text for piece in pieces]), whole, is_sum)


@functools.lru_cache(maxsize=4096)
def _template(formula: Formula, operands: tuple[tuple[bool, bool], ...]) -> tuple[tuple[str | int, ...], bool, bool]:
    """Return a formula in C as pieces of text and numbers of operands; operands: their `whole` and `is_sum`.

    Programs have thousands of operations of few kinds: each kind is spelled once.
    """
    texts = [Text(f"{_OPERAND}{k}{_OPERAND}", *kind) for k, kind in enumerate(operands)]
    spelled = spelled_formula(formula, lambda part: texts[part.args[0]])
    pieces = spelled.text.split(_OPERAND)  # every other one is a number
    return tuple(int(x) if k % 2 else x for k, x in enumerate(pieces)), spelled.whole, spelled.is_sum


@functools.cache
def own_float16(formula: Formula) -> Formula:
    """Return what a formula is where float16 is computed by the CPU's own operations: functions are of that type."""
    args = tuple(own_float16(x) if isinstance(x, Formula) else OF_FLOAT16.get(x, x) if formula.op == "call" else x
                 for x in formula.args)
    return Formula(formula.op, args, formula.dtype)


def spelled_formula(formula: Formula, operands: Callable[[Formula], Text]) -> Text:
    """Return a formula in C; `operands` says what its operands and places are."""
    def spell(part: Formula) -> Text:
        return spelled_formula(part, operands)

    args = formula.args
    match formula.op:
        case "operand" | "place":
            return operands(formula)
        case "number":
            return Text(str(args[0]), args[0] >= 0)
        case "constant":
            return Text(args[0], True)
        case "call":
            return Text(f"{named(args[0])}({', '.join(spell(x).text for x in args[1:])})", True)
        case "host":
            return Text(f"{HOST}->{named(args[0])}({', '.join(spell(x).text for x in args[1:])})", True)
        case "cast":
            return Text(f"({args[0]}){spell(args[1]).operand}", False)
        case "item":
            return Text(f"{spell(args[0]).operand}[{args[1]}]", True)
        case "pointers":
            return Text(f"(void *[]){{{', '.join(f'(void *){spell(x).operand}' for x in args) or '0'}}}", True)
        case "fma":
            a, b, c = map(spell, args[:3])
            return _fused(a, b, c, args[3], suffix(formula.dtype or FLOAT64))
        case "prefix":
            return _with_sign(args[0], args[1], spell(args[1]))
        case "infix":
            symbol, a, b = args
            left = spell(a)
            chain = a.op == "infix" and a.args[0] == symbol
            return Text(f"{left.text if chain else left.operand} {symbol} {spell(b).operand}", False)
        case "choose":
            guard, if_true, if_false = map(spell, args)
            test = guard.text if args[0].op == "infix" else guard.operand
            return Text(f"{test} ? {if_true.operand} : {if_false.operand}", False)
    raise AssertionError(f"a formula has no operation {formula.op}")


def assigned(formula: Formula) -> str:
    """Return the operator of `x op= y` if that is what a fold does; else nothing."""
    match formula.op, *formula.args:
        case "infix", str(symbol), Formula(op="operand", args=(0,)), Formula(op="operand", args=(1,)):
            return symbol
    return ""


def _fused(a: Text, b: Text, c: Text, negated: str, end: str) -> Text:
    """Return `a * b + c`, `c - a * b` (negated: product) or `a * b - c` (negated: addend) with one rounding."""
    if negated == "product":
        a, b = (a, _negative(b, end)) if a.is_sum and not b.is_sum else (_negative(a, end), b)
    elif negated == "addend":
        c = _negative(c, end)
    return Text(f"{named(f'tt_fma_{end}')}({a.text}, {b.text}, {c.text})", True)


def _negative(x: Text, end: str) -> Text:
    return Text(f"{named(f'tt_neg_{end}')}({x.text})" if x.is_sum else f"-{x.operand}", True)


def _with_sign(symbol: str, formula: Formula, x: Text) -> Text:
    """Return `-x` (or `!x`, `~x`); what may be a sum is negated by a function that looks at it as a whole.

    `+x` stands beside a `-x` that is computed in the same way.
    """
    if symbol == "+":
        return Text(f"{named(f'tt_plain_{suffix(formula.dtype or FLOAT64)}')}({x.text})", True)
    if symbol == "-" and formula.dtype in (FLOAT32, FLOAT64) and x.is_sum:
        return Text(f"{named(f'tt_neg_{suffix(formula.dtype)}')}({x.text})", True)
    return Text(f"{symbol}{x.operand}", False)
