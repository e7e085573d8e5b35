"""A Sphinx extension: docstrings of this project, which are plain text with backticks, as reStructuredText.

A paragraph whose lines all stand at the margin is prose: what reStructuredText would read as markup is escaped, except
`code`. Examples and everything else (lists of arguments, tables, drawings) are shown as they stand.
"""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"`([^`]+)`")
MARKUP = re.compile(r"([*_|\\`])")


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this when it loads the extension."""
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}


def skip(app: Any, what: str, name: str, obj: object, skipped: bool, options: Any) -> bool | None:
    """Leave out what belongs to another library, such as NumPy's `dtype`; None leaves the decision to Sphinx."""
    home = getattr(obj, "__module__", None)
    return True if isinstance(home, str) and home.split(".")[0] != "tinytrace" else None


def rewrite(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    paragraphs = re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines).strip("\n"))
    lines[:] = "\n\n".join(restructured(paragraph) for paragraph in paragraphs if paragraph.strip()).split("\n")
    lines.append("")


def restructured(paragraph: str) -> str:
    """Return one paragraph as reStructuredText."""
    lines = paragraph.split("\n")
    if any(line.lstrip().startswith(">>>") for line in lines):
        return _block("pycon", lines)
    if any(line.startswith((" ", "- ", "* ")) for line in lines):
        return _block("text", lines)
    return _prose(" ".join(lines))


def _block(language: str, lines: list[str]) -> str:
    return "\n".join([f".. code-block:: {language}", "", *(f"   {line}" for line in lines)])


def _prose(text: str) -> str:
    # Every second part is code. An escaped blank prints nothing: it lets letters stand beside the code.
    return "".join(rf"\ ``{part.strip()}``\ " if i % 2 else MARKUP.sub(r"\\\1", part)
                   for i, part in enumerate(CODE.split(text)))
