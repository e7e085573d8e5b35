"""`jax.extend.backend`: which backend computes."""
from tinytrace.api.jit_cache import clear_caches as clear_backends
from tinytrace.lib.xla_bridge import get_backend
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)

__all__ = ["clear_backends", "get_backend"]
