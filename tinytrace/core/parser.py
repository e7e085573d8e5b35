"""Read a jaxpr back from its text: `parse_jaxpr(str(jaxpr))` prints the same text again, and computes the same.

    text    ::= ("let" name "=" jaxpr "in")* jaxpr
    jaxpr   ::= "{" "lambda" binder* ";" binder* "." "let" (eqn (";" eqn)*)? "in" "(" (atom ",")* ")" "}" | name
    eqn     ::= (binder+ "=")? primitive ("[" (key "=" value)* "]")? atom*
    binder  ::= name ":" dtype "[" (size ("," size)*)? "]"
    atom    ::= name | number | "True" | "False"
    value   ::= jaxpr | Record "(" (field "=" value ","?)* ")" | Enum "." member | "(" (value ","?)* ")"
              | Python literal | dtype | opaque

A name that is bound twice is one variable, as it was when it was printed. What the text does not say is lost: source
lines, the weak types of inputs, the values of constants inside equations (each becomes an `UnknownConstant`) and
functions among the parameters (each becomes an `OpaqueParam`).
"""
from __future__ import annotations

import ast
import enum
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, KEY_TYPES, SUPPORTED, DType, is_float, short_name, to_numpy_dtype
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, UnusedVar, Var, subjaxprs
from tinytrace.core.moving import OpaqueParam as OpaqueParam
from tinytrace.core.primitive import param_types, registry
from tinytrace.core.storage_types import computed_type

_BINDER = re.compile(r"(\w+):([\w<>]+)\[([\d,]*)\]")
_RECORD = re.compile(r"(\w+)\(\s*(?=\w+=|\))")
_MEMBER = re.compile(r"(\w+)\.(\w+)")
_DTYPES = {short_name(dtype): dtype for dtype in (*SUPPORTED, FLOAT0, *KEY_TYPES.values())}
_WORDS: dict[str, Any] = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "(b'',)": False}


class JaxprSyntaxError(ValueError):
    """The text is not a jaxpr; the message shows where reading stopped."""


