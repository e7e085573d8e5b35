"""Dot products of complex numbers that lie side by side are sums of vectors as they lie, by a function of csrc/math.

    for i < 256 simd: { g += real(a[i]) * real(b[i]);  h += imag(a[i]) * imag(b[i])
                        j += real(a[i]) * imag(b[i]);  k += imag(a[i]) * real(b[i]) }
is
    tt_dot_parts_f32(a, b, 256, &g_parts, &h_parts, &j_parts, &k_parts);  g += g_parts;  ...

Compilers take the parts apart into vectors of their own, which crosses the lanes eight times for each vector of complex
numbers; the four sums need none of that, but one exchange of neighbours. 0.25 of the time (Zen 3).
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.codegen.ir.arithmetic import constant_of, stride_along, subtract
from tinytrace.codegen.ir.inserted_operations import neg
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, apply, literal, local
from tinytrace.codegen.ir.procedures import Procedure
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.statements import Call, Combine, Declare, For, Place, Stmt
from tinytrace.codegen.passes.strips import map_vector_loops, without_variables
from tinytrace.core.dtypes import DType, is_complex, short_name
from tinytrace.core.formulas import call_named, place

FEWEST = 32
"""Shorter loops are left as they are."""
SUMS = {("real", "real"): "same_real", ("imag", "imag"): "same_imag", ("real", "imag"): "real_imag",
        ("imag", "real"): "imag_real"}
"""The places of the sums, by the parts of both factors."""

Part: TypeAlias = "tuple[str, Node, bool]"
"""Of a complex number: which part, of which element, and with the other sign?"""


def add_parts_as_they_lie(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops that are dot products of complex numbers are calls."""
    return map_bodies(kernels, lambda body: map_vector_loops(body, _as_call), keep_titles=True,
                      about=lambda found: found.touches(lambda buffer: is_complex(buffer.dtype)))


def _as_call(loop: For) -> list[Stmt]:
    extent, folds = int(loop.axis.args[1]), without_variables(loop.body)
    if len(folds) != len(SUMS) or extent < FEWEST or loop.grain or constant_of(loop.begin) != 0 \
            or constant_of(loop.end) != extent:
        return [loop]
    products = [_product(fold) for fold in folds]
    factors = {(x[1], y[1]) for product in products if product for x, y in [product]}
    if None in products or len(factors) != 1 or not all(_lies_side_by_side(x, loop.axis) for x in min(factors)):
        return [loop]
    parts = {(x[0], y[0]): (fold, x[2] != y[2]) for fold, (x, y) in zip(folds, filter(None, products), strict=True)}
    if parts.keys() != SUMS.keys():
        return [loop]
    (x, y), = factors
    declared: list[Stmt] = []
    combined: list[Stmt] = []
    places: dict[str, Place] = {"x": (x.args[0], subtract(x.args[1], loop.axis)),
                                "y": (y.args[0], subtract(y.args[1], loop.axis))}
    for which, (fold, is_negative) in parts.items():
        assert isinstance(fold, Combine)
        assert isinstance(fold.place, Node)
        assert fold.place.dtype is not None
        total = local(f"{fold.place.args[0]}_parts", fold.place.dtype)
        total.eqns |= fold.place.eqns
        places[SUMS[which]] = total
        declared.append(Declare(total, literal(0, fold.place.dtype)))
        combined.append(Combine(fold.place, "sum", apply(neg(fold.place.dtype), (total,)) if is_negative else total))
    call = Call(_dot(x.dtype, extent), places, tuple(SUMS.values()), flops=8 * extent)
    return [*declared, call, *combined]


def _product(fold: Stmt) -> tuple[Part, Part] | None:
    """Return the factors of what is added to a variable of their type, if they are parts of complex numbers."""
    if not (isinstance(fold, Combine) and fold.op == "sum" and isinstance(fold.place, Node)
            and fold.value.op == "apply" and fold.value.args[0].name == "mul" and fold.value.dtype == fold.place.dtype):
        return None
    x, y = map(_part, fold.value.args[1:])
    return (x, y) if x and y else None


def _part(node: Node) -> Part | None:
    """Return what is taken of an element that is loaded; signs, also of conjugates, are told apart."""
    if node.op != "apply":
        return None
    name, inner = node.args[0].name, node.args[1]
    if name == "neg":
        part = _part(inner)
        return part and (part[0], part[1], not part[2])
    if name not in ("real", "imag"):
        return None
    if inner.op == "apply" and inner.args[0].name == "conj" and is_complex(inner.args[1].dtype):
        return (name, inner.args[1], name == "imag") if inner.args[1].op == "load" else None
    return (name, inner, False) if inner.op == "load" else None


def _lies_side_by_side(element: Node, axis: Node) -> bool:
    return element.dtype is not None and is_complex(element.dtype) and stride_along(element.args[1], axis) == 1


@functools.cache
def _dot(dtype: DType, count: int) -> Procedure:
    """Return the sums of products of parts of `count` complex numbers at the places x and y, added to four places."""
    part = np.dtype(f"f{dtype.itemsize // 2}")
    call = call_named(f"tt_dot_parts_{short_name(part)}", place("x"), place("y"), count, *map(place, SUMS.values()))

    def meaning(places: dict[str, np.ndarray[Any, Any]]) -> None:
        x, y = places["x"][:count], places["y"][:count]
        for (one, other), name in SUMS.items():  # one after the other, as the loop adds them
            terms = getattr(x, one) * getattr(y, other)
            places[name][0] = np.add.accumulate(np.concatenate([places[name][:1], terms]))[-1]

    return Procedure("dot product of parts", (call,), meaning)
