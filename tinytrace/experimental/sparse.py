"""`jax.experimental.sparse`: sparse arrays, which are not here.

What libraries mention of it refuses to be used.
"""
from tinytrace.missing import refused

_WHY = "use dense arrays, or SciPy outside of jit"

BCOO = refused("jax.experimental.sparse.BCOO", _WHY)
BCSR = refused("jax.experimental.sparse.BCSR", _WHY)
COO = refused("jax.experimental.sparse.COO", _WHY)
CSR = refused("jax.experimental.sparse.CSR", _WHY)
CSC = refused("jax.experimental.sparse.CSC", _WHY)
JAXSparse = refused("jax.experimental.sparse.JAXSparse", _WHY)
sparsify = refused("jax.experimental.sparse.sparsify", _WHY)
bcoo_fromdense = refused("jax.experimental.sparse.bcoo_fromdense", _WHY)
bcoo_todense = refused("jax.experimental.sparse.bcoo_todense", _WHY)
