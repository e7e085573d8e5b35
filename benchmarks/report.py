"""Write the results: a Markdown table and a plot (SVG, by hand: no plotting library needed)."""
from __future__ import annotations

import datetime as dt
import pathlib
import platform

from harness import Line, ProcessLine
from limits import Limits
from rows import Row

RIVALS = ("tinytrace", "jax", "torch", "numba", "numpy")


def write_report(rows: list[Row], limits: dict[int, Limits], folder: pathlib.Path) -> None:
    """Write `table.md` and `ratios.svg` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(table(rows, limits))
    (folder / "ratios.svg").write_text(plot(rows))
    print(f"wrote {folder / 'table.md'} and {folder / 'ratios.svg'}")


def table(rows: list[Row], limits: dict[int, Limits]) -> str:
    """Return the Markdown table: one row per line and thread count."""
    head = [
        f"# Benchmarks, {dt.date.today()}, {platform.machine()}, Python {platform.python_version()}", "",
        "Limits measured in this run, by size of the working set:", "",
        *(f"- {limit}" for limit in limits.values()), "",
        "Medians of interleaved rounds; ratio: tinytrace's time over the best rival's, at most the goal. "
        "A rival with * gave other results.", "",
        "| line | threads | " + " | ".join(RIVALS) + " | best rival | ratio | goal | holds | of the limit |",
        "|" + "---|" * (7 + len(RIVALS)),
    ]
    return "\n".join(head + [_table_row(row, limits[row.threads]) for row in rows]) + "\n"


def _table_row(row: Row, limits: dict[int, Limits]) -> str:
    line = row.line
    cells = [line.name, str(row.threads)]
    for rival in RIVALS:
        if rival in row.samples:
            cells.append(_quantity(row.median(rival), line) + (" *" if rival in row.errors else ""))
        else:
            cells.append("")
    best, ratio = row.best_rival(), row.ratio()
    holds = "" if ratio is None else "yes" if ratio <= line.target else "NO"
    cells += [best[0] if best else "", "" if ratio is None else f"{ratio:.2f}", str(line.target), holds]
    cells.append(_fraction(row, limits))
    return "| " + " | ".join(cells) + " |"


def _fraction(row: Row, limits: dict[int, Limits]) -> str:
    if not isinstance(row.line, Line) or "tinytrace" not in row.samples:
        return ""
    line = row.line
    shortest = limits.seconds(line.bytes, line.flops, line.passes, line.reads_only)
    return f"{shortest / row.median('tinytrace'):.0%}" if shortest else ""


def _quantity(value: float, line: Line | ProcessLine) -> str:
    if isinstance(line, ProcessLine) and line.unit != "s":
        return f"{value:.0f} {line.unit}"
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.0f} ns"


def plot(rows: list[Row]) -> str:
    """Return an SVG of horizontal bars: the ratio of each line, the goal as a tick, 1 as a dashed line."""
    shown = [(row, ratio) for row in rows if (ratio := row.ratio()) is not None]
    width, left, step = 900, 380, 20
    scale = (width - left - 60) / 1.5
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{step * len(shown) + 40}" '
             'font-family="sans-serif" font-size="12">',
             f'<line x1="{left + scale}" y1="10" x2="{left + scale}" y2="{step * len(shown) + 20}" '
             'stroke="#888" stroke-dasharray="4"/>']
    for i, (row, ratio) in enumerate(shown):
        y = 20 + i * step
        colour = "#2a7" if ratio <= row.line.target else "#c53"
        name = f"{row.line.name} ({row.threads}t)".replace("&", "&amp;").replace("<", "&lt;")
        goal = left + scale * min(row.line.target, 1.5)
        parts += [f'<text x="{left - 8}" y="{y + 9}" text-anchor="end">{name}</text>',
                  f'<rect x="{left}" y="{y}" width="{scale * min(ratio, 1.5):.1f}" height="12" fill="{colour}"/>',
                  f'<line x1="{goal}" y1="{y - 2}" x2="{goal}" y2="{y + 14}" stroke="#000"/>',
                  f'<text x="{left + scale * min(ratio, 1.5) + 6:.1f}" y="{y + 10}">{ratio:.2f}</text>']
    return "\n".join([*parts, "</svg>"]) + "\n"
