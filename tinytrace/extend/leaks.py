"""Names of `jax.core` about tracers that outlive their trace: which there are, and what JAX says of them."""
from __future__ import annotations

import gc
from typing import Any

from tinytrace.core.trace import Trace, Tracer
from tinytrace.transforms.scope import leak_error

TRACER_LEAK_DEBUGGER_WARNING = """\
JAX check_tracer_leaks behavior can trigger false positives when used with a debugger.
To avoid false positives and silence this warning, you can disable thread tracing using
the following:

  import threading
  threading.current_thread().pydev_do_not_trace = True
"""


def maybe_find_leaked_tracers(x: Any) -> list[Tracer]:
    """Return the tracers that somebody holds of a trace, given as `tracer._trace.main`.

    >>> held = []
    >>> out = jax.jit(lambda a: held.append(a) or a)(1.0)
    >>> maybe_find_leaked_tracers(held[0]._trace.main) == held
    True
    """
    gc.collect()  # what only refers to itself meets no user
    traces = [x] if isinstance(x, Trace) else [trace for trace in gc.get_referrers(x) if isinstance(trace, Trace)]
    return [tracer for tracer in gc.get_referrers(*traces) if isinstance(tracer, Tracer)]


def leaked_tracer_error(name: str, t: Any, tracers: list[Tracer]) -> Exception:
    """Return the error that says which tracers of `t`, a `name`, somebody holds, and who."""
    assert tracers
    return leak_error(f"{name} {t}", tracers)
