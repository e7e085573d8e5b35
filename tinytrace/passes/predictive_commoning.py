"""What a turn of a loop computes at its end, and the next turn at its begin, is carried: predictive commoning.

    while[cond_jaxpr={ lambda t r. n = dot_general r r; p = gt n t; in (p,) }
          body_jaxpr={ lambda a r. n = dot_general r r; ...; s = sub r q; m = dot_general s s; ...; in (s,) }] t a r

    n = dot_general r r
    while[cond_jaxpr={ lambda t r n. p = gt n t; in (p,) }
          body_jaxpr={ lambda a r n. ...; s = sub r q; m = dot_general s s; ...; in (s, m) }] t a r n

What is computed of the carries alone has a value in the next turn: the same of the next carries. Where the body
computes that as well, it is carried. What a condition and a body both compute, as the loops of Newton's method do with
the function whose root they look for, the body computes of the next carries, once for both. Source: K. O'Brien et al.,
"XIL and YIL: The Intermediate Languages of TOBEY" (1995); GCC's -fpredictive-commoning, for arrays.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from tinytrace.control_flow.bodies import split
from tinytrace.control_flow.scan import scan_p
from tinytrace.control_flow.while_loop import while_p
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Scalar, kind_of
from tinytrace.core.structure import literal_key
from tinytrace.passes.cse import key_of
from tinytrace.passes.dce import dce
from tinytrace.passes.loop_costs import LEAST, MOST, READ, WRITE, may_run_before, work_of
from tinytrace.passes.loop_layout import LOOPS
from tinytrace.passes.substitution import Substitution
from tinytrace.records import NamedTuple


def predictive_commoning(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with its loops carrying what one turn after the other would compute again."""
    if not any(eqn.primitive in LOOPS for eqn in closed.jaxpr.eqns):
        return closed
    eqns: list[JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        if eqn.primitive is scan_p:
            eqns += _scan(eqn)
        else:
            eqns += _while(eqn) if eqn.primitive is while_p else [eqn]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


class _Loop(NamedTuple):
    """A loop's programs, its condition if it has one and its body, and what their inputs are at first."""

    programs: tuple[ClosedJaxpr, ...]
    consts: tuple[Sequence[Atom], ...]
    carries: Sequence[Atom]


class _Carrying(NamedTuple):
    """Programs with more carries behind those that they had, what these are at first, and what computes that."""

    programs: tuple[ClosedJaxpr, ...]
    given: list[Atom]
    before: list[JaxprEqn]


def _scan(eqn: JaxprEqn) -> list[JaxprEqn]:
    """Return a scan and, before it, what its new carries are at first."""
    params = eqn.params
    consts, carries, xs = split(eqn.invars, params["num_consts"], params["num_carry"])
    if params["length"] < 2 or not (found := _carrying(_Loop((params["jaxpr"],), (consts,), carries))).given:
        return [eqn]
    results, ys = split(eqn.outvars, len(carries))
    linear = split(params["linear"], len(consts) + len(carries))
    changed = {"jaxpr": found.programs[0], "num_carry": len(carries) + len(found.given),
               "linear": (*linear[0], *(False for _ in found.given), *linear[1])}
    return [*found.before, eqn.replace(
        invars=[*consts, *carries, *found.given, *xs], outvars=[*results, *_unread(found.given), *ys],
        params={**params, **changed})]


def _while(eqn: JaxprEqn) -> list[JaxprEqn]:
    """The same of a loop of unknown length."""
    params = eqn.params
    of_cond, of_body, carries = split(eqn.invars, params["cond_nconsts"], params["body_nconsts"])
    found = _carrying(_Loop((params["cond_jaxpr"], params["body_jaxpr"]), (of_cond, of_body), carries))
    if not found.given:
        return [eqn]
    changed = dict(zip(("cond_jaxpr", "body_jaxpr"), found.programs, strict=True))
    return [*found.before, eqn.replace(
        invars=[*eqn.invars, *found.given], outvars=[*eqn.outvars, *_unread(found.given)],
        params={**params, **changed})]


def _unread(given: Iterable[Atom]) -> list[Var]:
    return [DropVar(x.aval) for x in given]


def _carrying(loop: _Loop) -> _Carrying:
    """Return a loop's programs with what pays carried, as they are if nothing does."""
    turn = _Turn(loop)
    carried = turn.worth_carrying()
    if not carried:
        return _Carrying(loop.programs, [], [])
    before, given = turn.at_first(carried)
    programs = tuple(turn.with_carries(k, carried) for k in range(len(loop.programs)))
    return _Carrying(programs, given, before)


class _Turn:
    """The values of a turn by numbers, which are equal for what is computed alike of the same operands."""

    def __init__(self, loop: _Loop) -> None:
        self._loop = loop
        self._known: dict[Hashable, tuple[int, ...]] = {}
        self._count = 0
        self._numbers: list[Mapping[Var, int]] = [
            self._numbered(program.jaxpr, consts)
            for program, consts in zip(loop.programs, loop.consts, strict=True)]
        body = loop.programs[-1].jaxpr
        self._eqns = list(body.eqns)
        self._at_end: dict[int, Atom] = {}
        """Atoms of the body by number, what is added at its end among them."""
        for v, n in self._numbers[-1].items():
            if type(v) is not DropVar:
                self._at_end.setdefault(n, v)
        self._makers: dict[int, tuple[JaxprEqn, Mapping[Var, int]]] = {}
        """For what is computed of constants and carries alone, by number, an equation that does."""
        self._next: dict[int, int] = {}
        """The number of its value in the next turn."""
        self._find_next_values()

    def _numbered(self, jaxpr: Jaxpr, consts: Sequence[Atom]) -> dict[Var, int]:
        """Return the numbers of a program's values; constants are known by the operands outside, carries by place."""
        count = len(consts) + len(self._loop.carries)
        given: list[Hashable] = [literal_key(x) if isinstance(x, Literal) else x for x in consts]
        given += range(len(self._loop.carries))
        numbers = {v: self._number("given", key) for v, key in zip(jaxpr.invars[:count], given, strict=True)}
        numbers.update((v, self._number("own", v)) for v in (*jaxpr.constvars, *jaxpr.invars[count:]))
        for eqn in jaxpr.eqns:
            key = None if eqn.effects else key_of(eqn, [self._of(x, numbers) for x in eqn.invars])
            numbers.update(zip(eqn.outvars, self._outs(eqn, key), strict=True))
        return numbers

    def _number(self, *key: Hashable) -> int:
        return self._known.setdefault(key, (self._fresh(),))[0]

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    def _outs(self, eqn: JaxprEqn, key: Hashable | None) -> tuple[int, ...]:
        if key is not None and key in self._known:
            return self._known[key]
        outs = tuple([self._fresh() for _ in eqn.outvars])
        if key is not None:
            self._known[key] = outs
        return outs

    def _of(self, atom: Atom, numbers: Mapping[Var, int]) -> int:
        return self._number("given", literal_key(atom)) if isinstance(atom, Literal) else numbers[atom]

    def _find_next_values(self) -> None:
        """Find what is computed of constants and carries alone, and what it is in the next turn."""
        body, of_body = self._loop.programs[-1].jaxpr, self._numbers[-1]
        for program, numbers, consts in zip(self._loop.programs, self._numbers, self._loop.consts, strict=True):
            self._next.update((numbers[v], numbers[v]) for v in program.jaxpr.invars[:len(consts)])
        for k, v in enumerate(body.invars[len(self._loop.consts[-1]):][:len(self._loop.carries)]):
            atom = body.outvars[k]
            self._next[of_body[v]] = number = self._of(atom, of_body)
            self._at_end.setdefault(number, atom)
        asked = set(self._numbers[0].values()) if len(self._numbers) > 1 else set()
        for program, numbers in zip(self._loop.programs, self._numbers, strict=True):
            for eqn in program.jaxpr.eqns:
                self._note_next(eqn, numbers, asked if numbers is of_body else set())

    def _note_next(self, eqn: JaxprEqn, numbers: Mapping[Var, int], asked: set[int]) -> None:
        """Note what an equation's results are in the next turn; those that are `asked` for, the body shall compute."""
        for x in eqn.invars:
            if isinstance(x, Literal):
                self._next.setdefault(self._of(x, numbers), self._of(x, numbers))
                self._at_end.setdefault(self._of(x, numbers), x)
        operands = [self._of(x, numbers) for x in eqn.invars]
        if eqn.effects or not all(n in self._next for n in operands) or not self._may_be_carried(eqn):
            return
        outs, later = [numbers[v] for v in eqn.outvars], [self._next[n] for n in operands]
        if later == operands:
            ends: Sequence[int] = outs
        elif (key := key_of(eqn, later)) is None:
            return
        elif all(n in self._at_end for n in self._known.get(key, (0,))):
            ends = self._known[key]
        elif asked.issuperset(outs):
            added = [Var(v.aval) for v in eqn.outvars]
            self._eqns.append(eqn.replace(invars=[self._at_end[n] for n in later], outvars=added))
            ends = self._outs(eqn, key)
            self._at_end.update(zip(ends, added, strict=True))
        else:
            return
        for n, end in zip(outs, ends, strict=True):
            self._next.setdefault(n, end)
            self._makers.setdefault(n, (eqn, numbers))

    def _may_be_carried(self, eqn: JaxprEqn) -> bool:
        """Can a carry be what an equation computes? Of a loop that ends for each element of its condition by itself,
        carries keep what they are where it has ended: what is computed element by element does so, too."""
        ends = self._loop.programs[0].out_avals[0].ndim if len(self._loop.programs) > 1 else 0
        return may_run_before(eqn) and (ends == 0 or isinstance(kind_of(eqn), Scalar))

    def worth_carrying(self) -> list[int]:
        """Return the numbers of what is to be carried: the last values of what is computed alike, that pay."""
        wanted = {self._of(x, numbers) for program, numbers in zip(self._loop.programs, self._numbers, strict=True)
                  for x in program.jaxpr.outvars}
        for program, numbers in zip(self._loop.programs, self._numbers, strict=True):
            wanted.update(numbers[x] for eqn in program.jaxpr.eqns
                          if self._makers.keys().isdisjoint(numbers[v] for v in eqn.outvars)
                          for x in eqn.invars if isinstance(x, Var))
        carried: list[int] = []
        for n, (eqn, numbers) in sorted(self._makers.items(), reverse=True):
            if n in wanted and self._next[n] != n and self._pays(n, wanted):
                carried.append(n)
            elif n in wanted:
                wanted.update(self._of(x, numbers) for x in eqn.invars)
        return carried

    def _pays(self, n: int, wanted: set[int]) -> bool:
        """Is it more work to compute a value than to write and read it? What others want of it is computed anyway."""
        size, work, seen, pending = self._aval(n).size, 0, {n}, [n]
        while pending:
            eqn, numbers = self._makers[pending.pop()]
            work += work_of(eqn)
            new = {self._of(x, numbers) for x in eqn.invars} & self._makers.keys() - seen - wanted
            seen |= new
            pending += new
        return work >= LEAST and work > size * (WRITE + READ) and size <= MOST

    def _aval(self, n: int) -> ShapedArray:
        eqn, numbers = self._makers[n]
        return next(v.aval for v in eqn.outvars if numbers[v] == n)

    def at_first(self, carried: Sequence[int]) -> tuple[list[JaxprEqn], list[Atom]]:
        """Return what computes before the loop what is carried, and what it is."""
        outside: dict[int, Atom] = {}
        for program, numbers, consts in zip(self._loop.programs, self._numbers, self._loop.consts, strict=True):
            for v, x in zip(program.jaxpr.invars, (*consts, *self._loop.carries), strict=False):
                outside[numbers[v]] = x
        needed = set(carried)
        for n in sorted(self._makers, reverse=True):
            if n in needed:
                eqn, numbers = self._makers[n]
                needed.update(self._of(x, numbers) for x in eqn.invars)
        before: list[JaxprEqn] = []
        for n in sorted(self._makers.keys() & needed):
            eqn, numbers = self._makers[n]
            if n not in outside:
                results = [Var(v.aval) for v in eqn.outvars]
                before.append(eqn.replace(invars=[x if isinstance(x, Literal) else outside[numbers[x]]
                                                  for x in eqn.invars], outvars=results))
                outside.update((numbers[v], result) for v, result in zip(eqn.outvars, results, strict=True))
        return before, [outside[n] for n in carried]

    def with_carries(self, k: int, carried: Sequence[int]) -> ClosedJaxpr:
        """Return program `k`, which reads what is carried instead of computing it; the body returns it."""
        program, numbers, is_body = self._loop.programs[k], self._numbers[k], k == len(self._numbers) - 1
        jaxpr, eqns = program.jaxpr, self._eqns if is_body else program.jaxpr.eqns
        results = [self._at_end[self._next[n]] for n in carried] if is_body else []
        inputs = {n: Var(self._aval(n)) for n in carried}
        replaced = Substitution()
        replaced.update((v, inputs[n]) for v, n in numbers.items() if n in inputs)
        middle = len(self._loop.consts[k]) + len(self._loop.carries)
        last = len(self._loop.carries) if is_body else len(jaxpr.outvars)
        outvars = [*jaxpr.outvars[:last], *results, *jaxpr.outvars[last:]]
        return dce(ClosedJaxpr(jaxpr.replace(
            invars=[*jaxpr.invars[:middle], *inputs.values(), *jaxpr.invars[middle:]],
            eqns=[replaced.in_equation(eqn) for eqn in eqns], outvars=[replaced[x] for x in outvars]), program.consts))
