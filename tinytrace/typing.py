"""`jax.typing`: what stands for arrays and their types in annotations.

See https://jax.readthedocs.io/en/latest/jax.typing.html.
"""
from tinytrace.numpy.promotion import ArrayLike, DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
