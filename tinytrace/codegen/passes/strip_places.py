"""The place of an extreme is searched in the first strip, of a long row or a whole array, of which it is the extreme.

    for i < 1024: c = max(c, a[i])
    for i < 1024: b = min(b, a[i] == c ? i : none)

    is    float c_strips[8];
          for j < 8: { m = -inf;  for i < 128: m = max(m, a[128 j + i]);  c_strips[j] = m }
          for j < 8: c = max(c, c_strips[j])
          for j < 8: k = min(k, c_strips[j] == c ? j : 8)
          for i < 128: b = min(b, a[128 k + i] == c ? 128 k + i : none)
          (and what is left after the last strip)

`chunk_places` does so with the chunks of an array that threads share. A second look at a row takes longer than the
first: two comparisons, a choice and a minimum for each element. Here it is at one strip.
Where the extreme itself is a result the loops stay: another order of the elements might give another zero.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinytrace.codegen.ir.arithmetic import compare, constant_of, index_of, linear, maximum, minimum
from tinytrace.codegen.ir.inserted_operations import is_search, position_of
from tinytrace.codegen.ir.kernel import Kernel, Nest, Renamed, inner_programs, with_programs
from tinytrace.codegen.ir.nodes import Node, apply, axis, cast, literal, load, local, number, walk
from tinytrace.codegen.ir.programs import map_bodies, mentions
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Combine,
    Declare,
    For,
    Row,
    Stmt,
    Store,
    When,
    expressions,
    nested,
    with_body,
)
from tinytrace.codegen.passes.chunk_places import extreme_of
from tinytrace.codegen.passes.near_positions import BLOCKS
from tinytrace.codegen.passes.strips import without_variables
from tinytrace.core.dtypes import INT32, element_size, is_float, is_half, is_integer
from tinytrace.records import NamedTuple, replace

FEWEST = 512
"""Elements of a row, at least."""
SHORT, LONG = 128, 512
"""Elements of a strip: of a row of up to `SHORT` * 64 elements, and of longer ones."""
MOST = 1024
"""Strips of a row, whose extremes are on the stack; those of longer rows are longer."""


class Search(NamedTuple):
    """A fold to an extreme and the search for its place, by their numbers among statements, and what they do.

    folds: the first loop's, without variables.  extreme: what is looked for.  total: its value, out of the folds.
    """

    fold: int
    search: int
    folds: list[Combine]
    found: Combine
    extreme: Node
    total: Node


def search_in_strips(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program that looks for the places of extremes of long rows where they are."""
    return map_bodies(_joined(kernels), _body, keep_titles=True, about=lambda found: "cast" in found.operators)


