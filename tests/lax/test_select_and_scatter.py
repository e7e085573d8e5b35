"""`select_and_scatter`: JAX's answers are in tests/goldens/select_and_scatter.txt."""

import numpy as np
import pytest

import tinytrace as jax
from tests.goldens import answer, as_tinytrace, load, set_scene
from tinytrace import lax

SCENE, CASES = load("select_and_scatter")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:70])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer


@pytest.mark.parametrize("select_prim", [lax.ge_p, lax.le_p])
def test_with_a_sum_it_is_the_derivative_of_pooling(select_prim):
    rng = np.random.default_rng(0)
    x, source = rng.normal(size=(5, 6)).astype(np.float32), rng.normal(size=(4, 3)).astype(np.float32)
    window = {"window_dimensions": (2, 3), "window_strides": (1, 2), "padding": ((0, 0), (1, 1))}
    out = NAMESPACE["placed"](x, source, 0, window, select_prim.bind)
    np.testing.assert_allclose(out, lax.select_and_scatter_add_p.bind(source, x, select_prim=select_prim, **window),
                               rtol=1e-6)


def test_as_many_sources_as_windows():
    with pytest.raises(TypeError, match="Source shape does not match the shape of window-reduced operand"):
        NAMESPACE["placed"](NAMESPACE["x"], np.float32([[1]]), 0, NAMESPACE["apart"])
    assert jax.eval_shape(lambda: NAMESPACE["placed"](NAMESPACE["x"], NAMESPACE["s"], 0, NAMESPACE["apart"])
                          ).shape == (4, 6)
