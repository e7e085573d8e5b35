"""What NumPy answers for how long, and what is shared out to threads: estimates, the same in every run."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace._dispatch import EagerEntry, FastEntry
from tinytrace.api import eager, recipes
from tinytrace.api.blocks import BLOCK_BYTES, on_blocks
from tinytrace.api.jit import jit
from tinytrace.api.program import shared_program
from tinytrace.experimental import enable_x64
from tinytrace.runtime.threads import num_threads, set_num_threads

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize(("function", "dtype", "elements", "most"), [
    (jnp.sort, "float32", 1000, 800), (jnp.sort, "float32", 100_000, 3),
    (lambda x: lax.top_k(x, 5), "int32", 100_000, 3), (lambda x: x % 7, "int32", 100_000, 12),
    (lambda x: jnp.repeat(x, 3), "float32", 100_000, 40),
    (lambda x: x + x, "float16", 100_000, 31), (lambda x: x + x, "bfloat16", 100_000, 76),
    (jnp.deg2rad, "float16", 1000, 2600), (lambda x: -x, "complex64", 100_000, 76),
    (lambda x: -x, "float16", 100_000, 488), (lambda x: x + x, "complex64", 100_000, 488),
    (lambda x: x[:90_000].reshape(300, 300) @ x[:90_000].reshape(300, 300), "int32", 100_000, 2)])
def test_what_numpy_does_slowly_is_compiled_soon(function, dtype, elements, most):
    """So many calls take it as long as a compiler takes; with few elements it may answer hundreds."""
    calls = recipes.calls_in_budget(jax.make_jaxpr(function)(jnp.ones(elements, dtype)).jaxpr)
    assert most // 3 <= calls <= most


def test_long_loops_of_numpy_are_compiled_and_short_ones_are_not(monkeypatch):
    monkeypatch.setattr(recipes, "BUDGET", 12)
    monkeypatch.setattr(recipes, "EQUATION", 0)
    f = eager.EagerFunction(jnp.sqrt.__wrapped__, jit(jnp.sqrt.__wrapped__), elementwise=True)
    answered = []
    learn = eager.EagerFunction._learn
    monkeypatch.setattr(eager.EagerFunction, "_learn", lambda self, *call: (
        answered.append(type(call[2])) if self is f else None, learn(self, *call))[1])
    short, long = jnp.ones(100), jnp.ones(100_000)
    for x in (*[short] * 50, long, long, long, jnp.ones(200)):
        assert (f(x) == 1).all()
    assert answered == [EagerEntry, EagerEntry, FastEntry, EagerEntry]


@pytest.mark.parametrize(("function", "dtype", "elements", "is_quick"), [
    (lax.add, "float32", 1000, True), (lax.add, "float16", 1000, False), (lax.add, "float16", 50, True),
    (lax.sub, "complex64", 1000, True), (lax.eq, "complex64", 1000, False), (lax.lt, "float16", 1000, False)])
def test_numpys_short_loops_without_vectors_are_compiled_too(monkeypatch, function, dtype, elements, is_quick):
    """Such a loop takes float16 ten to fifty times what a compiled one takes; results are the same to the bit."""
    monkeypatch.setattr(recipes, "BUDGET", 12)
    monkeypatch.setattr(recipes, "EQUATION", 0)
    f = eager.EagerFunction(function, jit(function), elementwise=True)
    answered = []
    learn = eager.EagerFunction._learn
    monkeypatch.setattr(eager.EagerFunction, "_learn", lambda self, *call: (
        answered.append(type(call[2])) if self is f else None, learn(self, *call))[1])
    x, y = (jnp.asarray(np.random.default_rng(k).uniform(-3, 3, elements).astype(dtype)) for k in range(2))
    assert len({np.asarray(f(x, y)).tobytes() for _ in range(60)}) == 1
    assert answered == ([EagerEntry] if is_quick else [EagerEntry, FastEntry])


def test_blocks_are_shared_out_to_threads_where_there_are_many():
    """What each of them costs is estimated as for programs of their own; results are those of one thread."""
    x = jnp.asarray(np.random.default_rng(0).uniform(0.1, 2, 300_001).astype(np.float32))[:200_001]
    program = shared_program(on_blocks(jax.make_jaxpr(jnp.exp)(x)).jaxpr)
    entry = program.entry_on_blocks([], [0], None)
    assert entry.grain(1000) == 0
    assert 0 < entry.grain(200_001) < 200_001 // 128
    before, bits = num_threads(), {}
    try:
        for threads in (1, 3):
            set_num_threads(threads)
            bits[threads] = [np.asarray(f(x)).tobytes() for f in (jnp.exp, jnp.tan)]
    finally:
        set_num_threads(before)
    one = bits[1]
    assert bits[3] == one
    assert np.asarray(jnp.exp(x[:1000])).tobytes() == one[0][:4000]


@pytest.mark.skipif(sys.platform != "linux", reason="glibc gives memory back to the system")
def test_numpys_arrays_do_not_come_from_fresh_pages():
    code = """
