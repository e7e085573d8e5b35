"""Products that sum nothing are multiplications."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.outer_products import multiply_outer_products
from tinytrace.passes.simplify import simplify

A, B = (np.random.default_rng(0).integers(-9, 9, shape) for shape in ((5, 7), (5, 3)))


@pytest.mark.parametrize(("batch", "turned", "spec"), [
    (((), ()), False, "ab,cd->abcd"), (((0,), (0,)), False, "ab,ac->abc"), (((1,), (0,)), True, "ab,ac->abc"),
    (((0,), (1,)), False, "ab,ca->abc")])
@pytest.mark.parametrize(("dtype", "result"), [("float32", None), ("int8", "int32"), ("float16", "float32")])
def test_they_are_multiplied(batch, turned, spec, dtype, result):
    b = B if batch[1] != (1,) else B.T

    def function(a, b):
        return lax.dot_general(a.T if turned else a, b, (((), ()), batch), preferred_element_type=result)

    closed = simplify(jax.make_jaxpr(function)(A.astype(dtype), b.astype(dtype)))
    check_jaxpr(closed)
    names = [eqn.primitive.name for eqn in closed.eqns]
    assert names.count("mul") == 1
    assert "dot_general" not in names
    found = jax.jit(function)(A.astype(dtype), b.astype(dtype))
    np.testing.assert_array_equal(found, np.einsum(spec, A, b))
    assert found.dtype == (result or dtype)


def test_what_sums_or_has_no_axes_or_is_true_or_false_stays():
    for function in (lambda a, b: a @ b, lambda a, b: lax.dot_general(a[0, 0], b[0, 0], (((), ()), ((), ()))),
                     lambda a, b: lax.dot_general(a > 0, b > 0, (((), ()), ((), ())))):
        closed = jax.make_jaxpr(function)(np.ones((3, 3), np.float32), np.ones((3, 3), np.float32))
        assert multiply_outer_products(closed) is closed


def last_state(w, xs):
    return lax.scan(lambda h, x: (jnp.tanh(w @ h + x), None), xs[0], xs)[0].sum()


def test_gradients_of_loops_add_them_without_writing_them():
    w, xs = np.full((40, 40), 0.01, np.float32), np.ones((9, 40), np.float32)
    lowered = jax.jit(jax.grad(last_state)).lower(w, xs)
    assert "sgemm" not in lowered.as_text()
    h = [xs[0]]
    for x in xs:
        h.append(np.tanh(w @ h[-1] + x))
    ct, want = np.ones(40), np.zeros((40, 40))
    for before, after in zip(h[-2::-1], h[::-1], strict=False):
        ct = ct * (1 - after * after)
        want += np.outer(ct, before)
        ct = ct @ w
    np.testing.assert_allclose(jax.jit(jax.grad(last_state))(w, xs), want, 1e-3, 1e-6)


def test_a_matrix_that_is_transposed_already_is_not_transposed_again():
    def power(w, v):
        return lax.fori_loop(0, 5, lambda i, v: w.T @ (w @ v), v)

    w, v = np.random.default_rng(0).standard_normal((24, 24)).astype(np.float32) / 9, np.ones(24, np.float32)
    closed = simplify(jax.make_jaxpr(power)(w, v))
    check_jaxpr(closed)
    assert [eqn.primitive.name for eqn in closed.eqns].count("transpose") == 1
    np.testing.assert_allclose(jax.jit(power)(w, v), np.linalg.matrix_power(w.T @ w, 5) @ v, 1e-4)
