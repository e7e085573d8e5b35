"""`jax.scipy.linalg`: SciPy's names for factorizations and what is solved with them.

Arguments like `overwrite_a` and `check_finite` are accepted as SciPy's callers write them, and mean nothing here.
See https://jax.readthedocs.io/en/latest/jax.scipy.html#module-jax.scipy.linalg.
"""
from tinytrace.scipy.factorizations import cho_factor, cholesky, eigh, lu, lu_factor, qr, svd
from tinytrace.scipy.matrix_exponential import expm, expm_frechet
from tinytrace.scipy.polar_decomposition import polar
from tinytrace.scipy.schur_forms import funm, hessenberg, rsf2csf, schur, sqrtm
from tinytrace.scipy.special_matrices import block_diag, hilbert, toeplitz
from tinytrace.scipy.systems import cho_solve, det, inv, lu_solve, solve, solve_triangular
from tinytrace.scipy.tridiagonal_matrices import eigh_tridiagonal
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = ["block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "eigh_tridiagonal", "expm",
           "expm_frechet", "funm", "hessenberg", "hilbert", "inv", "lu", "lu_factor", "lu_solve", "polar", "qr",
           "rsf2csf", "schur", "solve", "solve_triangular", "sqrtm", "svd", "toeplitz"]
