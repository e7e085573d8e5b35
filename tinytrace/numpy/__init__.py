"""`jax.numpy`: NumPy's functions over traced, differentiable, immutable arrays.

Names, signatures, promotion and the jaxprs that the functions stage to are those of JAX 0.4.35; see
https://jax.readthedocs.io/en/latest/jax.numpy.html. Importing this module gives arrays their operators and methods.
"""
import numpy as _np

from tinytrace.core.array import Array as ndarray
from tinytrace.core.trace import install_methods
from tinytrace.lax.shapes import broadcast_shapes
from tinytrace.numpy import linalg
from tinytrace.numpy.arithmetic import (
    abs, absolute, divide, divmod, fabs, floor_divide, fmod, mod, positive, remainder, sign, true_divide,
)
from tinytrace.numpy.array_creation import (
    array, asarray, astype, copy, empty, empty_like, from_dlpack, frombuffer, fromfile, fromiter, fromstring, full,
    full_like, ones, ones_like, zeros, zeros_like,
)
from tinytrace.numpy.array_methods import METHODS
from tinytrace.numpy.bits import (
    bitwise_count, bitwise_invert, bitwise_left_shift, bitwise_not, bitwise_right_shift, invert, left_shift,
    logical_not, right_shift,
)
from tinytrace.numpy.classification import (
    conj, conjugate, imag, iscomplex, iscomplexobj, isfinite, isinf, isnan, isneginf, isposinf, isreal, isrealobj,
    real, signbit,
)
from tinytrace.numpy.comparison import (
    allclose, array_equal, array_equiv, equal, fmax, fmin, greater, greater_equal, isclose, less, less_equal, maximum,
    minimum, not_equal,
)
from tinytrace.numpy.contraction import cross, dot, inner, kron, matmul, outer, tensordot, vander, vdot, vecdot
from tinytrace.numpy.cumulative import (
    cumprod, cumsum, cumulative_sum, diff, ediff1d, gradient, nancumprod, nancumsum, trapezoid,
)
from tinytrace.numpy.einsum import einsum, einsum_path
from tinytrace.numpy.exponential import cbrt, exp, exp2, expm1, log, log10, log1p, log2, reciprocal, sqrt, square
from tinytrace.numpy.floats import (
    angle, copysign, frexp, heaviside, hypot, ldexp, nan_to_num, nextafter, sinc, spacing,
)
from tinytrace.numpy.functional import apply_along_axis, apply_over_axes, fromfunction, piecewise
from tinytrace.numpy.histograms import corrcoef, cov, histogram, histogram2d, histogram_bin_edges, histogramdd
from tinytrace.numpy.index_tricks import c_, index_exp, mgrid, ogrid, r_, s_
from tinytrace.numpy.integers import gcd, lcm
from tinytrace.numpy.joining import (
    append, array_split, block, column_stack, concat, concatenate, dsplit, dstack, hsplit, hstack, split, stack,
    unstack, vsplit, vstack,
)
from tinytrace.numpy.nan_statistics import nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar
from tinytrace.numpy.objects import isscalar, load
from tinytrace.numpy.padding import pad
from tinytrace.numpy.polynomials import (
    poly, polyadd, polyder, polydiv, polyint, polymul, polysub, polyval, trim_zeros,
)
from tinytrace.numpy.positions import argmax, argmin, digitize, nanargmax, nanargmin, searchsorted
from tinytrace.numpy.powers import float_power, logaddexp, logaddexp2, pow, power
from tinytrace.numpy.promotion import broadcast_arrays, broadcast_to
from tinytrace.numpy.putting import fill_diagonal, place, put, ravel_multi_index, unravel_index
from tinytrace.numpy.quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from tinytrace.numpy.ranges import arange, eye, geomspace, identity, indices, ix_, linspace, logspace, meshgrid
from tinytrace.numpy.rearranging import (
    delete, flip, fliplr, flipud, insert, packbits, repeat, resize, roll, rot90, tile, unpackbits,
)
from tinytrace.numpy.reductions import all, amax, amin, any, max, min, prod, sum
from tinytrace.numpy.rounding import around, ceil, fix, floor, modf, rint, round, trunc
from tinytrace.numpy.scalar_types import (
    bfloat16, bool_, can_cast, cdouble, character, complex128, complex64, complex_, complexfloating, csingle, double,
    dtype, finfo, flexible, float16, float32, float64, float_, floating, generic, iinfo, inexact, int16, int32, int64,
    int8, int_, integer, isdtype, issubdtype, number, object_, promote_types, result_type, signedinteger, single,
    uint, uint16, uint32, uint64, uint8, unsignedinteger,
)
from tinytrace.numpy.searching import (
    argwhere, bincount, choose, clip, compress, extract, flatnonzero, nonzero, select, where,
)
from tinytrace.numpy.sets import (
    intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts, unique_inverse, unique_values,
)
from tinytrace.numpy.shapes import (
    atleast_1d, atleast_2d, atleast_3d, expand_dims, matrix_transpose, moveaxis, permute_dims, ravel, reshape,
    rollaxis, squeeze, swapaxes, transpose,
)
from tinytrace.numpy.signal import (
    bartlett, blackman, convolve, correlate, hamming, hanning, i0, interp, kaiser, unwrap,
)
from tinytrace.numpy.sorting import argpartition, argsort, lexsort, partition, sort
from tinytrace.numpy.statistics import average, count_nonzero, mean, ptp, std, var
from tinytrace.numpy.taking import take, take_along_axis
from tinytrace.numpy.triangular import (
    diag, diag_indices, diag_indices_from, diagflat, diagonal, mask_indices, trace, tri, tril, tril_indices,
    tril_indices_from, triu, triu_indices, triu_indices_from,
)
from tinytrace.numpy.trigonometric import (
    acos, acosh, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh, atan, atan2, atanh, cos,
    cosh, deg2rad, degrees, rad2deg, radians, sin, sinh, tan, tanh,
)
from tinytrace.numpy.ufunc import frompyfunc, ufunc
from tinytrace.numpy.ufuncs import (
    add, bitwise_and, bitwise_or, bitwise_xor, logical_and, logical_or, logical_xor, multiply, negative, subtract,
)
from tinytrace.numpy.vectorization import vectorize

