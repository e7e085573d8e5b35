"""What each pass made of a program, jaxpr passes first, then kernel passes: `lowered.passes`."""
from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeAlias

from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.records import NamedTuple

if TYPE_CHECKING:
    from tinytrace.codegen.program import Kernels

Form: TypeAlias = "ClosedJaxpr | Kernels"


class Step(NamedTuple):
    """One pass: its name, and the program before and after it, the values that the compiler itself used."""

    name: str
    before: Form
    after: Form

    @property
    def changed(self) -> bool:
        """Did the pass change anything?"""
        return _text(self.before) != _text(self.after)

    def diff(self) -> str:
        """Return the lines that the pass took away and those that it put there."""
        lines = difflib.unified_diff(_text(self.before).splitlines(), _text(self.after).splitlines(),
                                     "before", "after", lineterm="", n=1)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        lines = self.diff().splitlines()[2:]
        taken, put = (sum(line.startswith(sign) for line in lines) for sign in "-+")
        return f"{self.name}: {f'{taken} lines became {put}' if lines else 'nothing to do'}"


class Steps(list[Step]):
    """All passes in their order; printed, what each of them changed."""

    def __init__(self, first: Form | None = None) -> None:
        super().__init__()
        self.last = first

    def see(self, name: str, form: Form) -> None:
        """Add what a pass made of the last form; a change of language is no pass."""
        if self.last is not None and type(self.last) is type(form):
            self.append(Step(name, self.last, form))
        self.last = form

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__


def _text(form: Form) -> str:
    return str(form) if isinstance(form, ClosedJaxpr) else form.as_text()
