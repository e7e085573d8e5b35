"""What each pass did: which equations it merged, moved, rewrote and removed, and the lines that it changed.

A variable has one name in all passes, so that a line that differs is an equation that differs.
"""
from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tinytrace.api.steps import Form, Step
from tinytrace.codegen.ir.printer import to_lines
from tinytrace.codegen.passes.pipeline import PASSES as KERNEL_PASSES
from tinytrace.codegen.plan.names import Names
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, subjaxprs
from tinytrace.passes.multiply_add import fuse_multiply_add
from tinytrace.passes.simplify import OF_BODIES
from tinytrace.passes.simplify import PASSES as JAXPR_PASSES
from tinytrace.records import NamedTuple

LONGEST = 300
"""Lines of a difference that are shown."""
MEANINGS = {run.__name__: (run.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            for run in (*JAXPR_PASSES, *OF_BODIES, fuse_multiply_add, *KERNEL_PASSES)}
MEANINGS["bodies"] = "All of these passes, on the bodies of loops and on branches."


class Change(NamedTuple):
    """What one pass did to a program.

    Args:
      name, meaning: of the pass.
      language: what it rewrites, jaxpr or kernels.
      removed: equations that no line stands for any more.
      merged: equations that share a line with others now, and did not before.
      moved: those whose lines stand elsewhere.
      rewritten: those whose lines read differently.
      lines: the lines that it took away and put there, and some around them, marked as in a unified diff.
    """

    name: str
    meaning: str
    language: str
    removed: tuple[int, ...]
    merged: tuple[int, ...]
    moved: tuple[int, ...]
    rewritten: tuple[int, ...]
    lines: tuple[str, ...]

    @property
    def touched(self) -> tuple[int, ...]:
        """The equations that the pass did anything to."""
        return tuple(sorted({*self.removed, *self.merged, *self.moved, *self.rewritten}))

    def summary(self) -> str:
        """Return what it did, in a few words."""
        counts = [(len(self.removed), "removed"), (len(self.merged), "merged"), (len(self.moved), "moved"),
                  (len(self.rewritten), "rewritten")]
        said = [f"{n} {'equation' if n == 1 else 'equations'} {what}" for n, what in counts if n]
        return ", ".join(said) or ("lines changed that are no equation's" if self.lines else "nothing to do")


class _Line(NamedTuple):
    text: str
    equations: tuple[int, ...]


def changes(steps: Iterable[Step], numbers: Mapping[int, int]) -> list[Change]:
    """Return what each pass did; numbers: those of the equations of the program as it was traced, by their ids."""
    names = Names()
    lines: dict[int, list[_Line]] = {}  # by the form: what one pass leaves is what the next one finds

    def listed(form: Form) -> list[_Line]:
        if id(form) not in lines:
            lines[id(form)] = [_Line(text, tuple(sorted({numbers[k] for k in ids if k in numbers})))
                               for text, ids in _listing(form, names)]
        return lines[id(form)]

    return [_change(step, listed(step.before), listed(step.after)) for step in steps]


def _listing(form: Form, names: Names) -> Iterator[tuple[str, Iterable[int]]]:
    if isinstance(form, ClosedJaxpr):
        return _equations(form.jaxpr, names, "")
    return iter(to_lines(form))


def _equations(jaxpr: Jaxpr, names: Names, indent: str) -> Iterator[tuple[str, Iterable[int]]]:
    for eqn in jaxpr.eqns:
        yield indent + names.text(eqn), eqn.ids
        for inner in subjaxprs(eqn.params):
            yield from _equations(inner, names, indent + "    ")
    results = " ".join(names.letters[x] for x in jaxpr.outvars)
    yield f"{indent}in ({results})", ()


def _change(step: Step, before: Sequence[_Line], after: Sequence[_Line]) -> Change:
    language = "jaxpr" if isinstance(step.after, ClosedJaxpr) else "kernels"
    old, new = [line.text for line in before], [line.text for line in after]
    blocks = difflib.SequenceMatcher(None, old, new).get_opcodes()
    taken = [line for tag, begin, end, _, _ in blocks if tag != "equal" for line in before[begin:end]]
    put = [line for tag, _, _, begin, end in blocks if tag != "equal" for line in after[begin:end]]
    left = _ids(after)
    removed = _ids(before) - left
    merged = {k for line in put if len(line.equations) > 1 for k in line.equations} - \
             {k for line in before if len(line.equations) > 1 for k in line.equations}
    same = {line.text.strip() for line in taken} & {line.text.strip() for line in put}
    moved = _ids(line for line in put if line.text.strip() in same) - merged
    rewritten = (_ids(put) | (_ids(taken) & left)) - merged - moved - removed
    return Change(step.name, MEANINGS.get(step.name, ""), language, tuple(sorted(removed)), tuple(sorted(merged)),
                  tuple(sorted(moved)), tuple(sorted(rewritten)), tuple(_shown(blocks, old, new)))


def _shown(blocks: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the lines that differ, with one line before and behind each place."""
    rows: list[str] = []
    for k, (tag, begin, end, new_begin, new_end) in enumerate(blocks):
        if tag != "equal":
            rows += [f"-{line}" for line in old[begin:end]] + [f"+{line}" for line in new[new_begin:new_end]]
        elif len(blocks) > 1:
            same = [f" {line}" for line in old[begin:end]]
            first, last = same[:1] if k else [], same[-1:] if k + 1 < len(blocks) else []
            rows += same if len(same) <= len(first) + len(last) else [*first, "...", *last] if k else ["...", *last]
    if rows and blocks[-1][0] == "equal" and len(blocks) > 1 and rows[-1] == "...":
        rows.pop()
    return rows if len(rows) <= LONGEST else [*rows[:LONGEST], f"... and {len(rows) - LONGEST} lines more"]


def _ids(lines: Iterable[_Line]) -> set[int]:
    return {k for line in lines for k in line.equations}
