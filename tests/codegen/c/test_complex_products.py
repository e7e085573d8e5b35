"""Products of complex numbers as they lie: two signs where a loop stores few of them, one everywhere else."""
import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp
from tinytrace.core.trace import interpreting

AS_THEY_LIE = {
    "two arrays": lambda x, y: x * y, "reversed": lambda x, y: x[::-1] * y,
    "every other": lambda x, y: x[::2] * y[1::2],
    "and a sum": lambda x, y: (2 + 1j) * x + y, "chosen": lambda x, y: jnp.where(x.real > 0, x * y, y),
    "rows": lambda x, y: x[:, None] * y[None, :20], "twice": lambda x, y: x * y * x,
}
APART = {
    "summed": lambda x, y: jnp.sum(x * y), "cumulative": lambda x, y: jnp.cumprod(x * y),
    "often": lambda x, y: x * y * x * y * x, "magnitudes": lambda x, y: jnp.abs(x * y),
    "one number": lambda x, y: jax.lax.fori_loop(0, 5, lambda k, z: z * z, x[0]), "real": lambda x, y: x.real * y.real,
}


def numbers(n, dtype=np.complex64):
    random = np.random.default_rng(n)
    return tuple((random.integers(-9, 9, n) + 1j * random.integers(-9, 9, n)).astype(dtype) for _ in range(2))


@pytest.mark.parametrize("name", [*AS_THEY_LIE, *APART])
def test_where_they_are_written_so(name):
    is_so = name in AS_THEY_LIE
    function = (AS_THEY_LIE if is_so else APART)[name]
    x, y = numbers(400)
    assert ("tt_plain_f32(" in jax.jit(function).lower(x, y).as_text()) == is_so
    with interpreting():
        want = np.asarray(function(x, y))
    np.testing.assert_allclose(jax.jit(function)(x, y), want, rtol=1e-5)


@pytest.mark.parametrize("n", [3, 4, 7, 100, 1001])
def test_a_number_times_its_conjugate_is_real_for_nothing_is_rounded_once(n):
    random = np.random.default_rng(n)
    z = (random.standard_normal(n) + 1j * random.standard_normal(n)).astype(np.complex64)
    compiled = jax.jit(lambda x, y: x * y)
    assert "tt_plain_f32(" in compiled.lower(z, z.conj()).as_text()
    assert not np.asarray(compiled(z, z.conj())).imag.any()


def test_signs_of_zeros_are_those_of_the_sums():
    zeros = [complex(a, b) for a in (0.0, -0.0, 1.0) for b in (0.0, -0.0, -2.0)]
    x, y = (np.array(zeros, np.complex64)[np.indices((9, 9))[k].reshape(-1)] for k in range(2))
    found = np.asarray(jax.jit(lambda x, y: x * y)(x, y))
    a, b, c, d = x.real, x.imag, y.real, y.imag
    for part, want in ((found.real, a * c - b * d), (found.imag, a * d + b * c)):
        np.testing.assert_array_equal(part, want)
        np.testing.assert_array_equal(np.signbit(part), np.signbit(want))
