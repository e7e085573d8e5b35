"""Pictures of programs, for the last cells of the chapters; matplotlib draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.text import Text

BOX = {"boxstyle": "round,pad=0.35", "facecolor": "#e8f0fa", "edgecolor": "#3465a4"}
INPUT_BOX = {**BOX, "facecolor": "#fdf3e1", "edgecolor": "#c17d11"}


def draw_program(inputs: Sequence[str], eqns: Sequence[tuple[str, str, Sequence[Any]]], title: str = "") -> None:
    """Draws a program as a graph: inputs on the left, each equation to the right of what it reads.

    Args:
      eqns: (result, operation, operands); operands that are no variables are written into the box.
    """
    column = dict.fromkeys(inputs, 0)
    for out, _, operands in eqns:
        column[out] = 1 + max((column[x] for x in operands if x in column), default=0)
    place = _places(column)
    rows = max(y for _, y in place.values()) - min(y for _, y in place.values()) + 1
    _, axes = plt.subplots(figsize=(2.1 * (1 + max(column.values())), 0.5 + 0.9 * rows))
    boxes = {name: _box(axes, place[name], name, INPUT_BOX) for name in inputs}
    for out, operation, operands in eqns:
        numbers = " ".join(str(x) for x in operands if x not in column)
        boxes[out] = _box(axes, place[out], f"{out} = {operation} {numbers}".strip(), BOX)
        for x in dict.fromkeys(x for x in operands if x in column):
            _arrow(axes, boxes[x], boxes[out])
    axes.set_title(title, loc="left", family="monospace", fontsize=9)
    axes.margins(0.15)
    axes.axis("off")
    lines = [f"{out} = {operation} {' '.join(map(str, operands))}" for out, operation, operands in eqns]
    show_picture(f"{title or 'A program'}: a graph of {', '.join(inputs)}; {'; '.join(lines)}")


def show_picture(words: str) -> None:
    """Shows the picture that was drawn last; `words` tell it to those who do not see it."""
    figure = plt.gcf()
    display(figure, metadata={"image/png": {"alt": words}})  # type: ignore[no-untyped-call]
    plt.close(figure)


def in_words(matrix: Sequence[Sequence[object]], rows: Sequence[str], columns: Sequence[str]) -> str:
    """A table of yes and no as a sentence: for each row, the columns with a yes.

    >>> in_words([[1, 0], [0, 0]], ["a", "b"], ["x", "y"])
    'a: x; b: none'
    """
    found = [", ".join(c for c, yes in zip(columns, row, strict=True) if yes) or "none" for row in matrix]
    return "; ".join(f"{row}: {names}" for row, names in zip(rows, found, strict=True))


def _places(column: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Where each variable stands: its column, and there below those that came before it, all centred."""
    members: dict[int, list[str]] = {}
    for name, x in column.items():
        members.setdefault(x, []).append(name)
    return {name: (2.0 * x, len(names) / 2 - i) for x, names in members.items() for i, name in enumerate(names)}


def _box(axes: Axes, at: tuple[float, float], label: str, box: dict[str, Any]) -> Text:
    axes.plot(*at, alpha=0)  # so that the limits of the axes hold it
    return axes.text(*at, label, ha="center", va="center", family="monospace", bbox=box, zorder=3)


def _arrow(axes: Axes, start: Text, end: Text) -> None:
    ends = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch(), "shrinkA": 1, "shrinkB": 2}
    style = {"arrowstyle": "-|>", "color": "#555753", "connectionstyle": "arc3,rad=-0.08"}
    axes.annotate("", xy=end.get_position(), xytext=start.get_position(), arrowprops={**style, **ends})
