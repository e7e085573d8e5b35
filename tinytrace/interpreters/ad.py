"""`jax.interpreters.ad`: rules of differentiation for one's own primitives, and the values that they meet.

A tangent or cotangent that is zero is a `Zero`, an input whose value is not known while a linear program is transposed
an `UndefinedPrimal`. Source: `jax.interpreters.ad` of JAX 0.4.35.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.closed_call import call_jvp_param_updaters as call_param_updaters  # noqa: F401
from tinytrace.control_flow.closed_call import call_transpose_param_updaters as call_transpose_param_updaters
from tinytrace.control_flow.cond import cond_p
from tinytrace.control_flow.pjit import pjit_p
from tinytrace.control_flow.remat import remat_p
from tinytrace.control_flow.scan import scan_p
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import UndefinedPrimal as UndefinedPrimal
from tinytrace.core.tangents import Zero as Zero
from tinytrace.core.tangents import is_undefined_primal as is_undefined_primal
from tinytrace.extend.linear_util import WrappedFun, wrap_init
from tinytrace.interpreters.rule_tables import RuleTable, WrittenRules
from tinytrace.primitives.elementwise import add_any_p
from tinytrace.transforms import jvp as transforms_jvp
from tinytrace.transforms import transpose
from tinytrace.transforms.custom_lin import CustomJVPException as CustomJVPException
from tinytrace.transforms.custom_lin import CustomVJPException as CustomVJPException
from tinytrace.transforms.custom_lin import custom_lin_p as custom_lin_p
from tinytrace.transforms.jvp import JVPTrace as JVPTrace
from tinytrace.transforms.jvp import JVPTracer as JVPTracer
from tinytrace.transforms.jvp import jvp_jaxpr as jvp_jaxpr
from tinytrace.transforms.zeros import add_tangents as add_tangents
from tinytrace.transforms.zeros import instantiate_zeros as instantiate_zeros
from tinytrace.transforms.zeros import zeros
from tinytrace.util import lazy_names

Rule = Callable[..., Any]
add_jaxvals, add_jaxvals_p = add_any_p.bind, add_any_p
zeros_like_aval = zeros
_OF_FLAT_FUNCTIONS = """
    backward_pass_internal closed_backward_pass f_jvp_traceable jvp_subtrace jvp_subtrace_aux jvpfun linearize
    nonzero_outputs nonzero_tangent_outputs rearrange_binders traceable unpair_pval vjp
"""
__getattr__ = lazy_names(
    "tinytrace", dict.fromkeys(_OF_FLAT_FUNCTIONS.split(), "interpreters.flat_transformations"), __name__)


def _transpose_rule(primitive: Primitive, rule: Rule) -> Rule:
    """Return a rule that may answer with the class `Zero` alone: no argument receives anything.

    JAX tells rules of calls and maps their program apart: `rule(params, call_jaxpr, args, cts, ct_avals)`.
    """
    if primitive.call_primitive or primitive.map_primitive:
        def transpose_call(cts: Any, *args: Any, call_jaxpr: Any, **params: Any) -> Any:
            return rule(params, call_jaxpr, args, cts, call_jaxpr.out_avals)

        transpose_call.of_jax = rule  # type: ignore[attr-defined]
        return transpose_call

    def transpose(ct: Any, *args: Any, **params: Any) -> Any:
        cts = rule(ct, *args, **params)
        if cts is Zero:
            return [None] * len(args)
        for x, given in zip(args, cts, strict=False):
            if is_undefined_primal(x) and given is not None and given is not Zero:
                _check_type(f"the transpose rule of '{primitive}' returned a cotangent", "an operand", x.aval, given)
        return cts

    return functools.wraps(rule)(transpose) if hasattr(rule, "__name__") else transpose


def _jvp_rule(primitive: Primitive, rule: Rule) -> Rule:
    """Return a rule that gets tuples, as JAX's do, and whose tangents must fit its results."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out, out_tangent = rule(tuple(primals), tuple(tangents), **params)
        for x, t in zip(out, out_tangent, strict=False) if primitive.multiple_results else [(out, out_tangent)]:
            _check_type(f"the jvp rule of '{primitive}' returned a tangent", "a result", aval_of(x), t)
        return out, out_tangent

    return functools.wraps(rule)(jvp) if hasattr(rule, "__name__") else jvp


