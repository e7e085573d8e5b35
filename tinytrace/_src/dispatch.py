"""`jax._src.dispatch`: how operations run outside of programs."""
from tinytrace.api.callbacks import effects_barrier as wait_for_tokens
from tinytrace.interpreters.xla import apply_primitive as apply_primitive

__all__ = ["apply_primitive", "wait_for_tokens"]
