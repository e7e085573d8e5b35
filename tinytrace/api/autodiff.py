"""Differentiation as the user calls it: jvp and linearize push tangents forward, vjp pulls cotangents back."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.flattening import FlatFunction, check_argument, check_callable, long_type, value_type
from tinytrace.api.signatures import function_name
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.dtypes import FLOAT0, dtype_of, is_inexact, is_integer
from tinytrace.core.jaxpr import Jaxpr
from tinytrace.core.tangents import UndefinedPrimal
from tinytrace.core.trees import Partial, PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms import jvp as forward
from tinytrace.transforms import linearize as linear
from tinytrace.transforms.linearize import Linearized
from tinytrace.transforms.partial_eval import Unknown, partial_eval
from tinytrace.transforms.transpose import backward_pass
from tinytrace.transforms.zeros import instantiate_zeros


@api_boundary
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> Any:
    """Evaluate `fun` at `primals` and its derivative there along `tangents`.

    The tangent of an integer has dtype float0.

    Returns: (outputs, tangents of the outputs), and the auxiliary output with `has_aux`.
    Raises: TypeError or ValueError if tangents do not match primals in tree, dtype or shape.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.jvp.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.jvp(jnp.sin, (0.1,), (0.2,))
    (Array(0.09983342, dtype=float32, weak_type=True), Array(0.19900084, dtype=float32, weak_type=True))
    """
    check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("primal and tangent arguments to jax.jvp must be tuples or lists; "
                        f"found {type(primals).__name__} and {type(tangents).__name__}.")
    flat_primals, tree = tree_flatten(primals)
    flat_tangents, tangent_tree = tree_flatten(tangents)
    if tree != tangent_tree:
        raise TypeError("primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree "
                        f"structure {tree} whereas tangents have tree structure {tangent_tree}.")
    for primal, tangent in zip(flat_primals, flat_tangents, strict=True):
        _check_tangent(primal, tangent)
    flat_fun = FlatFunction(fun, tree, has_aux)
    outs, out_tangents, aux = forward.jvp(flat_fun, flat_primals, flat_tangents, has_aux)
    result = tree_unflatten(flat_fun.out_tree, outs), tree_unflatten(flat_fun.out_tree, out_tangents)
    return (*result, tree_unflatten(flat_fun.aux_tree, aux)) if has_aux else result


def _check_tangent(primal: Any, tangent: Any) -> None:
    check_argument(primal)
    check_argument(tangent)
    expected, got = aval_of(primal).to_tangent_aval().dtype, dtype_of(tangent)
    if expected != got:
        raise TypeError("primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of "
                        "int/bool primal dtype the tangent dtype must be float0.Got primal dtype "
                        f"{dtype_of(primal)} and so expected tangent dtype {expected}, but got tangent dtype {got} "
                        "instead.")
    if np.shape(primal) != np.shape(tangent):
        raise ValueError("jvp called with different primal and tangent shapes;Got primal shape "
                         f"{np.shape(primal)} and tangent shape as {np.shape(tangent)}")


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Evaluate `fun` at `primals` and return its derivative there as a function of tangents.

    Like `jvp` with its work on the primals done once, for use with many tangents; the residuals are kept alive.

    Returns: (outputs, function of tangents), and the auxiliary output with `has_aux`.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.linearize.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> y, f_jvp = jax.linearize(lambda x: 3. * jnp.sin(x) + jnp.cos(x / 2.), 2.)
    >>> f_jvp(3.)
    Array(-5.007528, dtype=float32, weak_type=True)
    """
    check_callable(fun)
    leaves, in_tree = tree_flatten(primals)
    flat_fun = FlatFunction(fun, in_tree, has_aux)
    linearized = linear.linearize(flat_fun, leaves, has_aux)
    out = tree_unflatten(flat_fun.out_tree, linearized.outs)
    pushforward = Partial(functools.partial(_push, linearized.jaxpr, linearized.out_tangents,
                                            [(aval_of(x), value_type(x)) for x in leaves], in_tree,
                                            flat_fun.out_tree), linearized.residuals)
    return (out, pushforward, tree_unflatten(flat_fun.aux_tree, linearized.aux)) if has_aux else (out, pushforward)


@api_boundary
def _push(jaxpr: Jaxpr, out_tangents: list[Any], primals: list[tuple[ShapedArray, str]], in_tree: PyTreeDef,
          out_tree: PyTreeDef, residuals: list[Any], *tangents: Any) -> Any:
    leaves, tree = tree_flatten(tangents)
    if tree != in_tree:
        raise TypeError(f"Expected {in_tree}, got {tree}")
    for (primal, text), tangent in zip(primals, leaves, strict=True):
        if not _same_type(primal.to_tangent_aval(), aval_of(tangent)):
            raise ValueError("linearized function called on tangent values inconsistent with the original primal "
                             f"values: got {value_type(tangent)} for primal aval {text}")
    return tree_unflatten(out_tree, Linearized([], [], out_tangents, jaxpr, residuals).push(leaves))


