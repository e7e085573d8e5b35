"""Read a jaxpr back from its text: `parse(str(jaxpr))` prints the same text again.

The text does not say everything: letters are chosen anew, weak types and source lines are lost, closed-over constants
have no values (they become inputs of the open jaxpr), and a parameter that is no plain Python value stays text.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BFLOAT16, FLOAT0, KEY_FRY, DType, to_numpy_dtype
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.primitive import registry

_TYPE = re.compile(r"^(\w+|_):([\w<>]+)\[([\d,]*)\]")
_DTYPES = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "c": "complex"}


class JaxprSyntaxError(ValueError):
    """The text is not a jaxpr; the message shows where reading stopped."""


class OpaqueParam:
    """A parameter known by its text only, such as a function's address."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueParam) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def parse(text: str) -> Jaxpr:
    """Return the open jaxpr that `text` is.

    Raises: JaxprSyntaxError where the text is no jaxpr, or names an unknown primitive or variable.

    >>> text = "{ lambda ; a:f32[3]. let b:f32[3] = neg a in (b,) }"
    >>> str(parse(text)) == text
    True
    """
    return _Parser(text).program()


class _Parser:
    """One pass over the text, a position and the names in scope."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.hoisted: dict[str, Jaxpr] = {}
        self.scope: dict[str, Var] = {}

    def program(self) -> Jaxpr:
        while self.accept("let "):
            name = self.word()
            self.expect("=")
            self.hoisted[name] = self.jaxpr()
            self.expect("in")
        jaxpr = self.jaxpr()
        if self.peek():
            raise self.error("the end of the text")
        return jaxpr

    def jaxpr(self) -> Jaxpr:
        if not self.peek().startswith("{"):
            name = self.word()
            if name not in self.hoisted:
                raise self.error("a jaxpr")
            return self.hoisted[name]
        self.expect("{")
        self.expect("lambda")
        constvars = list(self.binders())
        self.expect(";")
        invars = list(self.binders())
        self.expect(".")
        self.expect("let")
        eqns = []
        while not re.match(r"in \(", self.peek()):
            eqns.append(self.eqn())
            self.accept(";")
        self.expect("in")
        self.expect("(")
        outvars: list[Atom] = []
        while not self.accept(")"):
            outvars.append(self.atom(None))
            self.accept(",")
        self.expect("}")
        return Jaxpr(constvars, invars, outvars, eqns)

    def binders(self) -> Iterator[Var]:
        while match := _TYPE.match(self.peek()):
            self.advance(match.group(0))
            name, kind, dims = match.groups()
            shape = tuple(int(d) for d in dims.split(",") if d)
            aval = ShapedArray(shape, _dtype(kind))
            if name == "_":
                yield DropVar(aval)
            else:
                self.scope[name] = Var(aval)
                yield self.scope[name]

    def eqn(self) -> JaxprEqn:
        outvars = list(self.binders())
        if outvars:
            self.expect("=")
        name = self.word()
        if name not in registry:
            raise self.error(f"a primitive, not {name!r}")
        primitive = registry[name]
        shown = dict(self.params()) if self.accept("[") else {}
        params = primitive.parse_params(shown)
        words = []
        while self._atom_follows():
            words.append(self.word())
        return JaxprEqn(self.operands(words, params, outvars), outvars, primitive, params)

    def _atom_follows(self) -> bool:
        rest = self.peek()
        return bool(rest) and not rest.startswith((";", "}")) and not _TYPE.match(rest) \
            and not re.match(r"in \(", rest) and not re.match(r"\w+\[", rest)

    def operands(self, words: list[str], params: dict[str, Any], outvars: list[Var]) -> list[Atom]:
        known = [self.scope[w].aval for w in words if w in self.scope]
        jaxpr = params.get("jaxpr")
        declared = [v.aval for v in jaxpr.jaxpr.invars] if isinstance(jaxpr, ClosedJaxpr) else []
        atoms = []
        for i, word in enumerate(words):
            hint = declared[i] if len(declared) == len(words) else \
                known[0] if known else outvars[0].aval if outvars else None
            atoms.append(self.named(word, hint))
        return atoms

    def params(self) -> Iterator[tuple[str, Any]]:
        while not self.accept("]"):
            match = re.match(r"(\w+)=", self.peek())
            if match is None:
                raise self.error("a parameter")
            self.advance(match.group(0))
            yield match.group(1), self.balanced() if match.group(1) == "name" else self.value()

    def value(self) -> Any:
        rest = self.peek()
        if rest.startswith("{"):
            return ClosedJaxpr(*_closed(self.jaxpr()))
        hoisted = "|".join(map(re.escape, self.hoisted)) or "{"
        if re.match(rf"\(\s*(\{{|(?:{hoisted})\b)", rest):
            self.expect("(")
            jaxprs = []
            while not self.accept(")"):
                jaxprs.append(ClosedJaxpr(*_closed(self.jaxpr())))
            return tuple(jaxprs)
        text = self.balanced()
        return ClosedJaxpr(*_closed(self.hoisted[text])) if text in self.hoisted else _plain(text)

    def balanced(self) -> str:
        """Read up to the next white space or `]` that no bracket encloses."""
        rest, depth, start = self.peek(), 0, self.position
        for i, char in enumerate(rest):
            if depth == 0 and (char.isspace() or char == "]"):
                break
            depth += (char in "([{<") - (char in ")]}>" and rest[i - 1] != "-")
        self.position = start + i
        return rest[:i]

    def atom(self, hint: ShapedArray | None) -> Atom:
        return self.named(self.word(), hint)

    def named(self, word: str, hint: ShapedArray | None) -> Atom:
        if word in self.scope:
            return self.scope[word]
        try:
            value = ast.literal_eval(word) if word not in ("nan", "inf", "-inf") else float(word)
        except (ValueError, SyntaxError):
            raise self.error(f"a variable or number, not {word!r}") from None
        kind = "bool" if isinstance(value, bool) else "i32" if isinstance(value, int) else "f32"
        dtype = _dtype(kind) if hint is None or (kind == "bool") != (hint.dtype.kind == "b") else hint.dtype
        return Literal(value, ShapedArray((), dtype))

    # --- the cursor ---

    def peek(self) -> str:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position:]

    def accept(self, token: str) -> bool:
        found = self.peek().startswith(token)
        if found:
            self.position += len(token)
        return found

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(repr(token))

    def advance(self, token: str) -> None:
        self.position += len(token)

    def word(self) -> str:
        match = re.match(r"[^\s{}();,=\[\]]+", self.peek())
        if match is None:
            raise self.error("a name")
        self.advance(match.group(0))
        return match.group(0)

    def error(self, wanted: str) -> JaxprSyntaxError:
        line = self.text.count("\n", 0, self.position) + 1
        return JaxprSyntaxError(f"line {line}: expected {wanted} at {self.peek()[:40]!r}")


def _closed(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    if jaxpr.constvars:
        raise JaxprSyntaxError("a jaxpr inside an equation has constants, whose values the text does not tell")
    return jaxpr, []


def _dtype(name: str) -> DType:
    if name == "key<fry>":
        return KEY_FRY
    if name == "float0":
        return FLOAT0
    if name == "bf16" and BFLOAT16 is not None:
        return BFLOAT16
    stem = name.rstrip("0123456789")
    return to_numpy_dtype(_DTYPES.get(stem, stem) + name[len(stem):])


def _plain(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return to_numpy_dtype(text)
    except TypeError:
        return OpaqueParam(text)