class UnknownConstant:
    """The constant of a jaxpr inside an equation: the text tells its type and not its value."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"The value of a constant of type {self.aval.str_short()} is not known: the text of a jaxpr "
                        "tells the types of constants only. Such a program can be looked at, and not run.")

    def __repr__(self) -> str:
        return f"UnknownConstant({self.aval.str_short()})"


def parse_jaxpr(text: str) -> Jaxpr:
    """Return the open jaxpr that `text` is; constants of the outermost program are its `constvars`.

    Raises: JaxprSyntaxError where the text is no jaxpr, or names an unknown primitive or variable.
    Source: the grammar is that of https://jax.readthedocs.io/en/latest/jaxpr.html.

    >>> text = "{ lambda ; a:f32[3]. let b:f32[3] = neg a in (b,) }"
    >>> str(parse_jaxpr(text)) == text
    True
    """
    return _Parser(text).whole()


def parse_type(text: str) -> ShapedArray:
    """Return the aval that `text` is, as jaxprs print it.

    Raises: JaxprSyntaxError where it is none.

    >>> parse_type("f32[2,3]")
    ShapedArray(float32[2,3])
    """
    parser = _Parser(f"_:{text.strip()}")
    match = parser.match(_BINDER)
    if match is None or match.end() != len(parser.text):
        raise JaxprSyntaxError(f"expected a type such as f32[2,3], not {text!r}")
    return next(parser.binders()).aval


ProgramKey: TypeAlias = tuple[tuple[int, ...], str]
"""The variables that a program binds, and its text."""


class _Parser:
    """One pass over the text: a position, the hoisted programs, and the variables by name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.hoisted: dict[str, Jaxpr] = {}
        self.closed: dict[Jaxpr, ClosedJaxpr] = {}
        self.variables: dict[str, Var] = {}
        self.shared: set[ProgramKey] = set()
        self.programs: dict[ProgramKey, Jaxpr] = {}
        self.by_text: dict[str, deque[Jaxpr]] = {}
        self.inside_record = False

    def whole(self) -> Jaxpr:
        """Read the text twice: what a `let` defines late is known, the second time, where it is written out before."""
        if self.follows("let "):
            self.program()
            self.position, self.hoisted, self.by_text = 0, {}, {}
        jaxpr = self.program()
        if not self.at_end():
            raise self.error("the end of the text")
        return jaxpr

    def program(self) -> Jaxpr:
        while self.accept("let "):
            name = self.word()
            self.expect("=")
            self.hoisted[name] = jaxpr = self.jaxpr()
            self.shared.add(self.key(jaxpr))
            self.by_text.setdefault(str(jaxpr), deque()).append(jaxpr)
            self.expect("in")
        return self.jaxpr()

    def jaxpr(self) -> Jaxpr:
        if not self.follows("{"):
            name = self.word()
            if name not in self.hoisted:
                raise self.error("a jaxpr")
            return self.hoisted[name]
        for token in ("{", "lambda"):
            self.expect(token)
        constvars = list(self.binders())
        self.expect(";")
        invars = list(self.binders())
        for token in (".", "let"):
            self.expect(token)
        eqns = []
        while not self.match(_END):
            eqns.append(self.eqn())
            self.accept(";")
        for token in ("in", "("):
            self.expect(token)
        outvars: list[Atom] = []
        while not self.accept(")"):
            outvars.append(self.atom(self.atom_word(), []))
            self.accept(",")
        self.expect("}")
        return self.known(Jaxpr(constvars, invars, outvars, eqns))

    def known(self, jaxpr: Jaxpr) -> Jaxpr:
        """Return the same shared program if it was read before: it is written out where it stands before its `let`."""
        key = self.key(jaxpr) if self.shared else None  # mostly there are none: to print takes as long as to read
        return self.programs.setdefault(key, jaxpr) if key is not None and key in self.shared else jaxpr

    def key(self, jaxpr: Jaxpr) -> ProgramKey:
        return tuple(map(id, (*jaxpr.constvars, *jaxpr.invars))), str(jaxpr)

    def binders(self) -> Iterator[Var]:
        while match := self.match(_BINDER):
            self.position = match.end()
            name, dtype, sizes = match.groups()
            aval = ShapedArray(tuple(int(size) for size in sizes.split(",") if size), self.dtype(dtype))
            known = self.variables.get(name)
            if name == "_":
                yield DropVar(aval)
            elif known is not None and known.aval == aval:
                yield known
            else:
                self.variables[name] = UnusedVar(aval) if name.endswith("_") else Var(aval)
                yield self.variables[name]

    def eqn(self) -> JaxprEqn:
        outvars = list(self.binders())
        if outvars:
            self.expect("=")
        name = self.word()
        if name not in registry:
            raise self.error(f"a primitive, not {name!r}")
        primitive = registry[name]
        params = primitive.parse_params(dict(self.params()) if self.accept("[") else {})
        words = []
        while not self.match(_NEXT):
            words.append(self.atom_word())
        return JaxprEqn(self.operands(words, params, outvars), outvars, primitive, params)

    def operands(self, words: Sequence[str], params: dict[str, Any], outvars: Sequence[Var]) -> list[Atom]:
        """Return the atoms that `words` name; a number has the type that stands in its place in the program inside,
        or that of the first operand or result of its kind."""
        inner = next(subjaxprs(params), None)
        places: Sequence[Var] = inner.invars[-len(words):] if inner is not None and words else ()
        declared = [None] * (len(words) - len(places)) + [v.aval for v in places]
        around = [self.variables[w].aval for w in words if w in self.variables] + [v.aval for v in outvars]
        return [self.atom(word, around if aval is None else [aval, *around])
                for word, aval in zip(words, declared, strict=True)]

    def atom(self, word: str, around: Sequence[ShapedArray]) -> Atom:
        if word in self.variables:
            return self.variables[word]
        try:
            value = _WORDS[word] if word in _WORDS else _number(word)
        except (ValueError, SyntaxError):
            raise self.error(f"a variable or number, not {word!r}") from None
        if word == "(b'',)":
            return Literal(np.zeros((), FLOAT0)[()], ShapedArray((), FLOAT0))
        kinds, default = _NUMBERS.get(type(value), ("", None))
        if default is None:
            raise self.error(f"a variable or number, not {word!r}")
        dtype = next((aval.dtype for aval in around if _kind(aval.dtype) in kinds), to_numpy_dtype(default))
        typed = dtype.type(value)
        return Literal(typed if str(typed.item()) == word else value, ShapedArray((), dtype))

    # --- parameters ---

    def params(self) -> Iterator[tuple[str, Any]]:
        while not self.accept("]"):
            match = self.match(_KEY)
            if match is None:
                raise self.error("a parameter")
            self.position = match.end()
            text = "" if self.follows("{") else self.balanced(ahead=True)
            is_text = match[1] == "name" or (match[1] == "axis_name" and text.isidentifier())
            if match[1] in _PROGRAMS and text.isidentifier() and text not in self.hoisted:
                raise self.error(f"a program, but no `let` before it defines {text!r}")
            yield match[1], self.balanced() if is_text else self.value()  # a function or an axis may be called `int`

    def value(self) -> Any:
        if self.follows("{"):
            return self.close(self.jaxpr())
        if self.inside_record and self.follows("let "):
            return self.close(self.program_of_record())
        if (match := self.match(_RECORD)) and match[1] in param_types:
            self.position = match.end()
            return self.record(param_types[match[1]])
        if (match := self.match(_MEMBER)) and issubclass(param_types.get(match[1], object), enum.Enum):
            self.position = match.end()
            return getattr(param_types[match[1]], match[2])
        text = self.balanced(ahead=True)
        if text in self.hoisted:
            self.position += len(text)
            return self.close(self.hoisted[text])
        if text.startswith("(") and self.holds_more_than_python(text):
            return self.items()
        self.position += len(text)
        return _python(text)

    def items(self) -> tuple[Any, ...]:
        self.expect("(")
        found = []
        while not self.accept(")"):
            found.append(self.value())
            self.accept(",")
        return tuple(found)

    def record(self, kind: type) -> Any:
        """Return the record that follows; each program in it has letters of its own, and is never called by a name."""
        outside = self.variables, self.inside_record
        self.variables, self.inside_record = {}, True
        fields = dict(self.fields())
        self.variables, self.inside_record = outside
        return kind(**fields)

    def program_of_record(self) -> Jaxpr:
        """Return a program that hoists programs of its own: their names are known inside it only."""
        outside = self.hoisted
        self.hoisted = {}
        jaxpr = self.program()
        self.hoisted = outside
        return jaxpr

    def fields(self) -> Iterator[tuple[str, Any]]:
        while not self.accept(")"):
            match = self.match(_KEY)
            if match is None:
                raise self.error("a field")
            self.position = match.end()
            self.variables = {}
            yield match[1], self.value()
            self.accept(",")

    def holds_more_than_python(self, text: str) -> bool:
        """Say whether there are programs, records or members of enumerations inside the parentheses."""
        return any(word == "lambda" or word in self.hoisted or word in param_types for word in re.findall(r"\w+", text))

    def balanced(self, ahead: bool = False) -> str:
        """Read up to the next white space, comma or closing bracket that no bracket encloses."""
        plain = self.match(_PLAIN)
        start, end = self.position, self.end_of_brackets() if plain is None else plain.end()
        if not ahead:
            self.position = end
        return self.text[start:end]

    def end_of_brackets(self) -> int:
        depth = 0
        for i in range(self.position, len(self.text)):
            char = self.text[i]
            if depth == 0 and (char.isspace() or char in "])},"):
                return i
            depth += (char in "([{<") - (char in ")]}>" and self.text[i - 1] != "-")
        return len(self.text)

    def close(self, jaxpr: Jaxpr) -> ClosedJaxpr:
        if self.inside_record and (shared := self.by_text.get(str(jaxpr))):
            jaxpr = shared[0]
            shared.rotate(-1)
        if jaxpr not in self.closed:
            self.closed[jaxpr] = ClosedJaxpr(jaxpr, [UnknownConstant(v.aval) for v in jaxpr.constvars])
        return self.closed[jaxpr]

    def dtype(self, name: str) -> DType:
        found = _DTYPES.get(name)
        if found is None:
            raise self.error(f"a dtype, not {name!r}, before")
        return found

    # --- the cursor ---

    def skip_space(self) -> None:
        if self.text[self.position:self.position + 1].isspace():
            self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]

    def at_end(self) -> bool:
        self.skip_space()
        return self.position == len(self.text)

    def follows(self, token: str) -> bool:
        self.skip_space()
        return self.text.startswith(token, self.position)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip_space()
        return pattern.match(self.text, self.position)

    def accept(self, token: str) -> bool:
        found = self.follows(token)
        if found:
            self.position += len(token)
        return found

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(repr(token))

    def word(self) -> str:
        match = self.match(_WORD)
        if match is None:
            raise self.error("a name")
        self.position = match.end()
        return match[0]

    def atom_word(self) -> str:
        if self.accept("(b'',)"):
            return "(b'',)"
        match = self.match(_COMPLEX)
        if match is None:
            return self.word()
        self.position = match.end()
        return match[0]

    def error(self, wanted: str) -> JaxprSyntaxError:
        self.skip_space()
        line = self.text.count("\n", 0, self.position) + 1
        found = self.text[self.position:self.position + 40]
        return JaxprSyntaxError(f"line {line}: expected {wanted} at {found!r}")


