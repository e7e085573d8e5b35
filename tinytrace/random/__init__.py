"""Pseudo-random numbers from explicit keys: `jax.random`, with the streams of JAX 0.4.35.

    key = random.key(0)
    key, subkey = random.split(key)
    x = random.normal(subkey, (3,))
"""
from tinytrace.random.keys import (
    PRNGKey,
    clone,
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

__all__ = [
    "PRNGKey", "bernoulli", "bits", "categorical", "cauchy", "choice", "clone", "exponential", "fold_in", "gumbel",
    "key", "key_data", "key_impl", "laplace", "logistic", "multivariate_normal", "normal", "permutation",
    "rademacher", "randint", "split", "truncated_normal", "uniform", "wrap_key_data",
]
