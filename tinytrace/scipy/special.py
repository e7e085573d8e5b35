"""`jax.scipy.special`: special functions, as far as the primitives reach.

See https://jax.readthedocs.io/en/latest/jax.scipy.html#module-jax.scipy.special.
"""
from __future__ import annotations

from tinytrace.nn.softmax import log_softmax, softmax
from tinytrace.scipy.entropies import entr, expit, kl_div, logit, rel_entr, xlog1py, xlogy
from tinytrace.scipy.gamma_functions import (
    beta,
    betainc,
    betaln,
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    i0,
    i0e,
    i1,
    i1e,
    multigammaln,
    polygamma,
    zeta,
)
from tinytrace.scipy.log_sums import logsumexp
from tinytrace.scipy.normal_functions import erf, erfc, erfinv, log_ndtr, ndtr, ndtri

__all__ = [
    "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "expit", "factorial", "gamma", "gammainc",
    "gammaincc", "gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "rel_entr", "softmax", "xlog1py", "xlogy", "zeta",
]
