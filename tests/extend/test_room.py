"""A primitive in a user's file: all of its rules in one class, checked, compiled in each of the three ways."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.primitive import refuse, registry
from tinytrace.extend import primitive
from tinytrace.extend.room import Room
from tinytrace.testing import assert_primitive_complete, assert_transform_laws

X = np.float32([1, 2, 3])


@primitive
class muladd:  # noqa: N801  (it is called like a function)
    """x * y + z."""

    def abstract_eval(self, y, z):
        return self

    def impl(self, y, z):
        return np.add(np.multiply(self, y), z)

    def c(self, y, z):
        return self * y + z

    def jvp(self, tangents):
        x, y, z = self
        xt, yt, zt = (jnp.zeros_like(x) if type(t).__name__ == "Zero" else t for t in tangents)
        return muladd(x, y, z), xt * y + x * yt + zt

    transpose = refuse("it is not linear in its operands")
    batch = "elementwise"


def test_it_is_complete_and_keeps_the_laws():
    assert isinstance(muladd, Room)
    assert "muladd" not in registry
    assert_primitive_complete(muladd, [((X, X, X), {}), ((np.float32(1),) * 3, {})])
    assert_transform_laws(muladd, X, X + 1, X, smooth=True)


def test_all_transformations():
    assert muladd(2.0, 3.0, 4.0) == 10
    assert jax.jit(muladd)(X, X, X).tolist() == [2, 6, 12]
    assert jax.grad(muladd, (0, 1, 2))(2.0, 3.0, 4.0) == (3, 2, 1)
    assert jax.vmap(jax.grad(muladd), (0, None, 0))(X, 2.0, X).tolist() == [2, 2, 2]
    assert jax.lax.scan(lambda c, x: (muladd(c, x, x), c), 1.0, X)[0] == 21
    assert str(jax.make_jaxpr(muladd)(1.0, 1.0, 1.0)) == \
        "{ lambda ; a:f32[] b:f32[] c:f32[]. let d:f32[] = muladd a b c in (d,) }"
    assert len(jax.jit(lambda x: muladd(x, x, x) * 2).lower(X).kernels) == 1
    assert pickle.loads(pickle.dumps(muladd)) is muladd


def test_over_jnp():
    @primitive
    class softplus:  # noqa: N801
        multiple_results = False
        abstract_eval = lambda x, *, beta: x  # noqa: E731
        impl = lambda x, *, beta: np.log1p(np.exp(beta * x)) / beta  # noqa: E731
        program = lambda x, *, beta: jnp.log1p(jnp.exp(beta * x)) / beta  # noqa: E731

    assert jax.jit(lambda x: softplus(x, beta=2.0))(X) == pytest.approx(np.log1p(np.exp(2 * X)) / 2)


def test_in_python_alone():
    """Without a lowering compiled programs call `impl`."""
    seen = []

    @primitive
    class counted:  # noqa: N801
        multiple_results = True
        abstract_eval = lambda x: [x, x.update(shape=())]  # noqa: E731

        def impl(self):
            seen.append(self.copy())
            return [self * 2, self.sum(dtype=np.float64)]

    f = jax.jit(lambda x: counted(x + 1))
    doubled, total = f(X)
    assert (doubled.tolist(), total) == ([4, 6, 8], 9)
    assert total.dtype == np.float32
    assert len(seen) == 1
    f(X)
    assert len(seen) == 2


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("how", ["eager", "jit", "without jit", "after jit"])
def test_equal_parameters_of_other_types_are_others(how, size):
    """1, True and 1.0 are equal, and so are 0.0 and -0.0; whatever ran before, each gets its own answer."""
    @primitive
    class named:  # noqa: N801
        def abstract_eval(self, *, k):
            return jax.core.ShapedArray(self.shape, np.dtype(type(k)) if isinstance(k, bool) else self.dtype)

        def impl(self, *, k):
            return np.full(self.shape, number(k), self.dtype if k is not True else bool)

        def c(self, *, k):
            return (self * 0 + number(k)) if k is not True else (self * 0 + number(k) > 0)

        batch = "elementwise"

    def number(k):
        return {"1": 1, "True": 2, "1.0": 3, "0.0": 4, "-0.0": 5}[repr(k)]

    def ask(k):
        f = (lambda x: named(x, k=k)) if how in ("eager", "without jit") else jax.jit(lambda x: named(x, k=k))
        with jax.disable_jit(how == "without jit"):
            result = f(jnp.ones(size))
        return result.dtype.name, result[-1].item()

    if how == "after jit":
        assert jax.jit(lambda x: named(x, k=1))(jnp.ones(size))[-1] == 1
    for _ in range(3):
        assert [ask(k) for k in (1, True, 1.0, 0.0, -0.0)] == [
            ("float32", 1), ("bool", True), ("float32", 3), ("float32", 4), ("float32", 5)]


def test_c_text():
    @primitive
    class clipped:  # noqa: N801
        abstract_eval = lambda x: x  # noqa: E731
        impl = lambda x: np.clip(x, 0, 2)  # noqa: E731
        c = "float clipped(float x) { return x < 0 ? 0 : x > 2 ? 2 : x; }"

    assert jax.jit(clipped)(X).tolist() == [1, 2, 2]


def test_what_is_missing_is_told():
    with pytest.raises(TypeError, match="half does not say abstract_eval: the type of its result"):
        @primitive
        class half:  # noqa: N801
            impl = lambda x: x / 2  # noqa: E731

    with pytest.raises(TypeError, match="third says gradient too"):
        @primitive
        class third:  # noqa: N801
            abstract_eval = impl = gradient = lambda x: x

    with pytest.raises(TypeError, match="jvp must be a function"):
        @primitive
        class fourth:  # noqa: N801
            abstract_eval = impl = lambda x: x
            jvp = 3

    @primitive
    class silent:  # noqa: N801
        abstract_eval = impl = lambda x: x

    with pytest.raises(AssertionError, match="silent is silent about jvp"):
        assert_primitive_complete(silent)
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'silent' not implemented"):
        jax.grad(silent)(1.0)


def test_results_of_another_shape_are_refused():
    @primitive
    class wrong:  # noqa: N801
        abstract_eval = lambda x: x  # noqa: E731
        impl = lambda x: x.sum()  # noqa: E731

    for call in (wrong, jax.jit(wrong)):
        with pytest.raises(TypeError, match=r"'wrong' promises .* and its impl returned arrays of shape"):
            call(X)
