"""What only arrays have, not the tracers that stand for them: memory, a device, parts on devices.

`hasattr(x, "sharding")` and its kin are False for tracers, as in JAX; the rest says what was asked, and of what.
"""
from __future__ import annotations

from typing import Any, NoReturn

from tinytrace import errors


def refuse(tracer: Any, text: str) -> NoReturn:
    """Raise JAX's error: `text`, and the type and origin of the tracer that was asked."""
    raise errors.ConcretizationTypeError(
        tracer, f"{text} on traced array with shape {errors.long_type(tracer.aval)}.{tracer._origin_msg()}")


def _attribute(text: str) -> property:
    def ask(self: Any) -> Any:
        refuse(self, text)

    return property(ask)


class OnlyArrays:
    """A part of `Tracer`: the methods and attributes of arrays that are computed."""

    __slots__ = ()

    addressable_shards = _attribute("The 'addressable_shards' attribute is not available")
    committed = _attribute("The 'committed' attribute is not available")
    global_shards = _attribute("The global_shards property was called")
    is_fully_addressable = _attribute("The is_fully_addressable property was called")
    is_fully_replicated = _attribute("The is_fully_replicated property was called")
    traceback = _attribute("The traceback property was called")

    def addressable_data(self: Any, index: int) -> NoReturn:
        refuse(self, "The addressable_data() method was called")

    def delete(self: Any) -> NoReturn:
        refuse(self, "The delete() method was called")

    def devices(self: Any) -> NoReturn:
        refuse(self, "The devices() method was called")

    def is_deleted(self: Any) -> NoReturn:
        refuse(self, "The is_deleted() method was called")

    def on_device_size_in_bytes(self: Any) -> NoReturn:
        refuse(self, "The on_device_size_in_bytes() method was called")

    def unsafe_buffer_pointer(self: Any) -> NoReturn:
        refuse(self, "The unsafe_buffer_pointer() method was called")

    def tolist(self: Any) -> NoReturn:
        refuse(self, "The tolist() method was called")

    def tobytes(self: Any, order: str = "C") -> NoReturn:
        refuse(self, "The tobytes() method was called")

    def __dlpack__(self: Any, **request: Any) -> NoReturn:
        refuse(self, "The __dlpack__() method was called")
