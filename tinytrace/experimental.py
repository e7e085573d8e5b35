"""`jax.experimental`: `io_callback`."""
from tinytrace.api.callbacks import io_callback

__all__ = ["io_callback"]
