"""`jax.interpreters.mlir`: how one's own primitive is compiled.

JAX asks for a rule that builds MLIR. There is none of it here, and two ways that work:

    mlir.register_lowering(p, mlir.lower_fun(f))                 f: a Python function over jnp
    mlir.register_lowering(p, mlir.c_expression(lambda x, y: x * y + 1))
    mlir.register_lowering(p, mlir.c_function("float f(float x, float y) { return x * y + 1; }"))

and for a primitive that is Python and stays it, `mlir.register_lowering(p, mlir.call_impl)`: compiled programs call its
`impl`. A rule that is called as JAX calls it, `rule(ctx, *values, **params)`, runs while the program is lowered, on
tracers: it may call what `lower_fun` returns, bind primitives, compute programs (`jaxpr_subcomp`), call Python
(`emit_python_callback`) and use the elementwise operations of `hlo`; what it is told is in `lowering_contexts`;
what builds MLIR refuses to (`mlir_builders`).
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.config import trace_context
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.kinds import Call, HostCall, Kind
from tinytrace.core.own_primitive import set_rule, typed_results
from tinytrace.core.primitive import Primitive
from tinytrace.core.structure import typed_items
from tinytrace.interpreters import no_mlir as ir
from tinytrace.interpreters import stablehlo as hlo  # noqa: F401
from tinytrace.interpreters.c_lowering import InC
from tinytrace.interpreters.c_lowering import c_expression as c_expression
from tinytrace.interpreters.c_lowering import c_function as c_function
from tinytrace.interpreters.lowering_contexts import LoweringRule, LoweringRuleContext, module_context
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.util import lazy_names

_PROGRAMS_OF_A_RULE = 1024  # that are remembered, for as many avals and parameters

def register_lowering(prim: Primitive, rule: Any, platform: str | None = None, inline: bool = True,
                      cacheable: bool = True) -> Any:
    """Let `rule` say how `prim` is compiled; rules for other platforms than the CPU are never asked.

    Returns: `rule`.  Raises: TypeError when it is no rule.

    >>> from tinytrace import core, jit
    >>> import tinytrace.numpy as jnp
    >>> twice_p = core.Primitive("twice")
    >>> abstract_eval = twice_p.def_abstract_eval(lambda x: x)
    >>> rule = register_lowering(twice_p, lower_fun(lambda x: 2 * x, multiple_results=False))
    >>> jit(twice_p.bind)(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    if not callable(rule) and not isinstance(rule, (InC, CallImpl)):
        raise TypeError(f"the lowering of '{prim}' must be a rule, such as mlir.lower_fun(function), not {rule!r}")
    if platform not in (None, "cpu"):
        return rule
    is_kind = isinstance(rule, (InC, CallImpl))
    set_rule(prim, "lower", functools.partial(rule.kind, prim) if is_kind else _Lowering(prim, rule))
    prim.composite = not is_kind
    return rule


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweringRule:
    """Return the lowering rule of a primitive that computes what `fun(*args, **params)` computes, over jnp.

    Args: multiple_results: whether `fun` returns a sequence of results.
    """

    def lowered(ctx: LoweringRuleContext, *args: Any, **params: Any) -> Any:
        out = fun(*args, **params)
        return list(out) if multiple_results else [out]

    return functools.update_wrapper(lowered, fun) if hasattr(fun, "__name__") else lowered


class CallImpl:
    """The lowering `call_impl`: compiled programs return to Python for one call of `impl`, on NumPy arrays.

    >>> from tinytrace import core, jit
    >>> import numpy as np
    >>> sorted_p = core.Primitive("sorted")
    >>> rules = sorted_p.def_impl(np.sort), sorted_p.def_abstract_eval(lambda x: x)
    >>> rule = register_lowering(sorted_p, call_impl)
    >>> jit(lambda x: sorted_p.bind(x) + 1)(np.float32([3, 1]))
    Array([2., 4.], dtype=float32)
    """

    def kind(self, primitive: Primitive, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray],
             **params: Any) -> Kind:
        """Return what the code generator asks for."""
        def call(*args: Any) -> Any:
            promised = out_avals if primitive.multiple_results else out_avals[0]
            return typed_results(primitive, primitive.impl(*args, **params), promised)

        return HostCall(call)


