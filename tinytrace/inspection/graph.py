"""A jaxpr as a graph: equations are boxes, values are arrows; as SVG for a notebook, as DOT and as Mermaid.

A program inside an equation (the body of a loop, the branches of a choice) is a graph inside the equation's box.
Each box stands below everything that it reads.
"""
from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import field

from tinytrace.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.core.printer import VarNames
from tinytrace.core.user_names import user_names
from tinytrace.records import NamedTuple, dataclass


@dataclass
class Node:
    """One box.

    Args:
      key: its name in DOT, Mermaid and SVG: `e3`, and `e3_0_e1` inside the first program of equation 3.
      kind: `input`, `const`, `equation` or `output`.
      label: what stands in it: a variable and its type, or a primitive, its literals and the types of its results.
      title: what a pointer that rests on it shows: the whole equation and its line.
      inner: the programs inside, by the names of their parameters.
    """

    key: str
    kind: str
    label: str
    title: str = ""
    inner: list[tuple[str, JaxprGraph]] = field(default_factory=list)


class Edge(NamedTuple):
    """One value: from the box that computes it to a box that reads it; `label` is its name."""

    source: str
    target: str
    label: str


class JaxprGraph:
    """The boxes and arrows of one program; prints itself as DOT and shows itself as SVG."""

    def __init__(self, nodes: list[Node], edges: list[Edge]) -> None:
        self.nodes = nodes
        self.edges = edges

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz (https://graphviz.org/doc/info/lang.html)."""
        lines = ["digraph jaxpr {", '  node [fontname="monospace", shape=box, style=rounded];', *_dot(self, "  "), "}"]
        return "\n".join(lines) + "\n"

    def to_mermaid(self) -> str:
        """Return the graph in the language of Mermaid (https://mermaid.js.org/syntax/flowchart.html)."""
        return "\n".join(["flowchart TD", *_mermaid(self, "  ")]) + "\n"

    def to_svg(self) -> str:
        """Return the graph as an SVG picture, whose colours are those of the page that it stands in."""
        drawing = _Drawing(self)
        width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
        body = "\n".join(drawing.parts(MARGIN, MARGIN))
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                f'height="{height}" role="img" aria-label="graph of a jaxpr" font-family="monospace" font-size="12" '
                f'fill="none" stroke="currentColor">\n{body}\n</svg>\n')

    def __str__(self) -> str:
        return self.to_dot()

    def __repr__(self) -> str:
        return f"<graph of a jaxpr: {len(self.nodes)} boxes, {len(self.edges)} arrows>"

    def _repr_svg_(self) -> str:
        return self.to_svg()


def graph(program: Jaxpr | ClosedJaxpr) -> JaxprGraph:
    """Return `program` as a graph.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.make_jaxpr(lambda x: jnp.sin(x) * x)(1.0).graph()
    <graph of a jaxpr: 4 boxes, 4 arrows>
    """
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    names = VarNames()
    names.give(user_names(jaxpr))
    return _graph(jaxpr, names, "")


def _graph(jaxpr: Jaxpr, names: VarNames, prefix: str) -> JaxprGraph:
    nodes: list[Node] = []
    edges: list[Edge] = []
    home: dict[Var, str] = {}
    for kind, letter, binders in (("const", "c", jaxpr.constvars), ("input", "i", jaxpr.invars)):
        for number, var in enumerate(binders):
            home[var] = f"{prefix}{letter}{number}"
            nodes.append(Node(home[var], kind, f"{names[var]}: {var.aval.str_short()}"))
    for number, eqn in enumerate(jaxpr.eqns):
        key = f"{prefix}e{number}"
        nodes.append(_equation(eqn, names, key))
        edges += [Edge(home[atom], key, names[atom]) for atom in _read(eqn.invars)]
        home.update(dict.fromkeys(eqn.outvars, key))
    for number, atom in enumerate(jaxpr.outvars):
        key = f"{prefix}o{number}"
        nodes.append(Node(key, "output", f"{names[atom]}: {atom.aval.str_short()}"))
        edges += [Edge(home[atom], key, names[atom])] if not isinstance(atom, Literal) else []
    return JaxprGraph(nodes, edges)


