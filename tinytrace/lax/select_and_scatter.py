"""`select_and_scatter`: of each window of an array one element is chosen, and something is put in its place.

With `ge` and `add` it is what pooling's derivative does, `select_and_scatter_add` (`primitives/pooling.py`); here both
functions are jaxprs. As in JAX it has no derivative and no batches. Source: XLA, "SelectAndScatter".
"""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.api.vmapping import vmap
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import INT32
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.trace import eval_context
from tinytrace.lax.control_flow import fori_loop, scan
from tinytrace.lax.folds import laid_out_windows
from tinytrace.primitives.bitwise import bitwise_not, bitwise_or
from tinytrace.primitives.broadcasting import broadcast
from tinytrace.primitives.checks import check_shapelike
from tinytrace.primitives.comparison import ge, lt
from tinytrace.primitives.creation import full, iota
from tinytrace.primitives.dynamic_slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import reshape
from tinytrace.primitives.windows import Ints, Pads
from tinytrace.transforms.staging import trace_to_closed_jaxpr


class SelectAndScatter(Primitive):
    """`select_and_scatter[...] x: f32[n] source: f32[m] init: f32[]` is f32[n], `init` where nothing is put.

    Of the elements of a window the one is chosen that `select_jaxpr` prefers to those after it, until it prefers a
    later one; it is replaced by `scatter_jaxpr` of what is there and the source of that window, window by window.
    """

    name = "select_and_scatter"
    composite = True

    def abstract_eval(self, x: ShapedArray, source: ShapedArray, init: ShapedArray, *, window_dimensions: Ints,
                      window_strides: Ints, **params: Any) -> ShapedArray:
        check_shapelike("select_and_scatter", "window_dimensions", window_dimensions)
        check_shapelike("select_and_scatter", "window_strides", window_strides)
        if len(window_dimensions) != len(window_strides):
            raise TypeError("select_and_scatter got inconsistent window_strides and window_dimensions: got "
                            f"window_strides {window_strides} and window_dimensions {window_dimensions}.")
        return x.update(weak_type=x.weak_type and source.weak_type and init.weak_type)

    def program(self, x: Any, source: Any, init: Any, *, select_jaxpr: Jaxpr, select_consts: Sequence[Any],
                scatter_jaxpr: Jaxpr, scatter_consts: Sequence[Any], window_dimensions: Ints, window_strides: Ints,
                padding: Pads) -> Any:
        """Return the result, made by other primitives."""
        if select_jaxpr.effects or scatter_jaxpr.effects:
            raise NotImplementedError("Cannot lower effectful `select` or `scatter`.")
        ones = (1,) * np.ndim(x)
        in_windows = functools.partial(laid_out_windows, window_dimensions=window_dimensions,
                                       window_strides=window_strides, padding=tuple(padding), base_dilation=ones,
                                       window_dilation=ones)
        size = math.prod(np.shape(x))
        places = in_windows(reshape(iota(INT32, size), np.shape(x)), np.int32(-1))
        if np.shape(source) != places.shape[1:]:
            raise TypeError("Source shape does not match the shape of window-reduced operand: source("
                            f"{np.shape(source)}), window-reduced operand({places.shape[1:]}).")
        place = _chosen(ClosedJaxpr(select_jaxpr, select_consts), in_windows(x, init), places)
        return reshape(_put(ClosedJaxpr(scatter_jaxpr, scatter_consts), broadcast(init, (size,)),
                            reshape(place, (place.size,)), reshape(source, (source.size,))), np.shape(x))

    def impl(self, *args: Any, **params: Any) -> Any:
        with eval_context():
            return np.asarray(self.program(*args, **params))

    jvp = refuse("JAX has none: reduce_window is differentiated")
    transpose = refuse("it is not linear")
    batch = refuse("JAX has none")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return Call(trace_to_closed_jaxpr(lambda *args: [self.program(*args, **params)], in_avals))


def _chosen(prefer: ClosedJaxpr, rows: Any, places: Any) -> Any:
    """Return the place of the element that is chosen of each window, -1 where it lies outside of the array altogether.

    The first dimension of `rows` runs through a window.
    """
    prefers: Any = jaxpr_as_fun(prefer)
    for _ in np.shape(rows)[1:]:
        prefers = vmap(prefers)

    def later(carry: Any, row: Any) -> Any:
        value, at = carry
        other, place = row
        takes = bitwise_or(lt(at, full(at.shape, 0, INT32)), bitwise_not(prefers(value, other)[0]))
        takes = takes & ge(place, full(at.shape, 0, INT32))
        return (select(takes, other, value), select(takes, place, at)), None

    first = broadcast(np.zeros((), rows.dtype), rows.shape[1:]), full(rows.shape[1:], -1, INT32)
    return scan(later, first, (rows, places))[0][1]


def _put(combine: ClosedJaxpr, out: Any, place: Any, source: Any) -> Any:
    """Return `out` after each element of `source` has been put in its place."""
    def put(i: Any, out: Any) -> Any:
        at = dynamic_index_in_dim(place, i, keepdims=False)
        new, = jaxpr_as_fun(combine)(dynamic_index_in_dim(out, at, keepdims=False),
                                     dynamic_index_in_dim(source, i, keepdims=False))
        return select(ge(at, np.int32(0)), dynamic_update_index_in_dim(out, new, at, 0), out)

    return fori_loop(0, place.shape[0], put, out)


select_and_scatter_p = SelectAndScatter()
