"""Where complex numbers become real, NumPy's warning is given by every function, at each call outside of jit."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

x, z = jnp.arange(3.0), jnp.arange(3.0) * 1j
REAL = {
    "array": lambda: jnp.array(z, "float32"), "asarray of a list": lambda: jnp.asarray([z[0], 2], "int32"),
    "float32": lambda: jnp.float32(z), "sum": lambda: jnp.sum(z, dtype="float32"),
    "mean": lambda: jnp.mean(z, dtype="float32"), "cumsum": lambda: jnp.cumsum(z, dtype="float32"),
    "stack": lambda: jnp.stack([z, z], dtype="float32"), "pad": lambda: jnp.pad(x, 1, constant_values=1j),
    "insert": lambda: jnp.insert(x, 1, 1j), "linspace": lambda: jnp.linspace(1 + 1j, 3, 3, dtype="float32"),
    "logspace": lambda: jnp.logspace(0, 1j, 3, dtype="float32"),
    "einsum": lambda: jnp.einsum("i->", z, preferred_element_type="float32"),
    "lax": lambda: jax.lax.convert_element_type(z, "float32"),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_the_imaginary_part_is_not_lost_in_silence(name):
    for _ in range(3):
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
            result = REAL[name]()
        assert result.dtype.kind in "fi"


def test_jitted_functions_warn_when_they_are_traced():
    f = jax.jit(lambda z: jnp.asarray(z, "float32"))
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        f(z)
    f(z)  # a warning would be an error


@pytest.mark.parametrize("real", [
    lambda: z.real, lambda: jnp.abs(z), lambda: jnp.angle(z), lambda: jnp.var(z), lambda: jnp.std(z),
    lambda: jnp.linalg.norm(z), lambda: jnp.isclose(z, z), lambda: jnp.sort(z),
    lambda: jnp.linalg.cond(jnp.eye(2) * 1j), lambda: jnp.linalg.eigvalsh(jnp.eye(2) * 1j),
    lambda: jnp.count_nonzero(z), lambda: jnp.any(z), lambda: jnp.where(z == 0, x, x),
    lambda: jnp.histogram(x, weights=x), lambda: jnp.fft.irfft(z),
    lambda: jax.grad(lambda x: jnp.abs(x * 1j).sum())(x), lambda: jnp.linalg.svd(jnp.eye(2) * 1j),
    lambda: jnp.nan_to_num(z), lambda: jnp.isreal(z), lambda: jnp.allclose(z, z),
    lambda: jnp.linalg.slogdet(jnp.eye(2) * 1j),
])  # fmt: skip
def test_real_results_of_complex_numbers_lose_nothing(real):
    real()  # a warning would be an error
