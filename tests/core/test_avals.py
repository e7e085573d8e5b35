"""Avals are interned, immutable, and what NumPy and Python values are seen as."""
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytrace.core.avals import ShapedArray, aval_of, canonicalize_shape

shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
dtypes = st.sampled_from(["bool", "int8", "uint32", "float16", "float32"]).map(np.dtype)


@given(shapes, dtypes, st.booleans())
def test_equal_avals_are_one_object(shape, dtype, weak):
    aval = ShapedArray(shape, dtype, weak)
    assert ShapedArray(tuple(shape), np.dtype(dtype.name), weak) is aval
    assert pickle.loads(pickle.dumps(aval)) is aval
    assert aval.update(weak_type=not weak).update(weak_type=weak) is aval


def test_avals_are_immutable():
    with pytest.raises(AttributeError, match="ShapedArray is immutable"):
        ShapedArray((), np.dtype("float32")).shape = (3,)


@pytest.mark.parametrize(("value", "text"), [
    (1, "ShapedArray(int32[], weak_type=True)"), (1.0, "ShapedArray(float32[], weak_type=True)"),
    (True, "ShapedArray(bool[])"), (-2**31, "ShapedArray(int32[], weak_type=True)"),
    *[(x, "ShapedArray(float32[], weak_type=True)") for x in (1e300, -3e9, float("inf"), float("nan"))],
    (np.float64(1), "ShapedArray(float32[])"),
    (np.zeros((2, 0), np.int8), "ShapedArray(int8[2,0])"),
])
def test_avals_of_values(value, text):
    assert repr(aval_of(value)) == text


def test_what_is_no_array():
    with pytest.raises(TypeError, match="Value 'a' with type <class 'str'> is not a valid JAX type"):
        aval_of("a")
    with pytest.raises(OverflowError):
        aval_of(2**40)


def test_shapes_are_concrete_integers():
    assert canonicalize_shape(3) == (3,)
    assert canonicalize_shape([np.int64(2), 3]) == (2, 3)
    with pytest.raises(TypeError, match="Shapes must be 1D sequences of concrete values of integer type"):
        canonicalize_shape((2.5,))


def test_texts_long_and_short():
    aval = ShapedArray((2, 3), np.dtype("float32"))
    assert (aval.str_short(), aval.str_short(short_dtypes=True), aval.str_short(False)) == \
        ("f32[2,3]", "f32[2,3]", "float32[2,3]")


def test_the_type_of_tangents_by_its_older_name():
    for dtype in ("float32", "int32", "complex64"):
        aval = ShapedArray((2,), np.dtype(dtype))
        assert aval.at_least_vspace() is aval.to_tangent_aval()
