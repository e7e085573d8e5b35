"""Dot products of complex numbers are calls where these lie side by side, and the same sums wherever they end."""
import subprocess

import numpy as np
import pytest

import tinytrace as jax
from tests.codegen.test_programs import FLAGS
from tinytrace import numpy as jnp
from tinytrace.config import enable_x64
from tinytrace.core.trace import interpreting

PRODUCTS = {"dot": jnp.dot, "vdot": jnp.vdot, "inner": jnp.inner, "vecdot": jnp.vecdot,
            "both conjugated": lambda x, y: jnp.dot(x.conj(), y.conj())}


def numbers(n, dtype=np.complex64):
    random = np.random.default_rng(n)
    return tuple((random.integers(-9, 9, n) + 1j * random.integers(-9, 9, n)).astype(dtype) for _ in range(2))


def text_of(function, *args):
    return jax.jit(function).lower(*args).as_text()


@pytest.mark.parametrize("name", PRODUCTS)
def test_sums_of_integers_are_exact_wherever_they_end(name):
    lines = [numbers(n) for n in (1, 31, 32, 33, 36, 47, 64, 65, 1001, 2077, 10_003)]
    with interpreting():
        wanted = [complex(PRODUCTS[name](x, y)) for x, y in lines]
    found = jax.jit(lambda lines: [PRODUCTS[name](x, y) for x, y in lines])(lines)
    assert list(map(complex, found)) == wanted


@pytest.mark.parametrize("n", [32, 35, 10_003])
def test_of_double_precision(n):
    with enable_x64(True):
        x, y = numbers(n, np.complex128)
        assert jax.jit(jnp.vdot)(x, y) == np.vdot(x, y)
        assert "tt_dot_parts_f64(" in text_of(jnp.vdot, x, y)


@pytest.mark.parametrize("place", [0, 50, 999])
def test_infinities_and_nan_are_in_the_sum(place):
    x, y = numbers(1000)
    x[place] = complex(np.inf, 1)
    y[place] = 2 + 3j
    assert jax.jit(jnp.dot)(x, y) == complex(np.inf, np.inf)
    x[place] = complex(1, np.nan)
    assert np.isnan(jax.jit(jnp.dot)(x, y).real)


@pytest.mark.parametrize("name", PRODUCTS)
def test_they_are_calls(name):
    text = text_of(PRODUCTS[name], *numbers(1000))
    assert "tt_dot_parts_f32(a, b, 1000, " in text
    assert "for (" not in text


@pytest.mark.parametrize("n", [33, 99, 256])
def test_compilers_that_know_the_length_have_nothing_to_say(n):
    text = jax.jit(jnp.vdot).lower(*numbers(n)).as_text(full=True)
    flags = [flag for flag in FLAGS if flag != "-fsyntax-only"]  # what is said of loops is found by optimizing
    argv = ["cc", "-march=native", *flags, "-S", "-o", "/dev/null"]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_parts_of_a_row_begin_where_they_lie():
    x, y = numbers(3000)
    assert jax.jit(lambda x, y: jnp.vdot(x[7:1007], y[500:1500]))(x, y) == np.vdot(x[7:1007], y[500:1500])


@pytest.mark.parametrize("function", [
    lambda x, y: jnp.vdot(x[:31], y[:31]),  # too short
    lambda x, y: jnp.vdot(x[::2], y[::2]),  # not side by side
    lambda x, y: jnp.vdot(x * 2, y),  # computed
    lambda x, y: jnp.dot(x, y.real),  # of one complex factor
    lambda x, y: jnp.dot(x, x.real) + jnp.dot(y, y.imag),
], ids=["short", "strided", "computed", "real", "others"])
def test_other_loops_stay(function):
    x, y = numbers(1000)
    assert "tt_dot_parts" not in text_of(function, x, y)
    with interpreting():
        want = np.asarray(function(x, y))
    np.testing.assert_allclose(jax.jit(function)(x, y), want, rtol=1e-5)
