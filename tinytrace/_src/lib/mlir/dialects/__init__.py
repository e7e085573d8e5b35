"""`jax._src.lib.mlir.dialects`: of the operations of MLIR, the elementwise ones of `hlo`."""
