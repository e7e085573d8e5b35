"""`f.cache`, `tinytrace.cache`: what is remembered, as mappings that print as tables."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tinytrace import runtime
from tinytrace._dispatch import calls_counted
from tinytrace.api.call_keys import CallKey, described
from tinytrace.api.jit_cache import CompiledCall, JitCache, JitOptions, LookupKey, all_caches
from tinytrace.api.outside import inner_function
from tinytrace.api.signatures import signature_of
from tinytrace.core.views.tables import html_table, text_table
from tinytrace.records import dataclass, replace
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.util import PACKAGE_FOLDER

STAGES = ("trace", "simplify", "plan", "emit", "compile", "load")


@dataclass(frozen=True)
class CacheEntry:
    """One kind of calls of a function: what answers it, what that cost, how often it was of use.

    Args:
      key: the kind.
      hits, misses: calls that found the entry, and those that had to make it.
      milliseconds: of each stage; 0 for what was found ready.
      origin: where the machine code came from: `compiler`, `disk`, `shared disk`, `memory` (an equal program had it
        already), `loops` (such as are there answer it), `interpreter` (there is no compiler), `nothing` (there is
        nothing to compute).
      nbytes, kernels: the size of the machine code, and of how many kernels it is.
      last_use: how many counted calls, of all functions, ago.
      made_by: the user's line that made the first such call.
      artifact, path: the key of the machine code, and its file.
    """

    key: CallKey
    hits: int
    misses: int
    milliseconds: dict[str, float]
    origin: str
    nbytes: int
    kernels: int
    last_use: int
    made_by: str
    artifact: ArtifactKey | None
    path: str

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "key": self.key.to_json(), "artifact": self.artifact and self.artifact.to_json()}


_TITLES = ("key", "call", "hits", "misses", *(f"{stage} ms" for stage in STAGES), "bytes", "kernels", "from",
           "last use")


class _Table(Mapping[CallKey, CacheEntry]):
    """A mapping from keys to entries, read anew each time, that prints as a table."""

    def entries(self) -> dict[CallKey, CacheEntry]:
        """The entries that there are now."""
        raise NotImplementedError

    def __getitem__(self, key: CallKey) -> CacheEntry:
        return self.entries()[key]

    def __iter__(self) -> Iterator[CallKey]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.entries())

    def to_json(self) -> list[dict[str, Any]]:
        """The entries as JSON values."""
        return [entry.to_json() for entry in self.values()]

    def __repr__(self) -> str:
        rows = _rows(self.entries())
        return text_table(_TITLES, rows) if rows else "nothing is remembered"

    def _repr_html_(self) -> str:
        return html_table(_TITLES, _rows(self.entries()))


class FunctionCache(_Table):
    """The calls of one jitted function, in the order in which they came."""

    def __init__(self, jitted: Any) -> None:
        self._jitted = jitted

    def entries(self) -> dict[CallKey, CacheEntry]:
        """The entries that there are now."""
        jitted = self._jitted
        return {key: _entry(key, call) for key, call in _described(jitted._fun, jitted._options, jitted._cache)}

    def __len__(self) -> int:
        return len(self._jitted._cache.calls)

    @property
    def traces(self) -> int:
        """How often the function was traced in this process."""
        return int(self._jitted._cache.traced)


class ProcessCache(_Table):
    """The calls of all functions that users have jitted in this process; `store` is what lies on disk."""

    def entries(self) -> dict[CallKey, CacheEntry]:
        """The entries that there are now."""
        found: dict[CallKey, CacheEntry] = {}
        for fun, options, tables in all_caches():
            if not is_of_library(fun):
                for key, call in _described(fun, options, tables):
                    own = _numbered(key, found)
                    found[own] = _entry(own, call)
        return found

    @property
    def store(self) -> Any:
        """The compiled programs on disk: a `runtime.inventory.Inventory`."""
        return runtime.inventory.current_inventory()

    @property
    def stats(self) -> Any:
        """How many programs this process has compiled, found on disk, and found in memory."""
        return runtime.ladder.stats


cache = ProcessCache()


def call_key(jitted: Any, key: LookupKey) -> CallKey:
    """Return a look-up key of a jitted function as a value."""
    return described(key, jitted._fun, jitted._options, jitted._signature, jitted._cache.texts)


def is_of_library(fun: Callable[..., Any]) -> bool:
    """Is a function one of tinytrace's own?"""
    inner = inner_function(fun)
    return inner is not None and inner.__code__.co_filename.startswith(PACKAGE_FOLDER)


def _described(fun: Callable[..., Any], options: JitOptions,
               cache: JitCache) -> Iterator[tuple[CallKey, CompiledCall]]:
    signature = signature_of(fun)
    for key, call in cache.calls.items():
        yield described(key, fun, options, signature, cache.texts), call


def _numbered(key: CallKey, others: Mapping[CallKey, Any]) -> CallKey:
    """Return a key that is none of the others: two functions may have one name, as fresh lambdas do."""
    number, own = 1, key
    while own in others:
        number += 1
        own = replace(key, function=f"{key.function} #{number}")
    return own


def _entry(key: CallKey, call: CompiledCall) -> CacheEntry:
    program, record = call.program, call.record
    seconds = program.seconds if record.has_own_program else {}
    executable = program.__dict__.get("executable") if call.loop is None else None
    is_own = record.has_own_program or program.origin in ("nothing", "interpreter")
    origin = "loops" if call.loop is not None else program.origin if is_own else "memory"
    return CacheEntry(
        key=key, hits=call.counter.hits, misses=1, origin=origin,
        milliseconds={"trace": 1e3 * record.trace_seconds,
                      **{stage: 1e3 * seconds.get(stage, 0.0) for stage in STAGES[1:]}},
        nbytes=executable.size if executable else 0,
        kernels=len(program.generated.kernels) if "generated" in program.__dict__ else 0,
        last_use=calls_counted() - call.counter.last,
        made_by=str(record.made_by or "<unknown>"), artifact=executable.key if executable else None,
        path=executable.path if executable else "")


def _rows(entries: Mapping[CallKey, CacheEntry]) -> list[tuple[Any, ...]]:
    return [(key.digest[:8], str(key), entry.hits, entry.misses,
             *(f"{entry.milliseconds[stage]:.2f}".rjust(len(stage) + 3) for stage in STAGES), entry.nbytes,
             entry.kernels, entry.origin, _ago(entry.last_use)) for key, entry in entries.items()]


def _ago(last_use: int) -> str:
    return f"{last_use} calls ago" if last_use else "last call"


