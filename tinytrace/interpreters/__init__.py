"""`jax.interpreters`: JAX's names for rules of primitives, by which one gives one's own primitives their rules.

A table of rules, such as `ad.primitive_jvps`, is a view of one slot of all rooms (`core/primitive.py`): reading it
gives the rule that the interpreters use, and writing it gives them another.
"""
from tinytrace.util import lazy_submodules

__getattr__ = lazy_submodules(__name__, "ad", "batching", "mlir", "partial_eval", "pxla", "xla")
