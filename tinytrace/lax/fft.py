"""`lax.fft`: discrete Fourier transforms over the last one, two or three axes, in C (csrc/fft.c).

Source of the rules: JAX 0.4.35 (jax/_src/lax/fft.py), where transforms, being jitted, are equations of their own.
"""
from __future__ import annotations

import enum
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.api.autodiff import linear_transpose
from tinytrace.api.library import library_jit
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import canonicalize_dtype, complex_dtype, dtype_of, is_complex, is_inexact, part_dtype
from tinytrace.core.formulas import call_host, constant, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.arithmetic import mul
from tinytrace.primitives.broadcasting import expand_dims
from tinytrace.primitives.complex_numbers import conj
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import full
from tinytrace.primitives.shaping import NDArray, moveaxis


class FftType(enum.IntEnum):
    """Which transform: forward or inverse, of complex numbers or of real ones."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


@library_jit(static_argnums=(1, 2))
def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Transform the last axes of `x`, whose lengths are `fft_lengths` (of the result, for "irfft").

    fft_type: "fft", "ifft" (which divides by the number of elements), "rfft" (of real numbers, the half that is not
    redundant) or "irfft" (its inverse).

    Raises: ValueError for lengths that do not fit, and for complex numbers where real ones belong.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.fft.html.

    >>> fft(np.complex64([1, 2, 3, 4]), "fft", (4,))
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    kind = _fft_type(fft_type)
    dtype = dtype_of(x)
    floating = dtype if is_inexact(dtype) else canonicalize_dtype(float) if dtype.itemsize == 8 else np.dtype("float32")
    if kind is FftType.RFFT:
        if is_complex(dtype):
            raise ValueError("only real valued inputs supported for rfft")
        x = convert_element_type(x, floating)
    else:
        x = convert_element_type(x, complex_dtype(floating))
    return fft_p.bind(x, fft_type=kind, fft_lengths=tuple(fft_lengths)) if len(fft_lengths) else x


def _fft_type(fft_type: Any) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    if not isinstance(fft_type, str):
        raise TypeError(f"Unknown FFT type value '{fft_type}'")
    if fft_type not in (*FftType.__members__, *(name.lower() for name in FftType.__members__)):
        raise ValueError(f"Unknown FFT type '{fft_type}'")
    return FftType[fft_type.upper()]


class FFT(Primitive):
    """`fft[fft_lengths=(4,) fft_type=0] x: c64[n,4]` is c64[n,4]; of real numbers (2) c64[n,3], and back (3)."""

    name = "fft"

    def abstract_eval(self, x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
        if len(fft_lengths) > x.ndim:
            raise ValueError(f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths "
                             f"{fft_lengths}.")
        others, last = x.shape[:-len(fft_lengths)], x.shape[-len(fft_lengths):]
        if fft_type == FftType.RFFT:
            if x.dtype not in (np.float32, np.float64):
                raise ValueError(f"RFFT input must be float32 or float64, got {x.dtype}")
            _check_lengths("RFFT", x, last, fft_lengths)
            return x.update(shape=(*others, *fft_lengths[:-1], fft_lengths[-1] // 2 + 1), dtype=complex_dtype(x.dtype))
        name = "IRFFT" if fft_type == FftType.IRFFT else "FFT"
        if not is_complex(x.dtype):
            raise ValueError(f"{name} input must be complex64 or complex128, got {x.dtype}")
        if fft_type == FftType.IRFFT:
            if last[:-1] != fft_lengths[:-1]:
                raise ValueError(f"IRFFT input shape {x.shape} minor dimensions must be equal to all except the last "
                                 f"fft_length, got {fft_lengths=}")
            return x.update(shape=(*others, *fft_lengths), dtype=part_dtype(x.dtype))
        _check_lengths("FFT", x, last, fft_lengths)
        return x

    def impl(self, x: NDArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> NDArray:
        if not x.size or 0 in fft_lengths:  # which NumPy refuses
            out = self.abstract_eval(ShapedArray(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths)
            return np.zeros(out.shape, out.dtype)
        transform = getattr(np.fft, f"{fft_type.name.lower()}n")
        dtype = part_dtype(x.dtype) if fft_type == FftType.IRFFT else complex_dtype(x.dtype)
        result: NDArray = transform(x, fft_lengths, range(-len(fft_lengths), 0)).astype(dtype, copy=False)
        return result

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(*tangents, **params)

    def transpose(self, ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Sequence[Any]:
        if fft_type == FftType.RFFT:
            return [_rfft_transpose(ct, fft_lengths)]
        if fft_type == FftType.IRFFT:
            return [_irfft_transpose(ct, fft_lengths)]
        return [fft(ct, fft_type, fft_lengths)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, fft_type: FftType,
              fft_lengths: tuple[int, ...]) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return fft(moveaxis(x, dim, 0), fft_type, fft_lengths), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, fft_type: FftType,
              fft_lengths: tuple[int, ...]) -> Kind:
        out, = out_avals
        lines = math.prod(out.shape[:-len(fft_lengths)])
        lengths = [1] * (3 - len(fft_lengths)) + list(fft_lengths)
        call = call_host("fft", part_dtype(complex_dtype(out.dtype)).itemsize, constant(f"TT_{fft_type.name}"), lines,
                         *lengths, place("in0"), place("out0"))
        return Routine((call,), has_status=True, takes_complex=True)

    def parse_params(self, shown: dict[str, Any]) -> dict[str, Any]:
        return {**shown, "fft_type": FftType(shown["fft_type"])}


def _check_lengths(name: str, x: ShapedArray, last: tuple[int, ...], fft_lengths: tuple[int, ...]) -> None:
    if last != fft_lengths:
        raise ValueError(f"{name} input shape {x.shape} minor dimensions must be equal to fft_lengths {fft_lengths}")


fft_p = FFT()


@library_jit(static_argnums=(1,))
def _rfft_transpose(ct: Any, fft_lengths: tuple[int, ...]) -> Any:
    """Transpose a transform of real numbers as one of complex numbers of which half is dropped."""
    shape = (*np.shape(ct)[:-len(fft_lengths)], *fft_lengths)
    result, = linear_transpose(functools.partial(_half_of_fft, fft_lengths=fft_lengths),
                               ShapeDtypeStruct(shape, part_dtype(dtype_of(ct))))(ct)
    return result


def _half_of_fft(x: Any, fft_lengths: tuple[int, ...]) -> Any:
    return fft(x, FftType.FFT, fft_lengths)[..., :fft_lengths[-1] // 2 + 1]


def _irfft_transpose(ct: Any, fft_lengths: tuple[int, ...]) -> Any:
    """Frequencies that stand for two count twice; JAX's convention for complex cotangents takes the conjugate."""
    x = fft(ct, FftType.RFFT, fft_lengths)
    dtype, n, odd = dtype_of(x), np.shape(x)[-1], fft_lengths[-1] % 2
    factors = concatenate([full((size,), value, dtype) for size, value in (
        (1, 1.0), (n - 2 + odd, 2.0), (1 - odd, 1.0))], 0)
    scale = np.array(1 / math.prod(fft_lengths), dtype)
    return conj(mul(mul(scale, expand_dims(factors, tuple(range(np.ndim(x) - 1)))), x))
