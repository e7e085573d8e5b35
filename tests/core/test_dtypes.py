"""Promotion is JAX's table, entry by entry; truncation and names follow."""
import json
import pathlib

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
from tinytrace.core import dtypes
from tinytrace.core.avals import ShapedArray

TABLE = json.loads((pathlib.Path(__file__).parent.parent / "goldens" / "promotion.json").read_text())


class Weak:
    """A value of a weak type, as a tracer or an Array would be."""

    weak_type = True

    def __init__(self, dtype):
        self.dtype = dtypes.canonicalize_dtype(dtype)


def value(name):
    special = {"py_bool": True, "py_int": 1, "py_float": 1.0, "weak_int": Weak(int), "weak_float": Weak(float)}
    return special[name] if name in special else np.ones((), dtypes.to_numpy_dtype(name))


def test_nothing_is_no_dtype():
    """NumPy takes None for float64."""
    with pytest.raises(TypeError, match="dtype must be given here, got None"):
        dtypes.to_numpy_dtype(None)


@pytest.mark.parametrize("others", [("float32",), ("float32", "int8")])
def test_what_no_array_holds_is_not_promoted(others):
    for dtype in ("datetime64[s]", "object"):
        with pytest.raises((TypeError, ValueError), match="is not a valid"):
            dtypes.promote_types(np.dtype(dtype), *map(np.dtype, others[:1]))


@pytest.mark.parametrize("x64", [False, True])
def test_promotion_is_the_oracles_table(x64):
    with jax.enable_x64(x64):
        wrong = {}
        for key, want in TABLE.items():
            a, b, mode = key.split()
            if int(mode) == x64:
                dtype, weak = dtypes.result_type_and_weak(value(a), value(b))
                got = f"{dtype}{'*' if weak else ''}"
                if got != want:
                    wrong[key] = (got, want)
    assert not wrong


def test_64_bit_types_are_truncated_by_default():
    assert dtypes.canonicalize_dtype("float64") == np.float32
    assert dtypes.canonicalize_dtype(int) == np.int32
    with jax.enable_x64(True):
        assert dtypes.canonicalize_dtype("float64") == np.float64


def test_what_no_array_can_have():
    with pytest.raises(TypeError, match="is not a valid JAX array type"):
        dtypes.canonicalize_dtype("clongdouble")
    with pytest.raises(TypeError, match="Dtype <U3 is not a valid JAX array type"):
        dtypes.canonicalize_dtype(np.dtype("<U3"))


@pytest.mark.parametrize(("dtype", "name"), [("float32", "f32"), ("int8", "i8"), ("uint64", "u64"), ("bool", "bool"),
                                             ("float16", "f16"), ("complex128", "c128")])
def test_short_names(dtype, name):
    assert ShapedArray((2,), np.dtype(dtype)).str_short() == f"{name}[2]"


def test_strict_promotion_refuses_what_is_implicit():
    with jax.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="no available implicit dtype promotion"):
        dtypes.result_type(np.int32(1), np.float32(1))


def test_python_types_are_promoted_weakly():
    """As JAX 0.4.35 promotes them: int and float give way to any type of their kind, bool is a type of its own."""
    pairs = {(int, "float16"): "float16", (float, "bfloat16"): "bfloat16",
             (int, "uint8"): "uint8", (bool, "int8"): "int8", (bool, "bool"): "bool", ("int16", int): "int16",
             ("float16", float): "float16"}
    for (a, b), expected in pairs.items():
        assert dtypes.promote_types(a, b) == expected, (a, b)


@pytest.mark.parametrize(("dtype", "kinds"), [
    ("int4", "signedinteger integer number generic"), ("uint2", "unsignedinteger integer number generic"),
    ("float8_e5m2", "floating inexact number generic"), ("bfloat16", "floating inexact number generic"),
    ("float16", "floating inexact number generic"), ("complex64", "complexfloating inexact number generic"),
    ("bool", "generic"), ("uint8", "unsignedinteger integer number generic"),
])  # fmt: skip
def test_each_dtype_is_of_its_kinds_and_no_other(dtype, kinds):
    """Also the types of ml_dtypes, of which NumPy knows nothing."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    every = ["signedinteger", "unsignedinteger", "integer", "floating", "complexfloating", "inexact", "number",
             "generic"]
    for x in (dtype, dtype.type):
        assert [kind for kind in every if jax.numpy.issubdtype(x, getattr(np, kind))] == [
            kind for kind in every if kind in kinds.split()]
        assert jax.numpy.issubdtype(x, dtype)
    integer = "integer" in kinds.split()
    assert jax.numpy.isdtype(dtype, "integral") == integer
    assert jax.numpy.isdtype(dtype, "numeric") == (dtype.kind != "b")
    if integer:
        assert (jax.numpy.iinfo(dtype).max, jax.numpy.iinfo(dtype).min) == (
            int(ml_dtypes.iinfo(dtype).max), int(ml_dtypes.iinfo(dtype).min))


def test_questions_about_dtypes_answer_for_what_no_array_has():
    assert jax.dtypes.bfloat16 is ml_dtypes.bfloat16
    assert [jax.dtypes.canonicalize_dtype(x) for x in (object, "S3", ml_dtypes.int4, None, "complex128")] == [
        np.dtype(x) for x in (object, "S3", ml_dtypes.int4, "float32", "complex64")]
    key = jax.random.key(0).dtype
    assert jax.dtypes.canonicalize_dtype(key, allow_extended_dtype=True) == key
    with pytest.raises(ValueError, match="canonicalize_dtype called on extended dtype key<fry>"):
        jax.dtypes.canonicalize_dtype(key)


def test_result_type_says_whether_it_is_weak():
    """None stands for NumPy's default, float64."""
    def asked(*args):
        dtype, weak = jax.dtypes.result_type(*args, return_weak_type_flag=True)
        assert jax.dtypes.result_type(*args) == jax.numpy.result_type(*args) == dtype
        return dtype.name, weak

    x = jax.numpy.array(1.0)
    assert [asked(*args) for args in ((1,), (None,), (None, 2), (np.int8(1), 2), (1, 2.0), (True,), (x,))] == [
        ("int32", True), ("float32", False), ("float32", False), ("int8", False), ("float32", True), ("bool", False),
        ("float32", True)]


@pytest.mark.parametrize(("dtype", "expected"), [("float16", "float32"), ("bfloat16", "float32"), ("int8", "int32"),
                                                 ("uint8", "uint32"), ("complex64", "complex64"), ("bool", "bool")])
def test_the_result_type_of_what_is_weak_is_the_widest_of_its_kind(dtype, expected):
    """Though operations keep the narrower one, as in JAX 0.4.35."""
    weak = Weak(dtype)
    assert jax.numpy.result_type(weak) == jax.dtypes.result_type(weak, weak) == expected
    assert dtypes.result_type_and_weak(weak, weak)[0] == dtype
    assert jax.numpy.result_type(weak, np.float16(1)) == ("complex64" if dtype == "complex64" else "float16")
