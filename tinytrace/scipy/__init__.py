"""`jax.scipy`: some of SciPy's functions; see https://jax.readthedocs.io/en/latest/jax.scipy.html."""
from tinytrace.scipy import linalg, special, stats
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = ["linalg", "special", "stats"]
