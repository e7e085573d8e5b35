"""`gaussian_kde`: the numbers of JAX 0.4.35 for one sample, and what is refused."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.scipy.stats import gaussian_kde

DRAWN = np.random.RandomState(0)
SAMPLE, WEIGHTS = DRAWN.randn(2, 7).astype("f"), DRAWN.rand(7).astype("f")


@pytest.mark.not_quick
def test_the_numbers_of_jax():
    k = gaussian_kde(SAMPLE)
    weighted = gaussian_kde(SAMPLE[:, :4], weights=WEIGHTS[:4], bw_method="silverman")
    line = gaussian_kde(SAMPLE[0], bw_method=0.3)
    for found, wanted in [
            (k(SAMPLE[:, :3]), [0.1825318, 0.1611123, 0.18677634]),
            (k.logpdf(SAMPLE[:, :3]), [-1.7008308, -1.8256536, -1.6778435]),
            (weighted(SAMPLE[:, :2]), [0.31890833, 0.23998071]), (weighted.neff, 1.4471543),
            (line(0.2), [0.16757318]), (line.integrate_box_1d(-1.0, 0.5), 0.18626876),
            (k.integrate_kde(weighted), 0.13144225), (k.integrate_gaussian(jnp.zeros(2), jnp.eye(2)), 0.061093763),
            (k.resample(jax.random.key(0), (3,)), [[1.0906671, -0.14474148, 1.0978165],
                                                   [-0.66074795, 0.92413616, 0.9559252]])]:
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_array_equal(jax.jit(lambda k, x: k.pdf(x))(k, SAMPLE), k(SAMPLE))
    assert len(jax.tree.leaves(k)) == 5


def test_what_is_refused():
    for arguments, words in [((jnp.ones(1),), "multiple elements"), ((SAMPLE, "wide"), "`bw_method` should be"),
                             ((SAMPLE, None, WEIGHTS[:3]), "of length n"),
                             ((SAMPLE, None, SAMPLE), "should be one-dimensional")]:
        with pytest.raises(ValueError, match=words):
            gaussian_kde(*arguments)
    with pytest.raises(ValueError, match="points have dimension 3, dataset has dimension 2"):
        gaussian_kde(SAMPLE)(jnp.ones((3, 2)))
    with pytest.raises(ValueError, match="only handles 1D"):
        gaussian_kde(SAMPLE).integrate_box_1d(0, 1)
    with pytest.raises(NotImplementedError, match="complex data"):
        gaussian_kde(SAMPLE * 1j)
