"""The Fresnel integrals, by quotients of polynomials.

Source: S. Moshier, "Methods and programs for mathematical functions" (1989), fresnl.c and fresnlf.c.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.dtypes import is_complex
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact

__all__ = ["fresnel"]


@custom_jvp
def fresnel(x: ArrayLike) -> tuple[Value, Value]:
    """Return the integrals from 0 to x of sin(pi t**2 / 2) and of cos(pi t**2 / 2).

    Raises: NotImplementedError for complex numbers.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.fresnel.html.

    >>> [part.round(4) for part in jax.scipy.special.fresnel(jnp.array([1.0]))]
    [Array([0.4383], dtype=float32), Array([0.7799], dtype=float32)]
    """
    return _fresnel(x)


def _fresnel(x: ArrayLike) -> tuple[Value, Value]:
    given, = promote_args_inexact("fresnel", x)
    if is_complex(given.dtype):
        raise NotImplementedError("Support for complex-valued inputs is not implemented yet.")
    is_single = given.dtype != np.float64
    wide = given.astype(np.float32) if is_single else given  # halves overflow in the series
    table = {name: jnp.array(row, dtype=wide.dtype) for name, row in (_SINGLE if is_single else _DOUBLE).items()}

    def ratio(name: str, at: Any) -> Any:
        above = jnp.polyval(table[f"{name}n"], at)
        return above if is_single else above / jnp.polyval(table[f"{name}d"], at)

    x = jnp.abs(wide)
    square = x * x
    t = square * square
    s_small, c_small = x * square * ratio("s", t), x * ratio("c", t)
    sine, cosine = sincospisquaredhalf(x)
    s_large: Any = 0.5
    c_large: Any = 0.5
    if not is_single:
        c_large, s_large = 0.5 + 1 / (jnp.pi * x) * sine, 0.5 - 1 / (jnp.pi * x) * cosine
    t = jnp.pi * square
    u = 1.0 / (t * t)
    t = 1.0 / t
    f, g = 1.0 - u * ratio("f", u), t * ratio("g", u)
    t = jnp.pi * x
    c_other, s_other = 0.5 + (f * sine - g * cosine) / t, 0.5 - (f * cosine + g * sine) / t
    is_infinite, is_small, is_large = jnp.isinf(wide), square < 2.5625, x > 36974.0

    def chosen(small: Any, large: Any, other: Any) -> Any:
        return jnp.where(is_infinite, 0.5, jnp.where(is_small, small, jnp.where(is_large, large, other)))

    s, c = chosen(s_small, s_large, s_other), chosen(c_small, c_large, c_other)
    is_negative = wide < 0.0
    s, c = jnp.where(is_negative, -s, s), jnp.where(is_negative, -c, c)
    return (s, c) if given.dtype == wide.dtype else (s.astype(given.dtype), c.astype(given.dtype))


@fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (x_dot,) = primals, tangents
    out = fresnel(x)
    sine, cosine = sincospisquaredhalf(x)
    return out, (sine * x_dot, cosine * x_dot)


fresnel = remembered()(fresnel)


@library_jit()
def sincospisquaredhalf(x: Any) -> tuple[Value, Value]:
    """Return sin(pi x**2 / 2) and cos(pi x**2 / 2), by the remainder of x**2 / 2 that counts.

    >>> [part.round(4) for part in sincospisquaredhalf(jnp.array([1.0]))]
    [Array([1.], dtype=float32), Array([0.], dtype=float32)]
    """
    x = jnp.abs(x)
    s = jnp.fmod(x, 2.0)
    r = jnp.fmod(s * (x - s / 2), 2.0)
    sine = jnp.where(r < 0.5, jnp.sin(jnp.pi * r),
                     jnp.where(r > 1.5, jnp.sin(jnp.pi * (r - 2.0)), -jnp.sin(jnp.pi * (r - 1.0))))
    cosine = jnp.where(r == 0.5, 0.0,
                       jnp.where(r < 1.0, -jnp.sin(jnp.pi * (r - 0.5)), jnp.sin(jnp.pi * (r - 1.5))))
    return sine, cosine


_SINGLE = {
    "sn": (1.6476294637887e-09, -1.522754752581096e-07, 8.4247488085024e-06, -0.0003120693124703272,
           0.007244727626597022, -0.09228055941124598, 0.5235987735681432),
    "cn": (1.416802502367354e-08, -1.157231412229871e-06, 5.387223446683264e-05, -0.001604381798862293,
           0.02818489036795073, -0.2467398198317899, 0.9999999760004487),
    "fn": (-1903009855649.792, 135594238805.0252, -4158143148.511033, 73438484.63587323, -873235.6681548485,
           8560.51546627547, -103.2877601091159, 2.999401847870011),
    "gn": (-186084399762.465, 12783506733.93208, -377938771.3202229, 6492611.570598858, -77877.89623358162,
           860.2931494734327, -14.93439396592284, 0.9999841934744914),
}
_DOUBLE = {
    "sn": (-2991.8191940101983, 708840.0452577386, -62974148.62058625, 2548908805.7337637, -44297951805.96978,
           318016297876.5678),
    "sd": (1.0, 281.3762688899943, 45584.78108065326, 5173438.887700964, 419320245.8981112, 22441179564.534092,
           607366389490.0846),
    "cn": (-4.9884311457357354e-08, 9.504280628298596e-06, -0.0006451914356839651, 0.018884331939670384,
           -0.20552590095501388, 1.0),
    "cd": (3.99982968972496e-12, 9.154392157746574e-10, 1.2500186247959882e-07, 1.2226278902417902e-05,
           0.0008680295429417843, 0.04121420907221998, 1.0),
    "fn": (0.4215435550436775, 0.1434079197807589, 0.011522095507358577, 0.000345017939782574,
           4.6361374928786735e-06, 3.055689837902576e-08, 1.0230451416490724e-10, 1.7201074326816183e-13,
           1.3428327623306275e-16, 3.763297112699879e-20),
    "fd": (1.0, 0.7515863983533789, 0.11688892585919138, 0.0064405152650885865, 0.00015593440916415301,
           1.8462756734893055e-06, 1.1269922476399903e-08, 3.6014002958937136e-11, 5.887545336215784e-14,
           4.5200143407412973e-17, 1.2544323709001127e-20),
    "gn": (0.5044420736433832, 0.1971028335255234, 0.018764858409257526, 0.0006840793809153931,
           1.1513882611188428e-05, 9.828524436884223e-08, 4.4534441586175015e-10, 1.0826804113902088e-12,
           1.375554606332618e-15, 8.363544356306774e-19, 1.8695871016278324e-22),
    "gd": (1.0, 1.4749575992512833, 0.33774898912002, 0.02536037414203388, 0.0008146791071843061,
           1.2754507566772912e-05, 1.0431458965757199e-07, 4.6068072814652043e-10, 1.1027321506624028e-12,
           1.3879653125957886e-15, 8.391588162831187e-19, 1.8695871016278324e-22),
}
