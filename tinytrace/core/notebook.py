"""How values show themselves in a notebook: their text stays their text, and beside it stands HTML."""
from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tinytrace.core import views


class ShowsItself:
    """A value with a text that a notebook shows as HTML, which `inspection.notebook` writes."""

    __slots__ = ()
    plain_is_whole = False
    """Where HTML is not shown: the whole text, `str`, instead of a `repr` that is short."""

    def _repr_html_(self) -> str:
        return html_of(self)

    def _repr_mimebundle_(self, include: Collection[str] | None = None,
                          exclude: Collection[str] | None = None) -> dict[str, str]:
        return forms_of(self, include, exclude)


def html_of(value: Any) -> str:
    """Return the HTML that a notebook shows for `value`."""
    text: str = views.notebook.to_html(value)
    return text


def forms_of(value: Any, include: Collection[str] | None = None,
             exclude: Collection[str] | None = None) -> dict[str, str]:
    """Return all forms of a value, or those that are asked for, by their types.

    Source: https://ipython.readthedocs.io/en/stable/config/integrating.html.
    """
    plain = str(value) if getattr(value, "plain_is_whole", False) else repr(value)
    forms = {"text/plain": plain, "text/html": html_of(value)}
    return {kind: form for kind, form in forms.items()
            if (include is None or kind in include) and (exclude is None or kind not in exclude)}
