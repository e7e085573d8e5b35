"""On what every primitive is tried: samples of arguments and parameters by name; the registry's tests run over them.

A primitive that is in the registry and not here fails `test_registry.py`. Elementwise operations and reductions need no
line: they are tried on all dtypes that they accept, over an interval of their own where a number line would leave their
domain.
"""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import tinytrace as jax
import tinytrace.parsing  # with it all primitives are registered
from tinytrace import lax
from tinytrace.config import PRNG_IMPLS, config
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Literal
from tinytrace.core.primitive import Primitive, registry
from tinytrace.custom_batching import custom_vmap
from tinytrace.custom_derivatives import linear_call
from tinytrace.custom_transpose import custom_transpose
from tinytrace.lax.approximate_top_k import approx_top_k_p
from tinytrace.lax.tridiagonal_systems import tridiagonal_solve_p
from tinytrace.primitives.broadcasting import Reducer
from tinytrace.primitives.elementwise import Elementwise, accepts
from tinytrace.primitives.placement import CopySemantics
from tinytrace.primitives.ragged_product import ragged_dot_p
from tinytrace.primitives.rng_bit_generator import RandomAlgorithm
from tinytrace.sharding import Mesh, NamedSharding, PartitionSpec, ResourceEnv, make_mesh

F16, BF16, F32, F64 = map(np.dtype, ("float16", ml_dtypes.bfloat16, "float32", "float64"))
C64 = np.dtype("complex64")
I8, I32, U8, U32, BOOL = map(np.dtype, ("int8", "int32", "uint8", "uint32", "bool"))
FLOATS, INTEGERS = (F32, F16, BF16), (I32, I8, U32, U8)
REAL = (*FLOATS, *INTEGERS, BOOL)
ANY = (*REAL, C64)
NUMBERS = (*FLOATS, *INTEGERS, C64)

# What is no operation on arrays that could be applied by itself, and who tests it.
NOT_ALONE = {
    "platform_index": "has no operands; tests/lax",
    "custom_lin": "stands only in jaxprs that linearize is about to transpose; tests/transforms",
    "custom_jvp_call": "is applied to functions; tests/control_flow",
    "custom_vjp_call_jaxpr": "is applied to functions; tests/control_flow",
    "remat_opt": "is what the forward rule of a custom_vjp function becomes; tests/control_flow",
    "tie": "is a step in the transposition of custom_vjp; tests/control_flow",
    "axis_index": "asks for the name of an axis: xla_pmap, tests/primitives/test_collectives.py",
    "psum2": "the same: shard_map",
    "shard_map": "is applied to functions; tests/extend",
    "ppermute": "the same",
    "pbroadcast": "the same",
    "all_gather": "the same",
    "all_to_all": "the same",
    "reduce_scatter": "the same",
    "closed_call": "is applied to programs by interpreters; tests/control_flow",
    "call": "is applied to functions by programs against JAX's insides; tests/control_flow",
    "debug_callback": "has an effect and no result; tests/control_flow",
    "io_callback": "calls the user's function; tests/goldens/documents.txt",
    "pure_callback": "calls the user's function; tests/control_flow",
}
NO_TANGENT = {"nextafter", "zeta", "igamma_grad_a", "random_gamma_grad"}
"""Have floats as operands, but no jvp rule, as in JAX."""
HELD = {"polygamma": (0,), "regularized_incomplete_beta": (0, 1), "igamma": (0,), "igammac": (0,)}
"""Operands in which an operation has no derivative, or (igamma) no second one, as in JAX."""
TANGENT_BY_CONVENTION = {"reduce_precision", "stop_gradient"}
"""Their jvp is not their derivative, by definition."""

MOVES = {
    "abs", "bitcast_convert_type", "broadcast_in_dim", "clamp", "concatenate", "copy", "copy_p", "cummax", "cummin",
    "device_put", "dynamic_slice", "dynamic_update_slice", "gather", "iota", "max", "min", "neg",
    "optimization_barrier", "pad", "reduce_max", "reduce_min", "reduce_window_max", "reduce_window_min", "reshape",
    "rev", "scatter", "scatter-max", "scatter-min", "select_n", "sign", "slice", "sort", "squeeze", "stop_gradient",
    "approx_top_k", "top_k", "transpose", "windows",
}
"""What gives elements as they are, or with another sign: compiled, interpreted and mapped to the same bits."""

SHAPED = {"polygamma", "convert_element_type", "bitcast_convert_type", "integer_pow", "reduce_precision", "clamp"}
"""What computes element by element, of operands that are not all of one kind."""

