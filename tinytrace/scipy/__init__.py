"""`jax.scipy`: some of SciPy's functions; see https://jax.readthedocs.io/en/latest/jax.scipy.html."""
from tinytrace.scipy import special, stats

__all__ = ["special", "stats"]
