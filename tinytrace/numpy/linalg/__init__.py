"""`jax.numpy.linalg`: linear algebra, batched over leading axes.

See https://jax.readthedocs.io/en/latest/jax.numpy.html#module-jax.numpy.linalg.
"""
from tinytrace.numpy.linalg.determinants import SlogdetResult, det, slogdet
from tinytrace.numpy.linalg.factorizations import (
    EighResult,
    QRResult,
    SVDResult,
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_rank,
    qr,
    svd,
    svdvals,
)
from tinytrace.numpy.linalg.least_squares import lstsq, pinv
from tinytrace.numpy.linalg.norms import cond, matrix_norm, norm, vector_norm
from tinytrace.numpy.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from tinytrace.numpy.linalg.systems import inv, matrix_power, solve, tensorinv, tensorsolve
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = [
    "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "cond", "cross", "det", "diagonal", "eig",
    "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]
