"""`expect(traces=, compiles=)`: a block in which functions may be traced and compiled so often, and no more.

When it is not so, the error names each function, the leaf or flag that was new, and the user's line.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tinytrace.api.cache_view import is_of_library
from tinytrace.api.why import Why, explain_trace
from tinytrace.events import Event, listening
from tinytrace.transforms.staging import user_source


class UnexpectedWorkError(AssertionError):
    """More or less was traced or compiled than a block of `expect` says.

    Attributes: `whys`, one `Why` for each trace, with its KeyDiff.
    """

    def __init__(self, message: str, whys: list[Why]) -> None:
        self.whys = whys
        super().__init__(message)


class Work:
    """What was done so far in a block of `expect`."""

    def __init__(self) -> None:
        self.traces: list[tuple[str, Why]] = []
        """The line that called, and why it was traced."""
        self.loads: list[str] = []

    @property
    def compiles(self) -> int:
        """How many programs were compiled."""
        return self.loads.count("compiler")

    @property
    def disk_hits(self) -> int:
        """How many programs were found on disk."""
        return sum(origin in ("disk", "shared disk") for origin in self.loads)

    def hear(self, event: Event) -> None:
        """Count an event."""
        if event.kind == "load":
            self.loads.append(event.name)
        elif event.kind == "trace" and not is_of_library(event.subject[0]._fun):
            self.traces.append((str(user_source() or "<unknown>"), explain_trace(*event.subject)))

    def text(self) -> str:
        """Each trace with its reason."""
        lines = []
        for line, why in self.traces:
            lines.append(f"  {why.key.function} was traced at {line}: {why.reason}")
            lines += [f"    {row}" for row in why.diff]
        return "\n".join(lines)


@contextmanager
def expect(traces: int | None = None, compiles: int | None = None, disk_hits: int | None = None) -> Iterator[Work]:
    """Fail unless just so many functions are traced, programs compiled, and programs found on disk in this block.

    Traces of tinytrace's own functions do not count; what is not given may be any number.

    Raises: UnexpectedWorkError at the end of the block, with the KeyDiff of each trace.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> f = jax.jit(lambda x: 2 * x)
    >>> with jax.expect(traces=1):
    ...     _ = f(jnp.ones(3))
    ...     _ = f(jnp.zeros(3))
    """
    work = Work()
    with listening(work.hear):
        yield work
    wrong = [f"{got} {what} instead of {wanted}" for what, wanted, got in
             (("traces", traces, len(work.traces)), ("compiles", compiles, work.compiles),
              ("hits on disk", disk_hits, work.disk_hits)) if wanted is not None and got != wanted]
    if wrong:
        raise UnexpectedWorkError("\n".join([f"there were {', '.join(wrong)}", *filter(None, [work.text()])]),
                                  [why for _, why in work.traces])
