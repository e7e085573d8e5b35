"""`jax.lax`: the operations themselves, with strict types and shapes, under JAX's names.

Nothing is defined here. An operation that `numpy` promotes and broadcasts arguments for wants them equal already here.
See https://jax.readthedocs.io/en/latest/jax.lax.html.
"""
from typing import Any

import tinytrace.primitives.arrays_on_complex
import tinytrace.primitives.generators
import tinytrace.primitives.transcendental_on_complex  # noqa: F401
from tinytrace.control_flow.cond import cond_p
from tinytrace.control_flow.linear_solve import linear_solve_p
from tinytrace.control_flow.scan import scan_p
from tinytrace.control_flow.while_loop import while_p
from tinytrace.lax.associative_scan import associative_scan
from tinytrace.lax.branching import cond, switch
from tinytrace.lax.control_flow import fori_loop, map, scan, while_loop
from tinytrace.lax.fft import FftType, fft, fft_p
from tinytrace.lax.folds import reduce, reduce_p, reduce_window, reduce_window_p
from tinytrace.lax.remembered import (
    argmax,
    argmin,
    batch_matmul,
    bitcast_convert_type,
    broadcast,
    collapse,
    concatenate,
    conv,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    dot,
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    expand_dims,
    reduce_precision,
    reshape,
    rev,
    sort,
    sort_key_val,
    squeeze,
    top_k,
    transpose,
)
from tinytrace.lax.scatter_apply import scatter_apply
from tinytrace.lax.shapes import broadcast_shapes, dtype, reduce_window_shape_tuple
from tinytrace.primitives.argminmax import argmax_p, argmin_p
from tinytrace.primitives.arithmetic import (
    abs,
    abs_p,
    add,
    add_p,
    cbrt,
    cbrt_p,
    div,
    div_p,
    integer_pow,
    integer_pow_p,
    max,
    max_p,
    min,
    min_p,
    mul,
    mul_p,
    reciprocal,
    rem,
    rem_p,
    rsqrt,
    rsqrt_p,
    sqrt,
    sqrt_p,
    square,
    sub,
    sub_p,
)
from tinytrace.primitives.bitwise import (
    and_p,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    clz,
    clz_p,
    not_p,
    or_p,
    population_count,
    population_count_p,
    shift_left,
    shift_left_p,
    shift_right_arithmetic,
    shift_right_arithmetic_p,
    shift_right_logical,
    shift_right_logical_p,
    xor_p,
)
from tinytrace.primitives.broadcasting import (
    broadcast_in_dim,
    broadcast_in_dim_p,
    broadcast_to_rank,
    reduce_sum_p,
    squeeze_p,
)
from tinytrace.primitives.comparison import (
    eq,
    eq_p,
    eq_to_p,
    ge,
    ge_p,
    gt,
    gt_p,
    le,
    le_p,
    le_to_p,
    lt,
    lt_p,
    lt_to_p,
    ne,
    ne_p,
)
from tinytrace.primitives.complex_numbers import complex, complex_p, conj, conj_p, imag, imag_p, real, real_p
from tinytrace.primitives.concatenation import concatenate_p
from tinytrace.primitives.contraction import dot_general, dot_general_p
from tinytrace.primitives.conversion import (
    bitcast_convert_type_p,
    convert_element_type,
    convert_element_type_p,
    copy_p,
    reduce_precision_p,
)
from tinytrace.primitives.convolution import (
    conv_general_dilated,
    conv_general_dilated_p,
    conv_transpose,
    conv_with_general_padding,
)
from tinytrace.primitives.convolution_dimensions import ConvDimensionNumbers, conv_dimension_numbers
from tinytrace.primitives.creation import broadcasted_iota, full, full_like, iota, iota_p, zeros_like_array
from tinytrace.primitives.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from tinytrace.primitives.dynamic_slicing import dynamic_slice_p, dynamic_update_slice_p
from tinytrace.primitives.elementwise import neg, neg_p
from tinytrace.primitives.gathering import (
    gather,
    gather_p,
    index_take,
    scatter_add,
    scatter_add_p,
    scatter_sub,
    scatter_sub_p,
)
from tinytrace.primitives.indexing import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from tinytrace.primitives.optimization_barrier import optimization_barrier, optimization_barrier_p
from tinytrace.primitives.placement import device_put_p
from tinytrace.primitives.pooling import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
)
from tinytrace.primitives.precision import DotAlgorithm, DotAlgorithmPreset, Precision
from tinytrace.primitives.reduction import (
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_xor_p,
)
from tinytrace.primitives.rounding import (
    RoundingMethod,
    ceil,
    ceil_p,
    floor,
    floor_p,
    is_finite,
    is_finite_p,
    nextafter,
    nextafter_p,
    round,
    round_p,
    sign,
    sign_p,
)
from tinytrace.primitives.scattering import (
    scatter,
    scatter_max,
    scatter_max_p,
    scatter_min,
    scatter_min_p,
    scatter_mul,
    scatter_mul_p,
    scatter_p,
)
from tinytrace.primitives.select import clamp, clamp_p, select, select_n, select_n_p
from tinytrace.primitives.shaping import reshape_p, rev_p, transpose_p
from tinytrace.primitives.slicing import index_in_dim, pad, pad_p, slice, slice_in_dim, slice_p
from tinytrace.primitives.sorting import sort_p, top_k_p
from tinytrace.primitives.special import (
    bessel_i0e,
    bessel_i0e_p,
    bessel_i1e,
    bessel_i1e_p,
    betainc,
    digamma,
    digamma_p,
    erf,
    erf_inv,
    erf_inv_p,
    erf_p,
    erfc,
    erfc_p,
    igamma,
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac,
    igammac_p,
    lgamma,
    lgamma_p,
    polygamma,
    polygamma_p,
    random_gamma_grad,
    random_gamma_grad_p,
    regularized_incomplete_beta_p,
    zeta,
    zeta_p,
)
from tinytrace.primitives.stop_gradient import stop_gradient, stop_gradient_p
from tinytrace.primitives.transcendental import (
    acos,
    acos_p,
    acosh,
    acosh_p,
    asin,
    asin_p,
    asinh,
    asinh_p,
    atan,
    atan2,
    atan2_p,
    atan_p,
    atanh,
    atanh_p,
    cos,
    cos_p,
    cosh,
    cosh_p,
    exp,
    exp2,
    exp2_p,
    exp_p,
    expm1,
    expm1_p,
    log,
    log1p,
    log1p_p,
    log_p,
    logistic,
    logistic_p,
    pow,
    pow_p,
    sin,
    sin_p,
    sinh,
    sinh_p,
    tan,
    tan_p,
    tanh,
    tanh_p,
)
from tinytrace.primitives.windows import padtype_to_pads
from tinytrace.util import lazy_names, lazy_submodules

