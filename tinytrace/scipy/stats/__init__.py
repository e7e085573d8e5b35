"""`jax.scipy.stats`: the normal distribution; see https://jax.readthedocs.io/en/latest/jax.scipy.html#jax-scipy-stats."""
from tinytrace.scipy.stats import norm

__all__ = ["norm"]
