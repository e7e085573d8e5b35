"""`jax.scipy`: some of SciPy's functions; see https://jax.readthedocs.io/en/latest/jax.scipy.html."""
from tinytrace.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
