"""NaNs and infinities among the results of a call, for `debug_nans` and `debug_infs`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.jaxpr import ClosedJaxpr, eval_jaxpr
from tinytrace.core.numpy_calls import invalid_value
from tinytrace.core.trace import eval_context
from tinytrace.errors import nan_error


def find_nan(name: str, closed: ClosedJaxpr, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise FloatingPointError if a call of the compiled function or operation `name` gave one.

    closed: what it does; when that is several operations, they are run one by one, so that the error can name the one
    to blame. The error knows the outermost such computation, for the note that tells line and operands
    (`inspection.nan_notes`). `debug_nans` and `debug_infs` ask for this check.
    """
    found = invalid_value(results)
    if not found:
        return
    try:
        if len(closed.eqns) > 1:
            with eval_context():
                eval_jaxpr(closed.jaxpr, closed.consts, *args)
        raise nan_error(name, found)
    except FloatingPointError as error:
        vars(error)["computation"] = closed, args
        raise
