"""Without the C extensions: the Python definitions offer what the C offers, and programs mean the same."""

from __future__ import annotations

import ast
import contextvars
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tinytrace
from tinytrace import csources
from tinytrace._runtime import ffi, lib
from tinytrace.pure import dispatch, runtime

PACKAGE = pathlib.Path(tinytrace.__file__).parent
INTERFACE = ast.parse((PACKAGE / "_dispatch.pyi").read_text()).body
PROGRAMS = """
import sys
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp

def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

x = jnp.arange(5.0) - 2
f = jax.jit(selu)
print(f.trace(x).jaxpr, f.lower(x).jaxpr, f.lower(x).as_text(full=True))
print(jax.make_jaxpr(jax.grad(lambda x: f(x).sum()))(x), jax.make_jaxpr(jax.vmap(f))(x))
print(np.round(f(x), 4), f._cache_size(), np.round(jax.grad(lambda x: f(x).sum())(x), 4))
print(jax.lax.scan(lambda c, x: (c + x, c * x), 0.0, x), x[1], x[-1], x[1:3], x[None, ::2])
print(jax.random.bits(jax.random.key(1), (3,)), jnp.unique(jnp.array([3, 1, 3])), int(x.sum()), x.at[0].set(9.0))
try:
    jax.jit(lambda x: x if x > 0 else -x)(1.0)
except jax.errors.TracerBoolConversionError as error:
    print(error)
"""


@pytest.mark.parametrize("item", [x for x in INTERFACE if isinstance(x, (ast.ClassDef, ast.FunctionDef))],
                         ids=lambda item: item.name)
def test_the_interface_is_the_same(item):
    found = getattr(dispatch, item.name)
    if isinstance(item, ast.FunctionDef):
        assert found.__code__.co_posonlyargcount == len(item.args.posonlyargs)
        return
    made = [x.name for x in item.body if isinstance(x, ast.FunctionDef)]
    assert [name for name in made if not hasattr(found, name)] == []


@pytest.mark.not_quick
def test_programs_mean_and_print_the_same():
    def printed(**environment):
        done = subprocess.run([sys.executable, "-c", PROGRAMS], env={**os.environ, **environment}, capture_output=True,
                              text=True, check=True)
        assert not done.stderr
        return done.stdout

    assert printed(TINYTRACE_PURE="1") == printed()


def test_the_texts_of_c_are_the_same():
    texts = {runtime.lib.tt_source_name(i).decode(): runtime.lib.tt_source_text(i).decode()
             for i in range(runtime.lib.tt_source_count())}
    assert texts == csources._embedded()


def test_scopes_are_a_stack():
    state = dispatch.TraceState()
    state.set_bottom("bottom")
    outer, inner = dispatch.TraceScope("outer"), dispatch.TraceScope("inner")
    outer.__enter__()
    inner.__enter__()
    assert state.trace == "inner"
    outer.__exit__(None, None, None)
    assert state.trace == "bottom"
    inner.__exit__(None, None, None)
    assert state.trace == "bottom"


@pytest.mark.parametrize("make", [lambda: dispatch.ArrayBase.__new__(dispatch.ArrayBase),
                                  lambda: dispatch.ArrayBase("aval", None, [1.0]),
                                  lambda: dispatch.FastCallable()(1)])
def test_what_is_half_made_is_refused(make):
    with pytest.raises(TypeError):
        make()


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 1000])
def test_buffers_are_aligned(nbytes):
    buffer = dispatch.Buffer(nbytes)
    assert buffer.address % 64 == 0
    assert buffer.nbytes == nbytes


def test_a_buffer_of_no_possible_size_is_refused():
    with pytest.raises(ValueError, match="-1 bytes"):
        dispatch.Buffer(-1)
    with pytest.raises(MemoryError):
        dispatch.Buffer(2**62)


def test_a_call_that_numpy_answers():
    class Aval:
        shape, dtype = (), np.dtype(np.float32)

    entry = dispatch.EagerEntry(np.add, (np.float32, np.float32), None, (Aval,), None)
    dispatch.set_array_types(dispatch.ArrayBase, np.ndarray, lambda aval, buffer, view: view)
    dispatch.set_numpy(np.asarray, contextvars.copy_context, 0)
    assert dispatch.call_entry(entry, 1.0, 2.0)._value == 3
    assert dispatch.call_entry(entry, "no number", 2.0) is NotImplemented


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_multiply_add_is_rounded_once(dtype):
    bits = np.random.default_rng(0).integers(0, 2**32, (3, 500), np.uint64)
    ends = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
    a, b, c = (np.concatenate([ends, x.astype(dtype) / 3, np.nextafter(ends, dtype(2))]) for x in bits)
    b = np.roll(b, 7)
    with np.errstate(all="ignore"):
        c = np.where(np.arange(c.size) % 3 == 0, -(a * b), c)  # what is left is what rounding took
        results = []
        for library in (runtime.lib, lib):
            out = np.empty_like(a)
            kind = "double[]" if dtype is np.float64 else "float[]"
            operands = [a, b, c, out] if library is runtime.lib else [ffi.from_buffer(kind, x) for x in (a, b, c, out)]
            getattr(library, f"tt_fma_array_f{8 * a.itemsize}")(a.size, *operands)
            results.append(out)
    np.testing.assert_array_equal(results[0].view(f"u{a.itemsize}")[~np.isnan(results[0])],
                                  results[1].view(f"u{a.itemsize}")[~np.isnan(results[1])])
