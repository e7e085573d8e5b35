"""What the namespace says of itself to libraries that are written for the array API standard."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.config import enable_x64


def test_an_array_names_its_namespace_traced_or_not():
    def f(x):
        xp = x.__array_namespace__(api_version="2024.12")
        assert xp is jnp
        return xp.sum(x)

    assert f(jnp.ones(3)) == jax.jit(f)(jnp.ones(3)) == 3
    with pytest.raises(ValueError, match=r"api_version='1999\.12' is not available; available versions are"):
        jnp.ones(3).__array_namespace__(api_version="1999.12")


@pytest.mark.parametrize("x64", [False, True])
def test_dtypes_are_those_that_arrays_can_have(x64):
    info = jnp.__array_namespace_info__()
    with enable_x64(x64):
        everything = info.dtypes()
        assert ("float64" in everything) == x64
        assert all(jnp.zeros(1, dtype).dtype == dtype == np.dtype(name) for name, dtype in everything.items())
        kinds = "bool", "signed integer", "unsigned integer", "real floating", "complex floating"
        parts = [info.dtypes(kind=kind) for kind in kinds]
        assert sum(map(len, parts)) == len(everything)
        assert info.dtypes(kind=kinds) == everything
        assert info.default_dtypes() == {
            "real floating": jnp.zeros(1).dtype, "complex floating": (1j * jnp.zeros(1)).dtype,
            "integral": jnp.arange(1).dtype, "indexing": jnp.argmax(jnp.zeros(1)).dtype,
        }  # fmt: skip
    with pytest.raises(ValueError, match="unrecognized kind 'float'"):
        info.dtypes(kind="float")


def test_capabilities_hold():
    info = jnp.__array_namespace_info__()
    most = info.capabilities()["max dimensions"]
    x = jnp.ones((1,) * most)
    assert (jax.jit(lambda x: x + 1)(x) + x).ndim == most
    assert info.devices() == jax.devices()
    assert jnp.ones(3)[jnp.array([True, False, True])].shape == (2,)
