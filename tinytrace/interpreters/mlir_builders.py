"""What builds MLIR in `jax.interpreters.mlir`. There is none here: such a function, called, says what to write instead.
Rules for classes of one's own are kept, and answer where JAX asks them.

Source: `jax.interpreters.mlir` of JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import tinytrace.numpy as jnp
from tinytrace.interpreters.no_mlir import refuse

# --- rules for types of one's own -----------------------------------------------------------------------------------

ir_type_handlers: dict[type, Callable[[Any], Any]] = {}
"""By the class of a type: what makes the types of MLIR for it."""

_constant_handlers: dict[type, Callable[[Any], Any]] = {}


def register_constant_handler(type_: type, handler_fun: Callable[[Any], Any]) -> None:
    """Let `handler_fun` make values for lowering rules of constants of a class of one's own.

    >>> class Celsius(float): ...
    >>> register_constant_handler(Celsius, lambda x: ir_constant(float(x) + 273.15))
    >>> ir_constant(Celsius(0.85))
    274.0
    """
    _constant_handlers[type_] = handler_fun


def get_constant_handler(type_: type) -> Callable[[Any], Any]:
    """Return what makes values of constants of a class; arrays and numbers are values already.

    >>> get_constant_handler(float)(1.5)
    1.5
    """
    return _constant_handlers.get(type_, lambda value: value)


def ir_constant(value: Any, **options: Any) -> Any:
    """Return a number or array as a value for lowering rules: itself, or what the handler of its class makes of it."""
    handler = next((_constant_handlers[t] for t in type(value).__mro__ if t in _constant_handlers), None)
    return value if handler is None else handler(value)


def aval_to_ir_type(aval: Any) -> Any:
    """Return the types of MLIR for a type, where a handler of one's own makes them.

    Raises: NotImplementedError for all other types.
    """
    handler = ir_type_handlers.get(type(aval))
    return refuse("mlir.aval_to_ir_type") if handler is None else handler(aval)


def aval_to_ir_types(aval: Any) -> tuple[Any, ...]:
    """Return `aval_to_ir_type` as a tuple."""
    types = aval_to_ir_type(aval)
    return tuple(types) if isinstance(types, (tuple, list)) else (types,)


# --- values that need no MLIR ---------------------------------------------------------------------------------------

def shape_tensor(sizes: Sequence[Any]) -> Any:
    """Return sizes, numbers or values of a lowering rule, as an array i32[n].

    >>> shape_tensor([2, 3])
    Array([2, 3], dtype=int32)
    """
    return jnp.concatenate([jnp.reshape(jnp.asarray(x, jnp.int32), (-1,)) for x in sizes])


# --- types, attributes, operations, modules -------------------------------------------------------------------------

def dtype_to_ir_type(dtype: Any) -> NoReturn:
    """Refuse: the type of MLIR for the elements of an array."""
    refuse("mlir.dtype_to_ir_type")


def token_type() -> NoReturn:
    """Refuse: the type of MLIR for tokens."""
    refuse("mlir.token_type")


def i32_attr(i: int) -> NoReturn:
    """Refuse: an attribute of 32 bits."""
    refuse("mlir.i32_attr")


def i64_attr(i: int) -> NoReturn:
    """Refuse: an attribute of 64 bits."""
    refuse("mlir.i64_attr")


def dense_int_elements(xs: Sequence[int]) -> NoReturn:
    """Refuse: an attribute of integers."""
    refuse("mlir.dense_int_elements")


def dense_int_array(xs: Sequence[int]) -> NoReturn:
    """Refuse: an attribute of integers."""
    refuse("mlir.dense_int_array")


def dense_bool_elements(xs: Sequence[bool]) -> NoReturn:
    """Refuse: an attribute of truth values."""
    refuse("mlir.dense_bool_elements")


def dense_bool_array(xs: Sequence[bool]) -> NoReturn:
    """Refuse: an attribute of truth values."""
    refuse("mlir.dense_bool_array")


def custom_call(call_target_name: str, *, result_types: Sequence[Any], operands: Sequence[Any],
                **options: Any) -> NoReturn:
    """Refuse: the call of a function that XLA knows by name."""
    refuse("mlir.custom_call")


def lower_jaxpr_to_fun(ctx: Any, name: str, jaxpr: Any, effects: Sequence[Any], name_stack: Any,
                       **options: Any) -> NoReturn:
    """Refuse: a program as a function of MLIR; `jaxpr_subcomp` computes it inside of a rule."""
    refuse("mlir.lower_jaxpr_to_fun")


def lower_jaxpr_to_module(module_name: str, jaxpr: Any, **options: Any) -> NoReturn:
    """Refuse: a program as a module of MLIR; `jit(f).lower(...)` has its text in C."""
    refuse("mlir.lower_jaxpr_to_module")


def make_ir_context() -> NoReturn:
    """Refuse: what modules of MLIR are built in."""
    refuse("mlir.make_ir_context")


def merge_mlir_modules(dst_module: Any, sym_name: str, src_module: Any, dst_symtab: Any = None) -> NoReturn:
    """Refuse: one module of two."""
    refuse("mlir.merge_mlir_modules")


def module_to_bytecode(module: Any) -> NoReturn:
    """Refuse: a module as bytes."""
    refuse("mlir.module_to_bytecode")


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> NoReturn:
    """Refuse: a module as text."""
    refuse("mlir.module_to_string")


def xla_computation_to_mlir_module(xla_computation: Any) -> NoReturn:
    """Refuse: a module of a program of XLA's."""
    refuse("mlir.xla_computation_to_mlir_module")