def _equation(eqn: JaxprEqn, names: VarNames, key: str) -> Node:
    literals = [str(atom) for atom in eqn.invars if isinstance(atom, Literal)]
    name = eqn.params.get("name")
    shown = [eqn.primitive.name, *([name] if isinstance(name, str) else []), *literals]
    types = " ".join("_" if isinstance(v, DropVar) else f"{names[v]}: {v.aval.str_short()}" for v in eqn.outvars)
    title = f"{eqn}\n{eqn.source}" if eqn.source is not None else str(eqn)
    inner = [(label, _graph(program, names, f"{key}_{number}_"))
             for number, (label, program) in enumerate(_programs(eqn))]
    return Node(key, "equation", f"{' '.join(shown)}\n{types}", title, inner)


def _programs(eqn: JaxprEqn) -> Iterator[tuple[str, Jaxpr]]:
    for name, value in eqn.params.items():
        programs = list(subjaxprs({name: value}))
        for number, program in enumerate(programs):
            yield name if len(programs) == 1 else f"{name}[{number}]", program


def _read(atoms: Sequence[Var | Literal]) -> list[Var]:
    """Return the variables among `atoms`, each once."""
    return list(dict.fromkeys(atom for atom in atoms if not isinstance(atom, Literal)))


# --- DOT and Mermaid -----------------------------------------------------------------------------------------------

def _dot(graph: JaxprGraph, indent: str) -> Iterator[str]:
    for node in graph.nodes:
        label = node.label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        shape = "" if node.kind == "equation" else ", shape=plaintext"
        yield f'{indent}{node.key} [label="{label}"{shape}];'
        for number, (name, inner) in enumerate(node.inner):
            yield f"{indent}subgraph cluster_{node.key}_{number} {{"
            yield f'{indent}  label="{name} of {node.key}";'
            yield from _dot(inner, indent + "  ")
            yield f"{indent}}}"
    for edge in graph.edges:
        yield f'{indent}{edge.source} -> {edge.target} [label="{edge.label}"];'


def _mermaid(graph: JaxprGraph, indent: str) -> Iterator[str]:
    for node in graph.nodes:
        label = html.escape(node.label).replace("\n", "<br/>")
        left, right = ("[", "]") if node.kind == "equation" else ("([", "])")
        yield f'{indent}{node.key}{left}"{label}"{right}'
        for number, (name, inner) in enumerate(node.inner):
            yield f'{indent}subgraph {node.key}_{number}["{html.escape(name)} of {node.key}"]'
            yield from _mermaid(inner, indent + "  ")
            yield f"{indent}end"
    for edge in graph.edges:
        yield f'{indent}{edge.source} -->|"{edge.label}"| {edge.target}'


# --- SVG -----------------------------------------------------------------------------------------------------------

MARGIN = 12
LETTER, LINE, PAD = 7.3, 16, 8
"""Width of a letter, height of a line, space inside a box, in pixels."""
BETWEEN, BELOW = 18, 34
"""Space between boxes of a row, and between rows."""
STOP = 2
"""Width of the place that an arrow has in a row that it passes."""


