"""`named_scope`: a name for a group of operations."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Name the operations inside the block (or, as a decorator, inside a function) for whoever reads the program.

    Names are for profilers of compiled code; they stand neither in jaxprs nor, so far, in the C.
    Raises TypeError when `name` is no string. Source: `jax.named_scope`.

    >>> with named_scope("layer1"):
    ...     y = 1 + 1
    """
    if not isinstance(name, str):
        raise TypeError("named_scope name argument must be a string.")
    yield