import resource
import numpy as np
import tinytrace
x, faults = np.ones(100_000, np.complex64), []
for _ in range(10):
    np.fft.fft(x)
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(faults[-1] - faults[5])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 500  # two thousand for each transform, where each array is fresh


def test_comparisons_of_numbers_are_inner_loops_and_those_of_keys_are_not():
    def loop_of(x):
        closed = jax.make_jaxpr(jnp.equal)(x, x)
        return recipes.numpy_call(closed, [jax.Array] * 2, True)[2]

    assert loop_of(jnp.ones(3)) is not None
    keys = jax.random.split(jax.random.key(0), 3)
    assert loop_of(keys) is None
    assert [bool(x) for x in (keys == keys[:1])] == [True, False, False]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "int32", "float32", "complex64"])
def test_a_block_has_as_many_bytes_whatever_the_width_of_its_elements(dtype):
    """Of 64 elements each, one of int8 was a single vector: a call for each cost twice what the loop did."""
    block, = on_blocks(jax.make_jaxpr(lambda x: jnp.where(x == x, x, x))(jnp.ones(5, dtype))).in_avals
    assert block.nbytes == BLOCK_BYTES
    blocks = on_blocks(jax.make_jaxpr(lambda x: x > 1)(jnp.ones(5, dtype)))
    assert max(aval.nbytes for aval in (*blocks.in_avals, *blocks.out_avals)) == BLOCK_BYTES


@pytest.mark.not_quick
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_the_last_block_begins_among_the_others(dtype):
    sizes = (1, 2, 63, 64, 65, 127, 128, 129, 255, 257, 511, 513, 1000, 4097)
    arrays = [jnp.asarray(np.random.default_rng(0).uniform(-3, 3, size).astype(dtype)) for size in sizes]
    for function in (jnp.tanh, jnp.sign, lambda x: jnp.where(x > 0, x, x * x)):
        jitted = jit(lambda arrays, function=function: [function(x) for x in arrays])  # all sizes by one compiler
        for x, expected in zip(arrays, map(np.asarray, jitted(arrays)), strict=True):
            for _ in range(2):
                assert np.asarray(function(x)).tobytes() == expected.tobytes(), x.size


def _loops(monkeypatch):
    """What is given for the loops of new entries."""
    given = []
    numpy_call = recipes.numpy_call
    for module in (eager, recipes):
        monkeypatch.setattr(module, "numpy_call", lambda *args, **options: (
            found := numpy_call(*args, **options), given.append(found and found[2]))[0])
    return given


