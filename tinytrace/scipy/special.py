"""`jax.scipy.special`: special functions, as far as the primitives reach.

See https://jax.readthedocs.io/en/latest/jax.scipy.html#module-jax.scipy.special.
"""
from __future__ import annotations

from tinytrace.nn.softmax import log_softmax, softmax
from tinytrace.scipy.log_sums import logsumexp

__all__ = ["log_softmax", "logsumexp", "softmax"]