@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()) -> Any:
    """Evaluate `fun` at `primals` and return the transpose of its derivative there, a function of cotangents.

    Returns: (outputs, function from cotangents of the outputs to a tuple with a cotangent for each of `primals`), and
    the auxiliary output with `has_aux`.
    Raises: TypeError if a primal is no array.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.vjp.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> out, f_vjp = jax.vjp(lambda x, y: (jnp.sin(x), jnp.cos(y)), 0.5, 1.0)
    >>> f_vjp((-0.7, 0.3))
    (Array(-0.61430776, dtype=float32, weak_type=True), Array(-0.2524413, dtype=float32, weak_type=True))
    """
    check_callable(fun)
    _refuse_reduce_axes("vjp", reduce_axes)
    leaves, in_tree = tree_flatten(primals)
    for leaf in leaves:
        check_argument(leaf)
    flat_fun = FlatFunction(fun, in_tree, has_aux)
    linearized = linear.linearize(flat_fun, leaves, has_aux)
    out = tree_unflatten(flat_fun.out_tree, linearized.outs)
    transposed = Partial(functools.partial(_pulled, linearized.out_tangents, linearized.jaxpr), linearized.residuals)
    pullback = Partial(functools.partial(_pull, function_name(fun), [aval_of(x) for x in linearized.outs], in_tree,
                                         flat_fun.out_tree), transposed)
    return (out, pullback, tree_unflatten(flat_fun.aux_tree, linearized.aux)) if has_aux else (out, pullback)


@api_boundary
def _pull(name: str, out_avals: list[ShapedArray], in_tree: PyTreeDef, out_tree: PyTreeDef,
          transposed: Callable[[list[Any]], list[Any]], *cts: Any) -> Any:
    if len(cts) != 1:
        raise TypeError(_TOO_MANY_COTANGENTS.format(name=name, count=len(cts)))
    leaves, tree = tree_flatten(cts[0])
    if tree != out_tree:
        raise ValueError(f"unexpected tree structure of argument to vjp function: got {tree}, but expected to match "
                         f"{out_tree}")
    for ct, aval in zip(leaves, out_avals, strict=True):
        expected, got = aval.to_tangent_aval(), aval_of(ct)
        if not _same_type(expected, got) and not (expected.dtype == FLOAT0 and expected.shape == got.shape):
            raise ValueError("unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got "
                             f"{long_type(got)}, but expected {long_type(expected)} because the corresponding output "
                             f"of the function {name} had JAX type {long_type(aval)}")
    return tree_unflatten(in_tree, transposed(leaves))


def _pulled(out_tangents: list[Any], jaxpr: Jaxpr, residuals: list[Any], cts: list[Any]) -> list[Any]:
    return Linearized([], [], out_tangents, jaxpr, residuals).pull(cts)


_TOO_MANY_COTANGENTS = """\
The function returned by `jax.vjp` applied to {name} was called with {count} arguments, but functions returned by \
`jax.vjp` must be called with a single argument corresponding to the single value returned by {name} (even if that \
returned value is a tuple or other container).

For example, if we have:

  def f(x):
    return (x, x)
  _, f_vjp = jax.vjp(f, 1.0)

the function `f` returns a single tuple as output, and so we call `f_vjp` with a single tuple as its argument:

  x_bar, = f_vjp((2.0, 2.0))

If we instead call `f_vjp(2.0, 2.0)`, with the values 'splatted out' as arguments rather than in a tuple, this error \
can arise."""


@api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()) -> Any:
    """Transpose a function that is promised to be linear; of `primals` only shapes and dtypes matter.

    Returns: a function from cotangents of the output to a tuple with a cotangent for each of `primals`.
    Raises: TypeError if the function mixes integers and floats; NotImplementedError where it is not linear.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.linear_transpose.html.

    >>> import tinytrace as jax
    >>> jax.linear_transpose(lambda x, y: 0.5 * x - 0.5 * y, 1., 1.)(1.0)
    (Array(0.5, dtype=float32, weak_type=True), Array(-0.5, dtype=float32, weak_type=True))
    """
    _refuse_reduce_axes("transpose", reduce_axes)
    leaves, in_tree = tree_flatten(primals)
    in_avals = [_abstract(x) for x in leaves]
    flat_fun = FlatFunction(fun, in_tree)
    jaxpr, outs, residuals = partial_eval(flat_fun, [Unknown(aval) for aval in in_avals], instantiate=True)
    jaxpr, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    out_avals = [out.aval for out in outs]
    in_dtypes, out_dtypes = ([aval.dtype for aval in avals] for avals in (in_avals, out_avals))
    if not (all(map(is_inexact, in_dtypes + out_dtypes)) or all(map(is_integer, in_dtypes + out_dtypes))):
        raise TypeError("linear_transpose only supports [float or complex] -> [float or complex], and integer -> "
                        f"integer functions, but got {in_dtypes} -> {out_dtypes}.")
    return Partial(functools.partial(_transposed, jaxpr, in_avals, out_avals, in_tree, flat_fun.out_tree), residuals)


def _transposed(jaxpr: Jaxpr, in_avals: list[ShapedArray], out_avals: list[ShapedArray], in_tree: PyTreeDef,
                out_tree: PyTreeDef, residuals: list[Any], ct: Any) -> Any:
    leaves, tree = tree_flatten(ct)
    if tree != out_tree:
        raise TypeError(f"cotangent tree does not match function output, expected {out_tree} but got {tree}")
    if not all(_same_type(aval, aval_of(x)) for aval, x in zip(out_avals, leaves, strict=True)):
        raise TypeError("cotangent type does not match function output, "
                        f"expected {tuple(out_avals)} but got {leaves}")
    cts = backward_pass(jaxpr, residuals, [UndefinedPrimal(aval) for aval in in_avals], leaves, named=True)
    return tree_unflatten(in_tree, [instantiate_zeros(ct) for ct in cts])


def _abstract(x: Any) -> ShapedArray:
    """Return the type of an array, or of anything that has a shape and a dtype."""
    if not hasattr(x, "aval") and hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(tuple(x.shape), dtype_of(x))
    return aval_of(x)


def _same_type(a: ShapedArray, b: ShapedArray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype


def _refuse_reduce_axes(name: str, reduce_axes: Sequence[Any]) -> None:
    if reduce_axes:
        raise NotImplementedError(f"reduce_axes argument to {name} is deprecated")
