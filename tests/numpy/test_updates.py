"""`x.at[index]` and filled arrays outside of traces are what they are in programs."""
import numpy as np
import pytest

import tinytrace as jax
from tests.api.test_one_meaning import same_bits
from tinytrace import lax
from tinytrace import numpy as jnp

X = jnp.arange(12.0).reshape(3, 4) + 1
AT = jnp.array([2, 0, 2, -1, 7])  # one twice, one from the end, one outside
K = jnp.array(1)
INDICES = {"rows": AT, "row": K, "columns": (slice(None), AT), "elements": (AT, AT[::-1]), "last": (..., AT),
           "new axis": (None, AT), "two axes": (K, AT), "row and axis": (K, None, slice(None))}
VALUES = [2.5, 3, jnp.array(0.5), jnp.array(2)]
METHODS = ["set", "add", "subtract", "multiply", "min", "max"]


@pytest.mark.parametrize("number", range(len(INDICES)))
def test_updates_at_positions_mean_what_they_mean_in_programs(number):
    index = list(INDICES.values())[number]
    for k in (number, number + 1):
        method, value = METHODS[k % len(METHODS)], VALUES[k % len(VALUES)]

        def update(x, value=value, method=method):
            return getattr(x.at[index], method)(value)

        wanted = jax.jit(update)(X)
        for found in (update(X), update(X)):
            assert same_bits(found, wanted), (method, value)
            assert found.aval == wanted.aval


def test_a_known_update_of_other_arrays_is_no_other_update():
    for x in (X, X.astype(jnp.int32)):
        for i in (AT, AT[:2].astype(jnp.uint8)):
            assert same_bits(x.at[i].add(1), jax.jit(lambda x, i: x.at[i].add(1))(x, i))


@pytest.mark.parametrize("value", [np.float32(2), np.int64(2), np.array(2.5), np.float32([[1], [2], [3], [4], [5]])])
@pytest.mark.parametrize("index", [np.asarray(AT), np.asarray(AT).astype(np.uint8), np.int64([2, 0, 2, -1, 9])])
def test_arrays_of_numpy_in_updates_are_known_too(index, value):
    for x in (X, X.astype(jnp.int32)):
        if not isinstance(value.dtype.type(0), np.floating) or x.dtype != jnp.int32:
            found, wanted = x.at[index].add(value), jax.jit(lambda x: x.at[index].add(value))(x)
            assert same_bits(found, wanted)
            assert found.aval == wanted.aval


@pytest.mark.parametrize("index", [":", "positions", (AT, ":"), [0, 1]])
def test_what_stands_in_the_form_of_an_index_is_none(index):
    with pytest.raises(TypeError):
        X.at[index].set(1.0)


@pytest.mark.parametrize("dtype", [None, "float32", "int8", "uint8", "bool", "float16", "bfloat16", "complex64"])
def test_filled_arrays_are_those_of_programs(dtype):
    for number in (2, -3, 0.7, True, 100):
        def fill(x, number=number):
            return (lax.full((2, 3), number, dtype and jnp.dtype(dtype)), jnp.full((2,), number, dtype),
                    jnp.full_like(x, number, dtype), lax.full_like(x, number))

        for found, wanted in zip(fill(X), jax.jit(fill)(X), strict=True):
            assert same_bits(found, wanted), (number, dtype)
            assert found.aval == wanted.aval


@pytest.mark.parametrize("shape", [(0,), (3,), (600, 2), (2, 0), (0, 2)])
def test_the_rows_of_an_array_share_its_elements(shape):
    x = jnp.asarray(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    rows = list(x)
    assert len(rows) == shape[0]
    for i, row in enumerate(rows):
        assert same_bits(row, x[i])
        assert row.aval == x[i].aval
        assert not np.asarray(row).flags.writeable
    assert [row.tolist() for row in jnp.unstack(x)] == [row.tolist() for row in rows]


def test_rows_of_keys_and_of_arrays_in_another_order():
    keys = jax.random.split(jax.random.key(0), 3)
    assert [bool((a == b).all()) for a, b in zip(keys, [keys[0], keys[1], keys[2]], strict=True)] == [True] * 3
    assert [x.tolist() for x in X.T] == np.asarray(X).T.tolist()
    assert [x.tolist() for x in jnp.unstack(X, axis=1)] == np.asarray(X).T.tolist()
