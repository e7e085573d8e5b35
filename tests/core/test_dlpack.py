"""Memory shared with other libraries: DLPack both ways, and Python's buffer protocol."""

import gc

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import dlpack
from tinytrace.config import enable_x64
from tinytrace.core.dlpack import _dtype_in

DTYPES = sorted({np.dtype(dtype) for dtype in dlpack.SUPPORTED_DTYPES}, key=str)


class Foreign:
    """An array of another library, of which only DLPack's methods are known: before version 1.0, or of today."""

    def __init__(self, array, versioned=True):
        self.array, self.versioned = array, versioned

    def __dlpack__(self, **request):
        return self.array.__dlpack__(**request if self.versioned else {})

    def __dlpack_device__(self):
        return (1, 0)


class OfFloat8:
    """Elements of a dtype that no library here has."""

    def __dlpack__(self, **request):
        capsule = jnp.ones(3).__dlpack__()
        _dtype_in(capsule).code, _dtype_in(capsule).bits = 10, 8
        return capsule


def pointer(x):
    return np.asarray(x).__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("versioned", [False, True])
def test_there_and_back_in_the_same_memory(dtype, versioned):
    with enable_x64(True):
        x = jnp.ones((3, 2), dtype)
        for value in (x, x.T, x[::-1], jax.jit(jnp.sort)(x), x[0, 0], x[:0]):
            np.asarray(value)
            found = jnp.from_dlpack(Foreign(value, versioned))
            assert found.aval == value.aval
            assert np.asarray(found).tolist() == np.asarray(value).tolist()
            assert not value.size or pointer(found) == pointer(value)
            copied = jnp.from_dlpack(Foreign(value, versioned), copy=True)
            assert not value.size or pointer(copied) != pointer(value)


def test_numpy_and_back():
    mine = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = jnp.from_dlpack(mine[:, ::-1])
    assert np.shares_memory(np.asarray(x), mine)
    assert jax.jit(lambda x: 2 * x)(x).tolist() == [[4, 2, 0], [10, 8, 6]]
    y = np.from_dlpack(jnp.arange(3))
    assert y.tolist() == [0, 1, 2]
    assert not y.flags.writeable
    assert jnp.from_dlpack(x) is x


def test_the_memory_lives_as_long_as_anybody_looks():
    kept = [np.from_dlpack(jnp.full((1000,), i)) for i in range(20)]
    kept += [np.asarray(memoryview(jnp.full((1000,), i))) for i in range(20, 40)]
    taken = [jnp.from_dlpack(np.full(1000, i, np.int32)) for i in range(40, 60)]
    gc.collect()
    for i, x in enumerate([*kept, *taken]):
        assert (np.asarray(x) == i).all()


def test_64_bits():
    x = np.arange(3)
    assert jnp.from_dlpack(x).dtype == np.int32
    with pytest.raises(ValueError, match="copy=False, and elements of dtype int64 are converted"):
        jnp.from_dlpack(x, copy=False)
    with enable_x64(True):
        assert pointer(jnp.from_dlpack(x, copy=False)) == pointer(x)


@pytest.mark.parametrize(("request_", "text"), [
    ({"max_version": (0, 1)}, "does not support any version below"), ({"stream": 1}, "the CPU has no streams"),
    ({"dl_device": (2, 0)}, r"in the memory of the CPU, whose dl_device is \(1, 0\), and \(2, 0\) was requested"),
])
def test_what_cannot_be_given_is_refused(request_, text):
    with pytest.raises(BufferError, match=text):
        jnp.ones(3).__dlpack__(**request_)


def test_what_cannot_be_taken_is_refused():
    for x in (3, [1.0], np.ndarray, None):
        with pytest.raises(TypeError, match="from_dlpack takes an array of a library that has DLPack's methods"):
            jnp.from_dlpack(x)
    with pytest.raises(BufferError, match="on the CPU of a dtype that NumPy has first"):
        jnp.from_dlpack(Foreign(OfFloat8()))
    with pytest.raises(jax.errors.ConcretizationTypeError, match="The __dlpack__\\(\\) method was called on traced"):
        jax.jit(lambda x: x.__dlpack__())(1.0)
    with pytest.raises(TypeError, match="PRNGKey dtype cannot be converted"):
        jax.random.key(0).__dlpack__()


def test_a_capsule_of_earlier_days_is_taken_once():
    capsule = jax.dlpack.to_dlpack(jnp.arange(3))
    with pytest.deprecated_call(match="Calling from_dlpack with a DLPack tensor is deprecated"):
        assert jax.dlpack.from_dlpack(capsule).tolist() == [0, 1, 2]
    with pytest.deprecated_call(), pytest.raises((BufferError, ValueError)):
        jax.dlpack.from_dlpack(capsule)
    with pytest.raises(TypeError, match=r"Argument to to_dlpack must be a jax\.Array, got <class 'numpy\.ndarray'>"):
        jax.dlpack.to_dlpack(np.ones(3))


def test_a_buffer_describes_the_elements_and_cannot_be_written():
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    for value in (x, x.T):
        view = memoryview(value)
        assert (view.format, view.shape, view.readonly) == ("f", value.shape, True)
        assert view.tolist() == value.tolist()
        assert np.asarray(view).__array_interface__["data"][0] == pointer(value)
    assert bytes(jnp.int32(3) + jnp.zeros(1, jnp.int32)) == b"\3\0\0\0"
    assert np.frombuffer(x, np.float32).tolist() == list(range(6))
    with pytest.raises(TypeError):
        memoryview(x)[0, 0] = 1
    for without in (jnp.ones(2, jnp.bfloat16), jax.random.key(0)):
        with pytest.raises(BufferError, match="there is none for typed keys and for dtypes that"):
            memoryview(without)
    assert np.asarray(jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
