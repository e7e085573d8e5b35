"""Runs small C programs without a compiler, so that the course can try C on any machine and nothing can crash.

    value_of_c("a * 2.0f", a=3.0)                                              float32 6.0
    run_c("void f(const float *x, float *y) { y[0] = x[0] + 1; }", x, y)       changes y

pycparser (which cffi brings along) reads the text. Types are C's: `float` is single, a number without `f` is double,
integers divide as integers. Whoever reads or writes outside an array is told so.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

TYPEDEFS = "typedef int int32_t; typedef long int64_t; typedef unsigned char uint8_t; typedef unsigned long size_t;\n"
STEPS = 200_000
"""How many statements and expressions one run may take."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh, "sqrt": np.sqrt, "fabs": np.abs,
    "fmax": np.fmax, "fmin": np.fmin, "pow": np.power,
}  # fmt: skip
NAMES = {"INFINITY": np.float32(math.inf), "NAN": np.float32(math.nan)}
SIZES = {"float": 4, "double": 8, "int32_t": 4, "int": 4, "int64_t": 8, "long": 8, "uint8_t": 1}

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: divide(x, y),
    "%": lambda x, y: x - y * divide(x, y),
    "<": lambda x, y: int(x < y),
    ">": lambda x, y: int(x > y),
    "<=": lambda x, y: int(x <= y),
    ">=": lambda x, y: int(x >= y),
    "==": lambda x, y: int(x == y),
    "!=": lambda x, y: int(x != y),
}


class CError(Exception):
    """The C text cannot be read, or does what C leaves undefined."""


class Returned(Exception):
    """Ends a function."""


@dataclass(frozen=True)
class Pointer:
    """Somewhere in an array."""

    name: str
    array: Any
    offset: int = 0

    def __add__(self, n: int) -> Pointer:
        return Pointer(self.name, self.array, self.offset + n)

    def checked(self, n: int, verb: str) -> int:
        """The index of the element n further on.

        Raises: CError if there is none.
        """
        at = self.offset + n
        if not 0 <= at < len(self.array):
            raise CError(f"{verb} {self.name}[{at}], of {len(self.array)}")
        return at


def value_of_c(expression: str, **names: Any) -> Any:
    """The value of a C expression: Python's floats are `float` in it, integers `int`, arrays pointers.

    Raises: CError.
    """
    declared = parsed(f"int result = {expression};")[0]
    return Run(names).value(declared.init)


def run_c(text: str, *arrays: Any) -> None:
    """Calls the first function in a C text with these arrays; it changes them as C would. A list is an array of arrays.

    Raises: CError.
    """
    function = next((node for node in parsed(text) if isinstance(node, c_ast.FuncDef)), None)
    if function is None:
        raise CError("there is no function in the text")
    declared = function.decl.type.args
    parameters = [p.name for p in declared.params] if declared else []
    if len(parameters) != len(arrays):
        raise CError(f"the function takes {len(parameters)} arguments, not {len(arrays)}")
    run = Run(dict(zip(parameters, arrays, strict=True)))
    with contextlib.suppress(Returned):
        run.execute(function.body)


@functools.lru_cache(1000)
def parsed(text: str) -> list[Any]:
    """The definitions in a C text.

    Raises: CError if it is no C.
    """
    plain = re.sub(r"/\*.*?\*/", " ", re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE), flags=re.DOTALL)
    plain = re.sub(r"//.*", "", plain).replace("restrict ", "")
    try:
        definitions: list[Any] = CParser().parse(TYPEDEFS + plain).ext[4:]
    except ParseError as error:
        raise CError(f"this is not C: {error}") from None
    return definitions


def pointer(name: str, x: Any) -> Any:
    """A Python value as C sees it."""
    if isinstance(x, list):
        return Pointer(name, [pointer(f"{name}[{i}]", item) for i, item in enumerate(x)])
    if isinstance(x, np.ndarray):
        return Pointer(name, x.reshape(-1) if x.flags.c_contiguous else x.ravel())
    return np.float32(x) if isinstance(x, float) else int(x) if isinstance(x, bool) else x


