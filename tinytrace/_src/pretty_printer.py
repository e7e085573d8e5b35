"""`jax._src.pretty_printer`: texts that break their lines where they must, for libraries that print their own objects.

A document is a tree of texts, possible line breaks, groups (broken at every break of theirs, or at none) and
indentations. Source: Lindig, "Strictly Pretty" (2000).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Doc:
    """A document; `parts` by kind: of a text the string, of a break what stands for it on one line."""

    def __init__(self, kind: str, parts: Sequence[Any] = (), indent: int = 0) -> None:
        self.kind, self.parts, self.indent = kind, tuple(parts), indent

    def format(self, width: int = 80, use_color: bool | None = None, **options: Any) -> str:
        """Return the text on lines of at most `width` characters, where there are breaks enough."""
        return _format(self, width)

    def __str__(self) -> str:
        return self.format()

    def __add__(self, other: Doc) -> Doc:
        return concat([self, other])


def nil() -> Doc:
    """Return the empty document."""
    return text("")


def text(s: str, annotation: str | None = None) -> Doc:
    """Return a document of one word."""
    return Doc("text", [s])


def concat(docs: Sequence[Doc]) -> Doc:
    """Return documents one after the other."""
    return Doc("concat", list(docs))


def brk(text: str = " ") -> Doc:
    """Return a possible line break; it is `text` where the line is not broken."""
    return Doc("break", [text])


def group(doc: Doc) -> Doc:
    """Return a document that stands on one line if it fits."""
    return Doc("group", [doc])


def nest(n: int, doc: Doc) -> Doc:
    """Return a document whose broken lines are indented by `n` more."""
    return Doc("nest", [doc], n)


def color(doc: Doc, **options: Any) -> Doc:
    """Return a document: there are no colours."""
    return doc


def join(sep: Doc, docs: Sequence[Doc]) -> Doc:
    """Return documents with `sep` between them.

    >>> print(group(join(concat([text(","), brk()]), [text("a"), text("b")])))
    a, b
    """
    parts = []
    for k, doc in enumerate(docs):
        parts += [sep, doc] if k else [doc]
    return concat(parts)


Item = tuple[int, bool, Doc]
"""A part that is still to be written: its indentation, whether it is on one line, and the document."""


def _format(doc: Doc, width: int) -> str:
    out: list[str] = []
    column = 0
    agenda: list[Item] = [(0, False, doc)]
    while agenda:
        indent, flat, part = agenda.pop()
        if part.kind == "text" or (part.kind == "break" and flat):
            out.append(part.parts[0])
            column += len(part.parts[0])
        elif part.kind == "break":
            out.append("\n" + " " * indent)
            column = indent
        elif part.kind == "group":
            fits = flat or _fits(part.parts[0], width - column, agenda)
            agenda.append((indent, fits, part.parts[0]))
        else:
            agenda += [(indent + part.indent, flat, inner) for inner in reversed(part.parts)]
    return "\n".join(line.rstrip() for line in "".join(out).split("\n"))


def _fits(doc: Doc, width: int, rest: Sequence[Item]) -> bool:
    """Is there room for `doc` on one line, with what follows up to the next line break?"""
    following = list(rest)
    agenda: list[Item] = [(0, True, doc)]
    while width >= 0:
        if not agenda:
            if not following:
                return True
            agenda.append(following.pop())
        _, flat, part = agenda.pop()
        if part.kind == "break" and not flat:
            return True
        if part.kind in ("text", "break"):
            width -= len(part.parts[0])
        else:
            agenda += [(0, flat, inner) for inner in reversed(part.parts)]
    return False
