"""Arguments for functions that nobody has looked at: by name where they must be special, else the first that is taken.

An argument list is a function of (size, dtype); its NumPy arrays are the operands, everything else is static.
"""
from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Arguments = Callable[[int, Any], tuple[Any, ...]]


class Key:
    """Stands for a random key; NumPy's rivals draw from a generator of their own."""


def numbers(size: int | tuple[int, ...], dtype: Any, low: float = 0.25, high: float = 3.0, salt: str = "") -> Any:
    """Return numbers between `low` and `high`, the same for the same size and salt."""
    values = np.random.default_rng(zlib.crc32(f"{size}{salt}".encode())).uniform(low, high, size)
    return values.astype(dtype)


def positions(size: int, below: int) -> Any:
    """Return integers from 0 to before `below`."""
    return np.random.default_rng(size).integers(0, max(below, 1), size).astype(np.int32)


def square(size: int, dtype: Any) -> Any:
    """Return a matrix of about `size` elements that can be inverted."""
    n = max(2, math.isqrt(size))
    most = n if np.dtype(dtype).itemsize > 1 else min(n, 100)  # of a byte
    return (numbers((n, n), dtype, 0.5, 1.0) + np.eye(n, dtype=dtype) * most).astype(dtype)


def _x(n: int, d: Any) -> Any:
    return numbers(n, d)


def _y(n: int, d: Any) -> Any:
    return numbers(n, d, salt="y")