INTERVALS: dict[str, tuple[float, float]] = {
    "log": (0.1, 4), "sqrt": (0.1, 4), "rsqrt": (0.1, 4), "log1p": (-0.9, 4), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9),
    "atanh": (-0.9, 0.9), "acosh": (1.1, 4), "pow": (0.3, 3), "div": (0.5, 3), "cbrt": (0.2, 4), "tan": (-1.2, 1.2),
    "digamma": (0.3, 4), "lgamma": (0.3, 4), "erf_inv": (-0.9, 0.9), "igamma": (0.5, 3), "igammac": (0.5, 3),
    "random_gamma_grad": (0.5, 3), "regularized_incomplete_beta": (0.2, 0.8), "zeta": (1.5, 4), "polygamma": (1, 3),
    "bessel_i1e": (-3, 3), "bessel_i0e": (-3, 3),
}


@dataclass(frozen=True, eq=False)
class Sample:
    """Arguments and parameters with which a primitive is tried."""

    args: tuple[Any, ...]
    params: dict[str, Any]
    smooth: bool = True
    """Can floats of this sample be widened to float64 and moved a little? (Not: dtypes in parameters, and cliffs.)"""
    mixed: bool = True
    """May vmap's other arguments be made by moving the elements around? Otherwise they are multiples."""


class Numbers:
    """Random numbers that depend on the primitive's name and on nothing else."""

    def __init__(self, name: str) -> None:
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))

    def __call__(self, *shape: int, dtype: np.dtype[Any] = F32, low: float = -2, high: float = 2) -> Any:
        if dtype == BOOL:
            return self.rng.random(shape) < 0.5
        if dtype == C64:
            return (self(*shape, low=low, high=high) + 1j * self(*shape, low=low, high=high)).astype(C64)
        if dtype.kind in "iu":
            return self.rng.integers(max(low, 0) if dtype.kind == "u" else low, high + 1, shape).astype(dtype)
        # Distinct, so that no two elements tie, and away from integers, where rounding would jump.
        n = int(np.prod(shape, dtype=int))
        steps = self.rng.permutation(n) + self.rng.uniform(0.25, 0.75, n)
        return np.asarray(low + (high - low) * steps / max(n, 1)).reshape(shape).astype(dtype)


def samples(name: str) -> list[Sample]:
    """Return the samples of the primitive `name`; KeyError when there are none."""
    primitive = registry[name]
    if name in _TABLE:
        return _TABLE[name](Numbers(name))  # type: ignore[no-any-return]
    if isinstance(primitive, Elementwise):
        return _elementwise(primitive, Numbers(name))
    if isinstance(primitive, Reducer):
        return _reducer(primitive, Numbers(name))
    raise KeyError(f"no sample for primitive {name}: add one to tests/primitives/domains.py")


def _elementwise(primitive: Elementwise, x: Numbers) -> list[Sample]:
    low, high = INTERVALS.get(primitive.name, (-3.0, 3.0))
    arity, params = len(primitive.accepts), _PARAMS.get(primitive.name, {})
    dtypes = [dtype for dtype in ANY if all(accepts(accepted, dtype) for accepted in primitive.accepts)]

    def operand(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return x(*shape, dtype=dtype, low=low, high=high)

    out = [Sample(tuple(operand((2, 3), dtype) for _ in range(arity)), params) for dtype in dtypes]
    out.append(Sample(tuple(operand((), dtypes[0]) for _ in range(arity)), params))
    out.append(Sample(tuple(operand((0, 3), dtypes[0]) for _ in range(arity)), params))
    if arity == 2 and primitive.name != "add_any":
        out += [Sample((operand((2, 3), dtypes[0]), operand((), dtypes[0])), params),
                Sample((operand((1, 3), dtypes[0]), operand((2, 1), dtypes[0])), params)]
    return out


def _reducer(primitive: Reducer, x: Numbers) -> list[Sample]:
    def is_accepted(dtype: np.dtype[Any]) -> bool:
        with contextlib.suppress(TypeError):
            primitive.check_dtype(ShapedArray((3,), dtype))
            return True
        return False

    dtypes = tuple(filter(is_accepted, ANY))
    cases = [((2, 3, 2), (0, 2)), ((3,), (0,)), ((0, 2), (0,)), ((2, 3), ())]
    return over(dtypes, *((shape, {"axes": axes}) for shape, axes in cases))(x)  # type: ignore[no-any-return]


def moves(*shape: int, **params: Any) -> Any:
    """Samples for what moves elements of one array: every dtype."""
    return lambda x: [Sample((x(*shape, dtype=dtype, low=-9, high=9),), params) for dtype in ANY]


def over(dtypes: tuple[np.dtype[Any], ...], *cases: tuple[tuple[int, ...], dict[str, Any]]) -> Any:
    """Samples of one operand of each dtype for each (shape, params)."""
    return lambda x: [Sample((x(*shape, dtype=dtype, low=-3, high=3),), params, smooth=dtype == F32 and 0 not in shape)
                      for shape, params in cases for dtype in dtypes]


_OVER_DEVICES = [
    lambda a, b: lax.psum(a * b, "i") + lax.axis_index("i"),
    lambda a, b: (lax.pmax(a, "i"), lax.pmin(b, "i")),
    lambda a, b: lax.ppermute(a, "i", [(0, 0)]) - lax.pbroadcast(b, "i", 0),
    lambda a, b: lax.all_gather(a, "i", axis=1) @ lax.psum_scatter(b[None], "i")[None],
    lambda a, b: lax.all_to_all(a[None] + b, "i", 0, 1),
]
"""What asks for the name of the axis of devices, which has one element."""


def in_program(name: str, function: Any, *args: Any, smooth: bool = True) -> Sample:
    """The arguments and parameters with which primitive `name` first stands in the program of `function`."""
    closed = jax.make_jaxpr(function)(*args)
    values = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, *args], strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for eqn in closed.eqns:
        if eqn.primitive.name == name:
            args = [x if isinstance(x, jax.Array) else np.asarray(x) for x in map(read, eqn.invars)]
            return Sample(tuple(args), eqn.params, smooth)
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        values.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))
    raise LookupError(f"{name} is not in the program {closed}")


