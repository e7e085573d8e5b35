"""`jax.lax.linalg`: factorizations of matrices and triangular systems, under JAX's names.

See https://jax.readthedocs.io/en/latest/jax.lax.html#module-jax.lax.linalg.
"""
from tinytrace.primitives.eigenvalues import eig, eig_p
from tinytrace.primitives.factorization import SvdAlgorithm, eigh, eigh_p, qr, qr_p, svd, svd_p
from tinytrace.primitives.lu import lu, lu_p
from tinytrace.primitives.pivots import lu_pivots_to_permutation, lu_pivots_to_permutation_p
from tinytrace.primitives.reflections import (
    hessenberg,
    hessenberg_p,
    householder_product,
    householder_product_p,
    tridiagonal,
    tridiagonal_p,
)
from tinytrace.primitives.schur import schur, schur_p
from tinytrace.primitives.triangular import cholesky, cholesky_p, triangular_solve, triangular_solve_p
from tinytrace.util import lazy_names

_HOMES = {"qdwh": "scipy.polar_decomposition", "tridiagonal_solve": "lax.tridiagonal_systems",
          "tridiagonal_solve_p": "lax.tridiagonal_systems"}
__getattr__ = lazy_names("tinytrace", _HOMES, __name__)

__all__ = ["SvdAlgorithm", "cholesky", "cholesky_p", "eig", "eig_p", "eigh", "eigh_p", "hessenberg", "hessenberg_p",
           "householder_product", "householder_product_p", "lu", "lu_p", "lu_pivots_to_permutation",
           "lu_pivots_to_permutation_p", "qr", "qr_p", "schur", "schur_p", "svd", "svd_p", "triangular_solve",
           "triangular_solve_p", "tridiagonal", "tridiagonal_p", *_HOMES]