def divide(x: Any, y: Any) -> Any:
    """C's division: integers are cut off towards zero."""
    if isinstance(x, int) and isinstance(y, int):
        if y == 0:
            raise CError("an integer is divided by zero")
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return x / y


def converted(x: Any, kind: str) -> Any:
    """A value as one of a C type."""
    if isinstance(x, Pointer):
        return x
    if kind in ("float", "double"):
        return (np.float32 if kind == "float" else np.float64)(x)
    whole, bits = int(x), 8 * SIZES.get(kind, 4)
    return whole % 256 if kind == "uint8_t" else (whole + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


class Run:
    """One run: the variables, and a rule for each kind of node."""

    def __init__(self, names: dict[str, Any]) -> None:
        given = {name: pointer(name, x) for name, x in names.items()}
        self.variables: ChainMap[str, Any] = ChainMap(given, dict(NAMES))
        self.kinds: dict[str, str] = {}
        self.steps = 0

    def execute(self, node: Any) -> None:
        """Runs a statement."""
        rule = getattr(self, f"do_{type(node).__name__}", None)
        if rule is None:
            self.value(node)
        else:
            self._count()
            rule(node)

    def value(self, node: Any) -> Any:
        """The value of an expression."""
        self._count()
        rule = getattr(self, f"of_{type(node).__name__}", None)
        if rule is None:
            raise CError(f"the course's C has no {type(node).__name__}")
        with np.errstate(all="ignore"):
            return rule(node)

    def _count(self) -> None:
        self.steps += 1
        if self.steps > STEPS:
            raise CError("the program does not end")

    # --- statements ---

    def do_Compound(self, node: Any) -> None:
        self.variables = self.variables.new_child()
        for statement in node.block_items or ():
            self.execute(statement)
        self.variables = self.variables.parents

    def do_DeclList(self, node: Any) -> None:
        for declared in node.decls:
            self.execute(declared)

    def do_Decl(self, node: Any) -> None:
        kind = type_name(node.type)
        self.kinds[node.name] = kind
        if isinstance(node.type, c_ast.ArrayDecl):
            items = [converted(self.value(x), kind) for x in node.init.exprs] if node.init else []
            size = self.value(node.type.dim) if node.type.dim else len(items)
            array = np.zeros(size, np.float32 if kind == "float" else np.int64)
            array[: len(items)] = items
            value: Any = Pointer(node.name, array)
        else:
            value = converted(self.value(node.init), kind) if node.init is not None else 0
            if isinstance(value, Pointer):
                value = Pointer(node.name, value.array, value.offset)
        self.variables.maps[0][node.name] = value

    def do_For(self, node: Any) -> None:
        self.variables = self.variables.new_child()
        if node.init is not None:
            self.execute(node.init)
        while node.cond is None or self.value(node.cond):
            self.execute(node.stmt)
            if node.next is not None:
                self.value(node.next)
        self.variables = self.variables.parents

    def do_While(self, node: Any) -> None:
        while self.value(node.cond):
            self.execute(node.stmt)

    def do_If(self, node: Any) -> None:
        branch = node.iftrue if self.value(node.cond) else node.iffalse
        if branch is not None:
            self.execute(branch)

    def do_Return(self, node: Any) -> None:
        raise Returned

    def do_EmptyStatement(self, node: Any) -> None:
        pass

    # --- expressions ---

    def of_Constant(self, node: Any) -> Any:
        if node.type == "string":
            raise CError("the course's C has no texts")
        text = node.value.lower()
        if text.endswith("f") and not text.startswith("0x"):
            return np.float32(text[:-1])
        return np.float64(text) if any(c in text for c in ".e") else int(text.rstrip("ul"), 0)

    def of_ID(self, node: Any) -> Any:
        if node.name not in self.variables:
            raise CError(f"{node.name} is not declared")
        return self.variables[node.name]

    def of_BinaryOp(self, node: Any) -> Any:
        left = self.value(node.left)
        if node.op in ("&&", "||"):
            return int(bool(self.value(node.right))) if bool(left) == (node.op == "&&") else int(bool(left))
        if node.op not in OPERATORS:
            raise CError(f"the course's C has no {node.op}")
        return OPERATORS[node.op](left, self.value(node.right))

    def of_UnaryOp(self, node: Any) -> Any:
        if node.op == "sizeof":
            inner = node.expr.expr if isinstance(node.expr, c_ast.UnaryOp) else node.expr
            return SIZES[self.kinds.get(inner.name, "float")]
        if node.op in ("p++", "++", "p--", "--"):
            before = self.value(node.expr)
            after = before + (1 if "+" in node.op else -1)
            self.store(node.expr, after)
            return before if node.op.startswith("p") else after
        x = self.value(node.expr)
        if node.op == "*":
            return x.array[x.checked(0, "reads")]
        return int(not x) if node.op == "!" else -x if node.op == "-" else x

    def of_TernaryOp(self, node: Any) -> Any:
        return self.value(node.iftrue if self.value(node.cond) else node.iffalse)

    def of_Cast(self, node: Any) -> Any:
        return converted(self.value(node.expr), type_name(node.to_type.type))

    def of_ArrayRef(self, node: Any) -> Any:
        base, index = self.element(node)
        x = base.array[base.checked(index, "reads")]
        return x if isinstance(x, (Pointer, np.floating)) else int(x)

    def element(self, node: Any) -> tuple[Pointer, int]:
        """The array and the index of `x[i]`."""
        base, index = self.value(node.name), self.value(node.subscript)
        if not isinstance(base, Pointer) or not isinstance(index, (int, np.integer)):
            raise CError(f"an index must be an integer, and what is indexed an array; not {index!r} and {base!r}")
        return base, int(index)

    def of_Assignment(self, node: Any) -> Any:
        x = self.value(node.rvalue)
        if node.op != "=":
            x = OPERATORS[node.op[:-1]](self.value(node.lvalue), x)
        self.store(node.lvalue, x)
        return x

    def of_FuncCall(self, node: Any) -> Any:
        name, args = node.name.name, [self.value(x) for x in node.args.exprs] if node.args else []
        if name in ("memset", "memcpy"):
            return self.fill(name, *args)
        single = name.endswith("f") and name[:-1] in FUNCTIONS
        if not single and name not in FUNCTIONS:
            raise CError(f"{name} is not declared")
        result = FUNCTIONS[name[:-1] if single else name](*map(np.float32 if single else np.float64, args))
        return np.float32(result) if single else np.float64(result)

    def of_ExprList(self, node: Any) -> Any:
        return [self.value(x) for x in node.exprs][-1]

    def fill(self, name: str, target: Pointer, source: Any, size: int) -> None:
        """memset with zeros, or memcpy."""
        count = size // target.array.dtype.itemsize
        if count:
            target.checked(count - 1, "writes")
            rows = slice(target.offset, target.offset + count)
            if name == "memcpy":
                source.checked(count - 1, "reads")
                target.array[rows] = source.array[source.offset : source.offset + count].copy()
            else:
                target.array[rows] = source

    def store(self, place: Any, x: Any) -> None:
        """Writes to a variable or an element."""
        if isinstance(place, c_ast.ID):
            owner = next((names for names in self.variables.maps if place.name in names), None)
            if owner is None:
                raise CError(f"{place.name} is not declared")
            owner[place.name] = converted(x, self.kinds.get(place.name, "int64_t"))
            return
        if isinstance(place, c_ast.ArrayRef):
            base, index = self.element(place)
        elif isinstance(place, c_ast.UnaryOp) and place.op == "*":
            base, index = self.value(place.expr), 0
        else:
            raise CError("this cannot be assigned to")
        base.array[base.checked(index, "writes")] = x


def type_name(node: Any) -> str:
    """The name of the type of a declaration, pointers and arrays stripped."""
    while not isinstance(node, c_ast.IdentifierType):
        node = node.type
    return str(node.names[-1])
