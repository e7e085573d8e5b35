"""`jax.stages`: the types of the stages of compilation, and what is known of arguments."""
from typing import Any

from tinytrace.api.jit import JitFunction as Wrapped
from tinytrace.api.stages import ArgInfo as ArgInfo
from tinytrace.api.stages import Compiled as Compiled
from tinytrace.api.stages import Lowered as Lowered
from tinytrace.api.stages import OutInfo as OutInfo
from tinytrace.api.stages import Traced as Traced
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)

CompilerOptions = dict[str, Any]

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "OutInfo", "Traced", "Wrapped"]
