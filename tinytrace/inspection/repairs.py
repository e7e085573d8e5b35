"""The line that would do, for mistakes whose repair can be told from the error and the expression.

Each rule looks at one kind of error; it says nothing where it is not sure. The new line is the user's own with one
expression changed, so that names and layout stay theirs.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import TypeVar

from tinytrace.core.array import Array
from tinytrace.core.trace import Tracer
from tinytrace.errors import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from tinytrace.records import NamedTuple

NodeT = TypeVar("NodeT", bound=ast.AST)


class Expression(NamedTuple):
    """An expression of the user's.

    Args:
      source: the text of the file.
      path: the nodes from its statement down to it.
      parameters: the names of the function's arguments.
    """

    source: str
    path: Sequence[ast.AST]
    parameters: tuple[str, ...]

    @property
    def node(self) -> ast.AST:
        """The smallest node around what raised; the whole statement when it is one that assigns."""
        return self.path[0] if self._assigns else self.path[-1]

    @property
    def statement(self) -> ast.AST:
        return self.path[0]

    @property
    def line(self) -> int:
        return int(getattr(self.path[-1], "lineno", 0))

    @property
    def shown(self) -> str:
        """The expression, in one line."""
        if isinstance(self.node, ast.stmt) and not self._assigns and not isinstance(self.node, ast.Expr):
            return self.text(self.statement).split("\n")[0]
        return " ".join(self.text(self.node).split())

    @property
    def _assigns(self) -> bool:
        """Is it an element that is assigned to?"""
        targets = self.path[0].targets if isinstance(self.path[0], ast.Assign) else \
            [self.path[0].target] if isinstance(self.path[0], ast.AugAssign) else []
        return self.path[-1] in targets or self.path[-1] is self.path[0]

    def text(self, node: ast.AST) -> str:
        """Return what the user wrote."""
        return ast.get_source_segment(self.source, node) or ast.unparse(node)

    def nearest(self, *kinds: type[NodeT]) -> NodeT | None:
        """Return the smallest node around the expression, itself included, that is of one of these kinds."""
        return next((node for node in reversed(self.path) if isinstance(node, kinds)), None)

    def with_new(self, node: ast.AST, text: str) -> str:
        """Return the statement with another text for one of its expressions."""
        if not isinstance(self.statement, _SIMPLE):
            return text
        (first, last), (begin, end) = self._span(self.statement), self._span(node)
        return self.source[first:begin] + text + self.source[end:last]

    def _span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends in the source; Python counts columns in bytes of UTF-8."""
        lines = self.source.split("\n")
        places = [(node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)]  # type: ignore[attr-defined]
        begin, end = [sum(len(text) + 1 for text in lines[:line - 1])
                      + len(lines[line - 1].encode()[:column].decode(errors="ignore")) for line, column in places]
        return begin, end


_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)


def repaired(error: Exception, found: Expression, frame: FrameType) -> str:
    """Return a line to be written instead; empty if none can be told."""
    for kind, words, rule in _RULES:
        if isinstance(error, kind) and words in str(error):
            line = rule(found, frame)
            if line:
                return line
    return ""


# --- values of tracers ---------------------------------------------------------------------------------------------

def _truth(found: Expression, frame: FrameType) -> str:
    """`if x > 0`, `x and y`, `max(x, y)`: compute both and choose."""
    jnp = _alias(frame)
    node = found.node
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        terms = [node.left, *node.comparators]
        pairs = [ast.unparse(ast.Compare(a, [op], [b])) for a, op, b in zip(terms, node.ops, terms[1:], strict=False)]
        return found.with_new(node, _folded(f"{jnp}.logical_and", pairs))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
        return found.with_new(node, f"({found.text(node.comparators[0])} == {found.text(node.left)}).any()")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
        name = {"max": "maximum", "min": "minimum"}[node.func.id]
        return found.with_new(node, _folded(f"{jnp}.{name}", [found.text(x) for x in node.args]))
    if around := found.nearest(ast.BoolOp):
        name = "logical_and" if isinstance(around.op, ast.And) else "logical_or"
        return found.with_new(around, _folded(f"{jnp}.{name}", [found.text(x) for x in around.values]))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return found.with_new(node, f"{jnp}.logical_not({found.text(node.operand)})")
    if choice := found.nearest(ast.IfExp):
        sides = [found.text(x) for x in (choice.test, choice.body, choice.orelse)]
        return found.with_new(choice, f"{jnp}.where({', '.join(sides)})")
    return _branch(found, jnp)


