"""`jax.scipy.sparse`: linear systems given by functions (`linalg`); there are no sparse arrays."""
from tinytrace.scipy.sparse import linalg as linalg
