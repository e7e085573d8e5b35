"""`jax.scipy.stats`: distributions, each a module; see https://jax.readthedocs.io/en/latest/jax.scipy.html."""
from tinytrace.scipy.stats import (
    bernoulli,
    beta,
    betabinom,
    binom,
    cauchy,
    chi2,
    dirichlet,
    expon,
    gamma,
    gennorm,
    geom,
    laplace,
    logistic,
    multinomial,
    multivariate_normal,
    nbinom,
    norm,
    pareto,
    poisson,
    t,
    truncnorm,
    uniform,
    vonmises,
    wrapcauchy,
)
from tinytrace.scipy.stats.kde import gaussian_kde
from tinytrace.scipy.stats.summaries import mode, rankdata, sem
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gaussian_kde",
    "gennorm", "geom", "laplace", "logistic", "mode", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto",
    "poisson", "rankdata", "sem", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
]
