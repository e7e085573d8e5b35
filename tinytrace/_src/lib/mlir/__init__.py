"""`jax._src.lib.mlir`: MLIR's Python bindings, in whose place there is a sentence."""
