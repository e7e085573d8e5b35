"""Vectorization: a batched function is the function of each element, stacked."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import errors, lax
from tinytrace.core.avals import ShapedArray
from tinytrace.core.named_axes import Axis
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.vmap import BatchTrace, OutDimError, batch, batch_jaxpr, batch_jaxpr_axes

F32 = ShapedArray((), np.dtype(np.float32))
T = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7

FUNCTIONS = {
    "elementwise": lambda x: jnp.sin(x) * x + 1,
    "sum": lambda x: jnp.sum(x, axis=-1),
    "max": lambda x: jnp.max(x, axis=0),
    "softmax": lambda x: jnp.exp(x) / jnp.sum(jnp.exp(x)),
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(-1)[::2],
    "matmul": lambda x: x @ x.T,
    "index": lambda x: x[1] + x[:, 1:2].T.sum(),
    "concatenate": lambda x: jnp.concatenate([x, x * 2], axis=1),
    "where": lambda x: jnp.where(x > 1, x, -x),
    "sort": lambda x: jnp.sort(x, axis=0),
    "cumsum": lambda x: jnp.cumsum(x, axis=1),
    "argmax": lambda x: jnp.argmax(x, axis=0),
    "update": lambda x: jnp.asarray(x).at[0].set(x[1]),
    "jit": lambda x: jax.jit(lambda y: y * 2)(x),
    "grad": lambda x: jax.grad(lambda y: jnp.sum(y**3))(x),
    "scan": lambda x: lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(x.shape[1]), x)[1],
    "cond": lambda x: lax.cond(jnp.sum(x) > 3, jnp.sin, jnp.cos, x),
    "while": lambda x: lax.while_loop(lambda c: jnp.max(c) < 100, lambda c: c * c + 2, x),
}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_is_the_stack_of_its_elements(name, axis):
    fun = FUNCTIONS[name]
    expected = np.stack([np.asarray(fun(x)) for x in np.moveaxis(T, axis, 0)])
    np.testing.assert_allclose(jax.vmap(fun, in_axes=axis)(T), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("out_axis", [0, 1, 2, -1, -2])
def test_the_batch_axis_goes_where_it_is_wanted(out_axis):
    got = jax.vmap(lambda x: x * 2, in_axes=1, out_axes=out_axis)(T)
    np.testing.assert_array_equal(got, np.moveaxis(np.moveaxis(T, 1, 0) * 2, 0, out_axis))


def test_nested_batches():
    product = jax.vmap(jax.vmap(lambda x, y: x @ y, in_axes=(None, 1)), in_axes=(0, None))
    np.testing.assert_allclose(product(T[0], T[1].T), T[0] @ T[1].T, rtol=1e-6)


def test_shared_values_are_not_batched():
    closed = jax.make_jaxpr(jax.vmap(lambda x, y: x + jnp.sin(y), in_axes=(0, None)))(jnp.ones(3), jnp.ones(()))
    assert [str(eqn.outvars[0].aval.shape) for eqn in closed.eqns] == ["()", "(3,)"]


def test_an_unmapped_output_is_repeated_or_handed_out():
    fun = lambda x: 2.0  # noqa: E731
    np.testing.assert_array_equal(jax.vmap(fun)(jnp.ones(3)), [2, 2, 2])
    assert jax.vmap(fun, out_axes=None)(jnp.ones(3)) == 2.0


def test_an_unmapped_output_without_information_is_numpys_too():
    zeros, _ = jax.vmap(jax.grad(lambda i, x: x * i, (0, 1), allow_int=True), (None, 0))(3, jnp.ones(4))
    assert (type(zeros), zeros.shape, zeros.dtype) == (np.ndarray, (4,), jax.dtypes.float0)


def test_a_mapped_output_cannot_be_unmapped():
    with pytest.raises(OutDimError):
        batch(lambda x: [x], Axis(3), [jnp.ones(3)], [0], lambda: [None])


def test_closed_over_tracers_of_an_outer_batch():
    got = jax.vmap(lambda x: jax.vmap(lambda y: x * y)(jnp.arange(3.0)))(jnp.arange(2.0))
    np.testing.assert_array_equal(got, np.outer(np.arange(2.0), np.arange(3.0)))


def test_jaxprs_are_batched_once_and_only_where_needed():
    closed = trace_to_closed_jaxpr(lambda x, y: [x * y, -y], [F32, F32])
    batched, out_batched = batch_jaxpr(closed, Axis(3), [True, False], False)
    assert out_batched == [True, False]
    assert [aval.shape for aval in batched.out_avals] == [(3,), ()]
    assert batch_jaxpr(closed, Axis(3), [True, False], False)[0] is batched
    batched, out_batched = batch_jaxpr(closed, Axis(3), [True, False], True)
    assert out_batched == [True, True]
    batched, dims = batch_jaxpr_axes(closed, Axis(3), [0, None])
    assert dims == [0, None]


def test_an_element_has_no_value():
    with pytest.raises(errors.TracerBoolConversionError, match="This BatchTracer with object id"):
        jax.vmap(lambda x: x if x > 0 else -x)(jnp.ones(3))


def test_custom_rules_are_batched():
    @jax.custom_jvp
    def f(x, y):
        return x * y

    f.defjvp(lambda primals, tangents: (f(*primals), 10.0 * tangents[0]))
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.vmap(f, (0, None))(x, 2.0), x * 2)
    np.testing.assert_array_equal(jax.vmap(jax.grad(f), (0, None))(x, 2.0), [10, 10, 10])
    np.testing.assert_array_equal(jax.grad(lambda x: jnp.sum(jax.vmap(f, (0, None))(x, 2.0)))(x), [10, 10, 10])

    @jax.custom_vjp
    def g(x, y):
        return x * y

    g.defvjp(lambda x, y: (g(x, y), y), lambda y, ct: (ct * y * 100, ct))
    np.testing.assert_array_equal(jax.vmap(g, (0, None))(x, 2.0), x * 2)
    np.testing.assert_array_equal(jax.vmap(jax.grad(g), (0, None))(x, 2.0), [200, 200, 200])
    by_both = jax.grad(lambda x, y: jnp.sum(jax.vmap(g, (0, None))(x, y)), argnums=(0, 1))(x, 2.0)
    np.testing.assert_array_equal(by_both[0], [200, 200, 200])
    assert by_both[1] == 3.0  # the shared value collects the cotangents of all elements


def test_custom_rules_may_close_over_elements_even_in_a_jitted_function():
    def scaled(y):
        @jax.custom_jvp
        def f(x):
            return jax.jit(lambda z: z * y)(x)

        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 3))
        return f(y)

    np.testing.assert_array_equal(jax.vmap(scaled)(jnp.arange(3.0)), [0, 1, 4])
    np.testing.assert_array_equal(jax.jit(jax.vmap(scaled))(jnp.arange(3.0)), [0, 1, 4])


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dims", [(None, 0), (0, None), (0, 0)])
def test_a_rule_whose_tangent_alone_is_batched(dims, jitted):
    """The result of the function does not depend on `y`, that of its rule does: vmap must batch each as it is."""
    @jax.custom_jvp
    def f(x, y):
        return x * 2.0, y * 3.0

    @f.defjvp
    def _(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), (tx * y + ty, tx + ty * x)

    mapped = jax.vmap(f, dims)
    x, y = (np.float32([1.0, 2.0, 3.0]) if dim == 0 else np.float32(0.5) for dim in dims)

    def pushed(x, y):
        return jax.jvp(mapped, (x, y), (x * 0 + 1, y * 0 + 1))

    outs, tangents = (jax.jit(pushed) if jitted else pushed)(x, y)
    xs, ys = np.broadcast_arrays(x, y)
    for out, expected in zip((*outs, *tangents), (xs * 2, ys * 3, ys + 1, xs + 1), strict=True):
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(("in_axes", "shape"), [((0, 0), (3,)), ((0, None), (3,)), ((None, 0), (3,)), ((0, 0), (2, 3))])
def test_a_gradient_that_no_rule_gives_has_the_shape_of_its_argument(in_axes, shape, jitted):
    @jax.custom_vjp
    def f(x, y):
        return x * 2.0

    f.defvjp(lambda x, y: (x * 2.0, None), lambda _, ct: (ct * 2.0, None))
    x, y = (np.ones(shape if axis == 0 else shape[1:], np.float32) for axis in in_axes)
    mapped = f
    for _ in shape:
        mapped = jax.vmap(mapped, in_axes)
    total = jax.grad(lambda x, y: mapped(x, y).sum(), argnums=(0, 1))
    dx, dy = (jax.jit(total) if jitted else total)(x, y)
    np.testing.assert_array_equal(dx, np.full(x.shape, 2.0 if in_axes[0] == 0 else 2.0 * len(y)))
    np.testing.assert_array_equal(dy, np.zeros(y.shape))
    each = jax.grad(f, argnums=(0, 1))
    for _ in shape:
        each = jax.vmap(each, in_axes)
    assert [np.shape(g) for g in each(x, y)] == [shape, shape]


def test_elementwise_functions_are_called_on_whole_batches(monkeypatch):
    """Outside of other traces one call of the function itself answers, with its bits; else it is run on elements."""
    x, y = jnp.linspace(-2.0, 3.0, 12).reshape(3, 4), jnp.linspace(1.0, 2.0, 12).reshape(3, 4)
    bound = []
    process = BatchTrace.process_primitive
    monkeypatch.setattr(BatchTrace, "process_primitive", lambda self, primitive, args, params: (
        bound.append(primitive.name), process(self, primitive, args, params))[1])
    for function in (lambda a, b: jnp.sin(a) * b + a, lambda a, b: jnp.where(a > 0, a, b) ** 2, jnp.hypot,
                     lambda a, b: jax.nn.softplus(a) - 2 * b):
        for axis in (0, 1):
            found = jax.vmap(function, axis, axis)(x, y)
            assert np.asarray(found).tobytes() == np.asarray(function(x, y)).tobytes()
    assert bound == []
    row = y[0]
    assert (jax.vmap(jnp.add, (0, None))(x, row) == x + row).all()
    assert (jax.vmap(jnp.add, (0, 1), 0)(x, y.T) == x + y).all()
    assert jax.vmap(jnp.add)(jnp.arange(3), jnp.ones(3, "float16")).dtype == "float16"
    assert bound


def test_errors_of_elementwise_functions_speak_of_elements():
    with pytest.raises(TypeError, match="incompatible shapes"):
        jax.vmap(jnp.add)(jnp.ones((3, 4)), jnp.ones((3, 5)))
    with pytest.raises(TypeError, match="does not accept dtype float32"):
        jax.vmap(jnp.bitwise_and)(jnp.ones((3, 4)), jnp.ones((3, 4)))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.vmap(jnp.log)(-jnp.ones((3, 4)))
