"""Angles, sines and hyperbolic sines."""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_complex
from tinytrace.numpy.elementwise import alias, binary, inexact_binary, inexact_unary
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.primitives.elementwise import const_like

sin = inexact_unary("sin", lax.sin, """Return the sine of each element of `x: f32[...]`, in radians.

    >>> jnp.sin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

cos = inexact_unary("cos", lax.cos, """Return the cosine of each element of `x: f32[...]`, in radians.

    >>> jnp.cos(0.0)
    Array(1., dtype=float32, weak_type=True)
    """)

tan = inexact_unary("tan", lax.tan, """Return the tangent of each element of `x: f32[...]`, in radians.

    >>> jnp.tan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

arcsin = inexact_unary("arcsin", lax.asin, """Return the angle in [-pi/2, pi/2] whose sine is `x: f32[...]`.

    >>> jnp.arcsin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

arccos = inexact_unary("arccos", lax.acos, """Return the angle in [0, pi] whose cosine is `x: f32[...]`.

    >>> jnp.arccos(1.0)
    Array(0., dtype=float32, weak_type=True)
    """)

arctan = inexact_unary("arctan", lax.atan, """Return the angle in [-pi/2, pi/2] whose tangent is `x: f32[...]`.

    >>> jnp.arctan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

sinh = inexact_unary("sinh", lax.sinh, """Return the hyperbolic sine of each element of `x: f32[...]`.

    >>> jnp.sinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

cosh = inexact_unary("cosh", lax.cosh, """Return the hyperbolic cosine of each element of `x: f32[...]`.

    >>> jnp.cosh(0.0)
    Array(1., dtype=float32, weak_type=True)
    """)

tanh = inexact_unary("tanh", lax.tanh, """Return the hyperbolic tangent of each element of `x: f32[...]`.

    >>> jnp.tanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

arcsinh = inexact_unary("arcsinh", lax.asinh, """Return the number whose hyperbolic sine is `x: f32[...]`.

    >>> jnp.arcsinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

arctanh = inexact_unary("arctanh", lax.atanh, """Return the number whose hyperbolic tangent is `x: f32[...]`.

    >>> jnp.arctanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

arctan2 = inexact_binary("arctan2", lax.atan2, """Return the angle of the point (x2, x1), in its quadrant.

    >>> jnp.arctan2(1.0, -1.0)
    Array(2.3561945, dtype=float32, weak_type=True)
    """)

deg2rad = inexact_unary("deg2rad", lambda x: lax.mul(x, const_like(x, np.pi / 180)),
                        """Return angles in degrees as radians.

    >>> jnp.deg2rad(180.0)
    Array(3.1415927, dtype=float32, weak_type=True)
    """)

rad2deg = inexact_unary("rad2deg", lambda x: lax.mul(x, const_like(x, 180 / np.pi)),
                        """Return angles in radians as degrees.

    >>> jnp.rad2deg(jnp.pi)
    Array(180., dtype=float32, weak_type=True)
    """)


@library_jit(elementwise=True)
def arccosh(x: ArrayLike, /) -> Value:
    """Return the number >= 0 whose hyperbolic cosine is `x: f32[...]`; nan below 1.

    >>> jnp.arccosh(1.0)
    Array(0., dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.arccosh.html.
    """
    result = lax.acosh(*promote_args_inexact("arccosh", x))
    if not is_complex(aval_of(result).dtype):
        return result
    size = lax.real(result)
    return choose_where(lax.lt(size, const_like(size, 0)), lax.neg(result), result)


asin = alias("asin", arcsin)
acos = alias("acos", arccos)
atan = alias("atan", arctan)
asinh = alias("asinh", arcsinh)
acosh = alias("acosh", arccosh)
atanh = alias("atanh", arctanh)
atan2 = binary("atan2", arctan2, "Another name of `arctan2`.")
degrees = alias("degrees", rad2deg)
radians = alias("radians", deg2rad)