# --- parameters of elementwise operations, and operations with samples of their own ------------------------------

_PARAMS: dict[str, dict[str, Any]] = {
    "round": {"rounding_method": lax.RoundingMethod.TO_NEAREST_EVEN}, "reduce_precision":
    {"exponent_bits": 5, "mantissa_bits": 6},
}


def _convert(x: Numbers) -> list[Sample]:
    out = [Sample((x(2, 3, dtype=old, low=-3, high=3),), {"new_dtype": new, "weak_type": False}, smooth=False)
           for old in ANY for new in ANY]
    return [*out, Sample((x(3),), {"new_dtype": F64, "weak_type": False})]


def _bitcast(x: Numbers) -> list[Sample]:
    pairs = [(F32, I32), (I32, F32), (F16, U8), (U8, I8), (BF16, F16), (F32, F16)]
    return [Sample((x(2, 4, dtype=old),), {"new_dtype": new}, smooth=False) for old, new in pairs]


def _integer_pow(x: Numbers) -> list[Sample]:
    return [Sample((x(2, 3, dtype=dtype, low=0.5, high=2),), {"y": y}) for y in (0, 1, 2, 3, 5, -2)
            for dtype in ((F32, BF16, I32, C64) if y >= 0 else (F32, C64))]


def _select_n(x: Numbers) -> list[Sample]:
    two = [Sample((x(2, 3, dtype=BOOL), x(2, 3, dtype=dtype), x(2, 3, dtype=dtype)), {}) for dtype in ANY]
    return [*two, Sample((x(dtype=BOOL), x(2, 3), x(2, 3)), {}),
            Sample((x(2, 3, dtype=I32, low=0, high=2), x(2, 3), x(2, 3), x(2, 3)), {})]


def _clamp(x: Numbers) -> list[Sample]:
    return [Sample((x(2, 3, low=-2, high=-1), x(2, 3), x(2, 3, low=1, high=2)), {}),
            Sample((x(low=-1, high=-0.5), x(2, 3), x(low=0.5, high=1)), {}, smooth=False),  # as in JAX
            Sample((x(dtype=I32, low=-1, high=0), x(4, dtype=I32, low=-5, high=5), x(dtype=I32, low=1, high=2)), {})]


def _pads(x: Numbers) -> list[Sample]:
    configs = [((1, 2, 0), (0, 1, 0)), ((-1, 0, 0), (1, -2, 1)), ((0, 0, 2), (2, 2, 1))]
    return [Sample((x(2, 3, dtype=dtype), x(dtype=dtype)), {"padding_config": config})
            for config in configs for dtype in (F32, BF16, I8, BOOL, C64)]


def _concatenate(x: Numbers) -> list[Sample]:
    return [Sample((x(2, 3, dtype=dtype), x(2, 1, dtype=dtype), x(2, 2, dtype=dtype)), {"dimension": 1})
            for dtype in ANY] + [Sample(tuple(x(n) for n in (2, 1, 3, 0, 2)), {"dimension": 0})]


def _dots(x: Numbers) -> list[Sample]:
    plain: dict[str, Any] = {"precision": None, "preferred_element_type": None}
    matrix = {"dimension_numbers": (((1,), (0,)), ((), ())), **plain}
    out = [Sample((x(2, 3, dtype=dtype), x(3, 4, dtype=dtype)), matrix) for dtype in (F32, F16, BF16, I32, I8, C64)]
    out += [Sample((x(*left), x(*right)), {"dimension_numbers": numbers, **plain}) for left, right, numbers in [
        ((3,), (3,), (((0,), (0,)), ((), ()))),
        ((3, 2), (4, 3), (((0,), (1,)), ((), ()))),
        ((2,), (3,), (((), ()), ((), ()))),
        ((2, 3, 4), (2, 4, 2), (((2,), (1,)), ((0,), (0,)))),
        ((2, 3, 4), (4, 2, 3), (((2, 1), (0, 2)), ((0,), (1,)))),
        ((2, 0), (0, 3), (((1,), (0,)), ((), ())))]]
    narrow = x(2, 3, dtype=I8), x(3, 2, dtype=I8)
    return [*out, Sample(narrow, {**matrix, "preferred_element_type": I32}, smooth=False)]


