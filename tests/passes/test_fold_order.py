"""Folds over short rows that lie apart fold the rows into one, then that."""
import numpy as np
import pytest

import tinytrace as jax
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify

X = np.random.default_rng(0).integers(-9, 9, (6, 8, 6, 8)).astype(np.float32)


@pytest.mark.parametrize(("function", "x", "axes"), [
    (lambda x: x.max((1, 3)), X, [(1,), (2,)]), (lambda x: x.sum((3, 0, 1)), X, [(0, 1), (1,)]),
    (lambda x: (x > 0).all((1, 3)), X, [(1,), (2,)]), (lambda x: x.min((0, 2, 3)), X, [(0,), (1, 2)]),
    (lambda x: x.max((1, 3)), X.astype(np.float16), [(1,), (2,)]),
    (lambda x: jax.lax.reduce_sum_p.bind(x, axes=(1, 3)), X.astype(np.float16), [(1, 3)]),
    (lambda x: x.max((2, 3)), X, [(2, 3)]), (lambda x: x.max((1, 2)), X, [(1, 2)]),
    (lambda x: x[:3].sum((0, 3)), X, [(0, 3)]), (lambda x: x[..., :1].sum((1, 3)), X, [(1, 3)]),
    (lambda x: x.max((0, 2)), np.zeros((6, 5, 65), np.float32), [(0, 2)])])
def test_rows_are_folded_into_one_first(function, x, axes):
    closed = simplify(jax.make_jaxpr(function)(x))
    check_jaxpr(closed)
    assert [eqn.params["axes"] for eqn in closed.eqns if eqn.primitive.name.startswith("reduce")] == axes
    with interpreting():
        np.testing.assert_array_equal(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0], function(x))
