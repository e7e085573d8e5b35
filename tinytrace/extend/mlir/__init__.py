"""`jax.extend.mlir`: MLIR's Python bindings, in whose place there is a sentence (`interpreters/no_mlir.py`)."""
from tinytrace.interpreters import no_mlir as ir

passmanager = ir.refused("mlir.passmanager")

__all__ = ["ir", "passmanager"]