def _dynamic_slice(x: Numbers) -> list[Sample]:
    return [Sample((x(4, 5, dtype=dtype), np.int32(start), np.int32(9)), {"slice_sizes": (2, 3)})
            for start in (-3, 1) for dtype in (F32, BF16, I8, C64)]


def _dynamic_update_slice(x: Numbers) -> list[Sample]:
    return [Sample((x(4, 5, dtype=dtype), x(2, 5, dtype=dtype), np.int32(start), np.int32(0)), {})
            for start in (-3, 1, 7) for dtype in (F32, BF16, I8, C64)]


MODES = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP
HINTS = {"indices_are_sorted": False, "unique_indices": False}
ELEMENTS, ROWS = ((), (0,), (0,)), ((1,), (0,), (0,))
PAIRED, BLOCKS = ((), (1,), (1,), (0,), (0,)), ((1, 2), (), (1, 0))
WINDOWS = [  # dimension numbers, shapes of operand, indices and updates, sizes of the windows, largest index
    (ELEMENTS, (5,), (3, 1), (3,), (1,), 6), (ROWS, (4, 3), (2, 1), (2, 3), (1, 3), 4),
    (PAIRED, (2, 4), (2, 3, 1), (2, 3), (1, 1), 4), (BLOCKS, (3, 4), (2, 2), (2, 2, 3), (2, 3), 2)]


def _gather(x: Numbers) -> list[Sample]:
    return [Sample((x(*shape, dtype=dtype), x(*indices, dtype=I32, low=-1, high=top)),
                   {"dimension_numbers": lax.GatherDimensionNumbers(*numbers), "slice_sizes": sizes, "mode": mode,
                    "fill_value": None if mode is MODES[0] else 1 if dtype == BOOL else 7, **HINTS})
            for numbers, shape, indices, _, sizes, top in WINDOWS for mode in MODES
            for dtype in (F32, BF16, I8, BOOL, C64)]


def _scatter(name: str, unique: bool = False, dtypes: tuple[np.dtype[Any], ...] = (F32, BF16, I8)) -> Any:
    def build(x: Numbers) -> list[Sample]:
        primitive: Any = registry[name]
        out = []
        for numbers, shape, indices, updates, _, top in WINDOWS:
            for mode in MODES:
                if unique:  # each window once, all inside
                    if numbers is PAIRED or numbers is BLOCKS:
                        continue
                    at = x.rng.permutation(top - 1)[:indices[0]].reshape(indices).astype(I32)
                else:
                    at = x(*indices, dtype=I32, low=-1, high=top)
                for dtype in dtypes:
                    args = x(*shape, dtype=dtype, low=0.5), at, x(*updates, dtype=dtype, low=0.25)
                    # JAX 0.4.35 differentiates an extreme as if windows that are moved inside were dropped.
                    smooth = not (mode is MODES[0] and name in ("scatter-min", "scatter-max"))
                    out.append(in_program(name, lambda a, i, u, n=numbers, m=mode: primitive.apply(
                        a, i, u, lax.ScatterDimensionNumbers(*n), False, unique, m), *args, smooth=smooth))
        return out

    return build


def _window(**changed: Any) -> dict[str, Any]:
    return {"window_dimensions": (2, 3), "window_strides": (1, 2), "padding": ((1, 0), (0, 1)),
            "base_dilation": (1, 1), "window_dilation": (1, 1), **changed}


_WINDOW_PARAMS = [_window(), _window(base_dilation=(1, 2)), _window(window_dimensions=(1, 2), window_dilation=(1, 2))]


def _conv(x: Numbers) -> list[Sample]:
    def params(layout: tuple[str, str, str] = ("NCH", "OIH", "NCH"), **changed: Any) -> dict[str, Any]:
        numbers = lax.conv_dimension_numbers((1,) * 3, (1,) * 3, layout)
        return {"window_strides": (1,), "padding": ((0, 0),), "lhs_dilation": (1,), "rhs_dilation": (1,),
                "dimension_numbers": numbers, "feature_group_count": 1, "batch_group_count": 1, "precision": None,
                "preferred_element_type": None, **changed}

    out = [Sample((x(2, 2, 5, dtype=dtype), x(4, 2, 3, dtype=dtype)), params()) for dtype in (F32, BF16, I32)]
    last = params(("HNC", "HIO", "NHC"), padding=((1, -1),), rhs_dilation=(2,))
    return [*out, Sample((x(5, 2, 2), x(3, 2, 4)), last),
            Sample((x(2, 2, 5), x(4, 2, 3)), params(window_strides=(2,), lhs_dilation=(3,), padding=((2, 1),))),
            Sample((x(2, 4, 5), x(4, 2, 3)), params(feature_group_count=2)),
            Sample((x(4, 2, 5), x(6, 2, 3)), params(batch_group_count=2))]


