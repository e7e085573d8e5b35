"""What an operation computes, as an expression over its operands: rooms write it with Python's operators, C spells it.

    tanh     lambda x: call("tanh", x)                   tt_tanh_f32(x), the function of csrc/math for the type of x
    rsqrt    lambda x: 1 / call("sqrt", x)               1 / tt_sqrt_f32(x)
    max      lambda x, y: choose(x > y, x, y)            x > y ? x : y
    not      lambda x: ~x

Only the C writer turns a formula into text, and nobody reads that text again: what passes want to know of an operation
(which functions it calls, whether it divides, which operands are evaluated on one side of a choice) is asked here.
float16 and bfloat16 operands arrive widened to `float`, and the writer rounds the result; small integers are computed
as C computes them, in `int`, and cast back by the writer; bool is `uint8_t` 0 or 1.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

from tinytrace.core.dtypes import DType, is_float, part_dtype


class Formula:
    """An expression tree: `op` applied to `args`.

    Ops: operand (its number), place (the name of a buffer, in a statement), number (a Python int), constant (a name
    that csrc/ gives a number), infix (symbol, a, b), prefix (symbol, a), cast (C type, a), call (function, a, b, ...),
    host (an entry of `struct tt_host`, a, b, ...), choose (guard, a, b), fma (a, b, c, what is negated), item (address,
    number) and pointers (a, b, ...): an array of addresses.
    """

    __slots__ = ("args", "dtype", "op")

    def __init__(self, op: str, args: tuple[Any, ...], dtype: DType | None = None) -> None:
        self.op = op
        self.args = args
        self.dtype = dtype
        """The type of the first operand inside: it says which function of a family is called."""

    @property
    def children(self) -> tuple[Formula, ...]:
        """The formulas directly inside this one."""
        return tuple(x for x in self.args if isinstance(x, Formula))

    @property
    def key(self) -> tuple[Any, ...]:
        """What equal formulas have in common."""
        return (self.op, *(x.key if isinstance(x, Formula) else x for x in self.args))

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})"

    def __add__(self, other: FormulaLike) -> Formula:
        return _infix("+", self, other)

    def __radd__(self, other: FormulaLike) -> Formula:
        return _infix("+", other, self)

    def __sub__(self, other: FormulaLike) -> Formula:
        return _infix("-", self, other)

    def __mul__(self, other: FormulaLike) -> Formula:
        return _infix("*", self, other)

    def __rmul__(self, other: FormulaLike) -> Formula:
        return _infix("*", other, self)

    def __truediv__(self, other: FormulaLike) -> Formula:
        return _infix("/", self, other)

    def __rtruediv__(self, other: FormulaLike) -> Formula:
        return _infix("/", other, self)

    def __and__(self, other: FormulaLike) -> Formula:
        return _infix("&", self, other)

    def __or__(self, other: FormulaLike) -> Formula:
        return _infix("|", self, other)

    def __xor__(self, other: FormulaLike) -> Formula:
        return _infix("^", self, other)

    def __lshift__(self, other: FormulaLike) -> Formula:
        return _infix("<<", self, other)

    def __rshift__(self, other: FormulaLike) -> Formula:
        return _infix(">>", self, other)

    def __lt__(self, other: FormulaLike) -> Formula:
        return _infix("<", self, other)

    def __le__(self, other: FormulaLike) -> Formula:
        return _infix("<=", self, other)

    def __gt__(self, other: FormulaLike) -> Formula:
        return _infix(">", self, other)

    def __ge__(self, other: FormulaLike) -> Formula:
        return _infix(">=", self, other)

    def __neg__(self) -> Formula:
        return Formula("prefix", ("-", self), self.dtype)

    def __invert__(self) -> Formula:
        return Formula("prefix", ("~", self), self.dtype)

    def equals(self, other: FormulaLike) -> Formula:
        """`self == other` in C."""
        return _infix("==", self, other)

    def differs(self, other: FormulaLike) -> Formula:
        """`self != other` in C."""
        return _infix("!=", self, other)


FormulaLike: TypeAlias = "Formula | int"


def operand(k: int, dtype: DType) -> Formula:
    """Return operand number `k`, an element of type `dtype`."""
    return Formula("operand", (k,), dtype)


def place(name: str) -> Formula:
    """Return the address of a buffer of a statement: in0, in1, ..., out0, ..., scratch."""
    return Formula("place", (name,))


def constant(name: str) -> Formula:
    """Return a number by the name that csrc/ gives it."""
    return Formula("constant", (name,))


def call(family: str, *args: FormulaLike) -> Formula:
    """Return the function of csrc/math called `family` for elements of the first argument's type: `tt_exp_f32(x)`."""
    first = as_formula(args[0])
    assert first.dtype is not None
    return call_named(f"tt_{family}_{suffix(first.dtype)}", *args)


def call_named(function: str, *args: FormulaLike) -> Formula:
    """Return what a C function gives for `args`."""
    formulas = tuple(map(as_formula, args))
    return Formula("call", (function, *formulas), formulas[0].dtype)


def call_host(entry: str, *args: FormulaLike) -> Formula:
    """Return what an entry of `struct tt_host` (csrc/tt_host.h) gives for `args`."""
    return Formula("host", (entry, *map(as_formula, args)))


