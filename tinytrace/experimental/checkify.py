"""`jax.experimental.checkify`: checks of values.

A check is made where values are known: outside of `jit`, under `grad` and `vmap` too. Checks in compiled programs,
whose answer comes out beside the result (`checkify`), are not here; what libraries mention of them refuses to be used.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.own_primitive import OwnPrimitive
from tinytrace.core.primitive import Primitive
from tinytrace.core.trees import tree_flatten, tree_leaves, tree_unflatten
from tinytrace.interpreters import ad, batching
from tinytrace.missing import refused

_WHY = ("raise from a callback instead, jax.debug.callback(function, x), or set jax_debug_nans; an error in a callback "
        "leaves the compiled program as it is")

Error = refused("jax.experimental.checkify.Error", _WHY)
check_error = refused("jax.experimental.checkify.check_error", _WHY)
checkify = refused("jax.experimental.checkify.checkify", _WHY)
debug_check = refused("jax.experimental.checkify.debug_check", _WHY)


class JaxRuntimeError(ValueError):
    """A check that failed."""


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Raise unless `pred`, a truth value, holds.

    Args: msg: a format, of arrays.
    Raises: JaxRuntimeError with the message; TypeError when `pred` is no scalar, or something else than arrays is to be
    formatted; ValueError in a program that is traced, where nobody knows whether it holds.

    >>> check(True, "never said")
    >>> check(False, "{x} is too large", x=np.float32(3))
    Traceback (most recent call last):
    JaxRuntimeError: 3.0 is too large (`check` failed)
    """
    if np.shape(pred) != () or aval_of(pred).dtype != np.dtype(bool):
        raise TypeError(f"check takes a scalar pred as argument, got {pred}")
    leaves, tree = tree_flatten((fmt_args, fmt_kwargs))
    for leaf in tree_leaves((fmt_args, fmt_kwargs)):
        if not hasattr(leaf, "dtype"):
            raise TypeError("Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                            f"{leaf!r} of type {type(leaf)}.")
    check_p.bind(pred, *leaves, msg=msg, tree=tree)


check_p = Primitive("check")
assert isinstance(check_p, OwnPrimitive)
check_p.multiple_results = True


@check_p.def_impl
def _check(pred: Any, *leaves: Any, msg: str, tree: Any) -> list[Any]:
    if not np.all(pred):
        args, kwargs = tree_unflatten(tree, leaves)
        raise JaxRuntimeError(f"{msg.format(*args, **kwargs)} (`check` failed)")
    return []


@check_p.def_abstract_eval
def _not_known(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    raise ValueError("Cannot abstractly evaluate a checkify.check which was not functionalized. This probably means "
                     "you tried to stage (jit/scan/pmap/...) a `check` without functionalizing it through "
                     "`checkify.checkify`.")


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    return check_p.bind(*primals, **params), []


def _batched(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[list[Any], list[Any]]:
    return check_p.bind(*args, **params), []


ad.primitive_jvps[check_p] = _jvp
batching.primitive_batchers[check_p] = _batched


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
