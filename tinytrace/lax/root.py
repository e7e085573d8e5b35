"""custom_root: differentiate the solution of an equation f(x) = 0, and not the program that finds it."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tinytrace.api.autodiff import jvp, linearize
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.control_flow.bodies import split, stage_body
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.primitives.creation import full_like
from tinytrace.primitives.elementwise import neg
from tinytrace.records import NamedTuple


def custom_root(f: Callable[[Any], Any], initial_guess: Any, solve: Callable[..., Any],
                tangent_solve: Callable[..., Any], has_aux: bool = False) -> Any:
    """Return `solve(f, initial_guess)`: the x with `f(x) = 0`, whose derivative follows from that of f alone.

    tangent_solve: `tangent_solve(g, y)` is the x with `g(x) = y` for a linear function g, the derivative of f at the
    root. has_aux: `solve` returns x and something that has no derivative.
    Raises: TypeError when a function returns a tree of another structure than `initial_guess`.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.custom_root.html.

    >>> def square_root(a):
    ...     return lax.custom_root(lambda x: x * x - a, a, lambda f, x: jnp.sqrt(a), lambda g, y: y / g(1.0))
    >>> jax.grad(square_root)(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    guess, in_tree = tree_flatten((initial_guess,))
    avals = [aval_of(x) for x in guess]
    tree, = in_tree.children()

    def tangent(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    of_f = stage_body(f, in_tree, avals, "custom_root")
    _check_tree("f", "initial_guess", of_f[2], tree)
    of_solve = stage_body(partial(solve, f), in_tree, avals, "custom_root")
    _check_tree("solve", "initial_guess", of_solve[2].children()[0] if has_aux else of_solve[2], tree)
    _, both = tree_flatten((initial_guess, initial_guess))
    of_tangent = stage_body(tangent, both, avals * 2, "custom_root")
    _check_tree("tangent_solve", "x", of_tangent[2], tree)
    consts = of_f[1], of_solve[1], of_tangent[1]
    programs = _Programs(of_f[0], of_solve[0], of_tangent[0])
    outs = _custom_root(tuple(map(len, consts)), programs, *(c for group in consts for c in group), *guess)
    return tree_unflatten(of_solve[2], outs)


class _Programs(NamedTuple):
    """The three functions, as programs whose first operands are what they close over."""

    f: ClosedJaxpr
    solve: ClosedJaxpr
    tangent: ClosedJaxpr


@partial(custom_jvp, nondiff_argnums=(0, 1))
def _custom_root(const_lengths: tuple[int, ...], jaxprs: _Programs, *args: Any) -> list[Any]:
    _, consts, _, guess = split(args, *const_lengths)
    return list(jaxpr_as_fun(jaxprs.solve)(*consts, *guess))


@_custom_root.defjvp
def _custom_root_jvp(const_lengths: tuple[int, ...], jaxprs: _Programs, primals: Any, tangents: Any) -> Any:
    """With f(x, p) = 0, moving p by dp moves x by the dx with f_x dx = -f_p dp."""
    outs = _custom_root(const_lengths, jaxprs, *primals)
    size = len(jaxprs.f.out_avals)
    root, aux = outs[:size], outs[size:]
    f_consts, _, tangent_consts, _ = split(primals, *const_lengths)
    f_consts_dot, _, _, _ = split(tangents, *const_lengths)
    _, moved = jvp(lambda *consts: jaxpr_as_fun(jaxprs.f)(*consts, *root), f_consts, f_consts_dot)
    root_dot = jaxpr_as_fun(jaxprs.tangent)(*tangent_consts, *root, *moved)
    return [*root, *aux], [*map(neg, root_dot), *(full_like(x, 0) for x in aux)]


def _check_tree(name: str, other: str, tree: PyTreeDef, wanted: PyTreeDef) -> None:
    if tree != wanted:
        raise TypeError(f"{name}() output pytree structure must match {other}, got {tree} and {wanted}.")