def _check_type(whose: str, what: str, wanted: ShapedArray, given: Any) -> None:
    """Raise TypeError where a tangent or cotangent that a user's rule returned is none of its value."""
    aval = given.aval if type(given) is Zero else aval_of(given)
    dtype = wanted.to_tangent_aval().dtype  # of integers a rule may say what it likes: nothing moves
    of_dtype = type(given) is Zero or aval.dtype == dtype or aval.weak_type or dtype == FLOAT0
    if aval.shape != wanted.shape or not of_dtype:
        raise TypeError(f"{whose} of type {aval.str_short()} for {what} of type {wanted.str_short()}: it has the shape "
                        f"and dtype of what it belongs to")


primitive_jvps = RuleTable("jvp", _jvp_rule)
"""`rule(primals, tangents, **params) -> (out, out_tangent)`."""


class _Transposes(RuleTable):
    """Rules as JAX calls them, also those of the rooms of calls and maps."""

    def __getitem__(self, primitive: Primitive) -> Rule:
        rule = super().__getitem__(primitive)
        if (primitive.call_primitive or primitive.map_primitive) and not hasattr(rule, "of_jax"):
            return functools.partial(call_transpose, primitive)
        return getattr(rule, "of_jax", rule)


primitive_transposes = _Transposes("transpose", _transpose_rule)
"""`rule(ct, *args, **params) -> one cotangent, or None, per argument`."""
reducing_transposes = WrittenRules("transpose", _transpose_rule, (remat_p, pjit_p, scan_p, cond_p))
"""The same, of rules that sum over named axes themselves; they are asked first, for each is in one place only."""
zeros_like_p = Primitive("zeros_like")
"""A primitive without rules, as in JAX 0.4.35, where it is kept for programs that mention it."""


def get_primitive_transpose(primitive: Primitive) -> Rule:
    """Return the transpose rule of `primitive`.

    Raises: NotImplementedError where there is none.
    """
    try:
        return primitive_transposes[primitive]
    except KeyError:
        raise NotImplementedError("Transpose rule (for reverse-mode differentiation) for "
                                  f"'{primitive}' not implemented") from None


# --- linear primitives -----------------------------------------------------------------------------------------

def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """Say that `primitive` is linear in all of its operands: `transpose_rule(ct, **params)` gives their cotangents."""
    primitive_jvps[primitive] = functools.partial(linear_jvp, primitive)
    primitive_transposes[primitive] = functools.partial(linear_transpose, transpose_rule)


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Say that `primitive` is linear in all of its operands: `transpose_rule(ct, *args, **params)`."""
    primitive_jvps[primitive] = functools.partial(linear_jvp, primitive)
    primitive_transposes[primitive] = functools.partial(linear_transpose2, transpose_rule)


def linear_jvp(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The jvp rule of a linear primitive: tangents go where values go."""
    out = primitive.bind(*primals, **params)
    if all(type(tangent) is Zero for tangent in tangents):
        zero = list(map(Zero.from_primal_value, out)) if primitive.multiple_results else Zero.from_primal_value(out)
        return out, zero
    return out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def linear_transpose(transpose_rule: Rule, cotangent: Any, *args: Any, **params: Any) -> Any:
    """The transpose rule of a linear primitive, from a rule that needs no arguments."""
    return Zero if type(cotangent) is Zero else transpose_rule(cotangent, **params)


def linear_transpose2(transpose_rule: Rule, cotangent: Any, *args: Any, **params: Any) -> Any:
    """The transpose rule of a linear primitive, from a rule that looks at the arguments."""
    return Zero if type(cotangent) is Zero else transpose_rule(cotangent, *args, **params)