_END, _SPACE = re.compile(r"in \("), re.compile(r"\s*")
_KEY = re.compile(r"(\w+)=")
_PROGRAMS = {"jaxpr", "call_jaxpr", "fun_jaxpr", "fwd_jaxpr"}
_WORD = re.compile(r"[^\s{}();,=\[\]]+")
_COMPLEX = re.compile(r"\([^\s(),]+j\)")
"""A complex number with two parts: (1+2j)."""
_NEXT = re.compile(r"\Z|[;}]|\w+:[\w<>]+\[|in \(|[\w-]+\[")
"""What cannot be an operand: an end, the binders of the next equation, an equation without results."""
_PLAIN = re.compile(r"[^\s,()\[\]{}<>]*(?=[\s,)\]}]|\Z)")
"""A value without brackets, as most are."""

_NUMBERS: dict[type, tuple[str, str | None]] = {bool: ("b", "bool"), int: ("iu", "int32"), float: ("f", "float32"),
                                                complex: ("c", "complex64")}
"""For each type of number in the text: the kinds of dtypes that print so, and the dtype where nothing else tells."""


def _number(word: str) -> Any:
    return complex(word) if word.endswith(("j", "j)")) else ast.literal_eval(word)


def _kind(dtype: DType) -> str:
    return "f" if is_float(dtype) else computed_type(dtype).kind


def _python(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return to_numpy_dtype(text)
    except (TypeError, ValueError):
        return OpaqueParam(text)
