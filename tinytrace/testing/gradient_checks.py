"""Derivatives against differences: is what a rule says about `f` true of `f`?

In one random direction, which costs two evaluations of `f` whatever its size: the tangent must agree with the central
difference, and the cotangent with the tangent, `<J dx, ct> = <dx, J^T ct>`. For higher orders the derivative function
is checked in the same way.

Source: autograd's `check_grads`; https://jax.readthedocs.io/en/latest/jax.test_util.html.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.autodiff import jvp, vjp
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import BFLOAT16, FLOAT0, dtype_of, is_complex, is_inexact
from tinytrace.core.trees import tree_leaves, tree_map

EPS = 1e-4
"""The step of the differences."""

Tolerance = float | dict[Any, float] | None
_TOLERANCE = {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 2e-3, np.dtype(np.float64): 1e-5,
              np.dtype(np.complex64): 1e-3, np.dtype(np.complex128): 1e-5}


def check_grads(f: Callable[..., Any], args: Sequence[Any], order: int, modes: Sequence[str] = ("fwd", "rev"),
                atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None) -> None:
    """Check the derivatives of `f` at `args` up to `order`, forward (`jvp`) and reverse (`vjp`), and mixed.

    Tolerances are one number, or a number per dtype; the defaults suit each dtype. float64 needs `enable_x64`.

    Raises: AssertionError where a derivative is wrong, naming the chain of transformations.

    >>> import tinytrace.numpy as jnp
    >>> from tinytrace.test_util import check_grads
    >>> check_grads(lambda x: jnp.sin(x) * x, (1.5,), order=2)
    """
    _check(f, tuple(args), order, tuple(modes), {"atol": atol, "rtol": rtol, "eps": eps or EPS}, "")


def _check(f: Callable[..., Any], args: tuple[Any, ...], order: int, modes: tuple[str, ...], options: dict[str, Any],
           chain: str) -> None:
    name = f" of {chain}" if chain else ""
    if "fwd" in modes:
        check_jvp(f, functools.partial(jvp, f), args, err_msg=f"JVP{name}", **options)
        if order > 1:
            _check(functools.partial(jvp, f), (args, args), order - 1, modes, options, f"JVP{name}")
    if "rev" in modes:
        check_vjp(f, functools.partial(vjp, f), args, err_msg=f"VJP{name}", **options)
        if order > 1:
            _check(functools.partial(_pull_own_value, f), args, order - 1, modes, options, f"VJP{name}")


def _pull_own_value(f: Callable[..., Any], *args: Any) -> Any:
    out, pullback = vjp(f, *args)
    return pullback(out)


def check_jvp(f: Callable[..., Any], f_jvp: Callable[..., Any], args: Sequence[Any], atol: Tolerance = None,
              rtol: Tolerance = None, eps: float = EPS, err_msg: str = "") -> None:
    """Check that `f_jvp(args, tangents)` gives `f(*args)` and its central difference along `tangents`.

    Raises: AssertionError if it does not.
    """
    rng = np.random.RandomState(0)
    tangents = tree_map(lambda x: _random_like(rng, x), tuple(args))
    out, out_tangent = f_jvp(tuple(args), tangents)
    _compare(out, f(*args), atol, rtol, f"{err_msg} primal".strip())
    _compare(out_tangent, difference(f, args, tangents, eps), atol, rtol, f"{err_msg} tangent".strip())


def check_vjp(f: Callable[..., Any], f_vjp: Callable[..., Any], args: Sequence[Any], atol: Tolerance = None,
              rtol: Tolerance = None, eps: float = EPS, err_msg: str = "") -> None:
    """Check that `f_vjp(*args)` gives `f(*args)` and a function that is the transpose of its central difference.

    Raises: AssertionError if it does not.
    """
    rng = np.random.RandomState(0)
    out, pullback = f_vjp(*args)
    _compare(out, f(*args), atol, rtol, f"{err_msg} primal".strip())
    tangents = tree_map(lambda x: _random_like(rng, x), tuple(args))
    cotangent = tree_map(lambda x: _random_like(rng, x), out)
    pulled = _inner_product(tangents, _conjugate(pullback(_conjugate(cotangent))))
    pushed = _inner_product(difference(f, args, tangents, eps), cotangent)
    _compare(pulled, pushed, atol, rtol, f"{err_msg} cotangent projection".strip())


def difference(f: Callable[..., Any], args: Sequence[Any], tangents: Any, eps: float) -> Any:
    """Return the central difference of `f` at `args` along `tangents`, as NumPy arrays."""
    def at(step: float) -> Any:
        return f(*tree_map(lambda x, t: _moved(x, t, step), tuple(args), tangents))

    return tree_map(lambda after, before: _quotient(after, before, eps), at(eps), at(-eps))


def _moved(x: Any, tangent: Any, step: float) -> Any:
    if tangent.dtype == FLOAT0:
        return x
    moved = np.asarray(np.asarray(x) + step * tangent, tangent.dtype)
    return moved.item() if isinstance(x, float) else moved


def _quotient(after: Any, before: Any, eps: float) -> Any:
    after, before = np.asarray(after), np.asarray(before)
    if not is_inexact(after.dtype):
        return np.zeros(after.shape, FLOAT0)
    with np.errstate(invalid="ignore"):
        change = np.where(after == before, 0, after - before)  # also where both are the same infinity
    return np.asarray(change * (0.5 / eps), after.dtype)


def _random_like(rng: np.random.RandomState, x: Any) -> Any:
    """Return a random tangent of `x`."""
    aval = aval_of(x).to_tangent_aval()
    if aval.dtype == FLOAT0:
        return np.zeros(aval.shape, FLOAT0)
    drawn = np.asarray(rng.randn(*aval.shape), aval.dtype)
    return drawn + aval.dtype.type(1j) * np.asarray(rng.randn(*aval.shape), aval.dtype) if is_complex(aval.dtype) \
        else drawn


def _conjugate(tree: Any) -> Any:
    """Return cotangents as directions: the cotangents of complex numbers are conjugates here, as in JAX."""
    return tree_map(lambda x: np.conj(x) if is_complex(dtype_of(x, canonical=False)) else x, tree)


def _inner_product(xs: Any, ys: Any) -> Any:
    pairs = zip(map(np.asarray, tree_leaves(xs)), map(np.asarray, tree_leaves(ys)), strict=True)
    return sum(np.vdot(x, y).real for x, y in pairs if FLOAT0 not in (x.dtype, y.dtype))


def _compare(got: Any, wanted: Any, atol: Tolerance, rtol: Tolerance, message: str) -> None:
    tree_map(lambda x, y: _compare_arrays(np.asarray(x), np.asarray(y), atol, rtol, message), got, wanted)


def _compare_arrays(got: Any, wanted: Any, atol: Tolerance, rtol: Tolerance, message: str) -> None:
    assert got.shape == wanted.shape, f"{message}: shape {got.shape} instead of {wanted.shape}"
    if FLOAT0 in (got.dtype, wanted.dtype):
        return
    limits = [max(_tolerance(got.dtype, tol), _tolerance(wanted.dtype, tol)) * got.size for tol in (atol, rtol)]
    wide = complex if is_complex(got.dtype) or is_complex(wanted.dtype) else float
    np.testing.assert_allclose(got.astype(wide), wanted.astype(wide), atol=limits[0], rtol=limits[1],
                               err_msg=message)


def _tolerance(dtype: Any, given: Tolerance) -> float:
    if isinstance(given, (int, float)):
        return given
    own = {np.dtype(key): value for key, value in (given or {}).items()}
    if dtype == BFLOAT16:
        return own.get(dtype, 1e-1)
    return own.get(dtype, _TOLERANCE.get(dtype, 0.0))
