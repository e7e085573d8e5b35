"""`gaussian_kde`: the density of which a sample is drawn, as a sum of normal densities."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import random
from tinytrace.api.jit import jit
from tinytrace.api.vmapping import vmap
from tinytrace.core.tree_registry import register_pytree_node_class
from tinytrace.numpy.promotion import ArrayLike, check_arraylike, promote_dtypes_inexact
from tinytrace.scipy import linalg, special

Factor = str | float | Callable[[Any], Any] | None


@register_pytree_node_class
class gaussian_kde:  # noqa: N801  (SciPy's name)
    """An estimated density; a pytree of arrays.

    Args:
      dataset: f[n], or f[d, n] of n points in d dimensions.
      bw_method: the width, as a factor of the sample's: "scott", "silverman", a number, or a function of the estimate.
      weights: f[n], of the points.

    Raises: ValueError for fewer than two numbers, weights that do not fit, and another `bw_method`; NotImplementedError
    for complex numbers.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.gaussian_kde.html.

    >>> density = jax.scipy.stats.gaussian_kde(jnp.array([-1.0, 0.0, 1.0]))
    >>> density(0.0)
    Array([0.3181562], dtype=float32)
    """

    def __init__(self, dataset: ArrayLike, bw_method: Factor = None, weights: ArrayLike | None = None) -> None:
        check_arraylike("gaussian_kde", dataset)
        points = _real(jnp.atleast_2d(dataset), "data")
        if not points.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        count = points.shape[1]
        if weights is None:
            self.dataset, = promote_dtypes_inexact(points)
            self.weights = jnp.full(count, 1.0 / count, dtype=self.dataset.dtype)
        else:
            self.dataset, given = promote_dtypes_inexact(points, weights)
            given = jnp.atleast_1d(given)
            if given.ndim != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if len(given) != count:
                raise ValueError("`weights` input should be of length n")
            self.weights = given / jnp.sum(given)
        self.neff = 1 / jnp.sum(self.weights ** 2)
        factor = self._factor("scott" if bw_method is None else bw_method)
        covariance = jnp.atleast_2d(jnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights))
        self.covariance = covariance * factor ** 2
        self.inv_cov = jnp.linalg.inv(covariance) / factor ** 2

    def _factor(self, method: Factor) -> Any:
        if method == "scott":
            return jnp.power(self.neff, -1.0 / (self.d + 4))
        if method == "silverman":
            return jnp.power(self.neff * (self.d + 2) / 4.0, -1.0 / (self.d + 4))
        if callable(method):
            return method(self)
        if isinstance(method, str) or not jnp.isscalar(method):
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")
        return method

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """Return the arrays."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: tuple[Any, ...]) -> gaussian_kde:
        """Return the estimate that has these arrays."""
        self = object.__new__(cls)
        self.neff, self.dataset, self.weights, self.covariance, self.inv_cov = children
        return self

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.dataset.shape[1])

    def evaluate(self, points: ArrayLike) -> Any:
        """Return the density at `points: f[d, m]`: f[m]."""
        return self._evaluated("evaluate", points, in_log=False)

    __call__ = pdf = evaluate

    def logpdf(self, x: ArrayLike) -> Any:
        """Return the logarithm of the density at `x: f[d, m]`: f[m]."""
        return self._evaluated("logpdf", x, in_log=True)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Any:
        """Return the integral of the density times a normal density.

        Raises: ValueError when its mean or covariance has other dimensions.
        """
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return self._convolved(self.covariance + cov, mean[:, None])[0]

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Any:
        """Return the probability of what lies between two numbers; ValueError in more than one dimension."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) != 0 or jnp.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        sigma = jnp.squeeze(jnp.sqrt(self.covariance))
        low, high = (jnp.squeeze((x - self.dataset) / sigma) for x in (low, high))
        return jnp.sum(self.weights * (special.ndtr(high) - special.ndtr(low)))

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """Return the integral of the product of two densities; ValueError when their dimensions differ."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        few, many = (self, other) if self.n < other.n else (other, self)
        return jnp.sum(many._convolved(self.covariance + other.covariance, few.dataset) * few.weights)

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Return points drawn from the density: f[d, *shape]."""
        of_points, of_noise = random.split(key)
        chosen = random.choice(of_points, self.n, shape=shape, p=self.weights)
        noise = random.multivariate_normal(of_noise, jnp.zeros(self.d, self.covariance.dtype), self.covariance,
                                           shape=shape, dtype=self.dataset.dtype)
        return self.dataset[:, chosen] + noise.T

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Raise NotImplementedError, as JAX does."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Raise NotImplementedError, as JAX does."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported")

    def _convolved(self, covariance: Any, means: Any) -> Any:
        """Return the density smoothed by a normal one, at `means: f[d, m]`."""
        factor = linalg.cho_factor(covariance)
        scale = 1.0 / (np.sqrt(2 * np.pi) ** self.d * jnp.prod(jnp.diag(factor[0])))

        def at(mean: Any) -> Any:
            away = self.dataset - mean[:, None]
            distance = jnp.sum(away * linalg.cho_solve(factor, away), axis=0)
            return scale * jnp.sum(jnp.exp(-0.5 * distance) * self.weights)

        return vmap(at, in_axes=1)(means)

    def _evaluated(self, name: str, points: ArrayLike, in_log: bool) -> Any:
        check_arraylike(name, points)
        at = _real(jnp.atleast_2d(points), "coordinates")
        dimensions, count = at.shape
        if dimensions != self.d:
            if dimensions != 1 or count != self.d:
                raise ValueError(f"points have dimension {dimensions}, dataset has dimension {self.d}")
            at = jnp.reshape(at, (self.d, 1))
        return _densities(in_log, self.dataset.T, self.weights, at.T, self.inv_cov)


@partial(jit, static_argnums=0)
def _densities(in_log: bool, points: Any, weights: Any, at: Any, precision: Any) -> Any:
    points, weights, at, precision = promote_dtypes_inexact(points, weights, at, precision)
    whitening = linalg.cholesky(precision, lower=True)
    points, at = jnp.dot(points, whitening), jnp.dot(at, whitening)
    constant = jnp.sum(jnp.log(jnp.diag(whitening))) - 0.5 * at.shape[1] * np.log(2 * np.pi)

    def density(x: Any) -> Any:
        exponents = constant - 0.5 * jnp.sum(jnp.square(points - x), axis=1)
        return special.logsumexp(jnp.log(weights) + exponents) if in_log else jnp.sum(weights * jnp.exp(exponents))

    return vmap(density)(at)


def _real(x: Any, what: str) -> Any:
    if jnp.issubdtype(x.dtype, np.complexfloating):
        raise NotImplementedError(f"gaussian_kde does not support complex {what}")
    return x
