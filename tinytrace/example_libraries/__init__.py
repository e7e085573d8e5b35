"""`jax.example_libraries`: optimizers and layers, as examples of libraries made of functions."""
from tinytrace.util import lazy_submodules

__getattr__ = lazy_submodules(__name__, "optimizers", "stax")