def complex_of(re: Formula, im: Formula) -> Formula:
    """Return the complex number with these parts: floats of one type."""
    return call_named(_OF_PARTS, re, im)


_OF_PARTS = "__builtin_complex"


def _has_parts(x: Formula) -> bool:
    return x.op == "call" and bool(x.args[0] == _OF_PARTS)


def real_part(x: Formula) -> Formula:
    """Return the real part of a complex number."""
    if _has_parts(x):
        return x.args[1]  # type: ignore[no-any-return]
    return Formula("prefix", ("__real__ ", x), None if x.dtype is None else part_dtype(x.dtype))


def imaginary_part(x: Formula) -> Formula:
    """Return the imaginary part of a complex number."""
    if _has_parts(x):
        return x.args[2]  # type: ignore[no-any-return]
    return Formula("prefix", ("__imag__ ", x), None if x.dtype is None else part_dtype(x.dtype))


def product(x: Formula, y: Formula, signs: bool = False) -> Formula:
    """Return `x * y`; of complex numbers by their parts: C's own looks for infinities in numbers that are NaN.

    Two sums, and no difference: see "paired products" in `codegen/c/quirks.py`.  signs: is `+` written beside `-`?
    """
    if x.dtype is None or x.dtype.kind != "c":
        return x * y
    (a, b), (c, d) = ((real_part(z), imaginary_part(z)) for z in (x, y))
    return complex_of(a * c + -(b * d), a * d + (Formula("prefix", ("+", b * c), b.dtype) if signs else b * c))


def follows(x: Formula, y: Formula) -> Formula:
    """Return whether `x` is greater than `y`; of complex numbers real parts decide, then imaginary ones."""
    if x.dtype is None or x.dtype.kind != "c":
        return x > y
    a, b = real_part(x), real_part(y)
    return either(a > b, a.equals(b) & (imaginary_part(x) > imaginary_part(y)))


def cast(c_type: str, x: FormulaLike) -> Formula:
    """Return `x` as a number (or pointer) of another C type."""
    x = as_formula(x)
    return Formula("cast", (c_type, x), x.dtype)


def choose(guard: Formula, if_true: FormulaLike, if_false: FormulaLike, whole: bool = False) -> Formula:
    """Return `if_true` where `guard` holds, else `if_false`: C evaluates the chosen one only.

    Complex numbers are chosen by their parts, for a choice between complex numbers stops vectors. `whole`: not so, for
    folds of one after the other, where a jump that is foreseen takes less time than to wait for two choices.
    """
    x, y = as_formula(if_true), as_formula(if_false)
    if not whole and any(_has_parts(z) or (z.dtype is not None and z.dtype.kind == "c") for z in (x, y)):
        return complex_of(*[choose(guard, part(x), part(y)) for part in (real_part, imaginary_part)])
    return Formula("choose", (guard, x, y), guard.dtype)


def either(a: Formula, b: Formula) -> Formula:
    """Return whether one of two conditions holds."""
    return _infix("||", a, b)


def negated(x: Formula) -> Formula:
    """Return `!x`: 1 for 0, else 0."""
    return Formula("prefix", ("!", x), x.dtype)


def fused(a: Formula, b: Formula, c: Formula, negated: str = "") -> Formula:
    """Return `a * b + c`, rounded once where the machine can; negated: "", "product" or "addend"."""
    return Formula("fma", (a, b, c, negated), a.dtype)


def item(address: Formula, k: int) -> Formula:
    """Return the element number `k` of the array at `address`."""
    return Formula("item", (address, k))


def pointers(items: Sequence[Formula]) -> Formula:
    """Return an array of the addresses `items`; of one null pointer when there are none."""
    return Formula("pointers", tuple(items))


def as_formula(x: FormulaLike) -> Formula:
    """Return `x` as a formula; Python ints become numbers."""
    return x if isinstance(x, Formula) else Formula("number", (x,))


def parts(formula: Formula) -> Iterator[Formula]:
    """Yield every formula in `formula`, itself included, as often as it is written."""
    yield formula
    for child in formula.children:
        yield from parts(child)


def without_places(formula: Formula, names: Collection[str]) -> Formula:
    """Return a formula in which the addresses of these buffers are 0.

    >>> without_places(call_host("top_k", place("in0"), place("out0")), {"out0"})
    host('top_k', place('in0'), number(0))
    """
    if formula.op == "place" and formula.args[0] in names:
        return as_formula(0)
    args = tuple(without_places(x, names) if isinstance(x, Formula) else x for x in formula.args)
    return Formula(formula.op, args, formula.dtype)


def suffix(dtype: DType) -> str:
    """Return the end of the names of the C functions over `dtype`: narrow types are computed in 32 bits.

    >>> suffix(np.dtype("float16")), suffix(np.dtype("uint8")), suffix(np.dtype("int64"))
    ('f32', 'u32', 'i64')
    """
    if dtype.kind == "c":
        return f"c{8 * dtype.itemsize}"
    kind = {"b": "u", "K": "u"}.get(dtype.kind, "f" if is_float(dtype) else dtype.kind)
    return f"{kind}{64 if dtype.itemsize == 8 else 32}"


def _infix(symbol: str, a: FormulaLike, b: FormulaLike) -> Formula:
    a, b = as_formula(a), as_formula(b)
    return Formula("infix", (symbol, a, b), a.dtype or b.dtype)
