"""What a notebook shows of each kind of value: `to_html`."""
from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Sequence
from typing import Any

from tinytrace.api.jit import JitFunction
from tinytrace.api.show import Shown
from tinytrace.api.stages import Compiled, Lowered, Traced
from tinytrace.codegen.csource import CSource
from tinytrace.codegen.program import Kernels
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinytrace.core.printer import text_with_places
from tinytrace.inspection.notebook.page_part import Text, page_part

LONGEST_TABLE = 10
"""Entries of a jitted function that are listed."""


@functools.singledispatch
def to_html(value: Any) -> str:
    """Return HTML for the cell of a notebook that shows `value`; the text in its `<code>` elements is `str(value)`."""
    return page_part(str(value), [Text(type(value).__name__, str(value))])


@to_html.register
def _(value: Jaxpr) -> str:
    return page_part(str(value), [_program(value)])


@to_html.register
def _(value: ClosedJaxpr) -> str:
    return page_part(str(value), [_program(value)])


@to_html.register
def _(value: JaxprEqn) -> str:
    source = value.source
    where = [("written at", f"{os.path.basename(source.file)}:{source.line} ({source.function})")] if source else []
    return page_part(str(value), [Text(f"equation: {value.primitive.name}", str(value), "jaxpr")], where)


@to_html.register
def _(value: Traced) -> str:
    return page_part(str(value), [_program(value.jaxpr, f"{value.fun_name}, traced: ")])


@to_html.register
def _(value: Lowered) -> str:
    source = value.source_map
    numbers = {eqn.ids[0]: k for k, eqn in enumerate(_in_order(value._traced.jaxpr.jaxpr))}
    c = value.as_text()
    starts = [0]
    for line in c.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    lines = [(starts[place.line - source.first_line] + place.begin, starts[place.line - source.first_line] + place.end,
              place.equations) for place in source.places if 0 < len(place.equations) < 9]
    text, places = text_with_places(value.jaxpr)
    links = [(begin, end, tuple(k for k in (numbers.get(i) for i in eqn.ids) if k is not None))
             for begin, end, eqn in places if "\n" not in text[begin:end]]
    return page_part(c, [
        Text(f"{value._traced.fun_name}: {_lines(c)} of C", c, "c", _innermost(lines)),
        Text(f"jaxpr, simplified: {_count(len(value.jaxpr.eqns), 'equation')}", text, "jaxpr",
             [link for link in links if link[2]], is_value=False, is_open=False),
        Text(f"kernels: {len(value.kernels)}", str(value.kernels), "kernels", is_value=False, is_open=False)])


@to_html.register
def _(value: Compiled) -> str:
    executable = value.executable
    facts = [("function", value._traced.fun_name), ("takes", _types(value._traced.jaxpr.in_avals)),
             ("gives", _types(value._traced.jaxpr.out_avals))]
    if executable is None:
        facts.append(("machine code", "none: nothing to compute, or no compiler; it is interpreted"))
    return page_part(str(value), [Text("compiled", str(value))], facts)


@to_html.register
def _(value: Kernels) -> str:
    return page_part(str(value), [Text(f"{_count(len(value), 'kernel')}", str(value), "kernels"),
                                  Text("statement by statement", value.as_text(), is_value=False, is_open=False)])


@to_html.register
def _(value: CSource) -> str:
    preamble, program = value.text[:value.preamble], value.text[value.preamble:]
    before = Text(f"what every program begins with: {_lines(preamble)}", preamble, "c", is_open=False)
    own = Text(f"{value.symbol}: {_lines(program)} of C", program, "c")
    return page_part(value.text, [before, own] if preamble else [own])


@to_html.register
def _(value: Shown) -> str:
    texts = []
    languages = {ClosedJaxpr: "jaxpr", Kernels: "kernels"}
    for left, section in zip(reversed(range(len(value.sections))), value.sections, strict=True):
        text = f"--- {section.title}: {section.meaning}\n{section.value}"
        texts.append(Text(section.title, text + "\n\n" * bool(left), languages.get(type(section.value), "text")))
    return page_part(str(value), texts)


@to_html.register
def _(value: JitFunction) -> str:
    facts = [("jitted", f"{value._name}{_signature(value)}"), ("static arguments", _statics(value)),
             ("entries", str(value._cache_size()))]
    entries = [*value.cache.entries()]
    facts += [("entry", str(key)) for key in entries[:LONGEST_TABLE]]
    if len(entries) > LONGEST_TABLE:
        facts.append(("and", f"{len(entries) - LONGEST_TABLE} more"))
    return page_part(str(value), [Text("function", str(value))], facts)


# --- parts ---------------------------------------------------------------------------------------------------------

def _program(program: Jaxpr | ClosedJaxpr, head: str = "jaxpr: ") -> Text:
    """Return a program, whose equations light up those that read what they compute."""
    text, places = text_with_places(program)
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    made = {v: k for k, (_, _, eqn) in enumerate(places) for v in eqn.outvars}
    links = [(begin, end, (k, *sorted({made[x] for x in eqn.invars if isinstance(x, Var) and x in made})))
             for k, (begin, end, eqn) in enumerate(places) if "\n" not in text[begin:end]]
    types = f"{_types(v.aval for v in jaxpr.invars)} -> {_types(v.aval for v in jaxpr.outvars)}"
    return Text(f"{head}{_count(len(jaxpr.eqns), 'equation')}, {types}", text, "jaxpr", links)


def _innermost(links: Sequence[tuple[int, int, tuple[int, ...]]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return links, those without links inside only."""
    begun = {begin for begin, _, _ in links}
    return [(begin, end, ids) for begin, end, ids in links
            if not any(b != begin and begin <= b < end for b in begun)]


def _in_order(jaxpr: Jaxpr) -> list[JaxprEqn]:
    """Return the equations as a source map counts them."""
    found: dict[int, JaxprEqn] = {}
    for eqn in jaxpr.walk():
        found.setdefault(eqn.ids[0], eqn)
    return [*found.values()]


def _types(avals: Any) -> str:
    return ", ".join(aval.str_short() for aval in avals) or "nothing"


def _statics(function: JitFunction) -> str:
    names = [*function._signature.parameters] if function._signature is not None else []
    found = [names[n] if -len(names) <= n < len(names) else str(n) for n in function.statics.nums]
    return ", ".join(dict.fromkeys([*found, *function.statics.names])) or "none"


def _signature(function: JitFunction) -> str:
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(...)"


def _lines(text: str) -> str:
    return _count(len(text.splitlines()), "line")


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
