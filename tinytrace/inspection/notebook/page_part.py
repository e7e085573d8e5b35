"""HTML for the cell of a notebook: texts that are folded, coloured and linked, within a size.

What is shown is at most FIXED bytes and 1.5 times the text of the value. So there are several forms, the richest first,
and the first that fits is taken; the last is the text alone. There is no script, and nothing is loaded. Colours are
those of the notebook's theme (JupyterLab, VS Code), else some that can be read on light and on dark.

Pointing at an equation lights up what belongs to it, by a rule of CSS for each: the same rule in every output, and each
output lights up for itself. That needs no names that must differ between outputs.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tinytrace.inspection.notebook.colours import coloured
from tinytrace.records import NamedTuple

FIXED, PER_CHARACTER = 2000, 1.5

_FONT = ("font:var(--jp-code-font-size,var(--vscode-editor-font-size,13px))/1.4 "
         "var(--jp-code-font-family,var(--vscode-editor-font-family,ui-monospace,Menlo,Consolas,monospace))")
_STYLE = (".tinytrace pre{font:inherit;color:inherit;background:none;margin:2px 0 6px;padding:0;overflow:auto}"
          ".tinytrace code,.tinytrace samp{font:inherit;color:inherit;background:none;padding:0;white-space:pre}"
          ".tinytrace summary{cursor:pointer}"
          ".tinytrace b{color:var(--jp-mirror-editor-keyword-color,var(--vscode-symbolIcon-keywordForeground,#1a7f37))}"
          ".tinytrace i{font-style:normal;color:var(--jp-mirror-editor-def-color,"
          "var(--vscode-symbolIcon-classForeground,#2f7fd0))}"
          ".tinytrace u{text-decoration:none;color:var(--jp-mirror-editor-comment-color,"
          "var(--vscode-descriptionForeground,#808080))}")
_LIT = "{background:var(--jp-editor-selected-background,#e3b34166);outline:1px solid}"


class Text(NamedTuple):
    """A text in a part of a page.

    Args:
      title: what is read when it is folded.
      text: what is shown.
      language: of `colours`.
      links: parts of it, outer ones first: begin, end, own number and the numbers that light it up.
      is_value: is it the text of the value that is shown, or a part of that? Others stand beside it.
      is_open: is it unfolded at first?
    """

    title: str
    text: str
    language: str = "text"
    links: Sequence[tuple[int, int, tuple[int, ...]]] = ()
    is_value: bool = True
    is_open: bool = True


def page_part(value: str, texts: Sequence[Text], facts: Sequence[tuple[str, str]] = ()) -> str:
    """Return the richest form of texts and facts that is small enough for a value whose text is `value`."""
    limit = FIXED + PER_CHARACTER * len(value)
    own = [text for text in texts if text.is_value]
    short = texts[:len(own) + 1]
    form = ""
    for shown, said, links, colours in ((texts, facts, True, True), (short, facts, True, True),
                                        (texts, facts, False, True), (short, facts, False, True),
                                        (own, facts, False, True), (own, facts, False, False), (own, (), False, False)):
        form = _form(shown, said, links, colours)
        if len(form.encode("utf-8", "replace")) <= limit:
            return form
    return "".join(f"<pre><code>{escaped(text.text)}</code></pre>" for text in own)


def _form(texts: Sequence[Text], facts: Sequence[tuple[str, str]], links: bool, colours: bool) -> str:
    numbers = sorted({part[2][0] for text in texts for part in text.links}) if links else []
    rules = ",".join(f'.tinytrace:has([data-e^="{k} "]:hover) [data-e~="{k}"]' for k in numbers)
    style = f"<style>{_STYLE}{rules}{_LIT if rules else ''}</style>"
    said = "".join(f"<div>{escaped(name)}: {escaped(fact)}</div>" for name, fact in facts)
    return f'<div class="tinytrace" style="{escaped(_FONT)}">{style}{said}' + \
        "".join(_folded(text, links, colours) for text in texts) + "</div>"


def _folded(text: Text, links: bool, colours: bool) -> str:
    marks: list[tuple[int, int, str]] = []
    if links:
        marks += [(begin, end, f'span data-e="{" ".join(map(str, ids))} "') for begin, end, ids in text.links]
    if colours:
        marks += coloured(text.text, text.language)
    element = "code" if text.is_value else "samp"
    opened = " open" if text.is_open else ""
    return (f"<details{opened}><summary>{escaped(text.title)}</summary><pre><{element}>{_marked(text.text, marks)}"
            f"</{element}></pre></details>")


def _marked(text: str, marks: Iterable[tuple[int, int, str]]) -> str:
    """Return a text as HTML with elements around parts of it; a mark that would cross another one is left out."""
    pieces: list[str] = []
    for at, end, tag in _tags(marks):
        pieces.append(escaped(text[at:end]))
        pieces.append(tag)
    return "".join(pieces)


def _tags(marks: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield pieces of a text, each with the tag behind it."""
    at = 0
    around: list[tuple[int, str]] = []
    for begin, end, element in sorted(marks, key=lambda mark: (mark[0], -mark[1])):
        while around and around[-1][0] <= begin:
            stop, closing = around.pop()
            yield at, stop, f"</{closing}>"
            at = stop
        if around and around[-1][0] < end:
            continue
        yield at, begin, f"<{element}>"
        at = begin
        around.append((end, element.split(" ")[0]))
    while around:
        stop, closing = around.pop()
        yield at, stop, f"</{closing}>"
        at = stop
    yield at, 1 << 62, ""


def escaped(text: str) -> str:
    """Return text as HTML; only what must be is changed, since every byte counts.

    >>> escaped("a < b & c > d")
    'a &lt; b &amp; c > d'
    """
    return text.encode("utf-8", "replace").decode("utf-8").replace("&", "&amp;").replace("<", "&lt;")