def _branch(found: Expression, jnp: str) -> str:
    """`if` around statements that return, or assign to one name; `while`."""
    statement = found.statement
    if isinstance(statement, ast.While):
        names = [node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)]
        carry = ", ".join(dict.fromkeys(names))
        return f"jax.lax.while_loop(lambda {carry}: {found.text(statement.test)}, lambda {carry}: ..., {carry})"
    if not isinstance(statement, ast.If) or len(statement.body) != 1:
        return ""
    test, yes = found.text(statement.test), statement.body[0]
    no = statement.orelse[0] if len(statement.orelse) == 1 else _next(found) if not statement.orelse else None
    if isinstance(yes, ast.Return) and isinstance(no, ast.Return) and yes.value and no.value:
        return f"return {jnp}.where({test}, {found.text(yes.value)}, {found.text(no.value)})"
    if isinstance(yes, ast.Assign) and isinstance(yes.targets[0], ast.Name) and len(yes.targets) == 1:
        name = yes.targets[0].id
        if not statement.orelse:
            return f"{name} = {jnp}.where({test}, {found.text(yes.value)}, {name})"
        if isinstance(no, ast.Assign) and ast.unparse(no.targets[0]) == name:
            return f"{name} = {jnp}.where({test}, {found.text(yes.value)}, {found.text(no.value)})"
    return ""


def _next(found: Expression) -> ast.stmt | None:
    """Return the statement behind the one of an expression."""
    for node in ast.walk(ast.parse(found.source)):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for k, stmt in enumerate(body[:-1]):
                if (stmt.lineno, stmt.col_offset) == (found.statement.lineno, found.statement.col_offset):  # type: ignore[attr-defined]
                    return body[k + 1]  # type: ignore[no-any-return]
    return None


def _number(found: Expression, frame: FrameType) -> str:
    """`float(x)`, `x.item()`: a traced number stays an array."""
    node = found.nearest(ast.Call)
    if node is None:
        return ""
    if isinstance(node.func, ast.Name) and node.func.id in ("float", "int", "complex", "bool") and len(node.args) == 1:
        value = found.text(node.args[0])
        simple = isinstance(node.args[0], (ast.Name, ast.Call, ast.Subscript, ast.Attribute))
        return found.with_new(node, f"{value if simple else f'({value})'}.astype({node.func.id})")
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "tolist") and not node.args:
        return found.with_new(node, found.text(node.func.value))
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SIZED:
        return found.with_new(node, f"{found.text(node)[:-1]}, size=...)")
    return ""


_SIZED = ("nonzero", "argwhere", "flatnonzero", "unique")
"""Functions whose results have a size that depends on values, unless it is given."""


def _static(found: Expression, frame: FrameType) -> str:
    """`jnp.zeros(n)`: a number that decides about a shape is static."""
    node = found.nearest(ast.Call)
    if node is None:
        return ""
    names = [x.id for arg in (*node.args, *(k.value for k in node.keywords)) for x in ast.walk(arg)
             if isinstance(x, ast.Name) and x.id in found.parameters]
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return ""
    said = f'"{wanted[0]}"' if len(wanted) == 1 else "(" + ", ".join(f'"{name}"' for name in wanted) + ")"
    return f"@partial(jax.jit, static_argnames={said})"


