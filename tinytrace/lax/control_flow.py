"""Loops and branches as users write them: scan, map, while_loop, fori_loop, cond, switch, associative_scan.

Each function stages the user's functions into jaxprs, checks that what goes in fits what comes out, and binds one
primitive of `control_flow`. The semantics of each is the plain Python in its docstring.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace import errors
from tinytrace.api.vmapping import vmap
from tinytrace.config import config
from tinytrace.control_flow.bodies import stage_body
from tinytrace.control_flow.effects import control_flow_allowed_effects
from tinytrace.control_flow.scan import scan_p
from tinytrace.control_flow.while_loop import while_p
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import canonicalize_dtype, dtype_of, is_weak, result_type
from tinytrace.core.trace import Tracer
from tinytrace.core.trees import tree_flatten, tree_map, tree_unflatten
from tinytrace.lax.carry_checks import check_carry, same_type
from tinytrace.primitives.arithmetic import add
from tinytrace.primitives.broadcasting import expand_dims
from tinytrace.primitives.comparison import lt
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.slicing import index_in_dim
from tinytrace.tracebacks import api_boundary

_SCALAR_BOOL = ShapedArray((), np.dtype(np.bool_))


@api_boundary
def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None,
         reverse: bool = False, unroll: int | bool = 1, _split_transpose: bool = False) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` over the leading axis of `xs`; Returns the last carry and the stacked ys.

        def scan(f, carry, xs):
            ys = []
            for x in xs:
                carry, y = f(carry, x)
                ys.append(y)
            return carry, stack(ys)

    `init`, `xs` and y may be pytrees; `xs=None` with `length` runs without inputs; `reverse` goes from the end;
    `unroll` asks the compiler to put that many steps into one turn of the loop.
    Raises TypeError when the carry changes structure or type, ValueError when lengths disagree.
    Source: `jax.lax.scan`.

    >>> scan(lambda total, x: (total + x, total), 0, np.arange(4))
    (Array(6, dtype=int32), Array([0, 0, 1, 3], dtype=int32, weak_type=True))
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    xs_flat, xs_tree = tree_flatten(xs)
    length = _scan_length(xs_flat, length)
    if config.disable_jit:
        return _scan_in_python(f, init, xs_flat, xs_tree, length, reverse)
    x_avals = [_unstacked(aval_of(x)) for x in xs_flat]

    def stage(init_flat: list[Any]) -> Any:
        avals = [aval_of(x) for x in init_flat]
        body, consts, out_tree = stage_body(f, in_tree, (*avals, *x_avals), "scan")
        if len(out_tree.children()) != 2:
            raise TypeError(f"scan body output must be a pair, got {tree_unflatten(out_tree, body.out_avals)}.")
        return body, consts, out_tree, avals, body.out_avals[:out_tree.children()[0].num_leaves]

    init_flat, init_tree = tree_flatten(init)
    in_tree = tree_flatten((init, xs))[1]
    body, consts, out_tree, in_avals, out_avals = stage(init_flat)
    promoted = _promote_weak(init_flat, in_avals, out_avals)
    if promoted is not None:
        init_flat = promoted
        body, consts, out_tree, in_avals, out_avals = stage(init_flat)
    check_carry("scan body", f, tree_unflatten(init_tree, init_flat), out_tree.children()[0], out_avals)
    control_flow_allowed_effects.refuse_others(body.effects, "`scan`")
    outs = scan_p.bind(*consts, *init_flat, *xs_flat, reverse=reverse, length=length, jaxpr=body,
                       num_consts=len(consts), num_carry=len(init_flat),
                       linear=(False,) * (len(consts) + len(init_flat) + len(xs_flat)),
                       unroll=_checked_unroll(unroll, length), _split_transpose=_split_transpose)
    carry, ys = tree_unflatten(out_tree, outs)
    return carry, ys


def _scan_length(xs: list[Any], length: Any) -> int:
    try:
        lengths = [x.shape[0] for x in xs]
    except AttributeError as err:
        shapeless = ", ".join(str(x) for x in xs if not hasattr(x, "shape"))
        raise ValueError(f"scan got value with no leading axis to scan over: {shapeless}.") from err
    if length is not None:
        try:
            length = int(length)
        except errors.ConcretizationTypeError:
            raise errors.ConcretizationTypeError(
                length, "The `length` argument to `scan` expects a concrete `int` value.") from None
        if any(length != n for n in lengths):
            raise ValueError(f"scan got `length` argument of {length} which disagrees with leading axis sizes "
                             f"{lengths}.")
        return int(length)
    if len(set(lengths)) > 1:
        sizes = ", ".join([str(n) for n in lengths])
        raise ValueError(f"scan got values with different leading axis sizes: {sizes}.")
    if not lengths:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return int(lengths[0])


def _checked_unroll(unroll: Any, length: int) -> int:
    if isinstance(unroll, Tracer) and unroll.to_concrete_value() is None:
        raise errors.ConcretizationTypeError(
            unroll, "The `unroll` argument to `scan` expects a concrete `int` or `bool` value.")
    if isinstance(unroll, bool):
        unroll = max(length, 1) if unroll else 1
    if unroll < 1:
        raise ValueError("`unroll` must be a `bool` or a positive `int`.")
    return int(unroll)


def _unstacked(aval: ShapedArray) -> ShapedArray:
    return aval.update(shape=aval.shape[1:])


def _promote_weak(values: list[Any], in_avals: Sequence[ShapedArray],
                  out_avals: Sequence[ShapedArray]) -> list[Any] | None:
    """Convert weakly typed carries (Python scalars) to the type the body answers with; None: nothing to convert."""
    if len(in_avals) != len(out_avals):
        return None
    wanted = [a.weak_type and not same_type(a, b) for a, b in zip(in_avals, out_avals, strict=True)]
    if not any(wanted):
        return None
    return [convert_element_type(x, result_type(x, out)) if w else x
            for x, out, w in zip(values, out_avals, wanted, strict=True)]


def _scan_in_python(f: Callable[..., Any], carry: Any, xs: list[Any], xs_tree: Any, length: int,
                    reverse: bool) -> tuple[Any, Any]:
    """What scan means, under `disable_jit`."""
    if length == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode because the output type is unknown.")
    ys = []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_unflatten(xs_tree, [index_in_dim(x, i, keepdims=False) for x in xs]))
        ys.append(y)
    in_order = ys[::-1] if reverse else ys
    return carry, tree_map(lambda *y: concatenate([expand_dims(piece, (0,)) for piece in y], 0), *in_order)


@api_boundary
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Apply `body_fun` again and again as long as `cond_fun` says True; Returns the last value.

        def while_loop(cond_fun, body_fun, val):
            while cond_fun(val):
                val = body_fun(val)
            return val

    Raises TypeError when the condition is no boolean scalar or the value changes structure or type.
    Source: `jax.lax.while_loop`.

    >>> while_loop(lambda x: x < 100, lambda x: 2 * x, 1)
    Array(128, dtype=int32, weak_type=True)
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if config.disable_jit:
        try:
            return _while_in_python(cond_fun, body_fun, init_val)
        except errors.ConcretizationTypeError:
            pass  # the condition is being traced or batched, so that only the primitive can run the loop

    def stage(values: list[Any]) -> Any:
        avals = [aval_of(x) for x in values]
        cond, cond_consts, cond_tree = stage_body(cond_fun, in_tree, avals, "while_cond")
        body, body_consts, body_tree = stage_body(body_fun, in_tree, avals, "while_loop")
        if cond_tree.num_nodes != 1 or len(cond.out_avals) != 1:
            raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {cond_tree}.")
        if cond.out_avals[0].strip_weak_type() is not _SCALAR_BOOL:
            raise TypeError(f"cond_fun must return a boolean scalar, but got output type(s) {cond.out_avals}.")
        return avals, cond, cond_consts, body, body_consts, body_tree

    values, in_tree = tree_flatten((init_val,))
    avals, cond, cond_consts, body, body_consts, body_tree = stage(values)
    promoted = _promote_weak(values, avals, body.out_avals)
    if promoted is not None:
        values = promoted
        avals, cond, cond_consts, body, body_consts, body_tree = stage(values)
    check_carry("while_loop body", body_fun, tree_unflatten(in_tree, values)[0], body_tree, body.out_avals)
    control_flow_allowed_effects.refuse_others(cond.effects | body.effects, "`while`")
    outs = while_p.bind(*cond_consts, *body_consts, *values, cond_nconsts=len(cond_consts), cond_jaxpr=cond,
                        body_nconsts=len(body_consts), body_jaxpr=body)
    return tree_unflatten(body_tree, outs)


def _while_in_python(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], val: Any) -> Any:
    while cond_fun(val):
        val = body_fun(val)
    return val


@api_boundary
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *,
              unroll: int | bool | None = None) -> Any:
    """Run `val = body_fun(i, val)` for i in range(lower, upper); Returns the last value.

    Bounds that are known while tracing make a `scan`, which can be differentiated backwards; others a `while_loop`.
    Raises TypeError when the bounds' types disagree. Source: `jax.lax.fori_loop`.

    >>> fori_loop(0, 5, lambda i, total: total + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    dtype = _loop_index_dtype(lower, upper)
    bounds = _static_bounds(lower, upper)
    if bounds is not None:
        length = max(bounds[1] - bounds[0], 0)
        if config.disable_jit and length == 0:
            return init_val
        (_, result), _ = scan(_counted(body_fun, _counting_step), (bounds[0], init_val), None, length=length,
                              unroll=False if unroll is None else unroll)
        return result
    if unroll is not None:
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are statically known.")
    if canonicalize_dtype(dtype_of(lower)) != dtype:
        lower = convert_element_type(lower, dtype)
    if canonicalize_dtype(dtype_of(upper)) != dtype:
        upper = convert_element_type(upper, dtype)
    return while_loop(_below_upper, _counted(body_fun, _bounded_step), (lower, upper, init_val))[2]


def _loop_index_dtype(lower: Any, upper: Any) -> np.dtype[Any]:
    low, high = (canonicalize_dtype(dtype_of(x)) for x in (lower, upper))
    if low == high:
        return low
    if low.kind == high.kind == "i" and is_weak(lower) != is_weak(upper):
        return high if is_weak(lower) else low
    raise TypeError(f"lower and upper arguments to fori_loop must have equal types, got {low.name} and {high.name}")


def _static_bounds(lower: Any, upper: Any) -> tuple[int, int] | None:
    values = [x.to_concrete_value() if isinstance(x, Tracer) else x for x in (lower, upper)]
    if any(value is None for value in values):
        return None
    try:
        return int(values[0]), int(values[1])
    except TypeError:
        return None


def _below_upper(loop_carry: Any) -> Any:
    i, upper, _ = loop_carry
    return lt(i, upper)


def _bounded_step(body_fun: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def while_body_fun(loop_carry: Any) -> Any:
        i, upper, x = loop_carry
        return add(i, const_like(i, 1)), upper, body_fun()(i, x)
    return while_body_fun


def _counting_step(body_fun: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    def scanned_fun(loop_carry: Any, _: Any) -> Any:
        i, x = loop_carry
        return (i + 1, body_fun()(i, x)), None
    return scanned_fun


_counted_bodies: weakref.WeakKeyDictionary[Any, dict[Any, Callable[..., Any]]] = weakref.WeakKeyDictionary()


def _counted(body_fun: Callable[..., Any], step: Callable[..., Any]) -> Callable[..., Any]:
    """Return `step` around `body_fun`: the same function object each time, so that it is traced only once."""
    try:
        known = _counted_bodies.setdefault(body_fun, {})
        if step not in known:
            known[step] = step(weakref.ref(body_fun))
    except TypeError:  # a callable without hash or weak references
        return step(lambda: body_fun)  # type: ignore[no-any-return]
    return known[step]


@api_boundary
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply `f` to each slice along the leading axis of `xs` and stack the results: a scan without a carry.

    With `batch_size`, that many slices at a time go through `vmap(f)`. Source: `jax.lax.map`.

    >>> map(lambda x: x + 1, np.arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    whole = tree_map(lambda x: x[:_whole(x, batch_size)].reshape(-1, batch_size, *x.shape[1:]), xs)
    rest = tree_map(lambda x: x[_whole(x, batch_size):], xs)
    ys = scan(lambda _, x: ((), vmap(f)(x)), (), whole)[1]
    rest_ys = vmap(f)(rest)
    return tree_map(lambda y, r: concatenate([y.reshape(-1, *y.shape[2:]), r], 0), ys, rest_ys)


def _whole(x: Any, batch_size: int) -> int:
    return int(x.shape[0] // batch_size * batch_size)
