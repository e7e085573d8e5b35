"""Parts of complex numbers, of which tinytrace has none: real numbers are refused, as in JAX."""
from __future__ import annotations

from typing import Any, NoReturn

from tinytrace.core.dtypes import dtype_of


def real(x: Any) -> NoReturn:
    """Refuse `x`, as JAX refuses what is not complex; `jnp.real` takes real numbers.

    >>> real(1.0)
    Traceback (most recent call last):
    TypeError: real does not accept dtype float32. Accepted dtypes are subtypes of complexfloating.
    """
    _refuse("real", x)


def imag(x: Any) -> NoReturn:
    """Refuse `x`, as JAX refuses what is not complex; `jnp.imag` takes real numbers.

    >>> imag(1.0)
    Traceback (most recent call last):
    TypeError: imag does not accept dtype float32. Accepted dtypes are subtypes of complexfloating.
    """
    _refuse("imag", x)


def _refuse(name: str, x: Any) -> NoReturn:
    raise TypeError(f"{name} does not accept dtype {dtype_of(x)}. Accepted dtypes are subtypes of complexfloating.")
