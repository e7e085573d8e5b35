"""C text under construction: lines, blocks, names, and which expressions have become variables.

An expression becomes a variable when it is the value of an equation or is used more than once, in the outermost block
where everything that it needs is known; everything else is written where it is used.
"""
from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tinytrace.codegen.c.clamps import clamped, clamps_words, position
from tinytrace.codegen.c.comments import NamesInC, PendingComment
from tinytrace.codegen.c.counters import narrowing
from tinytrace.codegen.c.far_pairs import element
from tinytrace.codegen.c.formulas import Text, spelled_operation
from tinytrace.codegen.c.formulas_in_loops import formula_in
from tinytrace.codegen.c.lines import COMMENT, COMPUTE, COPY, SCAFFOLD, CFunction, Line, marked, named, names_in
from tinytrace.codegen.c.own_float16 import OwnFloat16
from tinytrace.codegen.c.types import is_exact, is_no_sum, is_plain, rounded, variable_type
from tinytrace.codegen.c.variable_names import variable_name
from tinytrace.codegen.ir.arithmetic import constant_of, subtract, terms_of
from tinytrace.codegen.ir.equations import Equation
from tinytrace.codegen.ir.nodes import NO_EQNS, Node, value_of
from tinytrace.codegen.ir.statements import Buffer, For
from tinytrace.codegen.ir.two_byte_floats import are_bits_in_memory
from tinytrace.core.dtypes import BOOL, is_half

INLINE_SIDE = 12
"""A side of a conditional with more operations than this becomes a block of its own."""