def _positive(x: Numbers, *batch: int) -> Any:
    """Positive definite matrices, 3 by 3, with eigenvalues well apart."""
    half = x(*batch, 3, 3)
    return (half @ half.swapaxes(-1, -2) + np.diag([1, 3, 6])).astype(F32)


def _solves(x: Numbers) -> list[Sample]:
    triangle = _positive(x, 2)
    return [Sample((triangle, x(2, *((3, 2) if left else (4, 3)))), {
        "left_side": left, "lower": lower, "transpose_a": turned, "conjugate_a": False, "unit_diagonal": unit})
        for left in (False, True) for lower in (False, True) for turned in (False, True) for unit in (False, True)]


def _ffts(x: Numbers) -> list[Sample]:
    return [Sample((x(*shape, dtype=dtype),), {"fft_type": lax.FftType[kind], "fft_lengths": lengths}, smooth=False)
            for kind, dtype, shape, lengths in (
                ("FFT", C64, (2, 4), (4,)), ("IFFT", C64, (2, 3, 5), (3, 5)), ("RFFT", F32, (2, 6), (6,)),
                ("IRFFT", C64, (2, 3), (4,)), ("FFT", C64, (0, 4), (4,)))]


def _eig(x: Numbers) -> list[Sample]:
    return [Sample((x(*batch, 3, 3, dtype=dtype),), {"compute_left_eigenvectors": left,
                                                      "compute_right_eigenvectors": left}, False, False)
            for batch in ((), (2,)) for dtype in (F32, C64) for left in (False, True)]


def _schur(x: Numbers) -> list[Sample]:
    """Matrices whose eigenvalues are well apart and, where they are real, have no block of two."""
    rest: dict[str, Any] = {"sort_eig_vals": False, "select_callable": None}
    return [Sample(((_positive(x, *batch) + x(*batch, 3, 3) / 9).astype(dtype),),
                   {"compute_schur_vectors": vectors, **rest}, False, False)
            for batch in ((), (2,)) for dtype in (F32, C64) for vectors in (False, True)]


def _householder(x: Numbers) -> list[Sample]:
    return [Sample((x(*batch, 4, 3, dtype=dtype), x(*batch, k, dtype=dtype)), {}, False, False)
            for batch in ((), (2,)) for dtype in (F32, C64) for k in (0, 2, 3)]


def _svd(x: Numbers) -> list[Sample]:
    rest: dict[str, Any] = {"subset_by_index": None, "algorithm": None}
    return [Sample((x(*shape),), {"full_matrices": full, "compute_uv": True, **rest}, smooth=not full)
            for shape in ((3, 2), (2, 3), (2, 3, 3)) for full in (False, True)] + [
        Sample((x(2, 3),), {"full_matrices": False, "compute_uv": False, **rest})]


def _sorts(x: Numbers) -> list[Sample]:
    def params(dimension: int, num_keys: int = 1) -> dict[str, Any]:
        return {"dimension": dimension, "is_stable": True, "num_keys": num_keys}

    out = [Sample((x(3, 60, dtype=dtype, low=-9, high=9),), params(1)) for dtype in ANY]
    return [*out, Sample((x(4, 3), x(4, 3, dtype=I8)), params(0)), Sample((x(2, 5), x(2, 5)), params(1)),
            Sample((x(9, dtype=I8, low=0, high=1), x(9, dtype=BF16), np.arange(9, dtype=I32)), params(0, 2)),
            Sample((x(0, 3),), params(0))]


def _top_k(x: Numbers) -> list[Sample]:
    return [Sample((x(3, 7, dtype=dtype, low=-3, high=3),), {"k": k}) for k in (2, 7) for dtype in REAL] + [
        Sample((x(5),), {"k": 0}), Sample((x(2, 50),), {"k": 40}),
        Sample((x(2, 50),), {"k": 20, "is_sorted": False})]


def _scan_body(carry: Any, x: Any) -> Any:
    carry = lax.add(lax.mul(carry, lax.sin(x)), x)
    return carry, lax.mul(carry, carry)


def _float() -> np.dtype[Any]:
    """The dtype of floats inside programs, which cannot be widened from outside."""
    return F64 if config.enable_x64 else F32


def _loops(x: Numbers) -> list[Sample]:
    v, m = x(3, dtype=_float()), x(4, 3, dtype=_float())
    return [in_program("scan", lambda c, xs, back=back: lax.scan(_scan_body, c, xs, reverse=back), v, m)
            for back in (False, True)]


def _while(x: Numbers) -> list[Sample]:
    return [in_program("while", lambda c, n: lax.while_loop(
        lambda c: lax.lt(c[1], n), lambda c: (lax.mul(c[0], lax.cos(c[0])), lax.add(c[1], np.int32(1))),
        (c, np.int32(0))), x(3, dtype=_float()), np.int32(4), smooth=False)]  # has no reverse mode


def _cond(x: Numbers) -> list[Sample]:
    return [in_program("cond", lambda k, a: lax.switch(k, [lax.sin, lambda a: lax.mul(a, a), lax.neg], a),
                       np.int32(k), x(3, dtype=_float())) for k in (0, 1, 7)]


def _with_rules(x: Numbers) -> dict[str, list[Sample]]:
    """Samples of the functions whose rules a user has written: the rules that they would have had."""
    product, double = custom_vmap(lambda a, b: lax.mul(lax.sin(a), b)), custom_transpose(lambda _, a: lax.mul(a, 2.0))
    product.def_vmap(lambda size, batched, a, b: (jax.vmap(lambda a, b: lax.mul(lax.sin(a), b), [
        0 if each else None for each in batched])(a, b), True))
    a, b = x(3, dtype=_float()), x(3, dtype=_float())
    a_type = aval_of(a)
    double.def_transpose(lambda _, ct: double(a_type, (), ct))
    return {
        "custom_vmap_call": [in_program("custom_vmap_call", product, a, b, smooth=False)],
        "custom_transpose_call": [in_program("custom_transpose_call", lambda a: double(a_type, (), a), a)],
        "linear_call": [in_program("linear_call", lambda a, b: linear_call(lax.mul, lax.mul, a, b), a, b,
                                   smooth=False)],
    }


_CONTROL: dict[str, Any] = {
    "pjit": lambda x: [in_program("pjit", lambda a, b: jax.jit(lambda a, b: (lax.mul(a, lax.sin(b)), a))(a, b),
                                  x(3, dtype=_float()), x(3, dtype=_float()))],
    "scan": _loops, "while": _while, "cond": _cond,
    "remat2": lambda x: [in_program("remat2", jax.checkpoint(lambda a: lax.mul(lax.sin(a), lax.exp(a))),
                                    x(3, dtype=_float()))],
    "name": lambda x: [Sample((x(3),), {"name": "kept"})],
    **{name: lambda x, name=name: _with_rules(x)[name] for name in (
        "custom_vmap_call", "custom_transpose_call", "linear_call")},
    # Its matrix stands in four programs as an operand of each: as a function of them all, tests/lax/test_linear_solve.
    "custom_linear_solve": lambda x: [in_program("custom_linear_solve", lambda b: lax.custom_linear_solve(
        lambda x: lax.mul(x, 4.0), b, lambda f, b: lax.div(b, 4.0), symmetric=True), x(3, dtype=_float()))],
}


def batch_is_a_stack(name: str, sample: Sample) -> bool:
    """Is `vmap` a stack of single calls? As in JAX, a batch of states has the bits of the first one."""
    if name in ("random_split", "random_fold_in", "random_bits"):
        return "fry" in aval_of(sample.args[0]).str_short()
    return name != "rng_bit_generator"


def _keys(n: int, impl: str = "threefry2x32") -> Any:
    return jax.random.split(jax.random.key(7, impl=impl), n)


_KEY_SAMPLES: dict[str, Any] = {
    "random_seed": lambda x: [Sample((np.int32(7),), {"impl": impl}) for impl in ("fry", "rbg", "urbg")],
    "random_wrap": lambda x: [Sample((x(3, words, dtype=U32, high=99),), {"impl": impl})
                              for impl, words in (("fry", 2), ("rbg", 4), ("urbg", 4))],
    "random_unwrap": lambda x: [Sample((_keys(3, impl),), {}) for impl in PRNG_IMPLS],
    "random_split": lambda x: [in_program("random_split", lambda k: jax.random.split(k, 3), _keys(2, impl)[0])
                               for impl in PRNG_IMPLS],
    "random_fold_in": lambda x: [Sample((_keys(2, impl)[1], np.uint32(5)), {}) for impl in PRNG_IMPLS],
    "rng_bit_generator": lambda x: [
        Sample((np.uint32([1, 2, 2**32 - 2, 2**32 - 1]),), {"shape": shape, "dtype": dtype, "algorithm": algorithm})
        for shape, dtype in (((3, 5), U32), ((3, 2), U8), ((), U32), ((0, 3), U32)) for algorithm in RandomAlgorithm],
    "device_put": lambda x: [Sample((x(2, 3), x(4)), {
        "devices": [None] * 2, "srcs": [None] * 2, "copy_semantics": [CopySemantics.ALIAS] * 2})],
    **dict.fromkeys(("psum", "pmax", "pmin"), lambda x: [
        Sample((x(2, 3), x(2, 4)), {"axes": axes, "axis_index_groups": None}) for axes in ((0,), (1,), (0, 1), ())]),
    "sharding_constraint": lambda x: [Sample((x(2, 3),), {
        "sharding": NamedSharding(make_mesh((1,), ("i",)), PartitionSpec("i")), "layout": None,
        "resource_env": ResourceEnv(Mesh((), ())), "unconstrained_dims": set()})],
    "xla_pmap": lambda x: [in_program("xla_pmap", jax.pmap(f, axis_name="i", in_axes=(0, None)), x(1, 2), x(2),
                                      smooth=False) for f in _OVER_DEVICES],
    "optimization_barrier": lambda x: [Sample((x(2, 3), x(4)), {})],
    "random_gamma": lambda x: [Sample((jax.random.split(jax.random.key(4), 2), np.float32([[0.5, 2, 7], [1, 3, 30]])),
                                      {"log_space": log_space}, smooth=False)
                              for log_space in (False, True)],
    "random_bits": lambda x: [Sample((_keys(1, impl)[0],), {"bit_width": width, "shape": (2, 3)})
                              for impl, width in (*(("threefry2x32", width) for width in (8, 16, 32)), ("rbg", 8))],
}

