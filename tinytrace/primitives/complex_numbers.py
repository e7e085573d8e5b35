"""Complex numbers and their parts: complex, real, imag, conj. A complex number in memory is its two parts in a row.

Linear over the real numbers, each; cotangents are by JAX's convention: the cotangent of `x` is what `real(ct * x)`
changes by, so that of an imaginary part is the number's negative imaginary part.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import DType, complex_dtype, dtype_of, is_complex, part_dtype
from tinytrace.core.formulas import cast, complex_of, imaginary_part, real_part
from tinytrace.core.numpy_calls import broadcast_shape
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.elementwise import (
    Accepted,
    Elementwise,
    NDArray,
    filled_like,
    neg,
    operand_aval,
    unbroadcast,
)

COMPLEX: Accepted = ("complexfloating",)
PARTS: Accepted = ("float32", "float64")
PARTS_OR_COMPLEX: Accepted = ("complexfloating", *PARTS)


def complex(x: Any, y: Any) -> Any:
    """Return the complex numbers with real parts `x` and imaginary parts `y`, float32 or float64.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.complex.html.

    >>> complex(np.float32(1), np.float32(-2))
    Array(1.-2.j, dtype=complex64)
    """
    return complex_p.bind(x, y)


def real(x: Any) -> Any:
    """Return the real parts of complex numbers; `jnp.real` takes real numbers too.

    Raises: TypeError for real numbers.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.real.html.

    >>> real(np.complex64(1 - 2j))
    Array(1., dtype=float32)
    """
    return real_p.bind(x)


def imag(x: Any) -> Any:
    """Return the imaginary parts of complex numbers; `jnp.imag` takes real numbers too.

    Raises: TypeError for real numbers.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.imag.html.

    >>> imag(np.complex64(1 - 2j))
    Array(-2., dtype=float32)
    """
    return imag_p.bind(x)


def conj(x: Any) -> Any:
    """Return the complex conjugates: complex numbers, also of float32 or float64.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.conj.html.

    >>> conj(np.complex64(1 - 2j))
    Array(1.+2.j, dtype=complex64)
    """
    return conj_p.bind(x, input_dtype=aval_of(x).dtype)


# --- rooms -----------------------------------------------------------------------------------------------------

class LinearInParts(Elementwise):
    """The family: the tangent of the result is the result for the tangents."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = self.bind(*primals, **params)
        known = [filled_like(operand_aval(x), 0) if type(t) is Zero else t
                 for x, t in zip(primals, tangents, strict=True)]
        return out, self.bind(*known, **params)


class Complex(LinearInParts):
    """`complex x: f32[n] y: f32[n]` is c64[n]."""

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        return complex_dtype(avals[0].dtype)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        x, y = args
        return [unbroadcast(x.aval, real(ct)) if is_undefined_primal(x) else None,
                unbroadcast(y.aval, imag(neg(ct))) if is_undefined_primal(y) else None]


class Part(LinearInParts):
    """`real x: c64[n]` is f32[n]; `imag` likewise."""

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        return part_dtype(avals[0].dtype)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        zero = np.zeros((), dtype_of(ct))  # strongly typed, as JAX's: then the cotangent is too
        return [complex(ct, zero) if self is real_p else complex(zero, neg(ct))]


class Conj(LinearInParts):
    """`conj[input_dtype=complex64] x: c64[n]` is c64[n]; of floats it is complex too."""

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        return complex_dtype(avals[0].dtype)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        return [conj(ct) if is_complex(params["input_dtype"]) else real(ct)]


def _complex(x: NDArray, y: NDArray) -> NDArray:
    shape = broadcast_shape(np.shape(x), np.shape(y))
    out = np.empty(shape, complex_dtype(x.dtype))  # x + 1j * y would make NaN of an infinite part
    out.real, out.imag = x, y
    return out


def _conj(x: NDArray, *, input_dtype: DType | None = None) -> Any:
    return np.conj(x) if is_complex(x.dtype) else _complex(x, np.zeros_like(x))


complex_p = Complex("complex", [PARTS, PARTS], _complex, {"f": complex_of}, ulp=0)
real_p = Part("real", COMPLEX, lambda x: x.real, {"c": real_part}, ulp=0)
imag_p = Part("imag", COMPLEX, lambda x: x.imag, {"c": imaginary_part}, ulp=0)
conj_p = Conj("conj", PARTS_OR_COMPLEX, _conj, {
    "c": lambda x, input_dtype=None: complex_of(real_part(x), -imaginary_part(x)),
    "f": lambda x, input_dtype=None: complex_of(x, cast("float" if x.dtype.itemsize == 4 else "double", 0))}, ulp=0)