@pytest.mark.parametrize(("function", "shapes", "rows"), [
    (jnp.add, [(16, 16), (16,)], (16, ((True, True), (False, True)))),
    (jnp.subtract, [(16, 1), (16, 20)], (16, ((True, False), (True, True)))),
    (jnp.multiply, [(3, 16), (2, 1, 16)], None), (jnp.divide, [(50, 1), (1, 3)], None),
    (jnp.less, [(3, 4, 5), (4, 5)], (3, ((True, True), (False, True)))),
    (jnp.where, [(20, 1), (20, 30), ()], (20, ((True, False), (False, False), (True, True))))])
def test_what_is_broadcast_is_walked_over_by_rows(monkeypatch, function, shapes, rows):
    """Rows of a loop, where one loop over rows does it, have the bits of the jitted program."""
    random = np.random.default_rng(0)
    arrays = [jnp.asarray(random.standard_normal(shape), "float32") for shape in shapes]
    if function is jnp.where:
        arrays[0] = arrays[0] > 0
    given = _loops(monkeypatch)
    fresh = eager.EagerFunction(function, jit(lambda *xs: function(*xs)))
    expected = np.asarray(jit(lambda *xs: function(*xs))(*arrays))
    for _ in range(3):
        assert np.asarray(fresh(*arrays)).tobytes() == expected.tobytes()
    found = [loop for loop in given if loop]
    assert [loop[-1] for loops, _ in found for loop in loops] == ([rows] if rows else [])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [jnp.maximum, jnp.minimum])
def test_the_signs_of_zeros_do_not_depend_on_the_order(function, dtype):
    """Our own loops, which NumPy's ufuncs are too vague for: all pairs of special values, in vectors and as scalars."""
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, -1, np.finfo(dtype).tiny / 4], dtype)
    x, y = (np.tile(part.ravel(), 3) for part in np.meshgrid(special, special))
    with enable_x64(dtype == "float64"):
        jitted = jit(lambda x, y: function(x, y))
        pairs = [(x, y), *[(special, scalar) for scalar in special], *[(scalar, special) for scalar in special]]
        for pair in pairs:
            arrays = list(map(jnp.asarray, pair))
            found, expected = np.asarray(function(*arrays)), np.asarray(jitted(*arrays))
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
            numbers = ~np.isnan(found)
            np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "float32", "complex64"])
def test_where_chooses_in_c(monkeypatch, dtype):
    """Elements of all widths; those of a view that does not lie in order are copied once, and its memory is let go."""
    given = _loops(monkeypatch)
    random = np.random.default_rng(0)
    which, x, y = (random.integers(-2, 3, (7, 9)).astype(t) for t in (bool, np.float32, np.float32))
    arrays = [jnp.asarray(which), jnp.asarray(x, dtype), jnp.asarray(y, dtype)]
    fresh = eager.EagerFunction(jnp.where, jit(lambda *xs: jnp.where(*xs)), elementwise=True)
    expected = np.where(which, np.asarray(arrays[1]), np.asarray(arrays[2]))
    assert np.asarray(fresh(*arrays)).tobytes() == expected.tobytes()
    assert np.asarray(fresh(arrays[0], arrays[1][0, 0], arrays[2])).tobytes() == np.where(
        which, np.asarray(arrays[1])[0, 0], np.asarray(arrays[2])).tobytes()
    views = [a.T for a in arrays]
    assert all(a._buffer is None for a in views)
    assert np.asarray(fresh(*views)).tobytes() == np.ascontiguousarray(expected.T).tobytes()
    assert all(a._buffer is not None for a in views)
    assert {loops[0][0] for loops, _ in filter(None, given)} == {"select_n"}


def test_an_operand_may_be_read_twice(monkeypatch):
    """`isnan x` compares x to itself: one loop over one argument."""
    x = jnp.asarray(np.float32([1, np.nan]))  # before the loops of calls are noted
    given = _loops(monkeypatch)
    fresh = eager.EagerFunction(jnp.isnan, jit(lambda x: jnp.isnan(x)), elementwise=True)
    assert fresh(x).tolist() == [False, True]
    (((function, _, operands, *_),), _), = given
    assert function is np.not_equal
    assert [place for place, *_ in operands] == [0, 0]
