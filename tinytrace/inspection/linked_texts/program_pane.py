"""A jaxpr as a text whose parts belong to equations."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinytrace.core.jaxpr import Jaxpr, JaxprEqn
from tinytrace.inspection.linked_texts.marked_text import Pane, Part, in_lines


def program_pane(key: str, title: str, text: str, places: Sequence[tuple[int, int, JaxprEqn]],
                 numbers: Mapping[int, int]) -> Pane:
    """Return the text of a program, letter for letter.

    text, places: as `text_with_places` has them.  numbers: those of equations, by their ids.
    """
    parts = [Part(begin, end, known(eqn.ids, numbers)) for begin, end, eqn in places]
    return Pane(key, title, text, in_lines(text, parts), counted(text))


def equations_in_order(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """Yield equations in the order of the text: each once, those inside after the one around them."""
    seen: set[int] = set()
    for eqn in jaxpr.walk():
        if eqn.ids[0] not in seen:
            seen.add(eqn.ids[0])
            yield eqn


def known(ids: Sequence[int] | frozenset[int], numbers: Mapping[int, int]) -> tuple[int, ...]:
    """Return the numbers of equations, by their ids, as far as they have any."""
    return tuple(sorted({numbers[k] for k in ids if k in numbers}))


def counted(text: str) -> tuple[int, ...]:
    """Return the numbers of the lines of a text, counted from 1."""
    return tuple(range(1, text.count("\n") + 2))