_SELDOM = {
    "lax.annotations": "ConvGeneralDilatedDimensionNumbers DotDimensionNumbers PrecisionLike",
    "lax.draws": "rng_uniform rng_uniform_p",
    "lax.patches": "conv_general_dilated_local conv_general_dilated_patches",
    "lax.feeds": "infeed infeed_p outfeed outfeed_p",
    "lax.linear_solve": "custom_linear_solve",
    "lax.platforms": "platform_dependent",
    "lax.root": "custom_root",
    "lax.select_and_scatter": "select_and_scatter_p",
    "lax.tokens": "after_all after_all_p create_token create_token_p",
    "primitives.collectives": "axis_index axis_index_p pmax pmax_p pmean pmin pmin_p psum psum_p",
    "primitives.collective_moves": "all_gather all_gather_p all_to_all all_to_all_p pbroadcast ppermute ppermute_p "
                                   "pshuffle psum_scatter pswapaxes",
    "lax.placement": "with_sharding_constraint",
    "lax.approximate_top_k": "approx_max_k approx_min_k approx_top_k_p",
    "primitives.ragged_product": "ragged_dot ragged_dot_p",
    "lax.convolution_shapes": "conv_general_permutations conv_general_shape_tuple conv_shape_tuple "
                              "conv_transpose_shape_tuple",
    "primitives.rng_bit_generator": "RandomAlgorithm rng_bit_generator rng_bit_generator_p",
    "primitives.placement": "sharding_constraint_p",
}
"""By module: what few programs ask for; what follows the first four is for named axes and meshes of devices."""

_HOMES = {name: module for module, names in _SELDOM.items() for name in names.split()}
_lazy_name = lazy_names("tinytrace", _HOMES, __name__)
_lazy_module = lazy_submodules(__name__, "linalg")


scan_bind = scan_p.bind


def __getattr__(name: str) -> Any:
    return (_lazy_module if name == "linalg" else _lazy_name)(name)


