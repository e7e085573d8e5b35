"""`jax.extend.random.threefry2x32_p`: the hash of threefry on words, as a primitive over four arrays of them.

Keys of threefry are hashed by one routine in C (`primitives/random_bits.py`); this is the same hash for programs that
hold the words themselves. Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.jit import jit
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import UINT32
from tinytrace.core.own_primitive import OwnPrimitive
from tinytrace.interpreters import ad, batching, mlir
from tinytrace.primitives.random_bits import threefry_rounds

threefry2x32_p = OwnPrimitive("threefry2x32")
threefry2x32_p.multiple_results = True


def threefry_2x32(keypair: tuple[Any, Any], count: Any) -> Any:
    """Return the words that hash the counters `count`, u32[...], under a pair of words; of the shape of `count`.

    Raises: TypeError for other than 32-bit words.

    >>> threefry_2x32((np.uint32(1), np.uint32(2)), np.arange(2, dtype=np.uint32))
    Array([ 629003988, 1317161160], dtype=uint32)
    """
    key1, key2 = keypair
    dtypes = [lax.dtype(x) for x in (key1, key2, count)]
    if any(dtype != UINT32 for dtype in dtypes):
        raise TypeError(f"threefry_2x32 requires uint32 arguments, got {dtypes}")
    flat = count.ravel()
    if odd := count.size % 2:
        flat = jnp.concatenate([flat, np.zeros(1, np.uint32)])
    out = jnp.concatenate(threefry2x32_p.bind(key1, key2, *jnp.split(flat, 2)))
    return lax.reshape(out[:-1] if odd else out, count.shape)


def _types(*avals: ShapedArray) -> list[ShapedArray]:
    if any(aval.dtype != UINT32 for aval in avals):
        raise TypeError(f"Arguments to threefry2x32 must have uint32 type, got {avals}")
    return [ShapedArray(lax.broadcast_shapes(*(aval.shape for aval in avals)), UINT32)] * 2


def _impl(*words: Any) -> list[Any]:
    types = _types(*map(aval_of, words))
    return [jnp.broadcast_to(x, aval.shape) for x, aval in zip(_jitted_hash(*words), types, strict=True)]


def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    outs = threefry2x32_p.bind(*primals)
    return outs, [ad.Zero.from_primal_value(x) for x in outs]


_jitted_hash = jit(threefry_rounds)
threefry2x32_p.def_abstract_eval(_types)
threefry2x32_p.def_impl(_impl)
batching.defbroadcasting(threefry2x32_p)
ad.primitive_jvps[threefry2x32_p] = _jvp
mlir.register_lowering(threefry2x32_p, mlir.lower_fun(threefry_rounds))
