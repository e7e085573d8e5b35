"""Classes of arrays that `vmap` maps as a whole, by functions of theirs: how an element is taken, and a batch is made.

    register_vmappable(Named, int, int, to_elt, from_elt, None)

`to_elt(cont, get_idx, x, spec)` answers with the element of a batch `x`, where `cont(array, axis)` is that of an array;
`from_elt(cont, axis_size, element, spec)` with the batch of an element, where `cont(axis_size, array, axis)` is that of
an array. A spec is what stands in `in_axes` and `out_axes`. Source: `jax.interpreters.batching` of JAX 0.4.35.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from tinytrace.core.dtypes import INT32
from tinytrace.primitives.creation import iota as _iota
from tinytrace.transforms.vmap import BatchTrace, move_output

Vmappable: TypeAlias = Any
Elt: TypeAlias = Any
MapSpec: TypeAlias = Any
GetIdx = Callable[[], Any]
ToEltHandler = Callable[[Callable[..., Any], GetIdx, Vmappable, MapSpec], Elt]
FromEltHandler = Callable[[Callable[..., Any], Any, Elt, MapSpec], Vmappable]
MakeIotaHandler = Callable[[Any], Any]

vmappables: dict[type, tuple[type, type]] = {}
"""By class: the types of its specs, and of the sizes of its axes."""
spec_types: set[type] = set()
to_elt_handlers: dict[type, ToEltHandler] = {}
from_elt_handlers: dict[type, FromEltHandler] = {}
make_iota_handlers: dict[type, MakeIotaHandler] = {}
element_runners: dict[type, Callable[[Callable[..., Any], Any], Any]] = {}
"""By class of elements that want a trace of their own: `runner(fun, elements)` calls a function of such elements."""


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, to_elt: ToEltHandler,
                       from_elt: FromEltHandler, make_iota: MakeIotaHandler | None) -> None:
    """Let `vmap` map objects of class `data_type`; `make_iota(size)` gives the numbers along an axis, if need be."""
    vmappables[data_type] = (spec_type, axis_size_type)
    spec_types.add(spec_type)
    to_elt_handlers[data_type], from_elt_handlers[data_type] = to_elt, from_elt
    if make_iota:
        make_iota_handlers[axis_size_type] = make_iota


def unregister_vmappable(data_type: type) -> None:
    """Undo `register_vmappable`."""
    _, axis_size_type = vmappables.pop(data_type)
    spec_types.clear()
    spec_types.update(spec for spec, _ in vmappables.values())
    del to_elt_handlers[data_type], from_elt_handlers[data_type]
    make_iota_handlers.pop(axis_size_type, None)


def is_vmappable(x: Any) -> bool:
    """Is an object of a class that was registered?"""
    return type(x) in vmappables


def is_made_by_class(x: Elt, spec: MapSpec) -> bool:
    """Does a handler say what the batch of an element is, because of its class or, for an array, that of the spec?"""
    return type(x) in from_elt_handlers or type(spec) in from_elt_handlers


def call_on_elements(fun: Callable[..., Any], elements: Any) -> Any:
    """Call a function of elements, in a trace of their own where they want one."""
    runner = next((element_runners[type(x)] for x in elements if type(x) in element_runners), None)
    return runner(fun, elements) if runner else fun(*elements)


def make_iota(axis_size: Any) -> Any:
    """Return the numbers along an axis.

    >>> make_iota(3)
    Array([0, 1, 2], dtype=int32)
    """
    handler = make_iota_handlers.get(type(axis_size))
    return handler(axis_size) if handler else _iota(INT32, int(axis_size))


def to_elt(trace: BatchTrace, get_idx: GetIdx, x: Vmappable, spec: MapSpec) -> Elt:
    """Return the element of a batch, in a trace that maps over it.

    Raises: TypeError for a spec that is no axis, where the class of `x` was not registered.
    """
    handler = to_elt_handlers.get(type(x))
    if handler:
        return handler(functools.partial(to_elt, trace, get_idx), get_idx, x, spec)
    if spec is not None and not isinstance(spec, int):
        raise TypeError(f"vmap cannot map a {type(x).__name__} over {spec!r}: its class was not registered by "
                        "batching.register_vmappable")
    return trace.join(x, spec if spec is None or spec >= 0 else spec + len(x.shape))


def from_elt(trace: BatchTrace, axis_size: Any, i: int, x: Elt, spec: MapSpec) -> Vmappable:
    """Return the batch of which `x`, output number `i`, is an element."""
    handler = from_elt_handlers.get(type(x)) or from_elt_handlers.get(type(spec))
    if handler:
        return handler(lambda size, element, axis: from_elt(trace, size, i, element, axis), axis_size, x, spec)
    value, dim = trace.split(x)
    return move_output(i, value, axis_size, dim, spec)