def defbilinear(primitive: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Say that `primitive(x, y)` is linear in each operand: the rules give the cotangent of x, and of y, from
    `(ct, x, y, **params)`, where one of the two is an `UndefinedPrimal`."""
    defjvp(primitive, lambda g, x, y, **params: primitive.bind(g, y, **params),
           lambda g, x, y, **params: primitive.bind(x, g, **params))
    primitive_transposes[primitive] = functools.partial(bilinear_transpose, lhs_rule, rhs_rule)


def bilinear_transpose(lhs_rule: Rule, rhs_rule: Rule, cotangent: Any, x: Any, y: Any, **params: Any) -> Any:
    """The transpose rule of a bilinear primitive, in whichever operand is linear."""
    assert is_undefined_primal(x) ^ is_undefined_primal(y)
    rule, linear = (lhs_rule, x) if is_undefined_primal(x) else (rhs_rule, y)
    out = Zero(linear.aval) if type(cotangent) is Zero else rule(cotangent, x, y, **params)
    return (out, None) if linear is x else (None, out)


# --- rules by operand ------------------------------------------------------------------------------------------

def defjvp(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Give one rule per operand: `rule(tangent, *primals, **params)` is its part of the result's tangent."""
    primitive_jvps[primitive] = functools.partial(standard_jvp, jvprules, primitive)


def standard_jvp(jvprules: Sequence[Rule | None], primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any],
                 **params: Any) -> tuple[Any, Any]:
    """The jvp rule made of one rule per operand."""
    out = primitive.bind(*primals, **params)
    parts = [rule(t, *primals, **params) for rule, t in zip(jvprules, tangents, strict=True)
             if rule is not None and type(t) is not Zero]
    return out, functools.reduce(add_tangents, parts, Zero.from_primal_value(out))


def defjvp2(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Give one rule per operand that may use the result: `rule(tangent, result, *primals, **params)`."""
    primitive_jvps[primitive] = functools.partial(standard_jvp2, jvprules, primitive)


def standard_jvp2(jvprules: Sequence[Rule | None], primitive: Primitive, primals: Sequence[Any],
                  tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The jvp rule made of one rule per operand that may use the result."""
    out = primitive.bind(*primals, **params)
    parts = [rule(t, out, *primals, **params) for rule, t in zip(jvprules, tangents, strict=True)
             if rule is not None and type(t) is not Zero]
    return out, functools.reduce(add_tangents, parts, Zero.from_primal_value(out))


def defjvp_zero(primitive: Primitive) -> None:
    """Say that the result of `primitive` does not change with small changes of its operands."""
    primitive_jvps[primitive] = functools.partial(zero_jvp, primitive)


def zero_jvp(primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The jvp rule of a primitive that is constant almost everywhere."""
    out = primitive.bind(*primals, **params)
    return out, Zero.from_primal_value(out)


def zeros_like_jaxval(value: Any) -> Any:
    """Return zeros of the type of `value`."""
    return instantiate_zeros(Zero.from_primal_value(value))


# --- whole programs --------------------------------------------------------------------------------------------

def backward_pass(jaxpr: Jaxpr, reduce_axes: Any, transform_stack: bool, consts: Sequence[Any],
                  primals_in: Sequence[Any], cotangents_in: Sequence[Any]) -> list[Any]:
    """Return the cotangents of the inputs of a linear program: see `transforms/transpose.py`.

    Raises: NotImplementedError for `reduce_axes`.
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes on ad.backward_pass is deprecated")
    return transpose.backward_pass(jaxpr, consts, primals_in, cotangents_in, named=bool(transform_stack))


def jvp(fun: WrappedFun, has_aux: bool = False, instantiate: bool | Sequence[bool] = True,
        transform_stack: bool = True) -> WrappedFun:
    """Return a flat function as one of primals and tangents, to results and their tangents (and the second results).

    >>> from tinytrace.interpreters import ad
    >>> ad.jvp(wrap_init(lambda x: [x * x])).call_wrapped([3.0], [1.0])
    ([Array(9., dtype=float32, weak_type=True)], [Array(6., dtype=float32, weak_type=True)])
    """
    def pushed(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        outs, out_tangents, aux = transforms_jvp.jvp(fun.call_wrapped, primals, tangents, has_aux, instantiate,
                                                     transform_stack)
        return (outs, out_tangents, aux) if has_aux else (outs, out_tangents)

    return wrap_init(pushed)


def call_transpose(primitive: Primitive, params: dict[str, Any], call_jaxpr: Any, args: Sequence[Any],
                   ct: Sequence[Any], ct_avals: Any) -> Sequence[Any]:
    """The transpose rule of a call: a call of its program, transposed; map_transpose is that of a map."""
    closed = call_jaxpr if isinstance(call_jaxpr, ClosedJaxpr) else ClosedJaxpr(call_jaxpr, ())
    cts: Sequence[Any] = type(primitive).transpose(primitive, ct, *args, call_jaxpr=closed, **params)
    return cts


map_transpose = call_transpose