class _Drawing:
    """Where each box of one graph stands: rows from the top, each box in the row below the last one that it reads.

    An arrow that passes rows has a place of its own in each of them; boxes stand near what they read.
    Source: K. Sugiyama, S. Tagawa and M. Toda, "Methods for visual understanding of hierarchical system structures",
    IEEE Transactions on Systems, Man, and Cybernetics 11 (1981).
    """

    def __init__(self, graph: JaxprGraph) -> None:
        self.graph = graph
        self.inner = {node.key: [(name, _Drawing(inner)) for name, inner in node.inner] for node in graph.nodes}
        self.size = {node.key: self.box(node) for node in graph.nodes}
        self.stops: dict[Edge, list[str]] = {}
        rows = self.rows()
        widths = [sum(self.size[key][0] for key in row) + BETWEEN * (len(row) - 1) for row in rows]
        heights = [max(self.size[key][1] for key in row) for row in rows]
        self.width = max(widths, default=0)
        self.height = sum(heights) + BELOW * max(0, len(rows) - 1)
        self.place: dict[str, tuple[float, float]] = {}
        y: float = 0.0
        for row, width, height in zip(rows, widths, heights, strict=True):
            x = (self.width - width) / 2
            for key in row:
                self.place[key] = x, y
                x += self.size[key][0] + BETWEEN
                if key not in self.inner:
                    self.size[key] = STOP, height
            y += height + BELOW

    def box(self, node: Node) -> tuple[float, float]:
        lines = node.label.split("\n")
        width = max(map(len, lines)) * LETTER + 2 * PAD
        height: float = len(lines) * LINE + 2 * PAD
        for name, inner in self.inner[node.key]:
            width = max(width, inner.width + 2 * PAD, len(name) * LETTER + 2 * PAD)
            height += LINE + inner.height + PAD
        return width, height

    def rows(self) -> list[list[str]]:
        """Return the boxes and the stops of arrows, row by row, each row ordered by what stands above."""
        level = self.levels()
        rows: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        above: dict[str, list[str]] = {key: [] for key in level}
        for key, row in level.items():
            rows[row].append(key)
        for number, edge in enumerate(self.graph.edges):
            passed = range(level[edge.source] + 1, level[edge.target])
            self.stops[edge] = [f"{number}@{row}" for row in passed]
            for at_row, key, before in zip(passed, self.stops[edge], [edge.source, *self.stops[edge]], strict=False):
                rows[at_row].append(key)
                self.size[key] = STOP, 0
                above[key] = [before]
            above[edge.target].append([edge.source, *self.stops[edge]][-1])
        for upper, lower in itertools.pairwise(rows):
            at = {key: i / len(upper) for i, key in enumerate(upper)}
            middle = {key: sum(at.get(k, 0.5) for k in above[key]) / max(1, len(above[key])) for key in lower}
            lower.sort(key=middle.__getitem__)
        return rows

    def levels(self) -> dict[str, int]:
        """Return the row of each box; results stand in the last."""
        level: dict[str, int] = {}
        readers: dict[str, list[str]] = {node.key: [] for node in self.graph.nodes}
        for edge in self.graph.edges:
            readers[edge.target].append(edge.source)
        for node in self.graph.nodes:
            level[node.key] = max((level[key] for key in readers[node.key]), default=-1) + 1
        last = max(level.values(), default=0)
        return {node.key: last if node.kind == "output" else level[node.key] for node in self.graph.nodes}

    def parts(self, left: float, top: float) -> Iterator[str]:
        for edge in self.graph.edges:
            yield self.arrow(edge, left, top)
        for node in self.graph.nodes:
            yield from self.boxed(node, left, top)

    def arrow(self, edge: Edge, left: float, top: float) -> str:
        x, y = self.middle(edge.source, left, top)
        path = f"M{x:.0f} {y + self.size[edge.source][1]:.0f}"
        y += self.size[edge.source][1]
        for key in (*self.stops[edge], edge.target):
            x_end, y_end = self.middle(key, left, top)
            bend = (y_end - y) / 2
            path += f"C{x:.0f} {y + bend:.0f} {x_end:.0f} {y_end - bend:.0f} {x_end:.0f} {y_end:.0f}"
            x, y = x_end, y_end
            if key != edge.target:
                y += self.size[key][1]
                path += f"V{y:.0f}"
        return f'<path d="{path}" opacity="0.5"><title>{html.escape(edge.label)}</title></path>'

    def middle(self, key: str, left: float, top: float) -> tuple[float, float]:
        """Return the middle of the upper side of a box, or of a stop."""
        x, y = self.place[key]
        return left + x + self.size[key][0] / 2, top + y

    def boxed(self, node: Node, left: float, top: float) -> Iterator[str]:
        (x, y), (width, height) = self.place[node.key], self.size[node.key]
        x, y = left + x, top + y
        dash = "" if node.kind == "equation" else ' stroke-dasharray="3 3"'
        yield f'<g id="{node.key}"><title>{html.escape(node.title or node.label)}</title>'
        yield f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6"{dash}/>'
        for number, line in enumerate(node.label.split("\n")):
            yield _text(line, x + PAD, y + PAD + (number + 0.75) * LINE, "600" if number == 0 else "400")
        below = y + PAD + LINE * len(node.label.split("\n"))
        for name, inner in self.inner[node.key]:
            yield _text(name, x + PAD, below + 0.75 * LINE, "400")
            yield from inner.parts(x + PAD + (width - 2 * PAD - inner.width) / 2, below + LINE)
            below += LINE + inner.height + PAD
        yield "</g>"


def _text(line: str, x: float, y: float, weight: str) -> str:
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-weight="{weight}" fill="currentColor" stroke="none">'
            f"{html.escape(line)}</text>")
