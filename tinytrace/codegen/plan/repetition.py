"""Where a chain repeats itself, as a loop in Python writes it, it is cut so that its pieces are equal.

    for _ in range(500):           b = sin a            50 operations are a piece, and the loop over the elements that
        x = jnp.sin(x) * 2         c = mul b 2.0        computes them is compiled once, for all pieces
                                   d = sin c  ...

Equal kernels are one C function (`c/equal_kernels.py`). Of a chain that repeats nothing each piece is another function.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import accumulate

from tinytrace.core.jaxpr import Atom, JaxprEqn, Literal, Var
from tinytrace.core.structure import literal_key, typed_items

PIECE = 50
"""Operations of a piece, at least."""
WORTH_A_PASS = 100
"""Steps of a piece, at least: to write an element and to read it again costs 8, where arrays exceed the caches."""
LONGEST_PERIOD = 250
"""A period of more equations is not looked for."""
FEWEST_PIECES = 4
"""Of fewer pieces too few are equal: the first and the last one differ from those between them."""
CANDIDATES = 8
"""So many distances between equal equations are tried as periods."""


def equal_pieces(eqns: Sequence[JaxprEqn], operations: Sequence[int], steps: Sequence[int]) -> set[int]:
    """Return the equations after which a chain is cut so that most of its pieces are equal.

    Args:
      operations: for each equation, how many operations it adds to a chain; 0 if it is no link of one.
      steps: what it costs, see `ir/cost.py`.
    """
    found: set[int] = set()
    kinds = _kinds(eqns)
    live = _live(eqns)
    for period, begin, end in _repetitions(kinds):
        links = operations[begin:begin + period]
        turns = max(-(-PIECE // max(1, sum(links))), -(-WORTH_A_PASS // max(1, sum(steps[begin:begin + period]))))
        length = turns * period
        if 0 in links or (end - begin) < FEWEST_PIECES * length:
            continue
        first = min(range(begin, begin + period), key=live.__getitem__)  # where the fewest arrays lie between pieces
        found.update(range(first + length, end - period, length))
    return found


def _kinds(eqns: Sequence[JaxprEqn]) -> list[int]:
    """Return a number for each equation, equal for those that do the same with what was made equally long before."""
    numbers: dict[Hashable, int] = {}
    made: dict[Var, int] = {}
    result = []

    def operand(x: Atom, k: int) -> Hashable:
        if type(x) is Literal:
            return literal_key(x)
        distance = k - made.get(x, -LONGEST_PERIOD - 1)  # type: ignore[arg-type]
        return distance if distance <= LONGEST_PERIOD else x.aval

    for k, eqn in enumerate(eqns):
        kind: Hashable = eqn.primitive, typed_items(eqn.params) if eqn.params else (), *[operand(x, k)
                                                                                        for x in eqn.invars]
        try:
            result.append(numbers.setdefault(kind, len(numbers)))
        except TypeError:  # a parameter without a hash
            result.append(-k - 1)
        made.update(dict.fromkeys(eqn.outvars, k))
    return result


def _live(eqns: Sequence[JaxprEqn]) -> list[int]:
    """Return for each equation how many values that were made until then are read after it."""
    last_use = {x: k for k, eqn in enumerate(eqns) for x in eqn.invars if type(x) is not Literal}
    change = [0] * (len(eqns) + 1)
    for k, eqn in enumerate(eqns):
        for v in eqn.outvars:
            change[k] += 1
            change[max(k, last_use.get(v, k))] -= 1
    return list(accumulate(change[:-1]))


def _repetitions(kinds: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield period, begin and end of stretches that repeat their first `period` equations, the longest ones first."""
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    for k, kind in enumerate(kinds):
        if kind in last:
            distances[k - last[kind]] += 1
        last[kind] = k
    stretches = [(begin - end, period, begin, end) for period, _ in distances.most_common(CANDIDATES)
                 if period <= LONGEST_PERIOD for begin, end in _stretches(kinds, period)]
    taken: list[tuple[int, int]] = []
    for _, period, begin, end in sorted(stretches):
        if all(end <= other_begin or begin >= other_end for other_begin, other_end in taken):
            taken.append((begin, end))
            yield period, begin, end


def _stretches(kinds: Sequence[int], period: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the longest stretches in which each equation does what that a period before it does."""
    begin = None
    for k in range(period, len(kinds) + 1):
        repeats = k < len(kinds) and kinds[k] == kinds[k - period]
        if repeats and begin is None:
            begin = k - period
        elif not repeats and begin is not None:
            if k - begin >= FEWEST_PIECES * period:
                yield begin, k
            begin = None
