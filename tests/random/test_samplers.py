"""Samplers: the jaxprs, streams and errors of JAX 0.4.35."""

import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests import goldens
from tinytrace import random
from tinytrace.config import enable_x64
from tinytrace.core.trace import interpreting
from tinytrace.random import gamma_samples

FILES = {name: goldens.load(name) for name in ("samplers", "generators")}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases],
                         ids=lambda x: getattr(x, "program", x)[:60])
def test_answers_of_jax(name, case):
    # Bits of the streams are JAX's; logarithms, roots and factorizations of them may differ in the last digit.
    assert goldens.differences(goldens.answer(case.program, dict(scene(name))), case.answer, 4e-6) == []


def test_what_is_no_key_and_no_shape():
    with pytest.raises(TypeError, match=r"expected key_data.shape to end with \(2,\); got shape=\(3,\) for impl=fry"):
        random.split(jnp.zeros(3, jnp.uint32))
    with pytest.raises(TypeError, match=r"shape must have every element be nonnegative, got \(-1,\)"):
        random.normal(random.key(0), (-1,))
    with pytest.raises(TypeError, match="Keys are no numbers"):
        float(random.key(0))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_bits_of_each_width_are_those_of_the_compiled_program(dtype):
    with enable_x64():
        key = random.key(3)
        for f, keys in ((lambda key: random.bits(key, (2, 3), dtype), key),
                        (jax.vmap(lambda key: random.bits(key, (5,), dtype)), random.split(key, 4))):
            compiled = jax.jit(f)(keys)
            with interpreting():
                interpreted = f(keys)
            assert compiled.dtype == interpreted.dtype == dtype
            np.testing.assert_array_equal(compiled, interpreted)


@pytest.mark.not_quick
@pytest.mark.parametrize(("n", "wide"), [(20, False), (64, False), (200, False), (200, True), (2500, False)])
def test_gamma_samples_that_are_drawn_side_by_side_are_those_drawn_alone(n, wide, monkeypatch):
    def draw(key):
        return jax.random.gamma(key, jax.numpy.linspace(0.3, 9, n)), jax.random.loggamma(key, 0.5, (n,))

    with enable_x64(wide):
        key = jax.random.key(3)
        together = jax.jit(draw)(key)
        monkeypatch.setattr(gamma_samples, "FEW", n + 1)
        jax.clear_caches()
        for a, b in zip(together, jax.jit(draw)(key), strict=True):
            assert a.dtype == ("float64" if wide else "float32")
            np.testing.assert_array_equal(a, b)
        jax.clear_caches()
