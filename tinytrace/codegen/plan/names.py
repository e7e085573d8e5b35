"""Names in C: the jaxpr's letters where they may stand, and numbered ones beside them where a letter is taken."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinytrace.codegen.ir.equations import Equation, Value
from tinytrace.codegen.plan.reserved import is_word
from tinytrace.core.jaxpr import Atom, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.printer import VarNames

_OWN = frozenset(["buffers", "host", "work", "ctx", "begin", "end", "status", "lane", "chunk", "block"])
"""The names that the code generator gives itself."""


class Names:
    """The names of one translation unit."""

    def __init__(self) -> None:
        self.letters = VarNames()
        self._taken = set(_OWN)
        self._identifiers: dict[Var, str] = {}

    def letter(self, jaxpr: Jaxpr) -> None:
        """Give the variables of `jaxpr` letters in the order of printing; anew, when a program occurs a second time."""
        for v in [*jaxpr.constvars, *jaxpr.invars, *(v for eqn in jaxpr.eqns for v in eqn.outvars)]:
            if type(v) is not DropVar:
                self._identifiers.pop(v, None)
                self.letters.renew(v)

    def __getitem__(self, var: Var) -> str:
        """Return the C name of a variable of the jaxpr."""
        name = self._identifiers.get(var)
        if name is None:
            letter = "unused" if type(var) is DropVar else self.letters[var]
            name = self._identifiers[var] = self.fresh(letter)
        return name

    def fresh(self, wish: str) -> str:
        """Return `wish`, or `wish` with a number when something else has that name, or it means something in C."""
        name, k = wish, 1
        while name in self._taken or is_word(name):
            name, k = f"{wish}_{k}", k + 1
        self._taken.add(name)
        return name

    def text(self, eqn: JaxprEqn) -> str:
        """Return an equation in the jaxpr's notation and letters, in one line."""
        return str(self.equation(eqn, lambda var, letter: Value((letter,), var.aval.str_short())))

    def equation(self, eqn: JaxprEqn, value_of: Callable[[Var, str], Value]) -> Equation:
        """Return an equation in the jaxpr's notation, without programs and functions in its parameters.

        value_of: what is shown of a variable, whose name in C or letter it gets.
        """
        def value(x: Atom) -> Value:
            if isinstance(x, Literal):
                return Value((self.letters[x],), is_number=True)
            return value_of(x, self._identifiers.get(x) or self.letters[x])

        params_shown = eqn.primitive.pp_params(eqn.params) if eqn.params else {}
        shown = [f"{k}={_in_one_line(v)}" for k, v in params_shown.items() if _is_plain(v)]
        params = f"[{' '.join(shown)}]" if shown else ""
        return Equation(tuple(map(value, eqn.outvars)), eqn.primitive.name, params, tuple(map(value, eqn.invars)))


def _is_plain(value: object) -> bool:
    """Is a parameter one whose text is the same in every process?"""
    if type(value) is tuple:  # not the many fields of a named one
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str, np.dtype, np.generic))


def _in_one_line(value: object) -> object:
    return repr(value) if isinstance(value, str) and not value.isprintable() else value
