"""Functions with derivatives of the user's making: `custom_jvp`, `custom_vjp`, and what goes with them.

A decorated function is called like any other. Only a trace that differentiates looks at the rule, and it looks at
nothing else: the function's own operations are never differentiated.
See https://jax.readthedocs.io/en/latest/notebooks/Custom_derivative_rules_for_Python_code.html.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace import errors
from tinytrace.api.rule_checks import FlatBwd, FlatFwd, FlatJvp, FlatPrimal
from tinytrace.control_flow.custom_jvp import custom_jvp_call_p
from tinytrace.control_flow.custom_vjp import custom_vjp_call_p
from tinytrace.control_flow.remat_opt import remat_opt_p
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import eval_jaxpr
from tinytrace.core.moving import CarriedFunction, by_reference
from tinytrace.core.tangents import Zero
from tinytrace.core.trace import Tracer, bottom_trace
from tinytrace.core.trees import Partial, tree_flatten, tree_leaves, tree_map, tree_unflatten, treedef_is_leaf
from tinytrace.primitives.stop_gradient import stop_gradient_p
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.jvp import JVPTracer
from tinytrace.transforms.staging import DynamicJaxprTracer, trace_to_jaxpr
from tinytrace.transforms.zeros import add_tangents
from tinytrace.util import current_trace_state as _state

Function = Callable[..., Any]


class CustomFunction:
    """A function with a rule of its own; `def...` of a rule of another kind on the same function goes through to it."""

    fun: Function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("def") and isinstance(self.fun, CustomFunction):
            return getattr(self.fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return by_reference(self) or (type(self), (CarriedFunction(self.fun),), _own_attributes(self))


class custom_jvp(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a forward-mode rule; reverse mode follows from it.

    `nondiff_argnums` are arguments that the rule gets as its own first arguments (functions, say).
    Raises AttributeError when called without a rule, TypeError when the rule's results do not fit.
    Source: `jax.custom_jvp`.

    >>> import tinytrace as jax
    >>> @custom_jvp
    ... def f(x):
    ...     return x * x
    >>> f.defjvps(lambda t, out, x: 10 * t)
    >>> jax.grad(f)(3.0)
    Array(10., dtype=float32, weak_type=True)
    """

    def __init__(self, fun: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_argnums
        self.jvp: Function | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Set the rule `jvp(primals, tangents) -> (out, out_tangent)` and return it, so that it can decorate.

        With `symbolic_zeros`, tangents of arguments that do not move are `SymbolicZero`s instead of arrays of zeros.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Function | None) -> None:
        """Set one rule `jvp(tangent, out, *primals) -> out_tangent` per argument; None: it contributes nothing."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
            out = self(*primals)
            zeros = tree_map(Zero.from_primal_value, out)
            parts = [rule(t, out, *primals) if rule else zeros for t, rule in zip(tangents, jvps)]  # noqa: B905
            return out, tree_map(lambda _, *ts: functools.reduce(add_tangents, ts), out, *parts)

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = _name(self.fun)
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name} using defjvp.")
        if _state.trace is bottom_trace and getattr(self.fun, "of_library", False) and not self.nondiff_argnums:
            return self.fun(*args, **kwargs)  # it takes arrays alone and gives one: nothing to take apart
        args = positional(self.fun, args, kwargs)
        fun, jvp = self.fun, self.jvp
        if self.nondiff_argnums:
            args = tuple(_constant(x) if i in set(self.nondiff_argnums) else x for i, x in enumerate(args))
            jvp = functools.partial(jvp, *(args[i] for i in self.nondiff_argnums))
            fun, args = _of_others(fun, self.nondiff_argnums, args)
        leaves, in_tree = tree_flatten(args)
        flat_fun = FlatPrimal(fun, in_tree)
        flat_jvp = FlatJvp(jvp, in_tree, flat_fun, name, _name(self.jvp))
        outs = custom_jvp_call_p.call(flat_fun, flat_jvp, *leaves, symbolic_zeros=self.symbolic_zeros)
        return tree_unflatten(flat_fun.out_tree or flat_jvp.out_tree, outs)


class custom_vjp(CustomFunction):  # noqa: N801 (JAX's name)
    """Give a function a reverse-mode rule; forward mode is then refused.

    `nondiff_argnums` are arguments, functions mostly, that the backward rule gets as its own first arguments.
    Raises AttributeError when called without rules, TypeError or ValueError when the rules' results do not fit.
    Source: `jax.custom_vjp`.

    >>> import tinytrace as jax
    >>> @custom_vjp
    ... def f(x):
    ...     return x * x
    >>> f.defvjp(lambda x: (f(x), x), lambda x, ct: (10 * ct,))
    >>> jax.grad(f)(3.0)
    Array(10., dtype=float32, weak_type=True)
    """

    def __init__(self, fun: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_argnums
        self.fwd: Function | None = None
        self.bwd: Function | None = None
        self.symbolic_zeros = self.optimize_remat = False

    def defvjp(self, fwd: Function, bwd: Function, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Set the rules `fwd(*args) -> (out, residuals)` and `bwd(residuals, ct) -> cts`, one ct per argument.

        With `symbolic_zeros`, `fwd` gets `CustomVJPPrimal(value, perturbed)` leaves and `bwd` may get `SymbolicZero`s.
        With `optimize_remat`, what needs no residuals under `checkpoint` calls the function and not `fwd`.
        """
        self.fwd, self.bwd = fwd, bwd
        self.optimize_remat = optimize_remat
        self.symbolic_zeros = symbolic_zeros
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError("remat optimization for custom_vjp does not support symbolic zeros")

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = _name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {name} using defvjp.")
        args = positional(self.fun, args, kwargs)
        fun, fwd, bwd = self.fun, self.fwd, self.bwd
        if self.nondiff_argnums:
            for i in self.nondiff_argnums:
                _check_no_tracers(args[i])
            bwd = functools.partial(bwd, *(args[i] for i in self.nondiff_argnums))
            fwd, _ = _of_others(fwd, self.nondiff_argnums, args)
            fun, args = _of_others(fun, self.nondiff_argnums, args)
        leaves, in_tree = tree_flatten(args)
        flat_fun = FlatPrimal(fun, in_tree)
        flat_fwd = FlatFwd(fwd, in_tree, flat_fun, name, _name(self.fwd), self.symbolic_zeros)
        flat_rule = _or_function(flat_fun, flat_fwd) if self.optimize_remat else flat_fwd
        flat_bwd = FlatBwd(bwd, in_tree, [aval_of(x) for x in leaves], flat_fwd)
        outs = custom_vjp_call_p.call(flat_fun, flat_rule, flat_bwd, *leaves, out_trees=flat_fwd.out_trees,
                                      symbolic_zeros=self.symbolic_zeros)
        return tree_unflatten(flat_fun.out_tree or flat_fwd.out_tree, outs)


