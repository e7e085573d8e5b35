"""What is found in, and done to, the kernels of a whole program, those of the programs inside it too."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tinytrace.codegen.ir.kernel import (
    Choose,
    Contents,
    Kernel,
    Nest,
    Renamed,
    Repeat,
    inner_programs,
    with_programs,
)
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Buffer, Stmt, expressions, touched
from tinytrace.records import replace


def map_bodies(kernels: Sequence[Kernel], change: Callable[[Sequence[Stmt]], Sequence[Stmt]],
               keep_titles: bool = False, about: Callable[[Contents], bool] | None = None) -> list[Kernel]:
    """Return a program with the statements of every nest changed, those of programs inside it too.

    keep_titles: for changes that hide what a nest is: its heading says what it was.
    about: for changes that have nothing to do in nests of other contents, which is quickly seen.

    A change looks at the statements alone: where a nest has those of another one, that is changed, once for all.
    """
    return map_nests(kernels, _Changed(change, keep_titles, about))


class _Changed:
    """Gives nests changed; no function in a function, which would hold itself."""

    def __init__(self, change: Callable[[Sequence[Stmt]], Sequence[Stmt]], keep_titles: bool,
                 about: Callable[[Contents], bool] | None) -> None:
        self._change, self._keep_titles, self._about = change, keep_titles, about
        self._known: dict[Nest, Nest] = {}

    def __call__(self, nest: Nest) -> Nest:
        if nest not in self._known:
            self._known[nest] = self._made_of(nest)
        return self._known[nest]

    def _made_of(self, nest: Nest) -> Nest:
        if self._about is not None and not self._about(nest.contents):
            return nest
        if isinstance(nest.body, Renamed):
            form = self(nest.form)
            is_same = form is nest.form
            return nest if is_same else replace(nest, body=Renamed(form, nest.body.renaming), heading=form.heading)
        result = nest.with_body(self._change(nest.body))
        return replace(result, heading=nest.title()) if self._keep_titles and result is not nest else result


def map_nests(kernels: Sequence[Kernel], change: Callable[[Nest], Nest]) -> list[Kernel]:
    """Return a program with every nest changed, those of programs inside it too."""
    return [change(kernel) if isinstance(kernel, Nest) else
            with_programs(kernel, [map_nests(program, change) for program in inner_programs(kernel)])
            for kernel in kernels]


def mentions(kernels: Iterable[Kernel]) -> Iterator[Buffer | Node]:
    """Yield the arrays and variables that are used, each as often as it is; stores into variables are not uses."""
    for kernel in kernels:
        roots: list[Node] = []
        for stmt in kernel.statements if isinstance(kernel, Nest) else ():
            roots += expressions(stmt)
            yield from touched(stmt)
        if isinstance(kernel, Repeat):
            roots += [kernel.wanted] if kernel.wanted is not None else []
            for pair in kernel.exchanges:
                yield from {pair.first, pair.second, pair.result}
            yield from (view.base for view in kernel.views)
        elif isinstance(kernel, Choose) and kernel.index is not None:
            roots.append(kernel.index)
        for node in walk(roots):
            if node.op in ("load", "local"):
                yield node.args[0] if node.op == "load" else node
        for program in inner_programs(kernel):
            yield from mentions(program)


def name_of(x: Buffer | Node) -> str:
    """Return the name of an array or a variable."""
    return x.name if isinstance(x, Buffer) else str(x.args[0])
