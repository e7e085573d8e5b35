"""`random.clone`: the same key, to be used again on purpose; `jax.experimental.key_reuse` takes it for a fresh one."""
from __future__ import annotations

from typing import Any

from tinytrace.api.concrete import as_array
from tinytrace.core.avals import aval_of
from tinytrace.core.own_primitive import OwnPrimitive
from tinytrace.interpreters import batching, mlir

random_clone_p = OwnPrimitive("random_clone")


def clone(key: Any) -> Any:
    """Return the same key, to be used again on purpose.

    See https://docs.jax.dev/en/latest/_autosummary/jax.random.clone.html.

    >>> from tinytrace import random
    >>> key = random.key(0)
    >>> bool(clone(key) == key), clone(key) is key
    (True, False)
    """
    return random_clone_p.bind(key)


def _impl(key: Any) -> Any:
    aval = aval_of(key)
    return as_array(key, aval).again(aval)


random_clone_p.def_impl(_impl)
random_clone_p.def_abstract_eval(lambda aval: aval)
batching.defvectorized(random_clone_p)
mlir.register_lowering(random_clone_p, mlir.lower_fun(lambda key: key, multiple_results=False))
