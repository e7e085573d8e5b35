"""How far to go in a direction: a step that satisfies the strong Wolfe conditions.

Source: Nocedal and Wright, "Numerical Optimization" (1999), algorithms 3.5 and 3.6; constants as in JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.gradients import value_and_grad
from tinytrace.core.dtypes import part_dtype
from tinytrace.records import NamedTuple

Objective = Callable[[Any], Any]
C1, C2 = 1e-4, 0.9
"""The value falls by C1 of what the slope promises, and the slope to C2 of itself."""
MOST_ZOOMS = 30


class Point(NamedTuple):
    """A step's length, and the value and the slope there."""

    length: Any
    value: Any
    slope: Any


class Step(NamedTuple):
    """What a search found."""

    length: Any
    value: Any
    gradient: Any
    failed: Any
    status: Any
    """0: found; 1: none between two lengths; 3: the lengths were too many."""
    evaluations: Any


class _Ray(NamedTuple):
    """The function along the direction, from the start."""

    start: Point
    evaluate: Callable[[Any], tuple[Point, Any]]
    """The point at a length, and the gradient there."""

    def is_too_high(self, point: Point) -> Any:
        return point.value > self.start.value + C1 * point.length * self.start.slope

    def is_flat(self, point: Point) -> Any:
        return jnp.abs(point.slope) <= -C2 * self.start.slope


class _Zoom(NamedTuple):
    done: Any
    failed: Any
    count: Any
    low: Point
    high: Point
    before_length: Any
    before_value: Any
    best: Point
    gradient: Any


class _Search(NamedTuple):
    done: Any
    failed: Any
    count: Any
    before: Point
    best: Point
    gradient: Any
    evaluations: Any


def line_search(fun: Objective, x: Any, direction: Any, value: Any, value_before: Any, gradient: Any,
                maxiter: int = 20) -> Step:
    """Return a step from `x: f32[n]` along `direction: f32[n]`, down which `fun` falls.

    value, gradient: at x.  value_before: that of the step before, which tells a first length; 1 if None.
    """
    real = part_dtype(direction.dtype)
    slope = jnp.real(jnp.dot(gradient, direction))

    def evaluate(length: Any) -> tuple[Point, Any]:
        length = jnp.asarray(length, real)
        there, slopes = value_and_grad(fun)(x + length.astype(direction.dtype) * direction)
        return Point(length, there, jnp.real(jnp.dot(slopes, direction))), slopes

    first = jnp.ones((), real)
    if value_before is not None:
        first = 1.01 * 2 * (value - value_before) / slope
        first = jnp.where(first > 1, 1.0, first).astype(real)
    start = Point(jnp.zeros((), real), value, slope)
    ray = _Ray(start, evaluate)

    def step(state: _Search) -> _Search:
        point, slopes = evaluate(jnp.where(state.count == 1, first, state.before.length * 2))
        higher = ray.is_too_high(point) | ((point.value >= state.before.value) & (state.count > 1))
        flat = ray.is_flat(point) & ~higher
        rising = (point.slope >= 0.0) & ~higher & ~flat
        between = _zoom(ray, state.before, point, gradient, higher)
        back = _zoom(ray, point, state.before, gradient, rising)
        best = _chosen(higher, between.best, _chosen(flat, point, _chosen(rising, back.best, state.best)))
        at_best = jnp.where(higher, between.gradient,
                            jnp.where(flat, slopes, jnp.where(rising, back.gradient, state.gradient)))
        failed = state.failed | (higher & between.failed) | (rising & back.failed)
        return _Search(state.done | higher | flat | rising, failed, state.count + 1, point, best, at_best,
                       state.evaluations + 1 + between.count + back.count)

    end = lax.while_loop(lambda state: ~state.done & (state.count <= maxiter) & ~state.failed, step,
                         _Search(False, False, 1, start, start, gradient, 0))
    status = jnp.where(end.failed, 1, jnp.where(end.count > maxiter, 3, 0))
    length = end.best.length
    if jnp.finfo(length.dtype).bits != 64:  # a shorter step would not change x
        length = jnp.where(jnp.abs(length) < 1e-8, jnp.sign(length) * 1e-8, length)
    return Step(length, end.best.value, end.gradient, end.failed | ~end.done, status, end.evaluations)


def _zoom(ray: _Ray, low: Point, high: Point, gradient: Any, wanted: Any) -> _Zoom:
    """Return the point between two that satisfies the conditions; nothing is done unless it is `wanted`."""
    threshold = 1e-10 if jnp.finfo(low.length.dtype).bits == 64 else 1e-5

    def step(state: _Zoom) -> _Zoom:
        low, high = state.low, state.high
        failed = state.failed | (high.length - low.length <= threshold)
        point, slopes = ray.evaluate(_between(state))
        to_high = ray.is_too_high(point) | (point.value >= low.value)
        found = ray.is_flat(point) & ~to_high
        turns = (point.slope * (high.length - low.length) >= 0.0) & ~to_high & ~found
        to_low = ~to_high & ~found
        moved = to_high | turns
        return _Zoom(state.done | found, failed | (state.count + 1 >= MOST_ZOOMS), state.count + 1,
                     _chosen(to_low, point, low), _chosen(to_high, point, _chosen(turns, low, high)),
                     jnp.where(moved, high.length, state.before_length),
                     jnp.where(moved, high.value, state.before_value), _chosen(found, point, state.best),
                     jnp.where(found, slopes, state.gradient))

    one = jnp.ones_like(low.length)
    state = _Zoom(False, False, 0, low, high, (low.length + high.length) / 2, (low.value + high.value) / 2,
                  Point(one, low.value, low.slope), gradient)
    return _Zoom(*lax.while_loop(lambda state: ~state.done & wanted & ~state.failed, step, state))


def _between(state: _Zoom) -> Any:
    """Return the length to try: the minimum of a cubic, else of a parabola, else the middle."""
    low, high = state.low, state.high
    width = high.length - low.length
    left, right = jnp.minimum(high.length, low.length), jnp.maximum(high.length, low.length)
    cubic = _minimum_of_cubic(low, high, state.before_length, state.before_value)
    takes_cubic = (state.count > 0) & (cubic > left + 0.2 * width) & (cubic < right - 0.2 * width)
    curvature = (high.value - low.value - low.slope * width) / width ** 2
    parabola = low.length - low.slope / (2.0 * curvature)
    takes_parabola = ~takes_cubic & (parabola > left + 0.1 * width) & (parabola < right - 0.1 * width)
    return jnp.where(takes_cubic, cubic, jnp.where(takes_parabola, parabola, (low.length + high.length) / 2.0))


def _minimum_of_cubic(low: Point, high: Point, third: Any, value: Any) -> Any:
    """Return the minimum of the cubic through three points that has the slope of the first; NaN where it has none."""
    b, c = high.length - low.length, third - low.length
    scale = (b * c) ** 2 * (b - c)
    of_high, of_third = high.value - low.value - low.slope * b, value - low.value - low.slope * c
    cubed = (c ** 2 * of_high - b ** 2 * of_third) / scale
    squared = (b ** 3 * of_third - c ** 3 * of_high) / scale
    return low.length + (-squared + jnp.sqrt(squared * squared - 3.0 * cubed * low.slope)) / (3.0 * cubed)


def _chosen(where: Any, point: Point, other: Point) -> Point:
    return Point(*(jnp.where(where, a, b) for a, b in zip(point, other, strict=True)))
