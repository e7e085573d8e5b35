"""`jax.experimental.checkify`: checks inside programs that are answered outside, which are not here yet.

What libraries mention of it refuses to be used.
"""
from __future__ import annotations

from tinytrace.missing import refused

_WHY = ("raise from a callback instead, jax.debug.callback(function, x), or set jax_debug_nans; an error in a callback "
        "leaves the compiled program as it is")

Error = refused("jax.experimental.checkify.Error", _WHY)
JaxRuntimeError = refused("jax.experimental.checkify.JaxRuntimeError", _WHY)
check = refused("jax.experimental.checkify.check", _WHY)
check_error = refused("jax.experimental.checkify.check_error", _WHY)
checkify = refused("jax.experimental.checkify.checkify", _WHY)
debug_check = refused("jax.experimental.checkify.debug_check", _WHY)


class ErrorCategory:
    """A kind of mistake that a check finds."""


class FailedCheckError(ErrorCategory):
    """Of the user's own checks."""


class NaNError(ErrorCategory):
    """A result that is NaN."""


class OOBError(ErrorCategory):
    """An index out of bounds."""


class DivisionByZeroError(ErrorCategory):
    """A division by zero."""


user_checks = frozenset({FailedCheckError})
nan_checks = frozenset({NaNError})
index_checks = frozenset({OOBError})
div_checks = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks
