"""How factorizations are compiled: small ones are C in the program, others are calls of LAPACK; halves are widened.

The host of a compiled program calls the LAPACK that comes with its BLAS (csrc/lapack.c), over batches on its threads.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, is_complex, is_half
from tinytrace.core.formulas import Formula, FormulaLike, call_host, call_named, constant, place, suffix
from tinytrace.core.kinds import Call, Kind, Routine
from tinytrace.core.primitive import ALL, Primitive
from tinytrace.primitives.composite import recorded
from tinytrace.primitives.conversion import convert_element_type

SMALL = 32
"""Rows and columns of matrices that are factored in the program itself: LAPACK's calls cost more than they save."""
_TYPES = {"float32": "TT_F32", "float64": "TT_F64", "complex64": "TT_C64", "complex128": "TT_C128"}


class OnMatrices(Primitive):
    """The family: of matrices, the last two dimensions of operands of one type; of float16 as of float32."""

    composite = True
    """For halves, which are converted."""
    reads = ALL

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        if not is_half(in_avals[0].dtype):
            return self.lower_wide(in_avals, **params)

        def program(*args: Any) -> list[Any]:
            found = self.bind(*(convert_element_type(x, FLOAT32) for x in args), **params)
            return [convert_element_type(out, aval.dtype)
                    for out, aval in zip(found if self.multiple_results else [found], out_avals, strict=True)]

        return Call(recorded(program, in_avals))

    def lower_wide(self, *args: Any, **params: Any) -> Kind:
        """Return what is compiled for floats that LAPACK knows, or complex numbers of them."""
        raise NotImplementedError(f"'{self.name}' has no program")


def is_small(aval: ShapedArray, most: int = SMALL) -> bool:
    """Are these matrices of real numbers so small that they are factored without LAPACK?"""
    return not is_complex(aval.dtype) and max(aval.shape[-2:]) <= most


def in_program(family: str, aval: ShapedArray, flops: float, *args: FormulaLike) -> Routine:
    """Return the calls of a function of csrc/math, once for each matrix of `aval`, of so many `flops`."""
    call = call_named(f"tt_{family}_{suffix(aval.dtype)}", *args)
    return Routine((call,), batch=aval.shape[:-2], flops=math.ceil(flops))


def by_lapack(name: str, aval: ShapedArray, *args: FormulaLike) -> Routine:
    """Return the call of LAPACK's `name` (csrc/tt_host.h) for all matrices of `aval`."""
    call = call_host(name, constant(_TYPES[aval.dtype.name]), math.prod(aval.shape[:-2]), *args)
    return Routine((call,), has_status=True, takes_complex=True)


NOTHING: Formula = constant("0")
"""The address of a result that is not wanted."""


def ins(*numbers: int) -> list[Formula]:
    """Return the places of operands."""
    return [place(f"in{k}") for k in numbers]


def outs(*numbers: int) -> list[Formula]:
    """Return the places of results."""
    return [place(f"out{k}") for k in numbers]


def not_found(dtype: np.dtype[Any]) -> Any:
    """Return the element of results that LAPACK does not find: NaN, in both parts of a complex number."""
    return dtype.type(complex(np.nan, np.nan)) if is_complex(dtype) else dtype.type(np.nan)
