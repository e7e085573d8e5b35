"""`jax.experimental`: `io_callback`, and 64-bit numbers for a while."""
from tinytrace.api.callbacks import io_callback
from tinytrace.config import disable_x64, enable_x64

__all__ = ["disable_x64", "enable_x64", "io_callback"]
