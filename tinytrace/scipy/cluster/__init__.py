"""`jax.scipy.cluster`: vector quantization."""
from tinytrace.util import lazy_submodules

__getattr__ = lazy_submodules(__name__, "vq")
