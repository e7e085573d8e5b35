"""`jax.scipy`: some of SciPy's functions; see https://jax.readthedocs.io/en/latest/jax.scipy.html."""
from tinytrace.scipy import fft, linalg, special, stats
from tinytrace.util import lazy_submodules

__getattr__ = lazy_submodules(__name__, "cluster", "integrate", "interpolate", "ndimage", "optimize", "signal",
                              "sparse")
__all__ = ["fft", "linalg", "special", "stats"]
