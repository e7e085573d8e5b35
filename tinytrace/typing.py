"""`jax.typing`: what stands for arrays and their types in annotations.

See https://jax.readthedocs.io/en/latest/jax.typing.html.
"""
from tinytrace.numpy.array_creation import DTypeLike
from tinytrace.numpy.promotion import ArrayLike

__all__ = ["ArrayLike", "DTypeLike"]
