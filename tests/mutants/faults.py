"""What can be planted: small changes of Python and C texts, each of which a test should notice."""

from __future__ import annotations

import ast
import collections
import functools
import hashlib
import itertools
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

GROUPS = {  # how many of a sample of 350 are planted where
    "tinytrace/core": 45, "tinytrace/primitives": 60, "tinytrace/transforms": 35, "tinytrace/control_flow": 30,
    "tinytrace/passes": 15, "tinytrace/codegen": 65, "tinytrace/runtime": 30, "tinytrace/api": 30, "csrc": 40,
}  # fmt: skip


SPEED_ONLY = {  # functions whose results say which of two right programs is run, by path; "" stands for all
    "tinytrace/codegen/ir/cost.py": ("",),
    "csrc/blas.c": ("is_unpacked", "is_in_panels", "is_for_microkernel", "is_for_strips", "rows_in_even_parts",
                    "choose_unpacked_block", "choose_tile", "choose_panelled_block", "choose_panelled_tile",
                    "choose_packed_block"),
    "csrc/tiles.h": ("choose_tiled_block", "reach_of", "has_full_groups"),
    "csrc/pool.c": ("wait_step", "leave_callers_core", "read_cores"),
}  # fmt: skip
"""Not planted: the benchmarks judge these, as they judge tuning constants."""


class Fault(NamedTuple):
    """A change of one place in a file: characters [start, end) become `after`."""

    path: str
    start: int
    end: int
    line: int
    function: str
    before: str
    after: str
    number: int = 0
    """Of the equal changes in a function, which one this is."""

    @property
    def name(self) -> str:
        """The same on every machine, and still the same after the code around the function has changed."""
        text = f"{self.path} {self.function} {self.before} {self.after} {self.number}"
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def planted(self, text: str) -> str:
        assert text[self.start:self.end] == self.before, f"{self.path} has changed since the sample was drawn"
        return text[:self.start] + self.after + text[self.end:]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.function}): {flat(self.before)}  ->  {flat(self.after)}"


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def sample(root: pathlib.Path, seed: int, size: int) -> list[Fault]:
    """Draw about `size` faults, spread over GROUPS, in random order.

    Whether a fault is drawn depends on its name alone: a smaller sample is a part of a larger one, and most of a sample
    is still that of the seed when the package has changed.
    """
    def lot(fault: Fault) -> str:
        return hashlib.sha256(f"{seed} {fault.name}".encode()).hexdigest()

    chosen: list[Fault] = []
    for group, share in GROUPS.items():
        pool = [fault for path in sorted((root / group).rglob("*")) if path.suffix in (".py", ".c", ".h", ".inc")
                for fault in found(path.relative_to(root).as_posix(), path.read_text())]
        chosen += sorted(pool, key=lot)[:round(share * size / sum(GROUPS.values()))]
    return sorted(chosen, key=lot)


@functools.cache
def found(path: str, text: str) -> list[Fault]:
    """Every fault that can be planted in a file."""
    if path.endswith(".py"):
        planter = InPython(path, text)
        planter.visit(ast.parse(text))
        faults = planter.faults
    else:
        faults = list(in_c(path, text))
    seen: collections.Counter[tuple[str, str, str]] = collections.Counter()
    numbered = []
    for fault in faults:
        if not {"", fault.function} & {*SPEED_ONLY.get(path, ())}:
            same = fault.function, fault.before, fault.after
            numbered.append(fault._replace(number=seen[same]))
            seen[same] += 1
    return numbered


# --- Python ------------------------------------------------------------------------------------------------------

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATIONS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.Pow: ast.Mult,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
KEYWORDS = {"strict", "stacklevel", "maxsize", "slots", "frozen", "eq", "kw_only"}
"""Arguments of Python's own functions that check or tune."""