def _integer(found: Expression, frame: FrameType) -> str:
    """`range(n)`, `table[i]` of a list."""
    node = found.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        bounds = [found.text(x) for x in node.args]
        first, last = ("0", bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        return f"jax.lax.fori_loop({first}, {last}, lambda i, carry: ..., ...)"
    return _table(found, frame)


def _table(found: Expression, frame: FrameType) -> str:
    node = found.nearest(ast.Subscript)
    if node is None:
        return ""
    return found.with_new(node.value, f"{_alias(frame)}.asarray({found.text(node.value)})")


def _numpy(found: Expression, frame: FrameType) -> str:
    """`np.sin(x)`: the function of the same name that can be traced."""
    node = found.nearest(ast.Call)
    if node is not None and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        module = node.func.value.id
        value = frame.f_locals.get(module, frame.f_globals.get(module))
        if isinstance(value, ModuleType) and value.__name__ == "numpy":
            return found.with_new(node, f"{_alias(frame)}.{found.text(node)[len(module) + 1:]}")
    return _table(found, frame)


# --- shapes and kinds of arguments -----------------------------------------------------------------------------------

def _mask(found: Expression, frame: FrameType) -> str:
    """`x[x > 0]`: the shape stays, what the mask leaves out does no harm."""
    node = found.nearest(ast.Subscript)
    if node is None:
        return ""
    return found.with_new(node, f"{_alias(frame)}.where({found.text(node.slice)}, {found.text(node.value)}, 0)")


_UPDATES = {ast.Add: "add({})", ast.Sub: "add(-({}))", ast.Mult: "multiply({})", ast.Div: "divide({})",
            ast.Pow: "power({})"}


def _update(found: Expression, frame: FrameType) -> str:
    """`x[i] = y`: a new array with another element."""
    statement = found.statement
    if isinstance(statement, ast.AugAssign):
        target, update = statement.target, _UPDATES.get(type(statement.op), "")
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, update = statement.targets[0], "set({})"  # type: ignore[assignment]
    else:
        return ""
    if not update or not isinstance(target, ast.Subscript):
        return ""
    array, value = found.text(target.value), found.text(statement.value)
    return f"{array} = {array}.at[{found.text(target.slice)}].{update.format(value)}"


def _product(found: Expression, frame: FrameType) -> str:
    """`x @ w` of matrices: one of them is wanted the other way round."""
    node = found.nearest(ast.BinOp)
    if node is None or not isinstance(node.op, ast.MatMult):
        return ""
    shapes = [_shape(x, frame) for x in (node.left, node.right)]
    if [len(shape) for shape in shapes] != [2, 2]:
        return ""
    left, right = found.text(node.left), found.text(node.right)
    if shapes[0][1] == shapes[1][1]:
        return found.with_new(node, f"{left} @ {right}.T")
    return found.with_new(node, f"{left}.T @ {right}") if shapes[0][0] == shapes[1][0] else ""


def _shape(node: ast.expr, frame: FrameType) -> tuple[int, ...]:
    value = frame.f_locals.get(node.id, frame.f_globals.get(node.id)) if isinstance(node, ast.Name) else None
    shape = getattr(value, "shape", ()) if issubclass(type(value), (Array, Tracer)) else ()
    return tuple(shape)


def _list(found: Expression, frame: FrameType) -> str:
    """`jnp.sum([1, 2])`: a list is made an array where everybody sees it."""
    node = found.nearest(ast.Call)
    lists = [arg for arg in node.args if isinstance(arg, (ast.List, ast.Tuple))] if node is not None else []
    return found.with_new(lists[0], f"{_alias(frame)}.asarray({found.text(lists[0])})") if lists else ""


def _pieces(found: Expression, frame: FrameType) -> str:
    """`jnp.concatenate(a, b)`: its first argument is the list of what is joined."""
    node = found.nearest(ast.Call)
    if node is None or len(node.args) < 2:
        return ""
    listed = f"[{', '.join(found.text(x) for x in node.args)}]"
    keywords = [f"{k.arg}={found.text(k.value)}" for k in node.keywords]
    return found.with_new(node, f"{found.text(node.func)}({', '.join([listed, *keywords])})")


def _real(found: Expression, frame: FrameType) -> str:
    """`grad(f)(3)`: a number that moves is a float."""
    node = found.nearest(ast.Call)
    whole = [x for x in node.args if isinstance(x, ast.Constant) and type(x.value) is int] if node is not None else []
    if node is None or not whole:
        return ""
    args = [f"{found.text(x)}.0" if x in whole else found.text(x) for x in node.args]
    return found.with_new(node, f"{found.text(node.func)}({', '.join(args)})") if not node.keywords else ""


def _scalar(found: Expression, frame: FrameType) -> str:
    """`grad(f)(x)` of a function to an array: the gradient of its sum."""
    node = found.nearest(ast.Call)
    if node is None or not isinstance(node.func, ast.Call) or len(node.func.args) != 1 or node.func.keywords:
        return ""
    function = found.text(node.func.args[0])
    if not isinstance(node.func.args[0], (ast.Name, ast.Attribute)):
        function = f"({function})"
    return found.with_new(node.func.args[0], f"lambda *args: {function}(*args).sum()")


def _unmapped(found: Expression, frame: FrameType) -> str:
    """`vmap(f)(xs, 2.0)`: a number is the same for all."""
    node = found.nearest(ast.Call)
    if node is None or not isinstance(node.func, ast.Call) or len(node.func.args) != 1 or node.func.keywords:
        return ""
    axes = ["None" if isinstance(x, ast.Constant) else "0" for x in node.args]
    if "None" not in axes:
        return ""
    transformed = f"{found.text(node.func)[:-1]}, in_axes=({', '.join(axes)}{',' if len(axes) == 1 else ''}))"
    return found.with_new(node.func, transformed)


def _hashable(found: Expression, frame: FrameType) -> str:
    """`f(x, shape=[2, 3])`: a static argument can be hashed."""
    node = found.nearest(ast.Call)
    values = [*node.args, *(k.value for k in node.keywords)] if node is not None else []
    lists = [x for x in values if isinstance(x, ast.List)]
    if len(lists) != 1:
        return ""
    inside = ", ".join(found.text(x) for x in lists[0].elts)
    return found.with_new(lists[0], f"({inside}{',' if len(lists[0].elts) == 1 else ''})")


# --- parts ---------------------------------------------------------------------------------------------------------

def _alias(frame: FrameType) -> str:
    """Return what the user calls `tinytrace.numpy`."""
    names = {**frame.f_globals, **frame.f_locals}
    return next((name for name, value in names.items()
                 if isinstance(value, ModuleType) and value.__name__ == "tinytrace.numpy"), "jnp")


def _folded(function: str, terms: Sequence[str]) -> str:
    """Return calls of a function of two arguments, one inside the other."""
    first, *rest = terms
    for term in rest:
        first = f"{function}({first}, {term})"
    return first


_RULES: list[tuple[type[Exception], str, Callable[[Expression, FrameType], str]]] = [
    (TracerBoolConversionError, "", _truth),
    (ConcretizationTypeError, "", _number),
    (ConcretizationTypeError, "", _static),
    (TypeError, "Shapes must be 1D sequences of concrete values", _static),
    (TracerIntegerConversionError, "", _integer),
    (TracerArrayConversionError, "", _numpy),
    (NonConcreteBooleanIndexError, "", _mask),
    (TypeError, "do not support in-place item assignment", _update),
    (TypeError, "does not support item assignment", _update),
    (TypeError, "requires contracting dimensions to have the same shape", _product),
    (TypeError, "requires ndarray or scalar arguments, got <class 'list'>", _list),
    (ValueError, "Zero-dimensional arrays cannot be concatenated", _pieces),
    (TypeError, "grad requires real- or complex-valued inputs", _real),
    (ValueError, "Non-hashable static arguments", _hashable),
    (TypeError, "Gradient only defined for scalar-output functions", _scalar),
    (ValueError, "its rank should be at least 1, but is only 0", _unmapped),
]
