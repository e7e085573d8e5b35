"""Print a jaxpr exactly as JAX 0.4.35 does: letters, nesting, line breaks and hoisted programs.

    let double = { lambda ; a:f32[3]. let b:f32[3] = mul a 2.0 in (b,) } in
    { lambda ; c:f32[3]. let d:f32[3] = pjit[name=double jaxpr=double] c in (d,) }

Letters are given in the order of printing; a jaxpr that is used more than once is hoisted under its equation's name.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tinytrace.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, install_printer, subjaxprs
from tinytrace.core.layout import (
    Anchor,
    Break,
    Group,
    Marked,
    OneLine,
    Piece,
    render,
    render_with_notes,
    render_with_places,
)
from tinytrace.core.source_info import scopes_text
from tinytrace.core.user_names import user_names
from tinytrace.records import NamedTuple
from tinytrace.util import uncollected


class PrintOptions(NamedTuple):
    """What `pretty_print` may be told; the defaults are those of `str`.

    Source: https://docs.jax.dev/en/latest/jaxpr.html, and `jax.core.Jaxpr.pretty_print` of JAX 0.4.35.
    """

    source_info: bool = False
    """The user's line behind each equation."""
    print_shapes: bool = True
    """The type of each variable where it is bound."""
    name_stack: bool = False
    """The names of the scopes that an equation was written in, behind it."""
    print_effects: bool = False
    """The effects of each program behind its results."""
    use_color: bool = False
    """ANSI colours for keywords, types and notes."""
    names: str = "letters"
    """`user`: the user's own names of arguments and assigned results, where there are any."""
    width: int = 80
    """How many columns a line may have."""


@uncollected
def to_text(program: Jaxpr | ClosedJaxpr, options: PrintOptions | None = None) -> str:
    """Return the text of `program`."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    if options is None:
        return render(_pieces(jaxpr, JaxprNames()))
    names = JaxprNames(options)
    if options.names == "user":
        names.give(user_names(jaxpr))
    return render_with_notes(_pieces(jaxpr, names), options.width, options.use_color)


def text_with_places(program: Jaxpr | ClosedJaxpr) -> tuple[str, list[tuple[int, int, JaxprEqn]]]:
    """Return the text of `program`, and where in it each equation stands: (begin, end, equation), outer ones first.

    An equation of a program that is printed once, under a name, stands there only.
    """
    return _with_places(program, JaxprNames())


def named_text_with_places(program: Jaxpr | ClosedJaxpr
                           ) -> tuple[str, list[tuple[int, int, JaxprEqn]], VarNames]:
    """Return what `text_with_places` does, under the user's own names where there are any, and the names."""
    names = JaxprNames()
    names.give(user_names(program.jaxpr if isinstance(program, ClosedJaxpr) else program))
    return *_with_places(program, names), names


def _with_places(program: Jaxpr | ClosedJaxpr, names: JaxprNames) -> tuple[str, list[tuple[int, int, JaxprEqn]]]:
    names.anchored = True
    return render_with_places(_pieces(program.jaxpr if isinstance(program, ClosedJaxpr) else program, names))


def _pieces(jaxpr: Jaxpr, names: JaxprNames) -> list[Piece]:
    """Return the parts of the text: the programs that are used more than once, then the program itself."""
    pieces: list[Piece] = []
    for shared, name in _hoisted(jaxpr).items():
        pieces += [f"let {name} = ", names.jaxpr(shared), " in", Break()]
        names.taken.add(name)
        names.hoisted[shared] = name
    return [*pieces, names.jaxpr(jaxpr)]


def pretty_print(program: Jaxpr | ClosedJaxpr, **options: Any) -> str:
    """Return the text of `program`, printed as the fields of `PrintOptions` that are given say.

    `custom_pp_eqn_rules`, an option of JAX, is accepted: there is one rule for each primitive here.
    """
    options.pop("custom_pp_eqn_rules", None)
    options["use_color"] = bool(options.get("use_color"))
    return to_text(program, PrintOptions(**options))


def eqn_to_text(eqn: JaxprEqn) -> str:
    """Return the text of one equation, with letters of its own."""
    return render(JaxprNames().eqn(eqn)).rstrip()


def names_in(jaxpr: Jaxpr) -> JaxprNames:
    """Return the letters that variables have in the text of `jaxpr`."""
    names = JaxprNames()
    names.jaxpr(jaxpr)
    return names


