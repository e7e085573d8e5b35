"""Makes the pages and pictures that are drawn from the code itself: `docs/made/`, written anew by every `make docs`.

    names.md        every public name of JAX 0.4.35: here, or not
    missing.md      those that are not, with what to do instead
    layers.md       the packages in their layers, counted
    benchmarks.svg  the table of benchmarks.md as bars
    *.svg           a picture for each page of docs/stages
"""

from __future__ import annotations

import html
import importlib
import inspect
import json
import pathlib
import re
from collections.abc import Sequence

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.interpreters import mlir_builders as builders
from tinytrace.layers import LAYERS
from tinytrace.missing import sentence

DOCS = pathlib.Path(__file__).parent
ROOT = DOCS.parent
MADE = DOCS / "made"
PACKAGE = pathlib.Path(jax.__file__).parent


def make_all() -> None:
    """Write every made page and picture."""
    MADE.mkdir(exist_ok=True)
    x = jnp.arange(5.0)
    traced = jax.jit(selu).trace(x)
    lowered = traced.lower()
    files = {
        "names.md": names_page(),
        "missing.md": missing_page(),
        "layers.md": layers_page(),
        "layers.svg": layers_picture(),
        "benchmarks.svg": benchmarks_picture((DOCS / "benchmarks.md").read_text()),
        "trace.svg": traced.jaxpr.graph().to_svg(),
        "simplify.svg": columns([("as traced", str(traced.jaxpr).splitlines()),
                                 ("simplified", str(lowered.jaxpr).splitlines())]),
        "fuse.svg": columns([("equations", str(lowered.jaxpr).splitlines()),
                             *((f"kernel {k}", str(kernel).splitlines()) for k, kernel in enumerate(lowered.kernels))]),
        "emit.svg": columns([("kernel", lowered.kernels.as_text().splitlines()),
                             ("C", c_of_program(lowered.as_text()).splitlines())]),
        "compile.svg": columns(LADDER),
    }
    for name, text in files.items():
        write_if_changed(MADE / name, text)


def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


LADDER = [
    ("memory", ["the program is loaded", "0.2 us"]),
    ("disk", ["another process made it", "1 ms"]),
    ("compiler", ["cc makes it now", "20 ms and more"]),
    ("interpreter", ["no compiler works:", "NumPy, with one warning"]),
]
"""Where a program is looked for, in this order."""


