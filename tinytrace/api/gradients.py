"""Gradients, Jacobians and Hessians: `vjp` of the cotangent 1; `jvp` or `vjp` of a whole basis at once, by `vmap`."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.autodiff import jvp, vjp
from tinytrace.api.flattening import as_argnums, check_argument, check_callable, described_as, select_arguments
from tinytrace.api.vmapping import vmap
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.dtypes import KeyType, dtype_of, is_complex, is_float, is_inexact, is_integer, is_weak, result_type
from tinytrace.core.tree_operations import tree_transpose
from tinytrace.core.trees import tree_flatten, tree_leaves, tree_map, tree_structure, tree_unflatten
from tinytrace.primitives.arithmetic import add
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.complex_numbers import real
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import broadcasted_iota
from tinytrace.primitives.shaping import reshape
from tinytrace.primitives.slicing import slice as lax_slice
from tinytrace.records import NamedTuple
from tinytrace.transforms.zeros import filled

ArgNums = int | Sequence[int]


class Differentiated(NamedTuple):
    """What `grad` remembers of itself on the function that it returns, for `show_stages`."""

    fun: Callable[..., Any]
    argnums: int | tuple[int, ...]
    has_aux: bool


def grad(fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, holomorphic: bool = False,
         allow_int: bool = False, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """Return the gradient of a scalar-valued function with respect to its arguments numbered `argnums`.

    With `has_aux`, `fun` returns (value, auxiliary output) and the gradient function (gradient, auxiliary output).
    With `allow_int`, the gradient with respect to integers is of dtype float0.

    Returns: a function of the arguments of `fun`; its result has the tree of the argument, or is a tuple of such.
    Raises: TypeError, when called, if inputs or output are not floating point or the output is no scalar.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.grad.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.grad(jnp.tanh)(0.2)
    Array(0.961043, dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @described_as(fun, f"Gradient of {{fun}} with respect to positional argument(s) {argnums}. Takes the same "
                       "arguments as {fun} but returns the gradient, which has the same shape as the arguments at "
                       f"positions {argnums}.")
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, g = both(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    vars(gradient)["differentiated"] = vars(both)["differentiated"]
    return gradient


def value_and_grad(fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, holomorphic: bool = False,
                   allow_int: bool = False, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """Return a function that evaluates both `fun` and its gradient; see `grad`.

    Returns: a function of the arguments of `fun` to (value, gradient), or ((value, auxiliary output), gradient).
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.value_and_grad.html.

    >>> import tinytrace as jax
    >>> jax.value_and_grad(lambda x: x ** 2)(3.)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to grad is deprecated")
    check_callable(fun)
    numbers = as_argnums(argnums)

    @described_as(fun, f"Value and gradient of {{fun}} with respect to positional argument(s) {argnums}. Takes the "
                       "same arguments as {fun} but returns a two-element tuple where the first element is the value "
                       "of {fun} and the second element is the gradient, which has the same shape as the arguments at "
                       f"positions {argnums}.")
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        _check_enough_arguments(numbers, args)
        selected_fun, selected = select_arguments(fun, numbers, args, kwargs)
        for leaf in tree_leaves(selected):
            _check_reverse_input("grad", holomorphic, allow_int, leaf)
        value, pullback, *aux = vjp(selected_fun, *selected, has_aux=has_aux)
        _check_scalar(value)
        _check_reverse_output("grad", holomorphic, value)
        gradients = pullback(filled(aval_of(value), 1))
        gradient = gradients[0] if isinstance(numbers, int) else gradients
        return ((value, *aux), gradient) if has_aux else (value, gradient)

    vars(value_and_gradient)["differentiated"] = Differentiated(fun, numbers, has_aux)
    return value_and_gradient


def jacfwd(fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable[..., Any]:
    """Return the Jacobian of `fun`, evaluated column by column: one `jvp` per input element, as one batch.

    Returns: a function to the tree of outputs, in each leaf of which stands the tree of inputs; a leaf of shape
    (outputs' shape, inputs' shape).
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.jacfwd.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.jacfwd(lambda x: x ** 2)(jnp.array([1., 2.]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    check_callable(fun)
    numbers = as_argnums(argnums)

    @described_as(fun, _JACOBIAN_DOC.format(argnums))
    def jacobian_of_fun(*args: Any, **kwargs: Any) -> Any:
        selected_fun, selected = select_arguments(fun, numbers, args, kwargs)
        tree_map(lambda x: _check_forward_input(holomorphic, x), selected)
        y, columns, *aux = vmap(lambda tangents: jvp(selected_fun, selected, tangents, has_aux=has_aux),
                                out_axes=(None, -1, None) if has_aux else (None, -1))(_standard_basis(selected))
        example = selected[0] if isinstance(numbers, int) else selected
        jacobian = tree_map(lambda leaf, arr: _unravel(example, -1, leaf, arr), y, columns)
        return (jacobian, *aux) if has_aux else jacobian

    return jacobian_of_fun


def jacrev(fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, holomorphic: bool = False,
           allow_int: bool = False) -> Callable[..., Any]:
    """Return the Jacobian of `fun`, evaluated row by row: one `vjp` per output element, as one batch.

    Returns: as `jacfwd` does.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.jacrev.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.jacrev(lambda x: x ** 2)(jnp.array([1., 2.]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    check_callable(fun)
    numbers = as_argnums(argnums)

    @described_as(fun, _JACOBIAN_DOC.format(argnums))
    def jacobian_of_fun(*args: Any, **kwargs: Any) -> Any:
        selected_fun, selected = select_arguments(fun, numbers, args, kwargs)
        tree_map(lambda x: _check_reverse_input("jacrev", holomorphic, allow_int, x), selected)
        y, pullback, *aux = vjp(selected_fun, *selected, has_aux=has_aux)
        tree_map(lambda x: _check_reverse_output("jacrev", holomorphic, x), y)
        rows = vmap(pullback)(_standard_basis(y))
        rows, example = (rows[0], selected[0]) if isinstance(numbers, int) else (rows, selected)
        by_input = tree_map(lambda leaf, arr: _unravel(y, 0, leaf, arr), example, rows)
        jacobian = tree_transpose(tree_structure(example), tree_structure(y), by_input)
        return (jacobian, *aux) if has_aux else jacobian

    return jacobian_of_fun


jacobian = jacrev

_JACOBIAN_DOC = ("Jacobian of {{fun}} with respect to positional argument(s) {0}. Takes the same arguments as {{fun}} "
                 "but returns the jacobian of the output with respect to the arguments at positions {0}.")


def hessian(fun: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable[..., Any]:
    """Return the matrix of second derivatives of `fun`: forward over reverse mode, `jacfwd(jacrev(fun))`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.hessian.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.hessian(lambda x: x[0] ** 3 - 2 * x[0] * x[1])(jnp.array([1., 2.]))
    Array([[ 6., -2.],
           [-2.,  0.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), argnums, has_aux=has_aux,
                  holomorphic=holomorphic)


# --- checks ----------------------------------------------------------------------------------------------------

def _check_enough_arguments(argnums: int | tuple[int, ...], args: Sequence[Any]) -> None:
    highest = argnums if isinstance(argnums, int) else max(argnums)
    if highest >= len(args):
        raise TypeError(f"differentiating with respect to {argnums=} requires at least {highest + 1} positional "
                        f"arguments to be passed by the caller, but got only {len(args)} positional arguments.")


def _check_scalar(x: Any) -> None:
    if not is_valid_type(x):
        raise TypeError(f"Gradient only defined for scalar-output functions. Output was {x}.")
    if aval_of(x).shape != ():
        raise TypeError(f"Gradient only defined for scalar-output functions. Output had shape: {aval_of(x).shape}.")


def _check_reverse_input(name: str, holomorphic: bool, allow_int: bool, x: Any) -> None:
    check_argument(x)
    aval = aval_of(x)
    _check_holomorphic(name, holomorphic, "inputs", aval)
    discrete = is_integer(aval.dtype) or aval.dtype.kind == "b" or isinstance(aval.dtype, KeyType)
    if discrete and not allow_int:
        raise TypeError(f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
                        f"np.inexact), but got {aval.dtype.name}. If you want to use Boolean- or integer-valued "
                        "inputs, use vjp or set allow_int to True.")
    if not discrete and not is_inexact(aval.dtype):
        raise TypeError(f"{name} requires numerical-valued inputs (input dtype that is a sub-dtype of np.bool_ or "
                        f"np.number), but got {aval.dtype.name}.")


def _check_reverse_output(name: str, holomorphic: bool, x: Any) -> None:
    aval = aval_of(x)
    if isinstance(aval.dtype, KeyType):
        raise TypeError(f"{name} with output element type {aval.dtype.name}")
    _check_holomorphic(name, holomorphic, "outputs", aval)
    if holomorphic:
        return
    if is_complex(aval.dtype):
        raise TypeError(f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but "
                        f"got {aval.dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
                        "differentiation of non-holomorphic functions involving complex outputs, use jax.vjp directly.")
    if not is_float(aval.dtype):
        raise TypeError(f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but "
                        f"got {aval.dtype.name}. For differentiation of functions with integer outputs, use jax.vjp "
                        "directly.")


def _check_forward_input(holomorphic: bool, x: Any) -> None:
    check_argument(x)
    aval = aval_of(x)
    if isinstance(aval.dtype, KeyType):
        raise TypeError(f"jacfwd with input element type {aval.dtype.name}")
    _check_holomorphic("jacfwd", holomorphic, "inputs", aval)
    if not holomorphic and not is_float(aval.dtype):
        raise TypeError("jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
                        "differentiation of non-holomorphic functions involving complex inputs or integer inputs, use "
                        "jax.jvp directly.")


def _check_holomorphic(name: str, holomorphic: bool, which: str, aval: ShapedArray) -> None:
    """Raise TypeError for `holomorphic=True` of numbers that are not complex."""
    if holomorphic and not is_complex(aval.dtype):
        raise TypeError(f"{name} with holomorphic=True requires {which} with complex dtype, "
                        f"but got {aval.dtype.name}.")


# --- bases -----------------------------------------------------------------------------------------------------

def _standard_basis(tree: Any) -> Any:
    """Return the unit vectors of `tree`, as a tree whose leaves count them along a leading axis."""
    leaves = tree_leaves(tree)
    count = sum(map(np.size, leaves))
    return _unravel(tree, 1, None, _identity(count, result_type(*leaves)))


def _identity(size: int, dtype: np.dtype[Any]) -> Any:
    rows, columns = (broadcasted_iota(np.int32, (size, size), axis) for axis in (0, 1))
    return convert_element_type(eq(add(rows, np.int32(0)), columns), dtype)


def _unravel(tree: Any, axis: int, example: Any, arr: Any) -> Any:
    """Cut `arr` along `axis` into pieces for the leaves of `tree`, each with the leaf's shape in place of the axis.

    Pieces take the dtype and weak type of `example`, or of the leaf if that is None.
    """
    leaves, treedef = tree_flatten(tree)
    shape = np.shape(arr)
    axis %= len(shape)
    ends = list(itertools.accumulate(map(np.size, leaves)))
    pieces = []
    for leaf, end in zip(leaves, ends, strict=True):
        like = leaf if example is None else example
        starts = [end - np.size(leaf) if i == axis else 0 for i in range(len(shape))]
        piece = lax_slice(arr, starts, [end if i == axis else size for i, size in enumerate(shape)])
        piece = reshape(piece, (*shape[:axis], *np.shape(leaf), *shape[axis + 1:]))
        if is_complex(dtype_of(piece)) and not is_complex(dtype_of(like)):
            piece = real(piece)
        pieces.append(convert_element_type(piece, dtype_of(like), is_weak(like)))
    return tree_unflatten(treedef, pieces)
