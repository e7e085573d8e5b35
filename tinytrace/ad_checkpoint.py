"""`jax.ad_checkpoint`: checkpoints, their policies, and a look at what they save."""
from tinytrace.api.checkpointing import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    remat,
)
from tinytrace.api.saved_residuals import print_saved_residuals
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = ["Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_policies",
           "print_saved_residuals", "remat"]
