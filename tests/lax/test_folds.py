"""lax.reduce: functions that are reductions of their own, and any others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytrace as jax
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.passes.simplify import simplify
from tinytrace.primitives.windows import window_counts

m = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("init", [0, 2.5])
@pytest.mark.parametrize("dimensions", [(0,), (1,), (0, 1), ()])
def test_known_functions_start_from_the_initial_value(init, dimensions):
    out = lax.reduce(m, np.float32(init), lax.add, dimensions)
    np.testing.assert_allclose(out, m.sum(dimensions) + init)
    traced = jax.jit(lambda x, init: lax.reduce(x, init, lax.max, dimensions))(m, np.float32(7))
    np.testing.assert_array_equal(traced, np.maximum(m.max(dimensions), 7))


@pytest.mark.parametrize("dimensions", [(0,), (1,), (1, 0), ()])
def test_any_associative_function_and_trees(dimensions):
    def larger(a, b):
        takes_b = lax.gt(b["value"], a["value"])
        return {name: lax.select(takes_b, b[name], a[name]) for name in a}

    at = lax.iota(np.int32, 12).reshape(3, 4)
    out = lax.reduce({"value": m, "at": at}, {"value": np.float32(-np.inf), "at": np.int32(-1)}, larger, dimensions)
    np.testing.assert_array_equal(out["value"], m.max(dimensions))
    np.testing.assert_array_equal(out["at"], np.asarray(at).max(dimensions))


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 8])
def test_order_is_kept_and_derivatives_flow(rows):
    pairs = np.random.default_rng(3).uniform(0.5, 1.5, (2, rows)).astype(np.float32)

    def composed(f, g):  # x -> a x + b, first f then g: associative, not commutative
        return g[0] * f[0], g[0] * f[1] + g[1]

    def fold(a, b):
        return lax.reduce((a, b), (1.0, 0.0), composed, (0,))[1]

    a, b = pairs
    expected = 0.0
    for slope, shift in pairs.T:
        expected = slope * expected + shift
    assert float(jax.jit(fold)(a, b)) == pytest.approx(expected, rel=1e-5)
    slopes = jax.grad(fold, argnums=1)(a, b)
    np.testing.assert_allclose(slopes, [np.prod(a[k + 1:]) for k in range(rows)], rtol=1e-5)


@pytest.mark.parametrize(("width", "is_loop"), [(3, False), (40, True)])
def test_folds_of_few_elements_are_no_loops(width, is_loop):
    def function(x):
        return lax.reduce_window(x, np.float32(2), lambda a, b: a * 0.5 + b, (width,), (1,), "SAME")

    x = np.arange(50, dtype=np.float32)
    assert ("iteration" in jax.jit(function).lower(x).as_text()) is is_loop
    with interpreting():
        np.testing.assert_allclose(jax.jit(function)(x), function(x), rtol=1e-6)


def test_trees_must_agree():
    with pytest.raises(ValueError, match="same tree structure"):
        lax.reduce((m, m), (0.0,), lax.add, (0,))


@pytest.mark.parametrize("result", ["[x + y]", "(x, y)", "None", "{'a': x}"])
def test_the_result_of_a_computation_has_the_structure_of_its_operands(result):
    """As JAX, where `reduce_window` says so, and `reduce` returns what the computation returns."""
    computation = eval(f"lambda x, y: {result}")
    with pytest.raises(ValueError, match=r"reduce_window output must have the same tree structure as the operands "
                                         r"PyTreeDef\(\*\) vs. PyTreeDef"):
        lax.reduce_window(np.ones(3), 0.0, computation, (2,), (1,), "VALID")
    if result == "[x + y]":
        assert lax.reduce(np.ones(3), 0.0, computation, (0,)) == [3.0]
    elif result != "{'a': x}":
        with pytest.raises(ValueError, match=r"the computation of reduce takes .* twice and must give that once"):
            lax.reduce(np.ones(3), 0.0, computation, (0,))


@pytest.mark.parametrize("computation", [lambda x, y: x > y, lambda x, y: lax.full((2,), x)])
def test_the_result_of_a_computation_has_the_type_of_its_operands(computation):
    for fold in (lambda: lax.reduce(np.ones(3), 0.0, computation, (0,)),
                 lambda: lax.reduce_window(np.ones(3), 0.0, computation, (2,), (1,), "VALID")):
        with pytest.raises(ValueError, match="twice and must give that once, and gives ShapedArray"):
            fold()


# --- windows that stand over the edge ----------------------------------------------------------------------------

def fold_of_windows(x, init, f, sizes, strides, padding, holes, dilation):
    """As XLA does on CPUs: what is outside, or between elements, is not asked."""
    counts = window_counts(x.shape, sizes, strides, padding, holes, dilation)
    out = np.full(counts, init, x.dtype)
    for place in np.ndindex(*counts):
        for inside in np.ndindex(*sizes):
            at = [p * s + w * d - low for p, s, w, d, (low, _) in
                  zip(place, strides, inside, dilation, padding, strict=True)]
            if all(a % h == 0 and 0 <= a // h < size for a, h, size in zip(at, holes, x.shape, strict=True)):
                out[place] = f(out[place], x[tuple(a // h for a, h in zip(at, holes, strict=True))])
    return out


@pytest.mark.not_quick
@given(data=st.data())
@settings(max_examples=20)
def test_an_initial_value_stands_in_no_place(data):
    """Of each fold: those of the same windows are one program."""
    functions = [lax.add, lax.mul, lax.sub, lax.max, lambda a, b: lax.min(b, a), lambda a, b: 2 * a + b]
    shape = data.draw(st.sampled_from([(5,), (2, 3), (0,), (1, 4)]))
    numbers = {name: tuple(data.draw(st.integers(1, high)) for _ in shape)
               for name, high in (("sizes", 3), ("strides", 2), ("holes", 3), ("dilation", 2))}
    padding = tuple((data.draw(st.integers(-1 if n else 0, 3)), data.draw(st.integers(0, 3))) for n in shape)
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape) + 1
    windows = numbers["sizes"], numbers["strides"], padding, numbers["holes"], numbers["dilation"]
    try:
        wanted = [fold_of_windows(x, np.int32(3), f, *windows) for f in functions]
    except ValueError:  # no window has room
        return
    folds = jax.jit(lambda x: [lax.reduce_window(x, np.int32(3), f, *windows) for f in functions])
    for found, want in zip(folds(x), wanted, strict=True):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("combine", [lax.max, lambda a, b: lax.min(b, a)])
def test_extremes_from_any_initial_value_are_no_loop_over_the_window(combine):
    x = np.float32([[1, 5, 2, 9], [np.nan, 0, 3, 3], [4, 4, 8, 7]])

    def fold(x):
        return lax.reduce_window(x, np.float32(3), combine, (2, 2), (1, 1), "SAME")

    steps = jax.jit(lambda x: lax.reduce_window(x, np.float32(3), lambda a, b: combine(a, b) + 0 * a, (2, 2), (1, 1),
                                                "SAME"))
    np.testing.assert_array_equal(jax.jit(fold)(x), steps(x))
    np.testing.assert_array_equal(fold(x), steps(x))
    assert "window_dimensions" in str(jax.make_jaxpr(fold)(x).jaxpr.eqns[0])
    assert "windows[" in jax.jit(fold).lower(x).as_text("jaxpr")
    halves = jax.grad(lambda x: fold(x).sum())(np.full((1, 2), 3, np.float32))  # of what is equal each has a half
    np.testing.assert_array_equal(halves, [[0.25, 1.0]])


def test_a_complex_zero_is_the_identity_of_sums():
    z = np.arange(4) * 1j
    assert jax.make_jaxpr(lambda z: lax.reduce_window(z, 0j, lax.add, (2,), (1,), "SAME"))(z).eqns[0].primitive.name \
        == "reduce_window_sum"


@pytest.mark.pairs
@pytest.mark.parametrize("combine", ["max", "min"])
@pytest.mark.parametrize("options", [
    {"base_dilation": (2, 1)}, {"base_dilation": (1, 2), "padding": ((0, 0), (1, 2))}, {"window_strides": (3, 1)},
    {"padding": ((2, -1), (0, 0))}, {"window_dilation": (1, 2), "base_dilation": (3, 1)},
    {"padding": ((0, 0), (1, -1))}, {"padding": ((0, 0), (9, 9)), "window_strides": (1, 2)},  # as many, but others
])
@pytest.mark.parametrize("widths", [(1, 7), (7, 1), (3, 5), (12, 2)])
def test_extremes_of_windows_are_those_of_rows_and_columns(combine, options, widths):
    x = np.random.default_rng(0).standard_normal((17, 19)).astype(np.float32)
    start = np.float32(-np.inf if combine == "max" else np.inf)
    given = {"window_strides": (1, 1), "padding": ((0, 0), (0, 0)), **options}

    def folded(x):
        return lax.reduce_window(x, start, getattr(lax, combine), widths, **given)

    rest = {name: given.get(name, (1, 1)) for name in ("base_dilation", "window_dilation")}
    counts = window_counts(x.shape, widths, given["window_strides"], given["padding"], **rest)
    @jax.jit
    def both(x):
        is_further = lax.gt if combine == "max" else lax.lt
        return folded(x), lax.reduce_window(x, start, lambda a, b: lax.select(is_further(a, b), a, b), widths, **given)

    found, want = both(x)
    assert want.shape == counts
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(("widths", "strides", "padding", "by_members"), [
    ((5, 5), (1, 1), "SAME", True), ((5, 5), (2, 2), "VALID", True), ((4, 4), (1, 2), "VALID", True),
    ((7, 7), (3, 3), "SAME", True), ((5, 5), (1, 1), "VALID", False), ((5, 1), (2, 2), "VALID", True),
    ((12, 1), (2, 1), "VALID", False), ((8, 8), (1, 1), "SAME", False)])
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_which_sums_of_windows_are_sums_of_members(widths, strides, padding, by_members, dtype):
    x = np.random.default_rng(0).integers(-50, 50, (24, 30)).astype(dtype)

    def sums(x):
        return lax.reduce_window(x, dtype(0), lax.add, widths, strides, padding)

    names = [eqn.primitive.name for eqn in simplify(jax.make_jaxpr(sums)(x)).eqns]
    assert ("windows" not in names) == by_members
    low = [pads[0] for pads in lax.padtype_to_pads(x.shape, widths, strides, padding)]
    wide = np.pad(x, 8)
    rows, columns = sums(x).shape
    at = [(8 - low[0] + strides[0] * i, 8 - low[1] + strides[1] * j) for i in range(rows) for j in range(columns)]
    want = [wide[i:i + widths[0], j:j + widths[1]].sum() for i, j in at]
    np.testing.assert_array_equal(sums(x), np.reshape(want, (rows, columns)))
    np.testing.assert_array_equal(jax.jit(sums)(x), np.reshape(want, (rows, columns)))