class Code:
    """The lines of one C function."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.reserved = frozenset(reserved)
        """Names of arrays and variables that exist somewhere in the program."""
        self.lines: list[Line] = []
        self.eqns: frozenset[int] = NO_EQNS
        """The ids of the equations of the kernel that is being written."""
        self.declared: set[str] = set()
        """The variables that its lines declare, and the functions for threads that they name."""
        self.depth = 1
        self._known: dict[Node, str] = {}
        self._read: dict[Node, set[Buffer]] = {}
        self._readers: dict[Buffer, list[Node]] = {}
        """From which arrays each of these was computed, and the other way round."""
        self._hidden: list[list[tuple[Node, str | None]]] = [[]]
        """For each open block what it has added to `_known`, and what was there before."""
        self._taken: list[set[str]] = [set(self.reserved)]
        self.float16 = OwnFloat16()
        self.loop: For | None = None
        """The innermost loop that is written, or the one around it that carries the vectors."""
        self.uses: dict[Node, int] = defaultdict(int)
        """How often each expression of the current kernel is used."""

    def comment(self, heading: str, equations: Sequence[Equation]) -> None:
        """Add a comment about equations; their values get names when the function is `finished`."""
        self.lines.append(PendingComment.at("    " * self.depth, heading, equations))

    def finished(self, functions: Iterable[CFunction]) -> tuple[list[Line], frozenset[str]]:
        """Return the lines with their comments, and the names that stand in them.

        functions: those that the lines may call; what stands in one that is called counts.
        """
        standing = {*names_in(self.lines), *self.declared}
        for function in functions:
            if function.name in standing:
                standing |= function.standing
        names = NamesInC.of(standing) if any(isinstance(line, PendingComment) for line in self.lines) else None
        lines: list[Line] = []
        for line in self.lines:
            lines += line.lines(names) if names is not None and isinstance(line, PendingComment) else [line]
        return lines, frozenset(standing)

    # --- lines and blocks --------------------------------------------------------------------------------------

    def line(self, text: str, role: str = SCAFFOLD, eqns: frozenset[int] = NO_EQNS) -> None:
        """Add one line at the current depth; role, eqns: what it is and whose, besides what is marked in it."""
        line = Line.of(text, "    " * self.depth, role, eqns)
        self.lines.append(line if role in (SCAFFOLD, COMMENT) else line.owned_by(self.eqns))

    @contextlib.contextmanager
    def block(self, head: str, eqns: frozenset[int] = NO_EQNS) -> Iterator[None]:
        """Add `head {`, what is written inside the `with`, and `}`; eqns: whose block it is."""
        self.line(f"{head} {{" if head else "{", eqns=eqns)
        with self.scope():
            yield
        self.line("}")

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Let names and variables made inside the `with` end with it."""
        self._hidden.append([])
        self._taken.append(set())
        self.depth += 1
        yield
        self.depth -= 1
        self._taken.pop()
        for node, before in reversed(self._hidden.pop()):
            if before is None:
                self._known.pop(node, None)
            else:
                self._known[node] = before

    def fresh(self, wish: str) -> str:
        """Return a name that nothing visible has, as near to `wish` as possible."""
        name, k = wish, 0
        while any(name in taken for taken in self._taken):
            name, k = f"{wish}_{k}" if k else f"{wish.removesuffix('_i')}_i", k + 1
        self._taken[-1].add(name)
        self.declared.add(name)
        return name

    def name_of(self, node: Node) -> str | None:
        """Return the variable that holds `node`, if one does here."""
        return self._known.get(node)

    # --- expressions -------------------------------------------------------------------------------------------

    def value(self, node: Node) -> str:
        """Return the C text of an expression, after making the variables that it needs."""
        self.prepare([node])
        return self._text(node)[0]

    def text_of(self, node: Node) -> str:
        """Return the C text of an expression that is about to be stored: it needs no variable of its own."""
        if node.op == "where" and self.is_large(node):
            return self.value(node)
        self.prepare(node.certain, node)
        return self._text(node)[0]

    def unrounded(self, node: Node) -> str:
        """Return the C text of an operation whose operands have been prepared, as wide as C computes it."""
        return self._formula(node).text

    def know(self, node: Node, name: str) -> None:
        """Remember that variable `name` holds `node` from here to the end of the block."""
        if node.op not in ("literal", "local", "axis", "affine"):
            self._hidden[-1].append((node, self._known.get(node)))
            self._known[node] = name
            self._read[node] = self._arrays_read_by(node)
            for buffer in self._read[node]:
                self._readers.setdefault(buffer, []).append(node)

    def forget_loads(self, written: Iterable[Buffer] | None = None) -> None:
        """Forget which variables hold what was read from arrays that have been written since; all of them if None.

        A place has one name, and what was read there last is not what stands there now.
        """
        for buffer in list(self._readers) if written is None else written:
            for node in self._readers.pop(buffer, ()):
                self._known.pop(node, None)
                self._read.pop(node, None)

    def _arrays_read_by(self, node: Node) -> set[Buffer]:
        """Return the arrays that `node` was computed from."""
        if len(node.children) == 1 and node.op != "load" and (known := self._read.get(node.children[0])) is not None:
            return known
        found: set[Buffer] = set()
        seen, stack = {node}, [node]
        while stack:
            inner = stack.pop()
            if inner in self._read:
                found |= self._read[inner]
                continue
            if inner.op == "load":
                found.add(inner.args[0])
            stack += [child for child in inner.children if child not in seen]
            seen.update(inner.children)
        return found

    def operand(self, node: Node) -> str:
        """Return the C text of an expression, in parentheses unless it is one word or call."""
        self.prepare([node])
        return self._operand(node)

    def operand_text(self, node: Node) -> Text:
        """Return the C text of an operand of a formula."""
        self.prepare([node])
        return self._operand_text(node)

    def prepare(self, nodes: Iterable[Node], user: Node | None = None) -> None:
        """Make the variables that `nodes`, operands of `user`, need; operands first."""
        needed = self._needed(nodes)
        chosen = self._chosen_loads(needed if user is None else [*needed, user])
        for node in needed:
            if (self._wants_name(node) or node in chosen) and node not in self._known:
                self._declare(node, variable_name(node))

    def keep(self, node: Node, wish: str = "") -> None:
        """Make a variable that holds `node`."""
        self.prepare(node.certain, node)
        self._declare(node, wish or variable_name(node))

    def _declare(self, node: Node, wish: str) -> None:
        name = self.fresh(wish)
        kind = self.float16.variable(name, node.dtype)
        if node.op == "where" and self.is_large(node):
            self._choose(node, kind, name)
        else:
            self.line(f"const {kind} {name} = {self._text(node)[0]};", COPY if node.dtype is not None else SCAFFOLD)
        self.know(node, name)

    def _choose(self, node: Node, kind: str, name: str) -> None:
        guard, if_true, if_false = node.args
        self.line(f"{kind} {name};")
        for head, side in ((f"if ({self.value(guard)})", if_true), ("else", if_false)):
            with self.block(head):
                self.line(f"{name} = {self.value(side)};", COPY)

    def _needed(self, nodes: Iterable[Node]) -> list[Node]:
        """Return what is evaluated for certain below `nodes` and is not in a variable yet, operands first.

        The last of `nodes` comes first, for it is the sum to which a product is added: as a rule the longest
        expression, and what is computed before it is held in a register, or on the stack where a function is called.
        """
        seen: set[Node] = set()
        order: list[Node] = []
        begun: list[Node] = []
        roots = list(nodes)
        stack: list[Node | None] = [*roots[-2::-1], *roots[-1:]]
        while stack:
            node = stack.pop()
            if node is None:  # all operands of the node begun last are in order
                order.append(begun.pop())
            elif node not in seen and node not in self._known:
                seen.add(node)
                begun.append(node)
                stack.append(None)
                stack += node.certain[::-1]
        return order

    def _chosen_loads(self, nodes: Iterable[Node]) -> set[Node]:
        """Return the elements that are read below one side of a choice, which can be read whatever is chosen.

        In C the side that is not chosen is not evaluated: a vectorised load has a condition then, and gcc 12 gives
        loads that lie side by side each other's conditions (GROUPED_LOADS in quirks.py).
        """
        found: set[Node] = set()
        for node in nodes:
            stack = [node.children[k] for k in node.args[0].sides] if node.op == "apply" else []
            while stack:
                inner = stack.pop()
                if inner.op == "load":
                    found.add(inner)
                elif inner not in self._known and not self._wants_name(inner):
                    stack += inner.certain
        return found

    def _wants_name(self, node: Node) -> bool:
        if node.op in ("axis", "literal", "local", "affine", "lt", "le", "eq", "and", "or"):
            return False
        if node.op == "where" and self.is_large(node):
            return True
        return (bool(node.hint) and node.op in ("apply", "where", "cast")) or self.uses[node] > 1

    def is_large(self, node: Node) -> bool:
        """Has a conditional too much on its sides to be one expression?"""
        count = 0
        stack = list(node.args[1:])
        while stack:
            inner = stack.pop()
            if self.name_of(inner) is None and inner.op not in ("axis", "literal", "local", "affine"):
                count += 1
                if count > INLINE_SIDE:
                    return True
                stack += inner.children
        return False

    # --- text --------------------------------------------------------------------------------------------------

    def _text(self, node: Node) -> tuple[str, bool]:
        """Return the text of `node`, and whether it is one word or call and needs no parentheses."""
        name = self.name_of(node)
        if name is not None:
            return self.float16.read(node, name)
        text, whole = self._written_out(node)
        return marked(text, node.eqns, COMPUTE if node.op == "apply" else COPY) if node.op != "local" else text, whole

    def _written_out(self, node: Node) -> tuple[str, bool]:
        args = node.args
        match node.op:
            case "axis" | "local":
                return self.float16.read(node, args[0])
            case "literal":
                assert node.dtype is not None
                return self.float16.number(value_of(node), node.dtype)
            case "affine":
                return self._sum(*args)
            case "load":
                text = element(args[0], args[1], self._text(args[1])[0], self.loop.axis if self.loop else None)
                return text if args[0].wide else self.float16.element(text, args[0]), True
            case "apply":
                return self._apply(node)
            case "cast":
                return f"({variable_type(node.dtype)}){narrowing(node, self.loop)}{self._operand(args[0])}", False
            case "index":
                return position(args[0], self._operand(args[0])), False
            case "where":
                guard, if_true, if_false = map(self._operand, args)
                return f"{guard} ? {if_true} : {if_false}", False
            case "min" | "max":
                return clamped(node, self._operand, self.name_of), False
            case "floordiv" | "mod":
                return self._divided(node)
            case "lt" | "le":
                return self._compared(node.op, *args), False
            case "and" | "or":
                sides = [self._text(x)[0] if x.op in ("lt", "le", "eq") else self._operand(x) for x in args]
                return f" {_INFIX[node.op]} ".join(sides), False
        return f"{self._operand(args[0])} {_INFIX[node.op]} {self._operand(args[1])}", False

    def _compared(self, op: str, a: Node, b: Node) -> str:
        """Return the text of `a < b` or `a <= b`: with one variable on the left, `i >= 1` and not `0 <= i - 1`.

        Nor is a difference held against 0, `i + j >= 8` and not `0 <= i + j - 8`: see SIGN_TESTS in quirks.py.
        """
        constant, terms = terms_of(subtract(a, b))
        if len(terms) > 1 and {constant_of(a), constant_of(b)}.isdisjoint((0, -1)):
            return f"{self._operand(a)} {_INFIX[op]} {self._operand(b)}"
        left, right = [(n, k) for n, k in terms if k > 0], [(n, -k) for n, k in terms if k < 0]
        sign, rest = _INFIX[op], -constant
        if not left:
            left, right, sign, rest = right, left, sign.replace("<", ">"), constant
        if not right and len(left) > 1 and rest == -(sign in ("<=", ">")):
            left, right = left[:1], [(n, -k) for n, k in left[1:]]
        if right and rest < 0:
            return f"{self._sum(-rest, tuple(left))[0]} {sign} {self._sum(0, tuple(right))[0]}"
        return f"{self._sum(0, tuple(left))[0]} {sign} {self._sum(rest, tuple(right))[0]}"

    def _operand(self, node: Node) -> str:
        text, whole = self._text(node)
        return text if whole else f"({text})"

    def _apply(self, node: Node) -> tuple[str, bool]:
        assert node.dtype is not None
        if node.args[0].is_conversion and not is_half(node.dtype):
            return self._text(node.args[1])
        if are_bits_in_memory(node):
            array, offset = node.args[1].args
            return f"({variable_type(node.dtype)}){named(array.name)}[{self._text(offset)[0]}]", False
        text, whole, _ = self._formula(node)
        if is_half(node.dtype) and not self.float16.computes(node.dtype):
            # an exact result is a half already, as the greater of two is
            return (text, whole) if is_exact(node) else (rounded(text, node.dtype, is_plain(node)), True)
        if node.dtype.itemsize < 4 and node.dtype != BOOL and not is_half(node.dtype):
            return f"({variable_type(node.dtype)})({text})", False
        return text, whole

    def _formula(self, node: Node) -> Text:
        """Return what the operation of a node computes, before it is rounded to a half or cast to a small integer."""
        formula = formula_in(self.loop, node, self.float16.computes(node.dtype))
        return spelled_operation(formula, [self._operand_text(child) for child in node.children])

    def _operand_text(self, node: Node) -> Text:
        return Text(*self._text(node), not is_no_sum(node))

    def _sum(self, constant: int, terms: tuple[tuple[Node, int], ...]) -> tuple[str, bool]:
        text, left = (str(constant), 0) if constant > 0 and terms and terms[0][1] < 0 else ("", constant)
        for node, factor in terms:
            word = self._operand(node) if abs(factor) == 1 else f"{abs(factor)} * {self._operand(node)}"
            text += (f" - {word}" if factor < 0 else f" + {word}") if text else (f"-{word}" if factor < 0 else word)
        if left or not text:
            text += (f" - {-left}" if left < 0 else f" + {left}") if text else str(left)
        return text, not terms and constant >= 0

    def _divided(self, node: Node) -> tuple[str, bool]:
        a, b = node.args
        if a.low >= 0 and (constant_of(b) or 0) > 0:
            return f"{self._operand(a)} {'/' if node.op == 'floordiv' else '%'} {self._operand(b)}", False
        return f"{named(f'tt_{node.op}')}({self._text(a)[0]}, {self._text(b)[0]})", True

    # --- counting ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def counting(self, roots: Iterable[Node]) -> Iterator[None]:
        """Know, inside the `with`, how often each expression below `roots` is used."""
        uses: dict[Node, int] = {}
        stack: list[Node] = []
        for root in roots:
            if root not in uses:
                stack.append(root)
            uses[root] = uses.get(root, 0) + 1
        while stack:
            node = stack.pop()
            mentions = node.args[0].mentions if node.op == "apply" else ()
            for k, child in enumerate(node.children):
                if not uses.get(child):
                    stack.append(child)
                times = mentions[k] if mentions else 2 if node.op in ("min", "max") and not clamps_words(node) else 1
                uses[child] = uses.get(child, 0) + times
        outer, self.uses = self.uses, defaultdict(int, uses)
        yield
        self.uses = outer


_INFIX = {"mul": "*", "lt": "<", "le": "<=", "eq": "==", "and": "&&", "or": "||"}
