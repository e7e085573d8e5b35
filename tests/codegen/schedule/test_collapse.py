"""Axes that a reshape joined are cut again: rows are copied as rows, no element's place is divided."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy
from tinytrace.codegen.ir.arithmetic import add, floordiv, mod, multiply
from tinytrace.codegen.ir.nodes import axis, fresh_nodes, number
from tinytrace.codegen.schedule.collapse import merge_loops, split_loops

JOINED = {
    "a transpose, flat": (lambda x: x.transpose(2, 0, 1).reshape(-1), (11, 13, 47)),
    "a transpose, flat, and more": (lambda x: jnp.tanh(x.transpose(2, 1, 0).reshape(-1)) + 1, (32, 13, 16)),
    "patches": (lambda x: x.reshape(2, 3, 16, 2, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 6, 768), (2, 48, 32, 3)),
    "pixels": (lambda x: x.reshape(2, 9, 20, 2, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(2, 18, 40, 4),
               (2, 9, 20, 16)),
    "kron": (lambda x: jnp.kron(x, x[:3] * 2), (7, 40)),
    "repeated": (lambda x: jnp.repeat(x, 20), (100,)),
    "heads": (lambda x: x.transpose(0, 2, 1, 3).reshape(3, 20, -1), (3, 4, 20, 16)),
    "in a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda k, y: y.reshape(32, 40).T.reshape(-1) + x, x), (1280,)),
}


@pytest.mark.parametrize("name", JOINED)
def test_no_place_is_divided_in_the_innermost_loop(name):
    function, shape = JOINED[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    text = jax.jit(function).lower(x).as_text()
    vectorised = text.split("#pragma omp simd")[1:]
    assert vectorised
    for loop in vectorised:
        body = loop[:loop.index("}")]
        assert " / " not in body
        assert " % " not in body
    checked(function, x, inputs=[x])
    for a, b in zip(jax.tree.leaves(jax.jit(function)(x)), in_numpy(function, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_flat_transpose_is_tiled_as_one_with_axes_is():
    for dtype, factor, how in (("float32", 2, "_tile"), ("complex64", 1, "tt_turn_64"), ("float32", 1, "tt_turn_32")):
        x = np.ones((3, 400, 512), dtype)
        text = jax.jit(lambda x, by=factor: x.transpose(0, 2, 1).reshape(-1) * by).lower(x).as_text()
        assert how in text


@pytest.mark.parametrize("divisors", [(20,), (10, 40), (12, 96), (9, 18, 90)])
def test_an_axis_is_cut_where_all_divisors_are_multiples(divisors):
    with fresh_nodes():
        extent = 5 * divisors[-1]
        i = axis("i0", extent)
        nodes = [add(multiply(number(7), mod(i, number(d))), floordiv(i, number(d))) for d in divisors]
        axes, replaced = split_loops([i], nodes)
        assert np.prod([a.args[1] for a in axes]) == extent
        assert axes[-1].args[1] == divisors[0]
        assert i in replaced
        assert not {"floordiv", "mod"} & {n.op for a in axes for n in (a,)}


def test_divisors_without_a_common_one_leave_the_axis():
    with fresh_nodes():
        i = axis("i0", 900)
        assert split_loops([i], [mod(i, number(20)), mod(i, number(30))])[0] == [i]


def test_loops_do_not_merge_where_one_of_them_alone_is_a_place():
    """Nor where the other one is as long: every update of the only row of an array goes to that row."""
    with fresh_nodes():
        i, j = axis("i0", 2000), axis("i1", 4)
        source = add(multiply(number(4), i), j)
        assert merge_loops([i, j], [j, source])[0] == [i, j]
        assert len(merge_loops([i, j], [source, source])[0]) == 1


@pytest.mark.parametrize("shape", [(200, 4), (2000, 4), (30, 2, 5)])
@pytest.mark.parametrize("function", [
    lambda x, i: jax.ops.segment_sum(x, i, num_segments=1),
    lambda x, i: jnp.zeros((1, *x.shape[1:]), x.dtype).at[i].add(x, mode="clip"),
    lambda x, i: jnp.ones((1, *x.shape[1:]), x.dtype).at[i].max(x)])
def test_updates_of_the_only_row(function, shape):
    x = np.round(np.random.default_rng(0).standard_normal(shape) * 8).astype(np.float32)
    i = np.zeros(shape[0], np.int32)
    checked(function, x, i, inputs=[x, i])
    expected, = in_numpy(function, x, i)
    np.testing.assert_array_equal(jax.jit(function)(x, i), expected)
