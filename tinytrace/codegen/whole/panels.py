"""Products of an operand that is nowhere in memory: blocks are gathered into a panel on the stack, and multiplied.

    for block: { panel[..] = x[..];  out[block] = panel @ w }          implicit im2col, where x has windows of an image

So the windows of an image are never written to memory: the panel stays in a core's second-level cache. Where a row of
the image lies in memory as a matrix with many channels, no panel is needed: for each tap (place in the kernel) its
product is added. A block has whole rows, or columns, of the result; where the sums are so long that a panel would hold
too few of these, the sums are cut too, and parts after the first are added. Blocks depend on shapes alone, so results
do not depend on threads.

Where the kernel is small, its rows are the taps of one product, in which neither is gathered nor added:

    for line of the image: out[line] = x[line], x[line + 1], x[line + 2] @ w        a row of x is a piece of each sum
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import add, flat_offset, linear, rebuild, stride_along, unflattened
from tinytrace.codegen.ir.nodes import Node, axis, number, rewrite
from tinytrace.codegen.ir.statements import Buffer, Call, For, Row, Stmt
from tinytrace.codegen.plan.elements import domain_axes
from tinytrace.codegen.schedule.copies import loops_that_store
from tinytrace.codegen.whole.gemm import Matrix, Operand, extent, gemm_of, gemm_of_taps
from tinytrace.records import NamedTuple, dataclass

PANEL = 1 << 16
"""Elements of a panel at most: a quarter of a mebibyte, of floats."""
FEWEST = 64
"""A block has so many rows (or columns) at least, if there are as many: with fewer the product is slow."""
MOST = 256
"""So many rows or columns are enough."""
LEAST_CHANNELS, LEAST_IN_ROW = 64, 24
"""Rows of an image with so many places and channels are multiplied where they lie."""
LARGEST_KERNEL, FEWEST_IN_ROW, FEWEST_TERMS = 1 << 18, 12, 64
"""Bytes of a kernel that each row of an image may read anew, and places in a row and terms of a sum from which on it
pays to multiply by all taps at once (3x3 of 3 channels to 64 features: 1.3 of the time in panels, 7x7 0.8)."""
TILE, WIDEST = 64, 512
"""A BLAS multiplies so many columns at once, others at two thirds of the speed; blocks may become so wide for it."""


@dataclass(frozen=True)
class Part:
    """Equal pieces of several dimensions: the first ones are walked through, one is cut, the last ones are whole."""

    walked: tuple[int, ...]
    """The extents of the dimensions that are walked through, the one that is cut last."""
    begin: int
    """The first element of the dimension that is cut."""
    length: int
    """How much of this dimension a piece has."""
    whole: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.walked)

    @property
    def size(self) -> int:
        """How many elements a piece has."""
        return self.length * math.prod(self.whole)

    def index(self, piece: Node, inside: Sequence[Node]) -> tuple[Node, ...]:
        """Return the index of an element of number `piece`, whose place in the piece is `inside`."""
        *walked, last = unflattened(piece, self.walked)
        first, *others = inside
        return (*walked, linear(self.begin, [(last, self.length), (first, 1)]), *others)


def product_in_panels(operand: Operand, is_left: bool, other: Matrix, result: Buffer, name: str) -> list[Stmt]:
    """Return the loops over blocks of `operand`, each gathered into an array `name` and multiplied by `other`."""
    free, summed = (operand.rows, operand.columns) if is_left else (operand.columns, operand.rows)
    batch, sizes, depth = tuple(map(extent, operand.batch)), tuple(map(extent, free)), math.prod(map(extent, summed))
    most = min(MOST, max(PANEL // max(depth, 1), FEWEST))
    free_last = _is_read_along(operand.value, free, summed, not is_left)
    stmts: list[Stmt] = []
    for k, part in enumerate(_parts(sizes, most, 1 if is_left or not free_last else TILE)):
        block = axis(f"{name}_block" + "_rest" * k, math.prod(batch) * part.count)
        which, piece = unflattened(block, (math.prod(batch), part.count))
        at = dict(zip(operand.batch, unflattened(which, batch), strict=True)) if batch else {}
        writer = _Block(operand, free, summed, is_left, free_last, other, result, name, at, part, piece)
        stmts.append(For(block, number(0), number(block.args[1]), writer.statements(), independent=True))
    return stmts


@dataclass(frozen=True)
class _Block:
    """One block of the result: `piece` of the pieces of `part`, in the batch whose place is `at`."""

    operand: Operand
    free: Sequence[Node]
    summed: Sequence[Node]
    is_left: bool
    free_last: bool
    """Are neighbours in the panel's rows neighbours in the result, not terms of one sum?"""
    other: Matrix
    result: Buffer
    name: str
    at: dict[Node, Node]
    part: Part
    piece: Node

    def statements(self) -> list[Stmt]:
        features = self.result.size // math.prod(map(extent, (*self.operand.batch, *self.free)))
        pieces = _pieces(self.operand, self.other, features) if self.is_left else None
        return self._in_panels() if pieces is None else self._as_it_lies(pieces)

    def _as_it_lies(self, pieces: _Pieces) -> list[Stmt]:
        """Return the products of rows of the image and one tap, or several, and sums of these: no panel is needed."""
        merged = pieces.dimensions
        taps, channels = list(map(extent, self.summed[:-merged])), math.prod(map(extent, self.summed[-merged:]))
        *lines, m = self.part.length, *self.part.whole
        count = math.prod(taps)
        step = axis(f"{self.name}_step", count - 1)
        stmts: list[Stmt] = []
        for tap, adds in (number(0), False), *([(add(step, number(1)), True)] if count > 1 else ()):
            line = domain_axes(lines)
            firsts = [*unflattened(tap, taps), *[number(0)] * merged]
            places = (*self.part.index(self.piece, (*line, number(0))), *firsts)
            changed = self.at | dict(zip((*self.free, *self.summed), places, strict=True))
            value, = rewrite([self.operand.value], {a: new for a, new in changed.items() if a.op == "axis"}, rebuild)
            array, offset = value.args
            start = add(_flat(self.part, self.piece, self.free), linear(0, [(flat_offset(line, lines), m)]))
            term = linear(0, [(tap, channels)])
            rows = Matrix(array, offset, pieces.stride, False)
            body: list[Stmt] = [self._product(rows, start, (m, channels), term, adds, pieces)]
            for a in reversed(line):
                body = [For(a, number(0), number(extent(a)), body)] if a.op == "axis" else body
            stmts += [For(step, number(0), number(count - 1), body)] if adds else body
        return stmts

    def _in_panels(self) -> list[Stmt]:
        stmts: list[Stmt] = []
        for k, part in enumerate(_parts(tuple(map(extent, self.summed)), max(PANEL // self.part.size, 1))):
            panel = self._panel(self.name + "_rest" * k, part)
            stmts.append(Row(panel))
            if not k:
                stmts += self._step(panel, part, number(0), adds=False)
            if part.count > 1 - k:
                step = axis(f"{panel.name}_step", part.count - 1 + k)
                body = self._step(panel, part, add(step, number(1 - k)), adds=True)
                stmts.append(For(step, number(0), number(step.args[1]), body))
        return stmts

    def _panel(self, name: str, depths: Part) -> Buffer:
        free, terms = (self.part.length, *self.part.whole), (depths.length, *depths.whole)
        return Buffer(name, (*terms, *free) if self.free_last else (*free, *terms), self.result.dtype, "row")

    def _step(self, panel: Buffer, depths: Part, step: Node, adds: bool) -> list[Stmt]:
        """Return what fills the panel, and the product that it is an operand of."""
        sizes = self.part.length, *self.part.whole
        inside = domain_axes((*sizes, depths.length, *depths.whole))
        free, terms = inside[:len(sizes)], inside[len(sizes):]
        changed = dict(self.at)
        changed |= zip(self.free, self.part.index(self.piece, free), strict=True)
        changed |= zip(self.summed, depths.index(step, terms), strict=True)
        changed = {a: new for a, new in changed.items() if a.op == "axis"}
        value, = rewrite([self.operand.value], changed, rebuild)
        axes = (*terms, *free) if self.free_last else (*free, *terms)
        row = self.part.size if self.free_last else depths.size
        gathered = Matrix(panel, number(0), row, self.free_last == self.is_left)
        start, term = _flat(self.part, self.piece, self.free), _flat(depths, step, self.summed)
        product = self._product(gathered, start, (self.part.size, depths.size), term, adds)
        return [*loops_that_store(value, axes, panel), product]

    def _product(self, panel: Matrix, start: Node, sizes: tuple[int, int], term: Node, adds: bool,
                 pieces: _Pieces | None = None) -> Call:
        """Return the product of rows (or columns) `start` and following, and terms `term` and following of the sums."""
        batch = tuple(map(extent, self.operand.batch))
        across = self.other.transposed == self.is_left  # the sum's terms are neighbours in the other operand
        moved, = rewrite([self.other.offset], {a: b for a, b in self.at.items() if a.op == "axis"}, rebuild)
        offset = add(moved, linear(0, [(term, 1 if across else self.other.stride)]))
        total = self.result.size // max(math.prod(batch), 1)
        which = flat_offset([self.at[a] for a in self.operand.batch], batch)
        size, (count, k) = math.prod(map(extent, self.free)), sizes
        if self.is_left:
            m, n, width = count, total // size, total // size
            place = linear(0, [(which, total), (start, width)])
            places = {"lhs": (panel.array, panel.offset), "rhs": (self.other.array, offset)}
            gemm = gemm_of(self.result.dtype, m, n, k, panel, self.other, width, adds)
            if pieces is not None and pieces.taps > 1:
                gemm = gemm_of_taps(self.result.dtype, m, n, k // pieces.taps, pieces.taps, pieces.tap, panel,
                                    self.other, width, adds)
        else:
            m, n, width = total // size, count, size
            place = linear(0, [(which, total), (start, 1)])
            places = {"lhs": (self.other.array, offset), "rhs": (panel.array, panel.offset)}
            gemm = gemm_of(self.result.dtype, m, n, k, self.other, panel, width, adds)
        return Call(gemm, {**places, "out": (self.result, place)}, ("out",), flops=2 * m * n * k, rows=m)


class _Pieces(NamedTuple):
    """How an image lies where a product reads it: neighbours of a row `stride` apart."""

    stride: int
    dimensions: int
    """So many of a sum's last dimensions are terms of one product."""
    taps: int
    """These lie in memory as so many pieces,"""
    tap: int
    """so far apart."""


def _pieces(operand: Operand, other: Matrix, features: int) -> _Pieces | None:
    """Return how the rows of an image lie, if the host can read them with all their channels.

    Taps that lie one after the other in a row, with all their channels, are one piece. None also where to gather them
    costs less: where the kernel is large, and to add up a product for each piece takes longer, of many features.
    """
    if operand.value.op != "load" or not operand.rows or not operand.columns:
        return None
    offset, row, channels = operand.value.args[1], operand.rows[-1], operand.columns[-1]
    stride = stride_along(offset, row) if row.op == "axis" else None
    if stride is None or stride <= 0 or channels.op != "axis" or stride_along(offset, channels) != 1:
        return None  # rows read backwards, or one place again and again, are gathered: a BLAS wants them to rise
    merged = _terms_in_order(operand.value, operand.columns)
    taps = operand.columns[-merged - 1] if merged < len(operand.columns) else number(0)
    tap = stride_along(offset, taps) if taps.op == "axis" else None
    terms = math.prod(map(extent, operand.columns))
    size = terms * features * operand.atom.aval.dtype.itemsize
    if tap is not None and not other.transposed and size <= LARGEST_KERNEL and terms >= FEWEST_TERMS \
            and extent(row) >= FEWEST_IN_ROW:
        return _Pieces(stride, merged + 1, extent(taps), tap)
    is_added = stride >= extent(channels) >= max(features, LEAST_CHANNELS) and extent(row) >= LEAST_IN_ROW
    return _Pieces(stride, merged, 1, 0) if is_added else None


def _terms_in_order(value: Node, terms: Sequence[Node]) -> int:
    """Return how many of the last dimensions of a sum's terms lie in memory as one: channels, and taps beside them."""
    count, step = 1, extent(terms[-1])
    while count < len(terms) and terms[-count - 1].op == "axis" and \
            stride_along(value.args[1], terms[-count - 1]) == step:
        count += 1
        step *= extent(terms[-count])
    return count


def _is_read_along(value: Node, free: Sequence[Node], terms: Sequence[Node], otherwise: bool) -> bool:
    """Are neighbours in memory neighbours in the result? A panel has them side by side too."""
    def longest(axes: Sequence[Node]) -> int:
        return max((extent(a) for a in axes if stride_along(value.args[1], a) == 1), default=0)

    if value.op != "load" or longest(free) == longest(terms):
        return otherwise
    return longest(free) > longest(terms)


def _flat(part: Part, piece: Node, axes: Sequence[Node]) -> Node:
    """Return the flat place at which a piece begins."""
    zeros = [number(0)] * (1 + len(part.whole))
    return flat_offset(part.index(piece, zeros), tuple(map(extent, axes)))


def _parts(sizes: tuple[int, ...], most: int, tile: int = 1) -> list[Part]:
    """Return dimensions in pieces of about `most` elements: equal ones, and what is left of the one that is cut.

    tile: of so many elements a piece is a multiple, if that is not too large.
    """
    inner, cut = 1, len(sizes) - 1
    while cut > 0 and inner * sizes[cut] <= most:
        inner *= sizes[cut]
        cut -= 1
    if not sizes:
        return [Part((1,), 0, 1, ())]
    size, whole = sizes[cut], sizes[cut + 1:]
    pieces = -(-size // max(1, min(size, most // inner)))
    length = -(-size // pieces)
    unit = tile // math.gcd(tile, inner)
    if min(unit, size) * inner <= WIDEST:
        length = min(max(length // unit, 1) * unit, size)
    count, rest = divmod(size, length)
    parts = [Part((*sizes[:cut], count), 0, length, whole)] if count else []
    return parts + ([Part((*sizes[:cut], 1), count * length, rest, whole)] if rest else [])