def _rows(n: int, d: Any) -> Any:
    return numbers((max(1, n // 10), 10), d)


def _image(n: int, d: Any) -> Any:
    side = max(3, math.isqrt(n // 4))
    return numbers((1, 4, side, side), d)


BY_STRATEGY: dict[str, Arguments] = {
    "x": lambda n, d: (_x(n, d),),
    "x y": lambda n, d: (_x(n, d), _y(n, d)),
    "x y z": lambda n, d: (_x(n, d), _y(n, d), numbers(n, d, salt="z")),
    "matrix": lambda n, d: (square(n, d),),
    "matrix vector": lambda n, d: (square(n, d), square(n, d)[0]),
    "matrix matrix": lambda n, d: (square(n, d), square(n, d)),
    "integers": lambda n, d: (positions(n, 5),),
    "integers integers": lambda n, d: (positions(n, 5), positions(n, 7)),
    "x integers": lambda n, d: (_x(n, d), positions(n, n)),
    "integers x": lambda n, d: (positions(n, 3), _x(n, d)),
    "mask": lambda n, d: (_x(n, np.float32) > 1,),
    "mask x y": lambda n, d: (_x(n, np.float32) > 1, _x(n, d), _y(n, d)),
    "x 2": lambda n, d: (_x(n, d), 2),
    "n": lambda n, d: (n,),
    "key shape": lambda n, d: (Key(), (n,)),
    "key x": lambda n, d: (Key(), _x(n, d)),
    "key": lambda n, d: (Key(),),
}

BY_NAME: dict[str, Arguments] = {
    "arange": lambda n, d: (n,),
    "zeros": lambda n, d: (n,),
    "ones": lambda n, d: (n,),
    "eye": lambda n, d: (math.isqrt(n),),
    "identity": lambda n, d: (math.isqrt(n),),
    "tri": lambda n, d: (math.isqrt(n),),
    "tril_indices": lambda n, d: (math.isqrt(n),),
    "triu_indices": lambda n, d: (math.isqrt(n),),
    "full": lambda n, d: ((n,), 2.0),
    "linspace": lambda n, d: (0.0, 1.0, n),
    "reshape": lambda n, d: (_rows(n, d), (-1,)),
    "broadcast": lambda n, d: (numbers(10, d), (max(1, n // 10),)),
    "broadcast_to": lambda n, d: (numbers(10, d), (max(1, n // 10), 10)),
    "concatenate": lambda n, d: ([_x(n, d), _y(n, d)],),
    "stack": lambda n, d: ([_x(n, d), _y(n, d)],),
    "histogram": lambda n, d: (_x(n, d),),
    "searchsorted": lambda n, d: (np.sort(_x(n, d)), _y(n, d)),
    "interp": lambda n, d: (_y(n, d), np.sort(_x(n, d)), _x(n, d)),
    "digitize": lambda n, d: (_x(n, d), np.arange(9.0) / 3),
    "percentile": lambda n, d: (_x(n, d), 30.0),
    "quantile": lambda n, d: (_x(n, d), 0.3),
    "nanpercentile": lambda n, d: (_x(n, d), 30.0),
    "nanquantile": lambda n, d: (_x(n, d), 0.3),
    "clip": lambda n, d: (_x(n, d), 1, 2),
    "clamp": lambda n, d: (np.array(1, d), _x(n, d), np.array(2, d)),
    "roll": lambda n, d: (_x(n, d), 3),
    "tile": lambda n, d: (_x(n, d), 3),
    "repeat": lambda n, d: (_x(n, d), 3),
    "pad": lambda n, d: (_x(n, d), 2),
    "split": lambda n, d: (_x(n // 2 * 2, d), 2),
    "expand_dims": lambda n, d: (_x(n, d), 0),
    "polyval": lambda n, d: (numbers(16, d), _x(n, d)),
    "convolve": lambda n, d: (_x(n, d), numbers(9, d)),
    "correlate": lambda n, d: (_x(n, d), numbers(9, d)),
    "partition": lambda n, d: (_x(n, d), n // 2),
    "argpartition": lambda n, d: (_x(n, d), n // 2),
    "top_k": lambda n, d: (_x(n, d), min(10, n)),
    "one_hot": lambda n, d: (positions(max(1, n // 10), 10), 10),
    "transpose": lambda n, d: (square(n, d),),
    "tril": lambda n, d: (square(n, d),),
    "triu": lambda n, d: (square(n, d),),
    "diag": lambda n, d: (square(n, d),),
    "moveaxis": lambda n, d: (square(n, d), 0, 1),
    "swapaxes": lambda n, d: (square(n, d), 0, 1),
    "fliplr": lambda n, d: (square(n, d),),
    "rot90": lambda n, d: (square(n, d),),
    "flip": lambda n, d: (_x(n, d),),
    "einsum": lambda n, d: ("ij,jk->ik", square(n, d), square(n, d)),
    "kron": lambda n, d: (_x(math.isqrt(n), d), _y(math.isqrt(n), d)),
    "outer": lambda n, d: (_x(math.isqrt(n), d), _y(math.isqrt(n), d)),
    "polymul": lambda n, d: (_x(math.isqrt(n), d), _y(math.isqrt(n), d)),
    "polydiv": lambda n, d: (_x(math.isqrt(n), d), _y(math.isqrt(n) // 2 + 1, d)),
    "poly": lambda n, d: (_x(math.isqrt(n), d),),
    "roots": lambda n, d: (_x(math.isqrt(n), d),),
    "diagflat": lambda n, d: (_x(math.isqrt(n), d),),
    "vander": lambda n, d: (_x(max(1, n // 10), d), 10),
    "cov": lambda n, d: (_rows(n, d).T,),
    "corrcoef": lambda n, d: (_rows(n, d).T,),
    "gradient": lambda n, d: (_x(n, d),),
    "cross": lambda n, d: (numbers((max(1, n // 3), 3), d), numbers((max(1, n // 3), 3), d, salt="y")),
    "take": lambda n, d: (_x(n, d), positions(n, n)),
    "bincount": lambda n, d: (positions(n, 50),),
    "rev": lambda n, d: (_x(n, d), (0,)),
    "iota": lambda n, d: (d, n),
    "bits": lambda n, d: (Key(), (n,)),
    "randint": lambda n, d: (Key(), (n,), 0, 10),
    "permutation": lambda n, d: (Key(), _x(n, d)),
    "choice": lambda n, d: (Key(), n, (n,)),
    "gamma": lambda n, d: (Key(), 2.0, (n,)),
    "beta": lambda n, d: (Key(), 2.0, 3.0, (n,)),
    "poisson": lambda n, d: (Key(), 4.0, (n,)),
    "bernoulli": lambda n, d: (Key(), 0.3, (n,)),
    "categorical": lambda n, d: (Key(), _rows(n, d)),
    "dirichlet": lambda n, d: (Key(), numbers(10, d), (max(1, n // 10),)),
    "conv": lambda n, d: (_image(n, d), numbers((4, 4, 3, 3), d), (1, 1), "SAME"),
    "cumsum": lambda n, d: (_x(n, d),),
    "softmax": lambda n, d: (_rows(n, d),),
    "log_softmax": lambda n, d: (_rows(n, d),),
    "matrix_power": lambda n, d: (square(n, d), 3),
    "meshgrid": lambda n, d: (_x(math.isqrt(n), d), _y(math.isqrt(n), d)),
}


def choices(name: str) -> list[tuple[str, Arguments]]:
    """Return the argument lists that a function of this name may take, the first of which it takes is used."""
    return [("by name", BY_NAME[name])] if name in BY_NAME else list(BY_STRATEGY.items())


def arguments_of(name: str, choice: str, size: int, dtype: Any) -> tuple[Any, ...]:
    """Return the arguments of one case."""
    return dict(choices(name))[choice](size, dtype)