call_impl = CallImpl()


class _Lowering:
    """A lowering rule of JAX's kind in the place of `Primitive.lower`: it answers with the program that it writes."""

    def __init__(self, primitive: Primitive, rule: LoweringRule) -> None:
        self.primitive, self.rule = primitive, rule
        self._remembered = functools.lru_cache(_PROGRAMS_OF_A_RULE)(self._program)

    def __call__(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        key = tuple(in_avals), tuple(out_avals), tuple(params.items()), typed_items(params), trace_context()
        try:
            hash(key)
        except TypeError:
            return Call(self._program(*key))
        return Call(self._remembered(*key))

    def _program(self, in_avals: tuple[ShapedArray, ...], out_avals: tuple[ShapedArray, ...],
                 items: tuple[tuple[str, Any], ...], *_context: Any) -> ClosedJaxpr:
        ctx, params = LoweringRuleContext(self.primitive, in_avals, out_avals, module_context()), dict(items)

        def lowered(*values: Any) -> list[Any]:
            outs = list(_flat(self.rule(ctx, *values, **params)))
            self._check(outs, out_avals)
            return [convert_element_type(x, aval.dtype, aval.weak_type)
                    for x, aval in zip(outs, out_avals, strict=True)]

        return trace_to_closed_jaxpr(lowered, in_avals)

    def _check(self, outs: Sequence[Any], out_avals: Sequence[ShapedArray]) -> None:
        given = [aval_of(x) for x in outs]
        if [(x.shape, x.dtype) for x in given] != [(x.shape, x.dtype) for x in out_avals]:
            raise TypeError(
                f"the lowering of '{self.primitive}' gives {', '.join(x.str_short() for x in given) or 'nothing'}, and "
                f"its abstract evaluation promises {', '.join(x.str_short() for x in out_avals) or 'nothing'}")


def _flat(values: Any) -> Any:
    for value in values if isinstance(values, (list, tuple)) else [values]:
        yield from _flat(value) if isinstance(value, (list, tuple)) else [getattr(value, "result", value)]


_OF_CONTEXTS = frozenset(re.findall(r"\w+", """
    AxisContext ConstantHandler DEVICE_TO_DEVICE_TYPE LoweringParameters LoweringResult Mesh MeshAxisName
    ModuleContext RECV_FROM_HOST_TYPE ReplicaAxisContext SEND_TO_HOST_TYPE SPMDAxisContext
    ShapePolyLoweringState ShardingContext Token TokenSet Value core_call_lowering emit_python_callback
    flatten_ir_types flatten_ir_values flatten_lowering_ir_args jaxpr_subcomp lowerable_effects
    unflatten_ir_values_like_types
"""))
_BUILDERS = frozenset(re.findall(r"\w+", """
    aval_to_ir_type aval_to_ir_types custom_call dense_bool_array dense_bool_elements dense_int_array dense_int_elements
    dtype_to_ir_type get_constant_handler i32_attr i64_attr ir_constant ir_type_handlers lower_jaxpr_to_fun
    lower_jaxpr_to_module make_ir_context merge_mlir_modules module_to_bytecode module_to_string
    register_constant_handler shape_tensor token_type xla_computation_to_mlir_module
"""))
_elsewhere = lazy_names("tinytrace", {**dict.fromkeys(_OF_CONTEXTS, "interpreters.lowering_contexts"),
                                      **dict.fromkeys(_BUILDERS, "interpreters.mlir_builders")}, __name__)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _elsewhere(name) if name in _OF_CONTEXTS | _BUILDERS else ir.refused(f"mlir.{name}")