__all__ = [
    "ConvDimensionNumbers", "DotAlgorithm", "DotAlgorithmPreset", "FftType", "GatherDimensionNumbers",
    "GatherScatterMode", "Precision", "RoundingMethod", "ScatterDimensionNumbers", "abs", "abs_p", "acos", "acos_p",
    "acosh", "acosh_p", "add", "add_p", "and_p", "argmax", "argmax_p", "argmin", "argmin_p", "asin", "asin_p", "asinh",
    "asinh_p", "associative_scan", "atan", "atan2", "atan2_p", "atan_p", "atanh", "atanh_p", "batch_matmul",
    "bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "betainc", "bitcast_convert_type",
    "bitcast_convert_type_p", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast",
    "broadcast_in_dim", "broadcast_in_dim_p", "broadcast_shapes", "broadcast_to_rank", "broadcasted_iota", "cbrt",
    "cbrt_p", "ceil", "ceil_p", "clamp", "clamp_p", "clz", "clz_p", "collapse", "complex", "complex_p", "concatenate",
    "concatenate_p", "cond", "cond_p", "conj", "conj_p", "conv", "conv_dimension_numbers", "conv_general_dilated",
    "conv_general_dilated_p", "conv_transpose", "conv_with_general_padding", "convert_element_type",
    "convert_element_type_p", "copy_p", "cos", "cos_p", "cosh", "cosh_p", "cumlogsumexp", "cumlogsumexp_p", "cummax",
    "cummax_p", "cummin", "cummin_p", "cumprod", "cumprod_p", "cumsum", "cumsum_p", "custom_linear_solve",
    "custom_root", "device_put_p", "digamma", "digamma_p", "div", "div_p", "dot", "dot_general", "dot_general_p",
    "dtype", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_slice_p",
    "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim", "dynamic_update_slice_p",
    "eq", "eq_p", "eq_to_p", "erf", "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "exp", "exp2", "exp2_p", "exp_p",
    "expand_dims", "expm1", "expm1_p", "fft", "fft_p", "floor", "floor_p", "fori_loop", "full", "full_like", "gather",
    "gather_p", "ge", "ge_p", "gt", "gt_p", "igamma", "igamma_grad_a", "igamma_grad_a_p", "igamma_p", "igammac",
    "igammac_p", "imag", "imag_p", "index_in_dim", "index_take", "integer_pow", "integer_pow_p", "iota", "iota_p",
    "is_finite", "is_finite_p", "le", "le_p", "le_to_p", "lgamma", "lgamma_p", "linear_solve_p", "log", "log1p",
    "log1p_p", "log_p", "logistic", "logistic_p", "lt", "lt_p", "lt_to_p", "map", "max", "max_p", "min", "min_p", "mul",
    "mul_p", "ne", "ne_p", "neg", "neg_p", "nextafter", "nextafter_p", "not_p", "optimization_barrier",
    "optimization_barrier_p", "or_p", "pad", "pad_p", "padtype_to_pads", "platform_dependent", "polygamma",
    "polygamma_p", "population_count", "population_count_p", "pow", "pow_p", "random_gamma_grad", "random_gamma_grad_p",
    "real", "real_p", "reciprocal", "reduce", "reduce_and_p", "reduce_max_p", "reduce_min_p", "reduce_or_p", "reduce_p",
    "reduce_precision", "reduce_precision_p", "reduce_prod_p", "reduce_sum_p", "reduce_window", "reduce_window_max_p",
    "reduce_window_min_p", "reduce_window_p", "reduce_window_shape_tuple", "reduce_window_sum_p", "reduce_xor_p",
    "regularized_incomplete_beta_p", "rem", "rem_p", "reshape", "reshape_p", "rev", "rev_p", "round", "round_p",
    "rsqrt", "rsqrt_p", "scan", "scan_p", "scatter", "scatter_add", "scatter_add_p", "scatter_apply", "scatter_max",
    "scatter_max_p", "scatter_min", "scatter_min_p", "scatter_mul", "scatter_mul_p", "scatter_p", "scatter_sub",
    "scatter_sub_p", "select", "select_and_gather_add_p", "select_and_scatter_add_p", "select_n", "select_n_p",
    "shift_left", "shift_left_p", "shift_right_arithmetic", "shift_right_arithmetic_p", "shift_right_logical",
    "shift_right_logical_p", "sign", "sign_p", "sin", "sin_p", "sinh", "sinh_p", "slice", "slice_in_dim", "slice_p",
    "sort", "sort_key_val", "sort_p", "sqrt", "sqrt_p", "square", "squeeze", "squeeze_p", "stop_gradient",
    "stop_gradient_p", "sub", "sub_p", "switch", "tan", "tan_p", "tanh", "tanh_p", "top_k", "top_k_p", "transpose",
    "transpose_p", "while_loop", "while_p", "xor_p", "zeros_like_array", "zeta", "zeta_p",
]
__all__ += sorted({*_HOMES, "linalg", "scan_bind"}.difference(__all__))
