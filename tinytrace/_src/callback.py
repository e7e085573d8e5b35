"""`jax._src.callback`: calls of Python from inside programs."""
from tinytrace.api.callbacks import io_callback as io_callback
from tinytrace.api.callbacks import pure_callback as pure_callback
from tinytrace.control_flow.callbacks import pure_callback_p as pure_callback_p
from tinytrace.control_flow.io_callback import io_callback_p as io_callback_p
