"""Pseudo-random numbers from explicit keys: `jax.random`, with the streams of JAX 0.4.35.

    key = random.key(0)
    key, subkey = random.split(key)
    x = random.normal(subkey, (3,))
"""
from typing import TYPE_CHECKING

from tinytrace.random.counts import binomial, geometric, poisson
from tinytrace.random.gamma_samples import beta, chisquare, dirichlet, f, gamma, loggamma, random_gamma_p, t
from tinytrace.random.keys import (
    PRNGKey,
    fold_in,
    key,
    key_data,
    key_impl,
    split,
    wrap_key_data,
)
from tinytrace.random.samplers import (
    bernoulli,
    bits,
    categorical,
    cauchy,
    choice,
    exponential,
    gumbel,
    laplace,
    logistic,
    multivariate_normal,
    normal,
    permutation,
    rademacher,
    randint,
    truncated_normal,
    uniform,
)
from tinytrace.random.transformed_samples import (
    ball,
    double_sided_maxwell,
    generalized_normal,
    lognormal,
    maxwell,
    orthogonal,
    pareto,
    rayleigh,
    triangular,
    wald,
    weibull_min,
)
from tinytrace.util import lazy_names

if TYPE_CHECKING:
    from tinytrace.random.cloning import clone as clone

__getattr__ = lazy_names("tinytrace", {"clone": "random.cloning", "random_clone_p": "random.cloning"}, __name__)

__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice",
    "clone", "dirichlet", "double_sided_maxwell", "exponential", "f", "fold_in", "gamma", "generalized_normal",
    "geometric", "gumbel", "key", "key_data", "key_impl", "laplace", "loggamma", "logistic", "lognormal", "maxwell",
    "multivariate_normal", "normal", "orthogonal", "pareto", "permutation", "poisson", "rademacher", "randint",
    "random_gamma_p", "rayleigh", "split", "t", "triangular", "truncated_normal", "uniform", "wald", "weibull_min",
    "wrap_key_data",
]
