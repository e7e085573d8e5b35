"""The exponential integral Ei by fitted functions: one polynomial near 0, and far from it exp(x) / x times a quotient.

    -1 <= x <= 6    euler_gamma + log|x| + x p(x), for what is left of the power series has no singularity
    elsewhere       exp(x) / x times p(t) / q(t) with t = 1 / |x|, by ranges (as W. Cody and H. Thacher, "Chebyshev
                    approximations for the exponential integral Ei(x)", 1969)
    far beyond 0    exp(x) / x times p(t), an asymptotic series of which each term is fitted

Polynomials: minimax by Remez's algorithm; quotients: interpolated at Chebyshev's points in 60 digits. The ranges of
a quotient's coefficients are chosen element by element, so that all ranges take one evaluation.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from tinytrace import lax
from tinytrace.core.dtypes import FLOAT64
from tinytrace.numpy.arithmetic import absolute
from tinytrace.numpy.exponential import exp, log
from tinytrace.numpy.promotion import Value
from tinytrace.numpy.searching import where
from tinytrace.records import NamedTuple

FIRST, NEAR = -1.0, 6.0
"""Between these the polynomial near 0 holds."""


class Quotient(NamedTuple):
    """Two polynomials in 1 / |x|, coefficients of the highest power first, for x up to `end`."""

    end: float
    numerator: Sequence[float]
    denominator: Sequence[float]


class Fit(NamedTuple):
    """All coefficients for one width."""

    near: Sequence[float]
    quotients: Sequence[Quotient]
    last: float
    """From here on `far` holds."""
    far: Sequence[float]


def fitted_expi(x: Value) -> Value:
    """Return Ei of float32 or float64; NaN for NaN, -inf at 0."""
    fit = OF_64_BITS if x.dtype == FLOAT64 else OF_32_BITS
    is_near = (x >= FIRST) & (x <= NEAR)
    near = where(is_near, x, 1.0)
    series = near * _polynomial(fit.near, near) + (log(absolute(near)) + np.euler_gamma)
    away = where(is_near, NEAR, x)
    t = 1.0 / absolute(away)
    numerator = _polynomial(_of_ranges(away, fit.quotients, "numerator"), t)
    denominator = _polynomial(_of_ranges(away, fit.quotients, "denominator"), t)
    factor = where(away > fit.last, _polynomial(fit.far, t), numerator / denominator)
    root = exp(away * 0.5)  # exp(x) may overflow where exp(x) / x does not
    outside = where(x == np.inf, np.inf, root * (factor / away) * root)
    return where(is_near, series, outside)


def _polynomial(coefficients: Sequence[Value | float], x: Value) -> Value:
    """Return the value of a polynomial; no equations for powers that it lacks."""
    present = list(coefficients)
    while isinstance(present[0], float) and present[0] == 0:
        del present[0]
    return functools.reduce(lambda sum_, c: sum_ * x + c, present[1:], lax.full_like(x, present[0])
                            if isinstance(present[0], float) else present[0])


def _of_ranges(x: Value, quotients: Sequence[Quotient], part: str) -> list[Value | float]:
    """Return the coefficients of the quotient in whose range each element is."""
    chosen: list[Value | float] = list(getattr(quotients[-1], part))
    for quotient in reversed(quotients[:-1]):
        holds = x <= quotient.end
        chosen = [other if isinstance(other, float) and other == c else where(holds, c, other)
                  for c, other in zip(getattr(quotient, part), chosen, strict=True)]
    return chosen


OF_32_BITS = Fit(
    near=(
        7.560379e-12, -1.164509e-10, 1.3293739e-09, -3.4739733e-09, 4.3431783e-08, 2.8695143e-07, 3.0902302e-06,
        2.8395838e-05, 0.00023145336, 0.0016666332, 0.010416693, 0.055555563, 0.25, 1.0,
    ),
    quotients=(
        Quotient(-1.0, (
            0.10167453, 9.703272, 61.3051, 103.56926, 62.132645, 14.033265, 1.0,
        ), (
            3.2764816, 41.262825, 131.90875, 154.66563, 75.16599, 15.033263, 1.0,
        )),
        Quotient(12.0, (
            0.0, 0.0, 1109.7024, -361.6903, 109.18322, -12.458062, 1.0019157,
        ), (
            0.0, 0.0, 914.7869, -392.7696, 115.9995, -13.308761, 1.0,
        )),
    ),
    last=12.0,
    far=(
        -2.962716e+06, 785646.8, -76968.086, 4009.3015, -79.98233, 7.4199, 1.991826, 1.0000074, 1.0,
    ),
)

OF_64_BITS = Fit(
    near=(
        1.7158935317900618e-23, -4.935560069570957e-22, 1.0372040104322196e-20, -8.446800610834737e-20,
        1.2279615971802337e-18, 4.452234816114624e-18, 1.810823249888942e-16, 2.94823143386867e-15,
        5.103502363671347e-14, 8.193392232708374e-13, 1.2352960785676068e-11, 1.7397320930009625e-10,
        2.2774643766401414e-09, 2.7557318912200498e-08, 3.0619243607721866e-07, 3.1001984128255905e-06,
        2.8344671201597115e-05, 0.0002314814814814816, 0.0016666666666667385, 0.01041666666666666,
        0.055555555555555546, 0.25, 1.0,
    ),
    quotients=(
        Quotient(-3.0, (
            35.91893066313149, 3126.8773430408114, 21235.23527655184, 45554.39605156163, 42474.42728021057,
            19742.04024556447, 4849.925993103162, 631.0281505634425, 40.54346349413017, 0.9999999999999999,
        ), (
            1066.9112541740944, 13692.36603532231, 50051.53863199217, 77050.7864200622, 58803.560849441405,
            24069.568480220114, 5443.410680156166, 670.5716140576665, 41.54346349412994, 1.0,
        )),
        Quotient(-1.0, (
            0.0, 0.0066685222133423, 1.6999251824275752, 28.181626500679197, 135.90389843311877, 260.72687491799223,
            224.98209522096448, 90.3649598284859, 16.076013535092315, 0.9999997905354429,
        ), (
            0.0, 0.45627318874095146, 12.92297324505871, 99.27421427902087, 303.5549514038449, 430.6599356150996,
            302.265371541315, 105.44126981496031, 17.076002399360583, 1.0,
        )),
        Quotient(12.0, (
            8.851692363347543e+06, -2.4135882786719672e+07, 1.4776709926777752e+07, -1.718650704063781e+06,
            269650.75575437566, 10681.868974036435, -276.5595258905946, 304.3655559136672, -8.709632737485945,
            0.9977404628960483,
        ), (
            -8.80595330798737e+06, 5.05469841366986e+06, -143747.20244448938, 848157.8382448271, -30805.240413469674,
            29288.356769682097, -1356.006931043507, 332.93272815339725, -10.032170751921594, 1.0,
        )),
        Quotient(24.0, (
            1.2310457161171272e+09, -3.837492520799593e+08, 1.1302847548339902e+08, -1.5084263688677263e+07,
            1.6351482985185648e+06, -55593.29791744533, -1216.796751685083, 544.2026506411652, -27.32436696534229,
            0.999990000022127,
        ), (
            9.300029829476129e+08, -3.741938101651092e+08, 1.1511562060623524e+08, -1.5907646595107947e+07,
            1.6567164141805342e+06, -53801.34060644535, -1759.0513680467645, 570.8413817717214, -28.326990563292902,
            1.0,
        )),
    ),
    last=24.0,
    far=(
        -5.5761207124349395e+19, 2.319916644785775e+19, -4.288687457130835e+18, 4.687654092749028e+17,
        -3.3986365498085868e+16, 1.7362941264556938e+15, -6.471515192246586e+13, 1.7951213287419263e+12,
        -3.740883580071158e+10, 5.871177111740791e+08, -6.843798556346293e+06, 64644.346690332226, 347.7445692120032,
        121.6192266188584, 23.995349204387743, 6.000008112071099, 1.9999999925488243, 1.0000000000027094,
        0.9999999999999999,
    ),
)
