"""`jax.typing`: libraries take the unions apart to check arguments while a program runs."""

from __future__ import annotations

import typing

import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.typing import ArrayLike, DTypeLike


def test_members():
    assert typing.get_origin(ArrayLike) is typing.get_origin(DTypeLike) is typing.Union
    assert typing.get_args(ArrayLike) == (jax.Array, np.ndarray, np.bool_, np.number, bool, int, float, complex)
    assert typing.get_args(DTypeLike)[:3] == (str, type[typing.Any], np.dtype)


def test_what_is_one():
    for x in (jnp.ones(3), np.ones(3), np.bool_(1), np.float32(1), True, 1, 1.0, 1j):
        assert isinstance(x, ArrayLike)
    assert not isinstance([1.0], ArrayLike)
    assert not isinstance("1", ArrayLike)
    assert jax.jit(lambda x: x if isinstance(x, ArrayLike) else -x)(1.0) == 1
    supports = typing.get_args(DTypeLike)[3]
    assert isinstance(jnp.float32, supports)
    assert isinstance(jnp.ones(3), supports)
    assert not isinstance("float32", supports)
