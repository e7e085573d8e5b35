"""What differs between two jaxprs, whatever their variables are called.

Equations are aligned first, by primitive, parameters and result types (the longest common subsequence); the variables
of aligned equations correspond, and operands that do not are a difference of their own. So one changed operand is one
row, not a change of everything behind it. Programs inside aligned equations are compared in the same way. Numbers are
the same if their values are (0.0 and -0.0 are not, NaN is itself): the text of a jaxpr does not say their types.
"""
from __future__ import annotations

import difflib
import html
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.records import NamedTuple


class DiffRow(NamedTuple):
    """One difference.

    Args:
      path: where it is: equation numbers and parameters, `3.jaxpr.1`; `in` and `out` are inputs and results.
      kind: `equation` (another one), `removed`, `added`, `params`, `operands`, `types` or `results`.
      left, right: the texts on both sides; empty where there is nothing.
    """

    path: str
    kind: str
    left: str
    right: str

    def __str__(self) -> str:
        lines = [f"- {line}" for line in self.left.splitlines()] + [f"+ {line}" for line in self.right.splitlines()]
        return "\n".join([f"@ {self.path} ({self.kind})", *lines])


class JaxprDiff(Sequence[DiffRow]):
    """The differences between two jaxprs, in the order of their equations; empty (and false) if there are none."""

    def __init__(self, rows: Sequence[DiffRow]) -> None:
        self.rows = tuple(rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JaxprDiff) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows)) or "no difference"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def diff(left: Jaxpr | ClosedJaxpr, right: Jaxpr | ClosedJaxpr) -> JaxprDiff:
    """Return what `right` has otherwise than `left`: nothing if only the names of variables differ.

    Types are compared as they print: weak types, which no jaxpr shows, do not count; nor do the values of constants.

    Raises: TypeError for what is no jaxpr.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> one, other = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0), jax.make_jaxpr(lambda x: jnp.cos(x) * 2)(1.0)
    >>> print(one.diff(other))
    @ 0 (equation)
    - a:f32[] = sin b
    + a:f32[] = cos b
    """
    if not isinstance(right, (Jaxpr, ClosedJaxpr)):
        raise TypeError(f"a jaxpr is compared with a jaxpr, not with a {type(right).__name__}: read a text with "
                        "tinytrace.parse_jaxpr")
    return JaxprDiff(list(_Comparison({}).programs(_open(left), _open(right), "")))


class _Comparison:
    """One comparison; `partner` maps the left variables to the right ones that they correspond to."""

    def __init__(self, partner: dict[Var, Var]) -> None:
        self.partner = partner

    def programs(self, left: Jaxpr, right: Jaxpr, path: str) -> Iterator[DiffRow]:
        for name, ours, theirs in (("const", left.constvars, right.constvars), ("in", left.invars, right.invars)):
            if _types(ours) != _types(theirs):
                yield DiffRow(f"{path}{name}", "types", _typed(ours), _typed(theirs))
            self.partner.update(zip(ours, theirs, strict=False))
        keys_left, keys_right = [list(map(_key, program.eqns)) for program in (left, right)]
        matcher = difflib.SequenceMatcher(None, keys_left, keys_right, autojunk=False)
        for tag, start, end, start_right, end_right in matcher.get_opcodes():
            if tag == "equal":
                for i, j in zip(range(start, end), range(start_right, end_right), strict=True):
                    yield from self.equations(left.eqns[i], right.eqns[j], f"{path}{i}")
                continue
            for i, j in itertools.zip_longest(range(start, end), range(start_right, end_right)):
                yield from self.unlike(left.eqns[i] if i is not None else None,
                                       right.eqns[j] if j is not None else None, f"{path}{i if j is None else j}")
        if not self.same_operands(left.outvars, right.outvars):
            yield DiffRow(f"{path}out", "results", _typed(left.outvars), _typed(right.outvars))

    def unlike(self, left: JaxprEqn | None, right: JaxprEqn | None, path: str) -> Iterator[DiffRow]:
        """One equation in the place of another: what reads the one may read the other, if the types are the same."""
        if left is not None and right is not None and _types(left.outvars) == _types(right.outvars):
            self.partner.update(zip(left.outvars, right.outvars, strict=True))
            yield DiffRow(path, "equation", str(left), str(right))
            return
        if left is not None:
            yield DiffRow(path, "removed", str(left), "")
        if right is not None:
            yield DiffRow(path, "added", "", str(right))

    def equations(self, left: JaxprEqn, right: JaxprEqn, path: str) -> Iterator[DiffRow]:
        self.partner.update(zip(left.outvars, right.outvars, strict=True))
        if not self.same_operands(left.invars, right.invars):
            yield DiffRow(path, "operands", str(left), str(right))
        if _shown(left) != _shown(right):
            yield DiffRow(path, "params", str(left), str(right))
            return
        for (name, ours), (_, theirs) in zip(_programs(left), _programs(right), strict=True):
            yield from _Comparison({}).programs(ours, theirs, f"{path}.{name}.")

    def same_operands(self, left: Sequence[Atom], right: Sequence[Atom]) -> bool:
        return len(left) == len(right) and all(map(self.same, left, right))

    def same(self, left: Atom, right: Atom) -> bool:
        if isinstance(left, Literal) or isinstance(right, Literal):
            return isinstance(left, Literal) and isinstance(right, Literal) and _number(left) == _number(right)
        return self.partner.get(left) is right


def _open(program: Jaxpr | ClosedJaxpr) -> Jaxpr:
    return program.jaxpr if isinstance(program, ClosedJaxpr) else program


def _key(eqn: JaxprEqn) -> tuple[Any, ...]:
    """Return what two equations must share to be aligned."""
    inner = tuple([name for name, _ in _programs(eqn)])
    return eqn.primitive.name, len(eqn.invars), tuple(_types(eqn.outvars)), inner, str(eqn.params.get("name"))


def _programs(eqn: JaxprEqn) -> list[tuple[str, Jaxpr]]:
    """Return the programs among the parameters, with their names, in the order of printing."""
    shown = eqn.primitive.pp_params(eqn.params)
    return [(name, inner) for name, value in shown.items() for inner in subjaxprs({name: value})]


def _shown(eqn: JaxprEqn) -> dict[str, str]:
    """Return the parameters that are no programs, as they print."""
    return {name: str(value) for name, value in eqn.primitive.pp_params(eqn.params).items()
            if not any(subjaxprs({name: value}))}


def _types(atoms: Sequence[Atom]) -> list[str]:
    return [atom.aval.str_short() for atom in atoms]


def _typed(atoms: Sequence[Atom]) -> str:
    return " ".join(f"{atom}:{atom.aval.str_short()}" if isinstance(atom, Literal) else atom.aval.str_short()
                    for atom in atoms)


def _number(literal: Literal) -> str:
    """Return a number as Python writes it, exact to the bit."""
    return repr(np.asarray(literal.val, literal.aval.dtype).item())
