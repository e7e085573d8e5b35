"""`jax.experimental.key_reuse`: a key that is used twice is an error, while the setting `debug_key_reuse` is on.

    with jax.debug_key_reuse(True):
        key = jax.random.key(0)
        jax.random.normal(key)
        jax.random.normal(key)   # KeyReuseError

Typed keys alone are watched. `signatures` says what functions do to keys, `rules` tells it of programs and primitives,
`tracking` watches the arrays that hold keys. Source: `jax.experimental.key_reuse` of JAX 0.4.35.
"""
from tinytrace.util import lazy_submodules

__getattr__ = lazy_submodules(__name__, "_core", "rules", "signatures", "tracking")
