"""Operations with parameters, as they are called outside of traces: calls that are known are answered in C.

An operation wants its parameters in one form: axes as a tuple of integers from the front, sizes as a shape. Its
function brings them to that form, checks them and looks at the operands' types, which takes longer than the operation
itself on a small array. Of a call on arrays that was met before, `remembered` knows the answer (docs/eager.md).
"""
from tinytrace.api.library import remembered
from tinytrace.primitives import (
    argminmax,
    broadcasting,
    concatenation,
    contraction,
    conversion,
    convolution,
    cumulative,
    dynamic_slicing,
    shaping,
    sorting,
)

argmax = remembered("axis", "index_dtype")(argminmax.argmax)
argmin = remembered("axis", "index_dtype")(argminmax.argmin)

broadcast = remembered("sizes")(broadcasting.broadcast)
expand_dims = remembered("dimensions")(broadcasting.expand_dims)
squeeze = remembered("dimensions")(broadcasting.squeeze)

collapse = remembered("start_dimension", "stop_dimension")(shaping.collapse)
reshape = remembered("new_sizes", "dimensions")(shaping.reshape)
rev = remembered("dimensions")(shaping.rev)
transpose = remembered("permutation")(shaping.transpose)

concatenate = remembered("dimension")(concatenation.concatenate)

dynamic_index_in_dim = remembered("axis", "keepdims", numbers=True)(dynamic_slicing.dynamic_index_in_dim)
dynamic_slice = remembered("slice_sizes", numbers=True)(dynamic_slicing.dynamic_slice)
dynamic_slice_in_dim = remembered("slice_size", "axis", numbers=True)(dynamic_slicing.dynamic_slice_in_dim)
dynamic_update_index_in_dim = remembered("axis", numbers=True)(dynamic_slicing.dynamic_update_index_in_dim)
dynamic_update_slice = remembered(numbers=True)(dynamic_slicing.dynamic_update_slice)
dynamic_update_slice_in_dim = remembered("axis", numbers=True)(dynamic_slicing.dynamic_update_slice_in_dim)

batch_matmul = remembered("precision")(contraction.batch_matmul)
dot = remembered("precision", "preferred_element_type")(contraction.dot)
conv = remembered("window_strides", "padding", "precision", "preferred_element_type")(convolution.conv)

bitcast_convert_type = remembered("new_dtype")(conversion.bitcast_convert_type)
reduce_precision = remembered("exponent_bits", "mantissa_bits")(conversion.reduce_precision)

cumlogsumexp = remembered("axis", "reverse")(cumulative.cumlogsumexp)
cummax = remembered("axis", "reverse")(cumulative.cummax)
cummin = remembered("axis", "reverse")(cumulative.cummin)
cumprod = remembered("axis", "reverse")(cumulative.cumprod)
cumsum = remembered("axis", "reverse")(cumulative.cumsum)

sort = remembered("dimension", "is_stable", "num_keys")(sorting.sort)
sort_key_val = remembered("dimension", "is_stable")(sorting.sort_key_val)
top_k = remembered("k")(sorting.top_k)
