"""Of a sum one product is fused, of two products neither: `x * y - y * x` is 0, and sums of products commute."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes import multiply_add
from tinytrace.passes.multiply_add import fuse_multiply_add
from tinytrace.passes.simplify import simplify
from tinytrace.testing.strategies import programs_with_arguments
from tinytrace.testing.values import agree

SHAPE = (6, 6)
EVERY_FLOAT32 = arrays(np.float32, SHAPE, elements=st.floats(width=32))
a, b, c, d = np.random.default_rng(0).standard_normal((4, *SHAPE), np.float32)


def fused(function, *args):
    closed = fuse_multiply_add(simplify(jax.make_jaxpr(function)(*args)))
    check_jaxpr(closed)
    assert str(fuse_multiply_add(closed)) == str(closed)
    return closed


def names(function, *args):
    return [eqn.primitive.name for eqn in fused(function, *args).jaxpr.walk()]


@pytest.mark.parametrize(("function", "want"), [
    (lambda a, b, c, d: a * b + c, ["fma"]),
    (lambda a, b, c, d: c + a * b, ["fma"]),
    (lambda a, b, c, d: a * b - c, ["fms"]),
    (lambda a, b, c, d: c - a * b, ["fnma"]),
    (lambda a, b, c, d: a**2 + c, ["fma"]),
    (lambda a, b, c, d: a * b + 2 * c, ["mul", "fma"]),
    (lambda a, b, c, d: -0.25 * c + a * b, ["mul", "fma"]),
    (lambda a, b, c, d: 2 * c + d, ["fma"]),
    (lambda a, b, c, d: 2 * (a * b) + c, ["mul", "fma"]),
    (lambda a, b, c, d: a * b + d + c * d, ["fma", "fma"]),
    (lambda a, b, c, d: jax.lax.fori_loop(0, 3, lambda i, x: x * b + c, a), ["scan", "fma"]),
])
def test_a_product_is_added_in_one_rounding(function, want):
    assert names(function, a, b, c, d) == want


HIDDEN = {
    "nothing": lambda p: p, "neg": lambda p: -p, "abs": jnp.abs, "twice": lambda p: 2 * p, "half": lambda p: p * 0.5,
    "transpose": lambda p: p.T, "reshape": lambda p: p.T.reshape(9, 4).T.reshape(SHAPE), "rev": lambda p: p[::-1],
    "slice": lambda p: jnp.concatenate([p[1:], p[:1]]), "pad": lambda p: jnp.pad(p[1:], ((1, 0), (0, 0))),
    "where": lambda p: jnp.where(p < 1, p, 0), "max": lambda p: jnp.maximum(p, 0), "clip": lambda p: jnp.clip(p, -1, 1),
    "gather": lambda p: p[np.array([1, 0, 2, 2, 5, 3])], "roll": lambda p: jnp.roll(p, 1, 1),
    "place": lambda p: jax.lax.dynamic_update_slice(c, p[:1], (0, 0)),
}
"""What may be done to a product without rounding it again."""


@pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN)
def test_of_two_products_neither_is_fused(hide):
    for sum_of in (lambda a, b, c, d: hide(a * b) + c * d, lambda a, b, c, d: c * d - hide(a * b)):
        assert not {"fma", "fms", "fnma"} & set(names(sum_of, a, b, c, d))


@pytest.mark.parametrize("product", [lambda a: a**3 + a * b, lambda a: a * b - a**2, lambda a: 3 * a + a**2],
                         ids=["cube", "square", "by a number"])
def test_powers_and_products_by_numbers_are_products(product):
    assert not {"fma", "fms", "fnma"} & set(names(product, a))


SCALED = {
    "left": lambda x, y: (2 * x) * y, "right": lambda x, y: x * (y * 2), "both": lambda x, y: (4 * x) * (y * 0.5),
    "sign": lambda x, y: (-2 * x) * -y, "neg": lambda x, y: -(2 * x) * -y, "moved": lambda x, y: (2 * x.T).T * y,
    "reversed": lambda x, y: (2 * x[::-1])[::-1] * y, "twice": lambda x, y: (4 * (x * 0.5)) * y,
    "sliced": lambda x, y: (2 * jnp.broadcast_to(x[:, None], (len(x), 2, x.shape[1])))[:, 0] * y,
}
"""Twice the product of x and y, the scale somewhere within."""


@pytest.mark.parametrize("scaled", SCALED.values(), ids=SCALED)
def test_a_product_of_what_was_scaled_is_not_fused(scaled):
    for sum_of in (lambda a, b, c: scaled(a, b) + c, lambda a, b, c: c - scaled(a, b)):
        assert not {"fma", "fms", "fnma"} & set(names(sum_of, a, b, c))


def test_a_product_that_one_sum_does_not_take_stays_for_all():
    assert names(lambda a, b, c, d: (a * b + c, a * b - c * d), a, b, c, d) == ["mul", "add", "mul", "sub"]


# --- the laws ----------------------------------------------------------------------------------------------------

FINITE = arrays(np.float32, (4, 3), elements=st.floats(-2.0**60, 2.0**60, width=32))


@given(x=FINITE, y=FINITE)
def test_a_product_less_itself_is_zero(x, y):
    assert not jax.jit(lambda x, y: x * y - y * x)(x, y).any()
    assert not jax.jit(lambda x, y: x * -y + y * x)(x, y).any()


def both_ways(hide, x, y, z, w):
    """Returns `hide(x * y) - z * w` as its program after the pass gives it, and each operation rounded."""
    before = simplify(jax.make_jaxpr(lambda x, y, z, w: hide(x * y) - z * w)(x, y, z, w))
    with interpreting(), np.errstate(all="ignore"):
        return [np.asarray(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x, y, z, w)[0])
                for closed in (fuse_multiply_add(before), before)]


@pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN)
@given(x=EVERY_FLOAT32, y=EVERY_FLOAT32, z=EVERY_FLOAT32, w=EVERY_FLOAT32)
def test_sums_of_two_products_are_rounded_as_numpy_does(hide, x, y, z, w):
    for args in ((x, y, z, w), (x, y, y, x)):
        np.testing.assert_array_equal(*both_ways(hide, *args))


@jax.jit
def both_orders(x, y, z, scale):
    """Sums of two products, of which the second may be exact, both ways round."""
    p, q = x * y, z * scale
    return (p + q, p - q, x * y + 2 * z, -0.5 * z + x * x), (q + p, -(q - p), 2 * z + x * y, x * x + -0.5 * z)


@given(x=EVERY_FLOAT32, y=EVERY_FLOAT32, z=EVERY_FLOAT32, scale=EVERY_FLOAT32)
def test_sums_of_products_commute(x, y, z, scale):
    for one, other in zip(*both_orders(x, y, z, scale), strict=True):
        np.testing.assert_array_equal(one, other)


NORMAL = arrays(np.float32, (4, 3),
                elements=st.floats(2.0**-50, 2.0**50, width=32) | st.floats(-8, -2.0**-20, width=32))


@pytest.mark.parametrize("scaled", SCALED.values(), ids=SCALED)
@given(x=NORMAL, y=NORMAL, z=NORMAL)
def test_a_scale_by_a_power_of_two_may_stand_anywhere_in_a_product(scaled, x, y, z):
    want = fused(lambda x, y, z: (2 * (x * y) + z, z - 2 * (x * y)), x, y, z)
    got = fused(lambda x, y, z: (scaled(x, y) + z, z - scaled(x, y)), x, y, z)
    with interpreting():
        for one, other in zip(*(jax.core.eval_jaxpr(p.jaxpr, p.consts, x, y, z) for p in (got, want)), strict=True):
            np.testing.assert_array_equal(one, other)


@given(v=FINITE)
def test_the_cross_product_of_a_vector_with_itself_is_zero(v):
    assert not jax.jit(lambda v: jnp.cross(v, v))(v).any()


@given(case=programs_with_arguments(contraction=True))
def test_what_is_fused_keeps_type_and_meaning(case):
    program, arguments = case
    before = simplify(jax.make_jaxpr(program.function())(*arguments))
    after = fuse_multiply_add(before)
    check_jaxpr(after)
    assert after.in_avals == before.in_avals
    assert after.out_avals == before.out_avals
    with interpreting():
        values = [jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments) for closed in (before, after)]
    assert [text for text in map(agree, *values, program.results) if text] == []


# --- planted faults ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("hide", [name for name in HIDDEN if name not in ("nothing", "twice", "half")])
def test_a_product_that_is_lost_sight_of_is_found(monkeypatch, hide):
    monkeypatch.setattr(multiply_add, "_HANDED_ON", frozenset())
    one, other = both_ways(HIDDEN[hide], a, b, c, d)
    assert (one != other).any()


@pytest.mark.parametrize("hide", ["nothing", "twice"])
def test_a_rule_that_fuses_one_of_two_products_is_found(monkeypatch, hide):
    """As if the operand on the left were never a product."""
    kind = multiply_add._kind
    monkeypatch.setattr(multiply_add, "_kind", lambda eqn, kinds: kind(eqn, kinds) if kinds else multiply_add._EXACT)
    one, other = both_ways(HIDDEN[hide], a, b, c, d)
    assert (one != other).any()
