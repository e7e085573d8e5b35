"""`jax.extend.mlir.dialects`: of the operations of MLIR, the elementwise ones of `stablehlo`."""
from tinytrace.interpreters import no_mlir, stablehlo

arith = builtin = chlo = func = math = memref = scf = sdy = sparse_tensor = vector = no_mlir

__all__ = ["arith", "builtin", "chlo", "func", "math", "memref", "scf", "sdy", "sparse_tensor", "stablehlo", "vector"]