def _joined(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program in which the search of a whole array is in one nest with the fold to what it looks for."""
    result: list[Kernel] = []
    for k, kernel in enumerate(kernels):
        before = result[-1] if result else None
        if not isinstance(kernel, Nest):
            kernel = with_programs(kernel, [_joined(program) for program in inner_programs(kernel)])
        elif isinstance(before, Nest) and (search := _search_of_both(before, kernel)) is not None \
                and _own(search).isdisjoint(mentions(kernels[k + 1:])):
            equations = (*before.equations, *(eqn for eqn in kernel.equations if eqn not in before.equations))
            kernel = replace(kernel, body=[*before.body, *kernel.body], equations=equations, heading="",
                             eqns=before.eqns | kernel.eqns, saved=before.saved + kernel.saved)
            result.pop()
        result.append(kernel)
    return result


def _search_of_both(before: Nest, nest: Nest) -> Search | None:
    """Return how a nest searches what the one before it folds, if it does."""
    if isinstance(before.body, Renamed) or isinstance(nest.body, Renamed) or "cast" not in nest.contents.operators:
        return None
    body = [*before.body, *nest.body]
    return next((found for k in range(len(before.body), len(body)) if (found := _search(body, k)) is not None), None)


def _body(body: Sequence[Stmt]) -> list[Stmt]:
    search = next((found for k in range(len(body)) if (found := _search(body, k)) is not None), None)
    if search is None:
        return [with_body(stmt, _body(stmt.body)) if isinstance(stmt, (For, When)) and not _is_vector(stmt) else stmt
                for stmt in body]
    return [*_body(body[:search.fold]), *_in_strips(body, search), *_body(body[search.search + 1:])]


def _is_vector(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.simd


# --- what is found -----------------------------------------------------------------------------------------------

def _search(body: Sequence[Stmt], at: int) -> Search | None:
    """Return the search that statement number `at` is, if the fold to what it looks for is before it."""
    loop, found = body[at], _first_place(body[at])
    if found is None or not isinstance(loop, For):
        return None
    begin = at - 1
    while begin >= 0 and isinstance(body[begin], Declare):
        begin -= 1
    first = body[begin] if begin >= 0 else None
    if not (isinstance(first, For) and first.simd and first.axis is loop.axis and not first.grain
            and (first.begin, first.end) == (loop.begin, loop.end)):
        return None
    _, x, extreme, _, _ = found.value.args
    folds = [stmt for stmt in without_variables(first.body) if isinstance(stmt, Combine)]
    named = {stmt.local: stmt.value for stmt in body[begin:at] if isinstance(stmt, Declare)}
    total = named.get(extreme, extreme)
    places = {fold.place: fold for fold in folds if isinstance(fold.place, Node)}
    fold = extreme_of(total, places)
    is_all = fold is not None and fold.value is x and len(places) == len(folds) == (1 if total is fold.place else 2)
    result = Search(begin, at, folds, found, extreme, total)
    return result if is_all and not _is_read(body, result) else None


def _first_place(loop: Stmt) -> Combine | None:
    """Return what a loop over a long row does, if that is to look for the first place of an extreme."""
    if not (isinstance(loop, For) and loop.simd and not loop.grain and constant_of(loop.begin) == 0
            and (constant_of(loop.end) or 0) == int(loop.axis.args[1]) >= FEWEST):
        return None
    folds = without_variables(loop.body)
    fold = folds[0] if len(folds) == 1 else None
    if not (isinstance(fold, Combine) and fold.op == "min" and isinstance(fold.place, Node) and is_search(fold.value)):
        return None
    _, x, extreme, _, none = fold.value.args
    is_narrow = is_half(x.dtype) or (is_integer(x.dtype) and element_size(x.dtype) in BLOCKS)
    is_real = isinstance(x.dtype, np.dtype) and x.dtype.kind in "iuf"
    return fold if is_real and not is_narrow and none.op == "literal" and loop.axis not in extreme.axes else None


def _is_read(body: Sequence[Stmt], search: Search) -> bool:
    """Does anything but the search read the extreme?"""
    others = [*body[:search.fold], *body[search.search + 1:],
              *(stmt for stmt in body[search.fold + 1:search.search]
                if isinstance(stmt, Declare) and stmt.local is not search.extreme)]
    return not _own(search).isdisjoint(walk(root for stmt in nested(others) for root in expressions(stmt)))


def _own(search: Search) -> set[Node]:
    """Return the variables that nothing but the search may read."""
    return {search.extreme, *(fold.place for fold in search.folds if isinstance(fold.place, Node))}


# --- what is made ------------------------------------------------------------------------------------------------

def _in_strips(body: Sequence[Stmt], search: Search) -> list[Stmt]:
    """Return both loops, and what is between them, strip by strip."""
    fold, loop = body[search.fold], body[search.search]
    assert isinstance(fold, For)
    assert isinstance(loop, For)
    extent, name = int(loop.axis.args[1]), str(loop.axis.args[0])
    size = _size(extent)
    count, rest = divmod(extent, size)
    _, x, _, _, _ = search.found.value.args
    extreme = next(each.place for each in search.folds if each.value is x)
    assert isinstance(extreme, Node)
    strips = Buffer(f"{extreme.args[0]}_strips", (count,), x.dtype, "row", search.found.value.eqns)
    strip, lane = axis(f"{name}_strip", count), axis(name, size)
    inside, behind = linear(0, [(strip, size), (lane, 1)]), axis(name, rest)
    result: list[Stmt] = [Row(strips), For(strip, number(0), number(count),
                                           _fold_of_strip(body, search, fold, inside, lane, (strips, strip)))]
    of_strips = Replacement({x: load(strips, strip, x.dtype)}).of(search.folds)
    result.append(For(strip, number(0), number(count), of_strips, True))
    if rest:
        moved = linear(count * size, [(behind, 1)])
        result.append(_part(fold, search.folds, moved, behind))
    result += body[search.fold + 1:search.search]
    result += _search_of_strips(search, strips, strip)
    place = minimum(maximum(index_of(_first_strip(search)), number(0)), number(count - 1))
    there = _part(loop, [search.found], linear(0, [(place, size), (lane, 1)]), lane)
    result.append(When(compare("lt", index_of(_first_strip(search)), number(count)), [there]) if rest else there)
    if rest:
        result.append(_part(loop, [search.found], moved, behind))
    return result


def _first_strip(search: Search) -> Node:
    """Return the variable for the first strip that has the extreme."""
    assert isinstance(search.found.place, Node)
    first = local(f"{search.found.place.args[0]}_strip", INT32)
    first.eqns |= search.found.place.eqns
    return first


def _search_of_strips(search: Search, strips: Buffer, strip: Node) -> list[Stmt]:
    """Return what finds it; where only what is left over has the extreme, it is the number of strips."""
    _, x, extreme, _, _ = search.found.value.args
    none = literal(strips.size, INT32)
    at = apply(position_of(x.dtype, INT32, is_float(x.dtype)),
               (load(strips, strip, x.dtype), extreme, cast(strip, INT32), none))
    at.eqns |= search.found.value.eqns
    first = _first_strip(search)
    return [Declare(first, none), For(strip, number(0), number(strips.size), [Combine(first, "min", at)], True)]


def _size(extent: int) -> int:
    """Return how many elements a strip has."""
    size = SHORT if extent <= 64 * SHORT else LONG
    return size if extent <= MOST * size else -(-extent // MOST // 64) * 64


def _part(loop: For, folds: Sequence[Combine], moved: Node, lane: Node) -> For:
    """Return a loop over a part of a row."""
    body = Replacement({loop.axis: moved}).of(folds)
    return For(lane, number(0), number(int(lane.args[1])), body, True, loop.independent, waits=loop.waits)


def _fold_of_strip(body: Sequence[Stmt], search: Search, fold: For, inside: Node, lane: Node,
                   place: tuple[Buffer, Node]) -> list[Stmt]:
    """Return what folds a strip and stores its extreme."""
    own: dict[Node, Node] = {}
    for each in search.folds:
        assert isinstance(each.place, Node)
        assert each.place.dtype is not None
        own[each.place] = local(f"{each.place.args[0]}_strip", each.place.dtype)
        own[each.place].eqns |= each.place.eqns
    starts: list[Stmt] = [Declare(own[stmt.local], stmt.value) for stmt in body[:search.fold]
                          if isinstance(stmt, Declare) and stmt.local in own]
    total = Store(place, search.total)
    return [*starts, *Replacement(own).of([_part(fold, search.folds, inside, lane), total])]
