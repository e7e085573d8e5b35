"""A ufunc is a key among programs: it never changes."""

import pytest

import tinytrace.numpy as jnp


@pytest.mark.parametrize("function", [jnp.add, jnp.frompyfunc(lambda x, y: x - y, 2, 1, identity=0)])
@pytest.mark.parametrize("name", ["nin", "nout", "nargs", "identity", "_func"])
def test_its_properties_cannot_be_set(function, name):
    before = hash(function)
    getattr(function, name)
    with pytest.raises(AttributeError, match=rf"'{name}' of <jnp\.ufunc '.*'> cannot be set"):
        setattr(function, name, None)
    assert hash(function) == before
