"""`jax.scipy.optimize`: minimization, which is not here. What libraries mention of it refuses to be used."""
from tinytrace.missing import refused

_WHY = "use scipy.optimize.minimize(f, x0, jac=jax.grad(f)), with f jitted; or the library jaxopt or optimistix"

minimize = refused("jax.scipy.optimize.minimize", _WHY)
OptimizeResults = refused("jax.scipy.optimize.OptimizeResults", _WHY)
