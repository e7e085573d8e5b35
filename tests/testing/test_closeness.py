"""`check_close`: what libraries' tests hold their results to."""

from __future__ import annotations

import numpy as np
import pytest
from tinytrace._src.public_test_util import check_close, check_grads, check_jvp, check_vjp

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.testing import closeness, gradient_checks


def test_it_is_where_libraries_look():
    assert check_close is closeness.check_close
    assert (check_grads, check_jvp, check_vjp) == (
        gradient_checks.check_grads, gradient_checks.check_jvp, gradient_checks.check_vjp)


@pytest.mark.parametrize(("dtype", "near", "far"), [
    (np.float16, 2.0**-11, 2.0**-8), (jnp.bfloat16, 2.0**-8, 2.0**-5), (np.float32, 2.0**-21, 2.0**-18),
    (np.complex64, 2.0**-21, 2.0**-18), (np.int32, 0, 1), (np.bool_, 0, 1), (jnp.float8_e5m2, 0, 1)])
def test_numbers_may_be_as_far_apart_as_their_type_allows(dtype, near, far):
    one = jnp.ones((), dtype)
    check_close(one, (np.ones(()) - near).astype(dtype))
    with pytest.raises(AssertionError):
        check_close({"a": one}, {"a": (np.ones(()) - far).astype(dtype)})


def test_more_numbers_may_be_further_apart():
    check_close(jnp.ones(100), jnp.full(100, 1 + 2.0**-15))
    with pytest.raises(AssertionError):
        check_close(jnp.ones(2), jnp.full(2, 1 + 2.0**-15))


def test_it_is_said_how_far():
    check_close(1.0, 1.5, atol=0.5)
    check_close(jnp.ones(3), 1.5 * jnp.ones(3), rtol={np.float32: 0.5})
    with pytest.raises(AssertionError, match="hear me"):
        check_close(1.0, 1.5, atol=0.1, err_msg="hear me")


def test_shapes_and_trees_are_the_same():
    with pytest.raises(AssertionError, match="shape"):
        check_close(jnp.ones(3), jnp.ones((1, 3)))
    with pytest.raises(ValueError, match="Expected list"):
        check_close([1.0], (1.0,))
    zero = np.zeros((), jax.float0)
    check_close(zero, zero)
    with pytest.raises(AssertionError, match="dtype"):
        check_close(zero, np.zeros(()))