class VarNames:
    """Gives every variable its letter, in the order of asking: a ... z, ba, bb, ..."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._names: dict[Var, str] = {}
        self._count = 0

    def __getitem__(self, atom: Var | Literal) -> str:
        name = self._names.get(atom)  # type: ignore[arg-type]
        if name is None:
            if type(atom) is Literal or type(atom) is DropVar:
                return repr(atom)
            name = self._names[atom] = self._fresh() + atom.suffix  # type: ignore[index, union-attr]
        return name

    def give(self, names: dict[Var, str]) -> None:
        """Let these variables have these names, and no other."""
        self._names.update({var: name + var.suffix for var, name in names.items()})
        self.taken.update(names.values())

    def renew(self, var: Var) -> str:
        """Give `var` the next letter, whatever it was called before."""
        self._names.pop(var, None)
        return self[var]

    def _fresh(self) -> str:
        while True:  # no generator: it would refer to these names, and they to it
            name = letters(self._count)
            self._count += 1
            if name not in self.taken:
                return name


def letters(n: int) -> str:
    """Return the nth variable name: 0 is `a`, 25 is `z`, 26 is `ba`."""
    name = chr(97 + n % 26)
    while n := n // 26:
        name = chr(97 + n % 26) + name
    return name


class JaxprNames(VarNames):
    """The state of one printing: letters given so far and the names of hoisted jaxprs."""

    def __init__(self, options: PrintOptions | None = None) -> None:
        super().__init__()
        self.hoisted: dict[Jaxpr, str] = {}
        self.options = options
        self.anchored = False

    def jaxpr(self, jaxpr: Jaxpr, shown: range | None = None) -> Piece:
        if jaxpr in self.hoisted:
            return self.hoisted[jaxpr]
        constvars, invars = _Indented([self.typed(jaxpr.constvars)], 2), _Indented([self.typed(jaxpr.invars)], 2)
        head: list[Piece | _Indented] = ["{ ", self.keyword("lambda "), constvars, "; ", invars, ". ",
                                         self.keyword("let"), Break(indent=4)]
        eqns: list[list[Piece]] = [self.eqn(eqn) for eqn in (jaxpr.eqns if shown is None else
                                                             jaxpr.eqns[shown.start:shown.stop])]
        if shown is not None:
            before: list[list[Piece]] = [["..."]] if shown.start else []
            after: list[list[Piece]] = [["..."]] if shown.stop < len(jaxpr.eqns) else []
            eqns = [*before, *eqns, *after]
        for i, pieces in enumerate(eqns):
            if i:
                head.append(Break("; ", indent=4))
            head.append(_Indented(pieces, 4))
        head += [Break(indent=2), self.keyword("in "), "(", _Indented([self.plain(jaxpr.outvars, ",")], 2),
                 ")" if len(jaxpr.outvars) != 1 else ",)", self.effects(jaxpr), " }"]
        return Group(_spliced(head))

    def text_of(self, eqn: JaxprEqn) -> str:
        """Return the text of one equation, its parameters one step further in, as messages have it."""
        return render(_spliced([_Indented(self.eqn(eqn), 2)]))

    def text_around(self, jaxpr: Jaxpr, index: int) -> str:
        """Return the text of `jaxpr` with at most 20 equations, those around the one at `index`."""
        return render([self.jaxpr(jaxpr, range(max(index - 10, 0), min(index + 10, len(jaxpr.eqns))))])

    def keyword(self, text: str) -> Piece:
        return text if self.options is None else Marked(text, "keyword")

    def effects(self, jaxpr: Jaxpr) -> str:
        if self.options is None or not self.options.print_effects:
            return ""
        return f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}"

    def eqn(self, eqn: JaxprEqn) -> list[Piece]:
        if not eqn.params and self.options is None and not self.anchored:
            return [self.plain_eqn(eqn)]
        left: list[Piece] = [self.typed(eqn.outvars), " = "] if eqn.outvars else []
        name: Piece = eqn.primitive.name
        if self.options is not None:
            stack = scopes_text(eqn.source.scopes) if eqn.source is not None else ""
            name = Marked(eqn.primitive.name, note=f"[{stack}]" if self.options.name_stack else None)
            if left and self.options.source_info:
                left[1] = Marked(" = ", note=str(eqn.source) if eqn.source is not None else "unknown")
        params = eqn.primitive.pp_params(eqn.params) if eqn.params else None
        shown: list[Piece] = [self.params(params)] if params else []
        pieces = [*left, name, *shown, " ", self.plain(eqn.invars)]
        return [Anchor(eqn), *pieces, Anchor(None)] if self.anchored else pieces

    def plain_eqn(self, eqn: JaxprEqn) -> OneLine:
        """An equation without parameters, as most are in long programs: their text is made at once."""
        results = [f"{self[v]}:{v.aval.str_short()}" for v in eqn.outvars]
        operands = [self[atom] for atom in eqn.invars]
        left, name = [" ".join(results), " = "] if results else [], eqn.primitive.name
        return OneLine("".join([*left, name, " ", " ".join(operands)]), lambda: [
            *([_joined(results, ""), " = "] if results else []), name, " ", _joined(operands, "")])

    def params(self, params: dict[str, Any]) -> Group:
        pieces: list[Piece] = ["[", Break("", indent=2)]
        for i, (key, value) in enumerate(params.items()):
            if i:
                pieces.append(Break(indent=2))
            pieces += [f"{key}=", *_spliced([_Indented([self.value(value)], 2)])]
        return Group([*pieces, Break(""), "]"])

    def value(self, value: Any) -> Piece:
        if isinstance(value, (Jaxpr, ClosedJaxpr)):
            return self.jaxpr(value.jaxpr if isinstance(value, ClosedJaxpr) else value)
        if type(value) is tuple and all(isinstance(x, (Jaxpr, ClosedJaxpr)) for x in value):
            pieces: list[Piece] = ["(", Break("", indent=2)]
            for i, x in enumerate(value):
                if i:
                    pieces.append(Break(indent=2))
                pieces += _spliced([_Indented([self.value(x)], 2)])
            return Group([*pieces, Break(""), ")"])
        return str(value)

    def typed(self, variables: Sequence[Var]) -> Piece:
        if self.options is None:
            return _joined([f"{self[v]}:{v.aval.str_short()}" for v in variables], "")
        if not self.options.print_shapes:
            return _joined([self[v] for v in variables], "")
        pairs: list[list[Piece]] = [[self[v], Marked(f":{v.aval.str_short()}", "type")] for v in variables]
        gaps: list[Piece] = [piece for pair in pairs for piece in (Group([Break(indent=2)]), *pair)]
        return Group(gaps[1:]) if gaps else ""

    def plain(self, atoms: Sequence[Var | Literal], separator: str = "") -> Piece:
        return _joined([self[atom] for atom in atoms], separator)


class _Indented:
    """Pieces whose breaks lie deeper by `indent`; spliced into the group around them."""

    def __init__(self, pieces: list[Piece], indent: int) -> None:
        self.pieces, self.indent = pieces, indent


def _spliced(items: Sequence[Piece | _Indented]) -> list[Piece]:
    out: list[Piece] = []
    for item in items:
        if not isinstance(item, _Indented):
            out.append(item)
            continue
        for piece in item.pieces:
            if isinstance(piece, (Group, OneLine)):
                piece.indent += item.indent
            out.append(piece)
    return out


def _joined(words: list[str], separator: str) -> Piece:
    """Words that fill lines: each gap breaks alone, and only where the line is already full."""
    if len(words) < 2:
        return words[0] if words else ""
    pieces: list[Piece] = [words[0]]
    for word in words[1:]:
        pieces += [separator, _GAP, word] if separator else [_GAP, word]
    return Group(pieces)


_GAP = Group([Break(indent=2)])  # one for all: no group around it moves it


def _hoisted(top: Jaxpr) -> dict[Jaxpr, str]:
    """Return the jaxprs that occur more than once, with the unique names under which they are printed first."""
    counts: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    queue = [top]
    for jaxpr in queue:
        counts[jaxpr] += 1
        for eqn in jaxpr.eqns:
            inner = list(subjaxprs(eqn.params)) if eqn.params else []
            if inner and isinstance(eqn.params.get("name"), str):
                for sub in inner:
                    names.setdefault(sub, eqn.params["name"].strip("<>"))
            queue.extend(inner)
    taken: Counter[str] = Counter()
    result = {}
    for jaxpr, count in counts.items():
        if count > 1:
            name = names.get(jaxpr, "jaxpr")
            unique = f"{name}{taken[name]}" if taken[name] else name
            taken[name] += 1
            taken[unique] += unique != name
            result[jaxpr] = unique
    return result


install_printer(program=to_text, pretty=pretty_print, eqn=eqn_to_text)
