"""`jax.experimental.key_reuse._core`: checks of functions that are not called, and the names of JAX."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.experimental.key_reuse.rules import assert_consumed as assert_consumed
from tinytrace.experimental.key_reuse.rules import assert_consumed_value_p as assert_consumed_value_p
from tinytrace.experimental.key_reuse.rules import assert_unconsumed as assert_unconsumed
from tinytrace.experimental.key_reuse.rules import consume as consume
from tinytrace.experimental.key_reuse.rules import consume_p as consume_p
from tinytrace.experimental.key_reuse.rules import jaxpr_type_signature as jaxpr_type_signature
from tinytrace.experimental.key_reuse.rules import key_reuse_signature_from_eqn as key_reuse_signature_from_eqn
from tinytrace.experimental.key_reuse.rules import key_reuse_signatures as key_reuse_signatures
from tinytrace.experimental.key_reuse.rules import unknown_signature as unknown_signature
from tinytrace.experimental.key_reuse.signatures import Forward as Forward
from tinytrace.experimental.key_reuse.signatures import KeyReuseSignature as KeyReuseSignature
from tinytrace.experimental.key_reuse.signatures import Sink as Sink
from tinytrace.experimental.key_reuse.signatures import Source as Source
from tinytrace.experimental.key_reuse.tracking import check_program as check_key_reuse_jaxpr  # noqa: F401


def function_type_signature(fun: Callable[..., Any], *args: Any) -> KeyReuseSignature:
    """Return what a function does to the keys among its arguments.

    Raises: KeyReuseError when it uses a key twice.

    >>> from tinytrace import random
    >>> function_type_signature(random.bits, random.key(0))
    KeyReuseSignature(Sink(0),)
    """
    return jaxpr_type_signature(make_jaxpr(fun)(*args).jaxpr)


def check_key_reuse(fun: Callable[..., Any], /, *args: Any) -> None:
    """Raise KeyReuseError when a function uses a key twice; it is traced, and not run."""
    function_type_signature(fun, *args)