_TABLE: dict[str, Any] = {
    approx_top_k_p.name: lambda x: [Sample((x(3, 5, dtype=dtype),), {
        "k": 2, "reduction_dimension": axis, "recall_target": 0.95, "is_max_k": is_max, "aggregate_to_topk": True,
        "reduction_input_size_override": -1}, smooth=False)
                                  for dtype, axis, is_max in ((F32, -1, True), (F16, 0, False))],
    "conj": lambda x: [Sample((x(2, 3, dtype=dtype),), {"input_dtype": dtype}, smooth=False) for dtype in (C64, F32)],
    "convert_element_type": _convert, "bitcast_convert_type": _bitcast, "integer_pow": _integer_pow,
    "polygamma": lambda x: [Sample((np.arange(6, dtype=dtype).reshape(2, 3) % 3, x(2, 3, dtype=dtype, low=0.5, high=3)),
                                   {}) for dtype in FLOATS],
    "select_n": _select_n, "clamp": _clamp, "pad": _pads, "concatenate": _concatenate, "dot_general": _dots,
    "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update_slice, "gather": _gather,
    "transpose": moves(2, 3, 2, permutation=(2, 0, 1)), "rev": moves(2, 3, dimensions=(1,)),
    "reshape": lambda x: [*moves(2, 6, new_sizes=(3, 2, 2), dimensions=None)(x),
                          *moves(2, 3, new_sizes=(6,), dimensions=(1, 0))(x)],
    "broadcast_in_dim": lambda x: [*moves(3, 1, shape=(2, 3, 4), broadcast_dimensions=(1, 2))(x),
                                   *moves(shape=(2, 3), broadcast_dimensions=())(x)],
    "squeeze": moves(1, 3, 1, dimensions=(0, 2)),
    "slice": lambda x: [*moves(4, 5, start_indices=(1, 0), limit_indices=(4, 5), strides=(2, 3))(x),
                        *moves(4, 5, start_indices=(1, 2), limit_indices=(3, 2), strides=None)(x)],
    "iota": lambda x: [Sample((), {"dtype": dtype, "shape": (2, 3), "dimension": 1, "sharding": None})
                       for dtype in NUMBERS],
    **{f"reduce_{name}": over(NUMBERS, ((2, 3, 2), {"axes": (0, 2)}), ((3,), {"axes": (0,)}),
                              ((0, 2), {"axes": (0,)}), ((2, 3), {"axes": ()})) for name in ("sum", "prod")},
    **{f"reduce_{name}": over(ANY, ((2, 3, 2), {"axes": (0, 2)}), ((0, 2), {"axes": (0,)})) for name in ("max", "min")},
    **{f"reduce_{name}": over((*INTEGERS, BOOL), ((2, 3, 2), {"axes": (0, 2)}), ((0, 2), {"axes": (0,)}))
       for name in ("and", "or", "xor")},
    **{name: over(REAL, ((2, 5), {"axes": (1,), "index_dtype": I32}), ((4, 3), {"axes": (0,), "index_dtype": U8}))
       for name in ("argmax", "argmin")},
    **{name: over(NUMBERS, ((2, 5), {"axis": 1, "reverse": False}), ((3, 2), {"axis": 0, "reverse": True}))
       for name in ("cumsum", "cumprod", "cummax", "cummin")},
    "cumlogsumexp": over(FLOATS, ((2, 5), {"axis": 1, "reverse": False}), ((3, 2), {"axis": 0, "reverse": True})),
    **{name: _scatter(name, dtypes=(F32, BF16, I8, C64)) for name in ("scatter", "scatter-add", "scatter-sub")},
    **{name: _scatter(name) for name in ("scatter-min", "scatter-max")},
    "windows": lambda x: [Sample((x(3, 4, dtype=dtype), x(dtype=dtype)), params)
                          for params in _WINDOW_PARAMS for dtype in (F32, BF16, I8)],
    "reduce": lambda x: [in_program("reduce", lambda v: lax.reduce(
        v, np.float32(1), lambda a, b: a * 0.5 - b, (0,)), x(3, 4), smooth=False)],
    "reduce_window": lambda x: [in_program("reduce_window", lambda v: lax.reduce_window(
        v, np.float32(1), lambda a, b: a * 0.5 - b, (2, 2), (1, 2), "SAME"), x(3, 4), smooth=False)],
    "reduce_window_sum": over((F32, BF16, I32), *(((3, 4), params) for params in _WINDOW_PARAMS)),
    **{f"reduce_window_{name}": lambda x: [
        *over((F32, BF16, I32), ((3, 4), _window(padding=((0, 1), (1, 0)))))(x),
        *over((F32, BF16, I32), ((3, 4), _window(base_dilation=(1, 2))))(x),
        *over((BF16,), ((3, 4), _WINDOW_PARAMS[2]))(x)] for name in ("max", "min")},
    "select_and_gather_add": lambda x: [Sample((x(3, 4), x(3, 4)), {"select_prim": prim, **params}) for prim in
                                        (lax.ge_p, lax.le_p) for params in _WINDOW_PARAMS[:2]],
    "select_and_scatter_add": lambda x: [Sample((x(4, 2), x(3, 4)), {
        "select_prim": prim, "window_dimensions": (1, 3), "window_strides": (1, 2), "padding": ((1, 0), (0, 1))})
        for prim in (lax.ge_p, lax.le_p)],
    "select_and_scatter": lambda x: [Sample((x(3, 4), x(2, 2), x()), {
        "select_jaxpr": jax.make_jaxpr(lax.ge)(1.0, 1.0).jaxpr, "select_consts": (),
        "scatter_jaxpr": jax.make_jaxpr(lambda a, b: a * 0.5 - b)(1.0, 1.0).jaxpr, "scatter_consts": (),
        "window_dimensions": (2, 3), "window_strides": (1, 2), "padding": ((0, 0), (1, 0))}, smooth=False)],
    "conv_general_dilated": _conv, "triangular_solve": _solves, "svd": _svd,
    "cholesky": lambda x: [Sample((_positive(x, *batch),), {}, smooth=False, mixed=False) for batch in ((), (2,))],
    "lu_pivots_to_permutation": lambda x: [Sample((np.int32(pivots),), {"permutation_size": 4})
                                           for pivots in ([2, 3, 2], [[1, 1, 3], [0, 1, 2]])],
    "lu": lambda x: [Sample((x(*shape),), {}) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 3))],
    "qr": lambda x: [Sample((x(*shape),), {"full_matrices": full}, smooth=not full and shape[-2] >= shape[-1])
                     for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 3)) for full in (False, True)],
    tridiagonal_solve_p.name: lambda x: [Sample((x(4), x(4, low=5, high=9), x(4), x(4, 2)), {
        "m": 4, "n": 2, "ldb": 4, "t": np.dtype(F32)}, False, False)],
    ragged_dot_p.name: lambda x: [Sample((x(*batch, 5, 2), x(*batch, 3, 2, 4), np.int32([1, 0, 3] if not batch else
                                                                                       [[1, 0, 3], [5, 0, 0]])), {
        "precision": None, "preferred_element_type": None, "group_offset": None}, mixed=False) for batch in ((), (2,))],
    "eig": _eig, "fft": _ffts, "schur": _schur, "householder_product": _householder,
    "hessenberg": lambda x: [Sample((x(*batch, 4, 4, dtype=dtype),), {}, False, False)
                             for batch in ((), (2,)) for dtype in (F32, C64)],
    "tridiagonal": lambda x: [Sample((_positive(x, *batch).astype(dtype),), {"lower": lower}, False, False)
                              for batch in ((), (2,)) for dtype in (F32, C64) for lower in (False, True)],
    "eigh": lambda x: [Sample((_positive(x, *batch),), {
        "lower": True, "sort_eigenvalues": True, "subset_by_index": None}, False, False) for batch in ((), (2,))],
    "eigh_values": lambda x: [Sample((_positive(x, *batch).astype(dtype),), {"lower": lower}, False, False)
                              for batch in ((), (2,)) for dtype in (F32, C64) for lower in (False, True)],
    "scatter-mul": _scatter("scatter-mul", unique=True), "sort": _sorts, "top_k": _top_k,
    "order_statistics": lambda x: [Sample((x(3, 7, dtype=dtype, low=-3, high=3),), {"first": 2, "count": 3})
                                   for dtype in REAL],
    "sort_with_positions": lambda x: [Sample((x(3, 7, dtype=dtype, low=-3, high=3), x(3, 7)), {"num_keys": keys})
                                      for dtype in REAL for keys in (1, 2)],
    "is_member": lambda x: [Sample((x(3, 7, dtype=dtype, low=-3, high=3), x(3, 5, dtype=dtype, low=-3, high=3)),
                                   {"batch_dims": 1}) for dtype in ANY],
    **_CONTROL, **_KEY_SAMPLES,
}


def tried() -> list[Primitive]:
    """Return the primitives that the package defines and that are operations by themselves."""
    return [p for p in registry.values() if type(p).__module__.startswith("tinytrace.") and p.name not in NOT_ALONE]
