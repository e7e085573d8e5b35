"""Laws of collectives: under the vmap that binds their name they are sums and rearrangements of the mapped axis.

Texts and values of JAX are in tests/goldens/named_axes.txt.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.goldens import answer, as_tinytrace, load, set_scene
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.interpreters import batching

SCENE, CASES = load("named_axes")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer


@st.composite
def batches(draw, min_ndim=1):
    """An array of small integers as floats, of which all sums are exact, and an axis to map over."""
    shape = draw(st.lists(st.integers(1, 4), min_size=min_ndim, max_size=3))
    x = draw(st.permutations(range(int(np.prod(shape)))))
    return np.float32(x).reshape(shape), draw(st.integers(0, len(shape) - 1))


def mapped(f, axis, how, out_axes=0):
    """`f` over the axis named i: as it is, jitted outside or inside, or in the body of a scan of one step."""
    def in_scan(x):
        return lax.scan(lambda _, y: (None, f(y)), None, x[None])[1][0]

    inner = {"jit inside": jax.jit(f), "scan": in_scan}.get(how, f)
    over = jax.vmap(inner, axis, out_axes, axis_name="i")
    return jax.jit(over) if how == "jit outside" else over


few = settings(max_examples=20)
ways = st.sampled_from(["plain", "jit inside", "jit outside", "scan"])
REDUCTIONS = {lax.psum: np.sum, lax.pmax: np.max, lax.pmin: np.min, lax.pmean: lambda x, axis: np.mean(x, axis)}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@few
@given(batches(), ways)
def test_a_reduction_over_the_name_is_one_over_the_axis(reduction, batch, how):
    x, axis = batch
    with interpreting():
        ours = mapped(lambda y: reduction(y, "i"), axis, how)(x)
    expected = REDUCTIONS[reduction](x, axis)
    np.testing.assert_allclose(ours, np.broadcast_to(expected, (x.shape[axis], *expected.shape)), 1e-6)


@few
@given(batches(), ways, st.data())
def test_all_gather_is_the_batch(batch, how, data):
    x, axis = batch
    place = data.draw(st.integers(0, x.ndim - 1))
    with interpreting():
        ours = mapped(lambda y: lax.all_gather(y, "i", axis=place), axis, how)(x)
    for part in np.asarray(ours):
        np.testing.assert_array_equal(part, np.moveaxis(x, axis, place))


@few
@given(batches(), ways, st.data())
def test_pbroadcast_repeats_one_row(batch, how, data):
    x, axis = batch
    source = data.draw(st.integers(0, x.shape[axis] - 1))
    with interpreting():
        ours = mapped(lambda y: lax.pbroadcast(y, "i", source), axis, how, axis)(x)
    np.testing.assert_array_equal(ours, np.broadcast_to(np.take(x, [source], axis), x.shape))


@few
@given(batches(), ways, st.data())
def test_ppermute_is_a_gather(batch, how, data):
    x, axis = batch
    order = data.draw(st.permutations(range(x.shape[axis])))
    pairs = [(source, target) for target, source in enumerate(order)]
    with interpreting():
        ours = mapped(lambda y: lax.ppermute(y, "i", pairs), axis, how, axis)(x)
        shuffled = mapped(lambda y: lax.pshuffle(y, "i", order), axis, how, axis)(x)
    np.testing.assert_array_equal(ours, np.take(x, order, axis))
    np.testing.assert_array_equal(shuffled, ours)


@few
@given(batches(), st.data())
def test_all_to_all_swaps_and_comes_back(batch, data):
    x, axis = batch
    n = x.shape[axis]
    split, concat = (data.draw(st.integers(0, x.ndim - 1)) for _ in range(2))
    x = np.stack([x + k * x.size for k in range(n)], split + (split >= axis))  # the axis that is split has size n
    axis += split + (split >= axis) <= axis
    with interpreting():
        there = mapped(lambda y: lax.all_to_all(y, "i", split, concat), axis, "plain")(x)
        back = mapped(lambda y: lax.all_to_all(y, "i", concat, split), 0, "plain")(there)
    front = np.moveaxis(x, axis, 0)
    for k in range(n):
        np.testing.assert_array_equal(there[k], np.moveaxis(np.take(front, k, split + 1), 0, concat))
    np.testing.assert_array_equal(back, front)


@few
@given(batches())
def test_psum_scatter_keeps_a_part_of_the_sum(batch):
    x, axis = batch
    x = np.stack([x + k for k in range(x.shape[axis])], 0)
    with interpreting():
        ours = mapped(lambda y: lax.psum_scatter(y, "i"), axis + 1, "plain")(x)
    np.testing.assert_array_equal(ours, x.sum(axis + 1))


@few
@given(batches(), ways)
def test_the_gradient_is_that_of_the_unnamed_program(batch, how):
    """Written with names and with axes: the sum of squares of what is left when the mean is taken away."""
    x, axis = batch

    def named(y):
        centred = y - lax.pmean(y, "i")
        return centred * centred * (1 + lax.axis_index("i"))

    def unnamed(x):
        centred = jnp.moveaxis(x - x.mean(axis, keepdims=True), axis, 0)
        return centred * centred * (1 + jnp.arange(x.shape[axis])).reshape(-1, *[1] * (x.ndim - 1))

    with interpreting():
        ours = jax.grad(lambda x: mapped(named, axis, how)(x).sum())(x)
        theirs = jax.grad(lambda x: unnamed(x).sum())(x)
    np.testing.assert_allclose(ours, theirs, 1e-4, 1e-4)


@few
@given(st.integers(1, 4), st.integers(1, 4), st.sampled_from(["i", "j"]))
def test_the_rule_does_not_depend_on_where_the_name_is_bound(n, m, name):
    """A collective over one of two axes is computed for each place along the other one."""
    x = np.float32(np.random.default_rng(n).permutation(n * m * n)).reshape(n, m, n)
    axis = "ij".index(name)

    def both(f):
        return jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")

    with interpreting():
        np.testing.assert_array_equal(both(lambda y: lax.psum(y, name))(x),
                                      np.broadcast_to(x.sum(axis, keepdims=True), x.shape))
        np.testing.assert_array_equal(both(lambda y: lax.axis_index(name))(x), np.indices((n, m))[axis])
        if name == "i":
            np.testing.assert_array_equal(both(lambda y: lax.psum_scatter(y, "i"))(x),
                                          np.einsum("ijk->kj", x))
        np.testing.assert_array_equal(both(lambda y: lax.all_gather(y, name))(x)[0, 0],
                                      x[:, 0] if name == "i" else x[0])


def test_what_does_not_fit_says_so():
    """JAX has assertions without words here."""
    with pytest.raises(ValueError, match=r"axis 0 of \(3,\) is to be cut into 4 parts"):
        jax.vmap(lambda y: lax.psum_scatter(y, "i", tiled=True), axis_name="i")(jnp.ones((4, 3)))
    with pytest.raises(NotImplementedError, match="apply them over one name after the other"):
        jax.vmap(jax.vmap(lambda y: lax.all_gather(y, ("i", "j")), axis_name="j"), axis_name="i")(jnp.ones((4, 3)))


    with pytest.raises(ValueError, match=r"axis_size=3 for the axis 'i', and an argument of shape \(4,\)"):
        jax.vmap(lambda y: lax.psum(y, "i"), axis_name="i", axis_size=3)(jnp.ones(4))


@few
@given(st.integers(1, 4), st.booleans(), st.data())
def test_derivatives_of_moves_are_transposes(n, jit, data):
    """Each is linear, so its transpose, under the vmap that binds the name, is that of the matrix that it is."""
    split, concat = data.draw(st.tuples(st.integers(0, 1), st.integers(0, 1)))
    move = data.draw(st.sampled_from([
        lambda y: lax.all_to_all(y, "i", split, concat), lambda y: lax.all_gather(y, "i", axis=split),
        lambda y: lax.psum_scatter(y, "i", scatter_dimension=split), lambda y: lax.ppermute(y, "i", [
            (k, (k + 1) % n) for k in range(n)]), lambda y: lax.all_gather(y, "i", axis=split, tiled=True)]))
    over = jax.vmap(jax.jit(move) if jit else move, axis_name="i")
    x = np.float32(np.random.default_rng(n).normal(size=(n, n, n)))
    with interpreting():
        y, pullback = jax.vjp(over, x)
        ct = np.float32(np.random.default_rng(7).normal(size=y.shape))
        (pulled,) = pullback(ct)
        (inside,) = jax.vmap(lambda a, c: jax.vjp(move, a)[1](c), axis_name="i")(x, ct)
    assert float(np.vdot(ct, y)) == pytest.approx(float(np.vdot(pulled, x)), 1e-4, 1e-4)
    np.testing.assert_allclose(inside, pulled, 1e-5, 1e-5)


def test_rules_of_ones_own_are_told_the_axis():
    told_p = jax.core.Primitive("told")
    told_p.def_abstract_eval(lambda x: x)

    def told(size, name, trace_type, args, dims):
        assert (size, name, trace_type) == (3, "i", batching.BatchTrace)
        return args[0] * 2, dims[0]

    batching.axis_primitive_batchers[told_p] = told
    assert jax.vmap(told_p.bind, axis_name="i")(jnp.arange(3)).tolist() == [0, 2, 4]