class InPython(ast.NodeVisitor):
    """Collects the faults of one Python text."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0, *itertools.accumulate(map(len, self.lines))]
        self.functions: list[str] = []
        self.faults: list[Fault] = []

    def offset(self, line: int, column: int) -> int:
        """Where a place lies in the text: `column` counts bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def plant(self, node: Any, after: str) -> None:
        start, end = self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)
        before = self.text[start:end]
        if isinstance(node, ast.expr):  # as many lines as before: tests know line numbers
            after = f"({after}" + "\n" * (before.count("\n") - after.count("\n")) + ")"
        self.faults.append(Fault(self.path, start, end, node.lineno, ".".join(self.functions), before, after))

    # What is left alone.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node.name)
        for child in [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            self.visit(child)
        self.functions.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.functions.append(node.name)
        for child in node.body:
            self.visit(child)
        self.functions.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value and not self.is_tuning(node.target):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not self.is_tuning(node.targets[0]):
            self.generic_visit(node)

    def is_tuning(self, target: ast.expr) -> bool:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        return not self.functions and all(isinstance(name, ast.Name) and name.id.isupper() for name in names)

    def visit_Raise(self, node: ast.Raise) -> None:
        """What an error says is a golden text."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Holds always."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A text."""

    # What is changed.

    def visit_Compare(self, node: ast.Compare) -> None:
        for k, op in enumerate(node.ops):
            ops = [COMPARISONS[type(op)]() if i == k else other for i, other in enumerate(node.ops)]
            self.plant(node, ast.unparse(ast.Compare(node.left, ops, node.comparators)))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATIONS:
            self.plant(node, ast.unparse(ast.BinOp(node.left, OPERATIONS[type(node.op)](), node.right)))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in OPERATIONS:
            self.plant(node, ast.unparse(ast.AugAssign(node.target, OPERATIONS[type(node.op)](), node.value)))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self.plant(node, ast.unparse(ast.BoolOp(other, node.values)))
        for k in range(len(node.values)):
            rest = node.values[:k] + node.values[k + 1:]
            self.plant(node, ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            self.plant(node, ast.unparse(node.operand))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.plant(node, str(not node.value))
        elif isinstance(node.value, (int, float)):
            self.plant(node, repr(node.value + 1))

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self.conditions(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.conditions(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self.plant(condition, "True")
        self.generic_visit(node)

    def conditions(self, test: ast.expr) -> None:
        self.plant(test, "True")
        self.plant(test, "False")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            self.plant(node, "pass")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if function in CALLS:
            self.plant(node.func, CALLS[function])
        plain = all(isinstance(arg, (ast.Name, ast.Attribute, ast.Subscript)) for arg in node.args)
        different = len({*map(ast.unparse, node.args)}) == 2 == len(node.args)
        if different and plain and function not in ("isinstance", "issubclass", "getattr", "hasattr", "zip"):
            self.plant(node, ast.unparse(ast.Call(node.func, node.args[::-1], node.keywords)))
        self.visit(node.func)
        for child in [*node.args, *(word.value for word in node.keywords if word.arg not in KEYWORDS)]:
            self.visit(child)


# --- C -----------------------------------------------------------------------------------------------------------

IN_C = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
        "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"}
_SKIPPED = r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:\\\n|[^\n])*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\''
_OPERATOR = r"(?<= )(?:<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^])(?= )"  # with a space on both sides: no sign, no pointer
_NUMBER = r"(?<![\w.])(?:0x[0-9a-fA-F.p+-]+|\d+\.?\d*(?:e[-+]?\d+)?)[fuUlL]*\b"
_PLACE = re.compile(f"(?P<skip>{_SKIPPED})|(?P<operator>{_OPERATOR})|(?P<number>{_NUMBER})", re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"^\w[^;\n]*?\b(\w+)\([^;]*$", re.MULTILINE)


def in_c(path: str, text: str) -> Iterator[Fault]:
    """Yield the faults of a C text: other operators, other numbers."""
    heads = [(head.start(), head[1]) for head in _FUNCTION.finditer(text)]
    for match in _PLACE.finditer(text):
        before = match[0]
        if match["skip"]:
            continue
        inside = [name for start, name in heads if start < match.start()]
        line = text.count("\n", 0, match.start()) + 1
        after = IN_C[before] if match["operator"] else other_number(before)
        yield Fault(path, match.start(), match.end(), line, inside[-1] if inside else "", before, after)


def other_number(word: str) -> str:
    """A number that is a little more."""
    is_hex = word.startswith("0x")
    is_real = "p" in word if is_hex else "." in word or "e" in word
    digits = word.rstrip("fuUlL" if is_real or not is_hex else "uUlL")
    suffix = word[len(digits):]
    if is_real:
        value = float.fromhex(digits) if is_hex else float(digits)
        return repr(value * 1.01 if value else 0.01) + suffix
    return str(int(digits, 0) + 1) + suffix