newaxis = None
pi, e, euler_gamma, inf, nan = _np.pi, _np.e, _np.euler_gamma, _np.inf, _np.nan
shape, ndim, size, iterable = _np.shape, _np.ndim, _np.size, _np.iterable
array_repr, array_str, save, savez = _np.array_repr, _np.array_str, _np.save, _np.savez
get_printoptions, printoptions, set_printoptions = _np.get_printoptions, _np.printoptions, _np.set_printoptions
bool = bool_

install_methods(METHODS)

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any", "append",
    "apply_along_axis", "apply_over_axes", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "argmax", "argmin", "argpartition", "argsort", "argwhere", "around", "array", "array_equal",
    "array_equiv", "array_repr", "array_split", "array_str", "asarray", "asin", "asinh", "astype", "atan", "atan2",
    "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett", "bfloat16", "bincount", "bitwise_and",
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "blackman", "block", "bool", "bool_", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "c_",
    "can_cast", "cbrt", "cdouble", "ceil", "character", "choose", "clip", "column_stack", "complex128", "complex64",
    "complex_", "complexfloating", "compress", "concat", "concatenate", "conj", "conjugate", "convolve", "copy",
    "copysign", "corrcoef", "correlate", "cos", "cosh", "count_nonzero", "cov", "cross", "csingle", "cumprod",
    "cumsum", "cumulative_sum", "deg2rad", "degrees", "delete", "diag", "diag_indices", "diag_indices_from",
    "diagflat", "diagonal", "diff", "digitize", "divide", "divmod", "dot", "double", "dsplit", "dstack", "dtype", "e",
    "ediff1d", "einsum", "einsum_path", "empty", "empty_like", "equal", "euler_gamma", "exp", "exp2", "expand_dims",
    "expm1", "extract", "eye", "fabs", "fill_diagonal", "finfo", "fix", "flatnonzero", "flexible", "flip", "fliplr",
    "flipud", "float16", "float32", "float64", "float_", "float_power", "floating", "floor", "floor_divide", "fmax",
    "fmin", "fmod", "frexp", "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "frompyfunc",
    "fromstring", "full", "full_like", "gcd", "generic", "geomspace", "get_printoptions", "gradient", "greater",
    "greater_equal", "hamming", "hanning", "heaviside", "histogram", "histogram2d", "histogram_bin_edges",
    "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "index_exp", "indices", "inexact",
    "inf", "inner", "insert", "int16", "int32", "int64", "int8", "int_", "integer", "interp", "intersect1d", "invert",
    "isclose", "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf",
    "isreal", "isrealobj", "isscalar", "issubdtype", "iterable", "ix_", "kaiser", "kron", "lcm", "ldexp",
    "left_shift", "less", "less_equal", "lexsort", "linalg", "linspace", "load", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "logspace", "mask_indices",
    "matmul", "matrix_transpose", "max", "maximum", "mean", "median", "meshgrid", "mgrid", "min", "minimum", "mod",
    "modf", "moveaxis", "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum",
    "nanvar", "ndarray", "ndim", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "number", "object_",
    "ogrid", "ones", "ones_like", "outer", "packbits", "pad", "partition", "percentile", "permute_dims", "pi",
    "piecewise", "place", "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval",
    "positive", "pow", "power", "printoptions", "prod", "promote_types", "ptp", "put", "quantile", "r_", "rad2deg",
    "radians", "ravel", "ravel_multi_index", "real", "reciprocal", "remainder", "repeat", "reshape", "resize",
    "result_type", "right_shift", "rint", "roll", "rollaxis", "rot90", "round", "s_", "save", "savez", "searchsorted",
    "select", "set_printoptions", "setdiff1d", "setxor1d", "shape", "sign", "signbit", "signedinteger", "sin", "sinc",
    "single", "sinh", "size", "sort", "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract",
    "sum", "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace", "transpose",
    "trapezoid", "tri", "tril", "tril_indices", "tril_indices_from", "trim_zeros", "triu", "triu_indices",
    "triu_indices_from", "true_divide", "trunc", "ufunc", "uint", "uint16", "uint32", "uint64", "uint8", "union1d",
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unpackbits", "unravel_index",
    "unsignedinteger", "unstack", "unwrap", "vander", "var", "vdot", "vecdot", "vectorize", "vsplit", "vstack",
    "where", "zeros", "zeros_like",
]
