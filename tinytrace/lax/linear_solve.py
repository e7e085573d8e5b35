"""custom_linear_solve: differentiate the solution of a linear equation, and not the program that finds it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tinytrace.api.autodiff import linear_transpose
from tinytrace.control_flow.bodies import stage_body
from tinytrace.control_flow.linear_solve import _LinearSolveTuple, linear_solve_p
from tinytrace.core.avals import aval_of
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten


def custom_linear_solve(matvec: Callable[..., Any], b: Any, solve: Callable[..., Any],
                        transpose_solve: Callable[..., Any] | None = None, symmetric: bool = False,
                        has_aux: bool = False) -> Any:
    """Return `solve(matvec, b)`: the x with `matvec(x) = b`, whose derivatives are solutions of such equations too.

    transpose_solve: solves with the transpose of matvec, `transpose_solve(vecmat, b)`; reverse mode needs it.
    symmetric: matvec is its own transpose. has_aux: `solve` returns x and something that has no derivative.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.custom_linear_solve.html.

    >>> custom_linear_solve(lambda x: 2.0 * x, 3.0, lambda f, b: b / f(1.0))
    Array(1.5, dtype=float32, weak_type=True)
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    b_flat, in_tree = tree_flatten((b,))
    avals = [aval_of(x) for x in b_flat]
    tree, = in_tree.children()

    def stage(fun: Callable[..., Any], name: str, has_aux: bool) -> tuple[Any, list[Any], PyTreeDef]:
        def checked(x: Any) -> Any:
            out = fun(x)
            _check_shapes(name, out[0] if has_aux else out, b_flat)
            return out

        jaxpr, consts, out_tree = stage_body(checked, in_tree, avals, "custom_linear_solve")
        _check_tree(name, out_tree.children()[0] if has_aux else out_tree, tree)
        return jaxpr, consts, out_tree

    of_matvec = stage(matvec, "matvec", False)
    of_solve = stage(partial(solve, matvec), "solve", has_aux)
    of_vecmat: Any = (None, [], None)
    of_transpose = of_vecmat
    if transpose_solve is not None:
        vecmat: Callable[..., Any] = matvec if symmetric else _transposed(matvec, b)
        of_vecmat = of_matvec if symmetric else stage_body(vecmat, in_tree, avals, "custom_linear_solve")
        of_transpose = stage(partial(transpose_solve, vecmat), "transpose_solve", has_aux)
    jaxprs, consts, _ = zip(of_matvec, of_vecmat, of_solve, of_transpose, strict=True)
    outs = linear_solve_p.bind(*(c for group in consts for c in group), *b_flat,
                               const_lengths=_LinearSolveTuple(*map(len, consts)), jaxprs=_LinearSolveTuple(*jaxprs))
    return tree_unflatten(of_solve[2], outs)


def _transposed(fun: Callable[..., Any], primal: Any) -> Callable[[Any], Any]:
    transpose = linear_transpose(fun, primal)

    def transposed(x: Any) -> Any:
        y, = transpose(x)
        return y

    return transposed


def _check_shapes(name: str, out: Any, b_flat: Sequence[Any]) -> None:
    shapes, wanted = [[np.shape(x) for x in leaves] for leaves in (tree_leaves(out), b_flat)]
    if shapes != wanted:
        raise ValueError(f"{name}() output shapes must match b, got {shapes} and {wanted}")


def _check_tree(name: str, tree: PyTreeDef, wanted: PyTreeDef) -> None:
    if tree != wanted:
        raise TypeError(f"{name}() output pytree structure must match b, got {tree} and {wanted}.")