def _or_function(fun: FlatPrimal, fwd: FlatFwd) -> Callable[..., list[Any]]:
    """Return the forward rule as an equation that can become the function again."""

    def rule(*leaves_and_moves: Any) -> list[Any]:
        moved = [True] * (len(leaves_and_moves) // 2)
        outs: list[Any] = remat_opt_p.call(
            fun, lambda *leaves: fwd(*(x for pair in zip(leaves, moved, strict=True) for x in pair)),
            lambda: fwd.out_trees()[1].num_leaves, leaves_and_moves[::2])
        return outs

    return rule


def custom_gradient(fun: Function) -> custom_vjp:
    """Give a function a reverse-mode rule in TensorFlow's manner: it returns its value and its backward function.

    Source: `jax.custom_gradient`.

    >>> import tinytrace as jax
    >>> jax.grad(custom_gradient(lambda x: (x ** 2, lambda ct: (ct * x,))))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """

    @custom_vjp
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)[0]

    def fwd(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        out, rule = fun(*args, **kwargs)
        leaves, out_tree = tree_flatten((out,))
        flat_rule = FlatPrimal(rule, out_tree)
        jaxpr, consts = trace_to_jaxpr(flat_rule, [aval_of(x).to_tangent_aval() for x in leaves])
        return out, Partial(_Backward(jaxpr, flat_rule.out_tree), consts)

    def bwd(backward: Any, ct: Any) -> Any:
        return backward(ct)

    wrapped.defvjp(fwd, bwd)
    return wrapped


class _Backward:
    """The backward function of `custom_gradient`, traced: a jaxpr of the cotangents, whose constants are residuals."""

    def __init__(self, jaxpr: Any, in_tree: Any) -> None:
        self._jaxpr, self._in_tree = jaxpr, in_tree

    def __call__(self, consts: Sequence[Any], ct: Any) -> Any:
        cts = tree_unflatten(self._in_tree, eval_jaxpr(self._jaxpr, consts, *tree_leaves(ct)))
        return (cts,) if treedef_is_leaf(self._in_tree) else cts


@api_boundary
def closure_convert(fun: Function, *example_args: Any) -> tuple[Function, list[Any]]:
    """Turn the values that `fun` closes over, and that may be differentiated, into arguments.

    Returns: a function of `fun`'s arguments followed by the values, and the list of the values.
    Source: `jax.closure_convert`.
    """
    leaves, in_tree = tree_flatten(example_args)
    flat_fun = FlatPrimal(fun, in_tree)
    jaxpr, consts = trace_to_jaxpr(flat_fun, [aval_of(x) for x in leaves])
    hoist = [_may_move(c) for c in consts]
    hoisted = [c for c, h in zip(consts, hoist, strict=True) if h]

    def converted(*args: Any) -> Any:
        count = len(args) - len(hoisted)
        given = iter(args[count:])
        values = [next(given) if h else c for c, h in zip(consts, hoist, strict=True)]
        arg_leaves, tree = tree_flatten(tuple(args[:count]))
        if tree != in_tree:
            raise TypeError("The inputs to the closure produced by closure_convert must have the same Pytree structure "
                            f"as the example arguments passed when closure_convert was called. Expected {in_tree}, but "
                            f"got {tree}")
        return tree_unflatten(flat_fun.out_tree, eval_jaxpr(jaxpr, values, *arg_leaves))

    return converted, hoisted


def _may_move(x: Any) -> bool:
    """Can `x` carry a tangent, now or when the program that is being staged is differentiated?"""
    if not isinstance(x, Tracer):
        return False
    if isinstance(x, DynamicJaxprTracer):
        return x.aval.to_tangent_aval().dtype != FLOAT0
    return isinstance(x, JVPTracer) or any(_may_move(part) for _, part in x._contents())


def _name(fun: Function) -> str:
    return getattr(fun, "__name__", None) or str(fun)


def positional(fun: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return all arguments by position, defaults filled in."""
    if isinstance(fun, functools.partial):  # its signature tells nothing of what it will be called with
        fun = lambda *args, **kwargs: None  # noqa: E731
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    passed = [k for k in bound.kwargs if k in kwargs]
    if passed:
        raise TypeError(f"keyword arguments ({passed}) could not be resolved to positions")
    return bound.args


def _of_others(fun: Function, fixed: Sequence[int], args: Sequence[Any]) -> tuple[Function, tuple[Any, ...]]:
    """Return `fun` as a function of the arguments that are not `fixed`, and these arguments."""
    others = [i for i in range(len(args)) if i not in set(fixed)]

    def of_others(*dynamic: Any) -> Any:
        complete = list(args)
        for i, x in zip(others, dynamic, strict=True):
            complete[i] = x
        return fun(*complete)

    return of_others, tuple(args[i] for i in others)


def _constant(x: Any) -> Any:
    return tree_map(lambda leaf: stop_gradient_p.bind(leaf) if isinstance(leaf, Tracer) else leaf, x)


def _check_no_tracers(x: Any) -> None:
    if any(isinstance(leaf, Tracer) for leaf in tree_leaves(x)):
        raise errors.UnexpectedTracerError(
            "Found a JAX Tracer object passed as an argument to a custom_vjp function in a position indicated by "
            "nondiff_argnums as non-differentiable. Tracers cannot be passed as non-differentiable arguments to "
            "custom_vjp functions; instead, nondiff_argnums should only be used for arguments that can't be or contain "
            "JAX tracers, e.g. function-valued arguments. In particular, array-valued arguments should typically not "
            "be indicated as nondiff_argnums.")


def _own_attributes(function: CustomFunction) -> dict[str, Any]:
    """Return what was set on a function with rules, besides the function itself and what it copies of that."""
    copied = ("fun", "__wrapped__", *functools.WRAPPER_ASSIGNMENTS)
    return {name: value for name, value in vars(function).items() if name not in copied}
