"""`jax.scipy.special`: special functions, as far as the primitives reach.

See https://jax.readthedocs.io/en/latest/jax.scipy.html#module-jax.scipy.special.
"""
from __future__ import annotations

from tinytrace.scipy.bessel_functions import bessel_jn
from tinytrace.scipy.entropies import entr, expit, kl_div, logit, rel_entr, xlog1py, xlogy
from tinytrace.scipy.exponential_integrals import exp1, expi, expn
from tinytrace.scipy.fresnel_integrals import fresnel
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
from tinytrace.scipy.hypergeometric import hyp1f1
from tinytrace.scipy.legendre_functions import lpmn, lpmn_values, sph_harm
from tinytrace.scipy.log_sums import logsumexp
from tinytrace.scipy.normal_functions import erf, erfc, erfinv, log_ndtr, ndtr, ndtri
from tinytrace.scipy.number_functions import bernoulli, poch, spence
from tinytrace.scipy.softmax import log_softmax, softmax
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfinv", "exp1", "expi",
    "expit", "expn", "factorial", "fresnel", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "hyp1f1", "i0",
    "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax", "logit", "logsumexp", "lpmn", "lpmn_values",
    "multigammaln", "ndtr", "ndtri", "poch", "polygamma", "rel_entr", "softmax", "spence", "sph_harm", "xlog1py",
    "xlogy", "zeta",
]
