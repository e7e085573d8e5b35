"""Variables that stand for others: what a pass that removes equations leaves to the equations after them."""
from __future__ import annotations

from collections.abc import Iterable

from tinytrace.core.jaxpr import Atom, JaxprEqn, Literal, Var


class Substitution:
    """A growing map from variables to the atoms that take their places."""

    def __init__(self) -> None:
        self._atoms: dict[Var, Atom] = {}

    def update(self, pairs: Iterable[tuple[Var, Atom]]) -> None:
        """Let each variable be replaced by the atom beside it."""
        for var, atom in pairs:
            self._atoms[var] = self[atom]

    def __getitem__(self, atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else self._atoms.get(atom, atom)

    def in_equation(self, eqn: JaxprEqn) -> JaxprEqn:
        """Return `eqn` with its operands replaced: itself when nothing changes."""
        if not self._atoms:
            return eqn
        invars = [self[x] for x in eqn.invars]
        return eqn if all(x is y for x, y in zip(invars, eqn.invars, strict=True)) else eqn.replace(invars=invars)
