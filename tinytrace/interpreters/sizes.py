"""Sizes that are variables, for `jax.interpreters.partial_eval`: types of arguments by names of axes, and padding.

A program is traced here at sizes that are numbers: what JAX pads to a bound is computed as it is.
Source: `jax.interpreters.partial_eval` of JAX 0.4.35.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, Jaxpr, Literal
from tinytrace.core.primitive import Primitive, registry
from tinytrace.extend.sized_types import DBIdx, DShapedArray
from tinytrace.records import NamedTuple
from tinytrace.transforms.staging import trace_to_jaxpr

PaddingRule = Callable[..., Sequence[Any]]


class BoundedAxisSize(NamedTuple):
    """A size that is not known, and what it is at most."""

    val: Any
    bound: int


class TracerAsName:
    """A name for an axis whose size is a tracer: equal to that of the same tracer."""

    def __init__(self, tracer: Any) -> None:
        self.ref = tracer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracerAsName) and self.ref is other.ref

    def __hash__(self) -> int:
        return id(self.ref)


# --- types of arguments --------------------------------------------------------------------------------------------

def infer_lambda_input_type(axes_specs: Sequence[Any] | None, args: Sequence[Any]) -> tuple[tuple[Any, bool], ...]:
    """Return the types of arguments, in which axes of one name have one size: an argument more, in front.

    Args: axes_specs: for each argument its names of axes, a dict by number or a tuple.
    Raises: TypeError where axes of one name have different sizes.

    >>> import numpy as np
    >>> infer_lambda_input_type([("n",), ("n",)], [np.zeros(3, np.float32), np.zeros(3, np.float32)])
    ((ShapedArray(int32[], weak_type=True), False), (f32[DBIdx(val=0)], True), (f32[DBIdx(val=0)], True))
    """
    specs = [{} for _ in args] if axes_specs is None else [_as_dict(spec) for spec in axes_specs]
    sizes: dict[Any, int] = {}
    for x, spec in zip(args, specs, strict=True):
        for i, name in spec.items():
            size = sizes.setdefault(name, x.shape[i])
            if size != x.shape[i]:
                raise TypeError(f"Provided size {size} for {name} does not match prior associated name for {name} : "
                                f"{x.shape[i]}")
    numbers = dict(zip(sizes, map(DBIdx, itertools.count()), strict=False))
    implicit = tuple((aval_of(size), False) for size in sizes.values())
    return *implicit, *((_type(x, spec, numbers), True) for x, spec in zip(args, specs, strict=True))


def _as_dict(spec: Any) -> dict[int, Any]:
    return {i: name for i, name in enumerate(spec) if name is not None} if isinstance(spec, tuple) else spec


def _type(x: Any, spec: dict[int, Any], numbers: dict[Any, DBIdx]) -> Any:
    aval = aval_of(x)
    if not spec:
        return aval
    return DShapedArray(tuple(numbers[spec[i]] if i in spec else d for i, d in enumerate(aval.shape)), aval.dtype)


# --- padding -------------------------------------------------------------------------------------------------------

def pad_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
    """Return a program whose equations are what `padding_rules` say, and its constants.

    Raises: KeyError for a primitive without a rule.
    """
    def padded(*args: Any) -> list[Any]:
        values: dict[Atom, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

        def read(v: Atom) -> Any:
            return v.val if isinstance(v, Literal) else values[v]

        for eqn in jaxpr.eqns:
            outs = padding_rules[eqn.primitive]([v.aval for v in eqn.invars], [v.aval for v in eqn.outvars],
                                                *map(read, eqn.invars), **eqn.params)
            values.update(zip(eqn.outvars, outs, strict=True))
        return list(map(read, jaxpr.outvars))

    return trace_to_jaxpr(padded, [v.aval for v in jaxpr.invars])


def def_trivial_padding(prim: Primitive) -> None:
    """Say that a primitive is computed on padded operands as on others."""
    padding_rules[prim] = functools.partial(_trivial, prim)


def _trivial(prim: Primitive, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *args: Any,
             **params: Any) -> Sequence[Any]:
    out = prim.bind(*args, **params)
    return out if prim.multiple_results else [out]


def call_padding_rule(prim: Primitive, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *args: Any,
                      call_jaxpr: Any, **params: Any) -> Sequence[Any]:
    """The rule of a call: a call of its program, padded; raises NotImplementedError for one with constants."""
    padded, consts = pad_jaxpr(getattr(call_jaxpr, "jaxpr", call_jaxpr), getattr(call_jaxpr, "consts", ()))
    if consts:
        raise NotImplementedError
    program = call_jaxpr.replace(jaxpr=padded) if hasattr(call_jaxpr, "jaxpr") else padded
    outs: Sequence[Any] = prim.bind(*args, call_jaxpr=program, **params)
    return outs


_PADDED = """
    abs acos acosh add and asin asinh atan atan2 atanh bessel_i0e bessel_i1e broadcast_in_dim cbrt ceil cholesky clamp
    clz complex concatenate conj convert_element_type copy cos cosh digamma div dot_general dynamic_slice eq eq_to erf
    erf_inv erfc exp exp2 expm1 floor gather ge gt igamma igamma_grad_a igammac imag integer_pow iota is_finite le le_to
    lgamma log log1p logistic lt lt_to max min mul ne neg nextafter not or polygamma population_count pow
    random_gamma_grad real reduce_max reduce_min reduce_prod reduce_sum regularized_incomplete_beta rem round rsqrt scan
    select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt squeeze stop_gradient sub tan tanh
    tie transpose xor zeta
"""
padding_rules: dict[Primitive, PaddingRule] = {}
"""`rule(in_avals, out_avals, *args, **params) -> results`, where a size may be a `BoundedAxisSize`."""
for _name in _PADDED.split():
    if _name in registry:
        def_trivial_padding(registry[_name])