def write_if_changed(path: pathlib.Path, text: str) -> None:
    """Write a file unless it says so already: Sphinx reads again what is newer."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def c_of_program(text: str) -> str:
    """Return a C text from the first function of the program on."""
    begin = text.find("static void tt_kernel")
    return text[begin if begin >= 0 else text.index("int32_t tt_entry") :].rstrip()


# --- pages -------------------------------------------------------------------------------------------------------

def names_page() -> str:
    """Return the page of supported names, module by module."""
    names = json.loads((ROOT / "tests" / "goldens" / "names.json").read_text())
    lacking = dict(line.split(": ", 1) for line in
                   (ROOT / "tests" / "goldens" / "missing_names.txt").read_text().splitlines())
    rows, total, there = [], 0, 0
    for module, all_names in names.items():
        absent = lacking.get(module, "nothing").split()
        missing = [] if absent == ["nothing"] else all_names if absent == ["(all)"] else absent
        total, there = total + len(all_names), there + len(all_names) - len(missing)
        shown = " ".join(f"`{name}`" for name in missing) or "none"
        rows.append(f"| `{module}` | {len(all_names) - len(missing)} of {len(all_names)} | {shown} |")
    return "\n".join(["# Supported names", "",
                      f"{there} of the {total} public names of JAX 0.4.35 are here, with `jax` read as `tinytrace`. "
                      "The list is made by asking JAX; a test holds this project to it.", "",
                      "| module | here | missing |", "|---|---|---|", *rows, ""])


NO_MLIR = "mlir.lower_fun(f), mlir.c_expression or mlir.c_function"


def missing_page() -> str:
    """Return the page of missing names: what to do instead of each."""
    rows = []
    for line in (ROOT / "tests" / "goldens" / "missing_names.txt").read_text().splitlines():
        module, names = line.split(": ", 1)
        ours = module.replace("jax", "tinytrace", 1)
        by_sentence: dict[str, list[str]] = {}
        for name in names.split():
            if name != "nothing":
                text = sentence(ours, name) or getattr(importlib.import_module(ours), name).reason
                by_sentence.setdefault(text, []).append(f"`{name}`")
        rows += [f"| `{module}` | {' '.join(found)} | {text} |" for text, found in by_sentence.items()]
    return "\n".join(["# Missing names", "",
                      "Names that JAX 0.4.35 has and tinytrace has not. Who asks for one reads what stands here; names "
                      "that libraries only mention, such as `pxla.MapTracer`, can be had, and refuse to be used.", "",
                      "| module | names | what to do |", "|---|---|---|", *rows, "",
                      "Functions of `jax.interpreters.mlir` that build MLIR are here and refuse to be called, since "
                      f"programs become C. What to write in a rule instead: {NO_MLIR}. These are "
                      f"{', '.join(f'`{name}`' for name in mlir_builders())}.", ""])


def mlir_builders() -> list[str]:
    """Return the names of the functions that build MLIR, which refuse to be called."""
    return sorted(name for name, value in vars(builders).items()
                  if inspect.isfunction(value) and value.__annotations__.get("return") == "NoReturn"
                  and value.__module__ == builders.__name__)


def layers_page() -> str:
    """Return the page of the architecture."""
    rows = [f"| {rank} | {' '.join(f'`{name}`' for name in names.split())} | {lines_of(names)} | {purpose} |"
            for rank, (names, purpose) in enumerate(LAYERS)]
    return "\n".join(["# Architecture", "",
                      "A package imports from its own layer or a lower one, never from a higher one. "
                      "`tinytrace/layers.py` is the list, and a test holds every import to it.", "",
                      "![The layers, as wide as their lines](layers.svg)", "",
                      "| layer | packages | lines | what it is for |", "|---|---|---|---|", *rows, "",
                      "The way of a program through the layers: [trace](../stages/trace.md), "
                      "[simplify](../stages/simplify.md), [fuse](../stages/fuse.md), [emit](../stages/emit.md), "
                      "[compile](../stages/compile.md). [Reading tinytrace](../reading.md) goes file by file.", ""])


def lines_of(names: str) -> int:
    """Return how many lines of Python the packages of a layer have."""
    paths = [path for name in names.split() for path in [PACKAGE / f"{name}.py", *(PACKAGE / name).rglob("*.py")]]
    return sum(len(path.read_text().splitlines()) for path in paths if path.is_file())


# --- pictures ----------------------------------------------------------------------------------------------------

FONT = 'font-family="ui-monospace, SFMono-Regular, Menlo, monospace" font-size="12"'
STYLE = ("<style>.box{fill:#f6f8fa;stroke:#57606a}.text{fill:#1f2328}.head{fill:#0a5a9c;font-weight:bold}"
         ".bar{fill:#0072b2}.slow{fill:#d55e00}.line{stroke:#57606a}"
         "@media (prefers-color-scheme: dark){.box{fill:#161b22;stroke:#8b949e}.text{fill:#e6edf3}"
         ".head{fill:#7cc4ff}.line{stroke:#8b949e}}</style>")


def columns(boxes: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return boxes of text from left to right, with an arrow from each to the next."""
    x, parts, height = 10, [], 60 + 16 * max(len(lines) for _, lines in boxes)
    for k, (title, lines) in enumerate(boxes):
        width = int(24 + 7.3 * max(map(len, [title, *lines])))
        if k:
            parts.append(f'<path class="line" d="M{x - 36} {height / 2} h22 m-6 -5 l6 5 l-6 5" fill="none"/>')
        parts.append(f'<rect class="box" x="{x}" y="10" width="{width}" height="{height - 20}" rx="6"/>'
                     f'<text class="head" x="{x + 12}" y="30">{html.escape(title)}</text>')
        parts += [f'<text class="text" x="{x + 12}" y="{50 + 16 * i}" xml:space="preserve">{html.escape(line)}</text>'
                  for i, line in enumerate(lines)]
        x += width + 46
    return svg(x - 36, height, parts)


def layers_picture() -> str:
    """Return the layers as bars, the lowest at the bottom, as wide as the square root of their lines."""
    parts, step = [], 34
    for k, (names, _) in enumerate(reversed(LAYERS)):
        lines = lines_of(names)
        width = max(60, round(6 * lines**0.5))
        parts.append(f'<rect class="box" x="10" y="{10 + k * step}" width="{width}" height="26" rx="5"/>'
                     f'<text class="text" x="20" y="{27 + k * step}">{names}: {lines} lines</text>')
    return svg(900, 20 + step * len(LAYERS), parts)


def benchmarks_picture(page: str) -> str:
    """Return the ratios of a table of benchmarks as bars; 1 is the best rival's time."""
    table = [line.strip("|") for line in page.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.split("|")] for line in table]
    head, *lines = [row for row in rows if not set("".join(row)) <= {"-"}]
    ratio, rival = head.index("ratio"), head.index("best rival")
    shown = [(f"{row[0]} ({row[1]} thr.)", row[rival], float(row[ratio])) for row in lines
             if re.fullmatch(r"\d+\.\d+", row[ratio])]
    left, scale, parts = 400, 280, []
    for k, (name, best, value) in enumerate(shown):
        y, width = 34 + 18 * k, scale * min(value, 1.6)
        kind = "bar" if value <= 1 else "slow"
        parts.append(f'<text class="text" x="{left - 8}" y="{y + 10}" text-anchor="end">{html.escape(name)}</text>'
                     f'<rect class="{kind}" x="{left}" y="{y}" width="{max(width, 1):.0f}" height="12"/>'
                     f'<text class="text" x="{left + width + 6:.0f}" y="{y + 10}">{value:.2f} {best}</text>')
    bottom = 40 + 18 * len(shown)
    parts.append(f'<path class="line" stroke-dasharray="4" d="M{left + scale} 20 V{bottom}"/><text class="head" '
                 f'x="{left + scale}" y="14" text-anchor="middle">the best rival</text>')
    return svg(left + int(scale * 1.6) + 110, bottom + 10, parts)


def svg(width: int, height: int, parts: Sequence[str]) -> str:
    """Return a picture that is as wide as the page at most, light or dark as the reader wishes."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'{FONT}>{STYLE}{"".join(parts)}</svg>\n')

