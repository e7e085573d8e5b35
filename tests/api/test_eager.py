"""Operations and library functions outside of traces: who computes them, and what nobody may notice of it.

That results are those of jit, to the bit, is tested over all of them by test_one_meaning.
"""
from __future__ import annotations

import functools
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace._dispatch import EagerEntry, FastEntry
from tinytrace.api import eager, recipes
from tinytrace.api.blocks import on_blocks
from tinytrace.api.exactness import has_one_answer
from tinytrace.api.jit import jit
from tinytrace.api.library import ELEMENTWISE, library_jit
from tinytrace.api.recipes import makes_views, numpy_entry
from tinytrace.core.trace import interpreting
from tinytrace.numpy.indexing import take_index
from tinytrace.runtime.ladder import stats

pytestmark = pytest.mark.compiled

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
X[0, :3] = np.nan, np.inf, -0.0

CALLS = {
    "two arrays": lambda x: jnp.add(x, x),
    "a scalar": lambda x: jnp.multiply(x, 2.5),
    "an integer": lambda x: x + 3,
    "a truth value": lambda x: x * True,
    "an integer first": lambda x: 1 - x,
    "an integer and itself converted": lambda x: jnp.power(x, 3),
    "comparison": lambda x: x > 0,
    "chosen": lambda x: jnp.where(x > 0, x, 0.25),
    "chosen from scalars": lambda x: jnp.where(x > 0, 1, 2.5),
    "static arguments": lambda x: jnp.sum(x, axis=1, keepdims=True),
    "keywords": lambda x: jnp.mean(a=x, axis=0),
    "a list": lambda x: jnp.stack([x, x[::-1], x], axis=1),
    "several results": lambda x: jnp.split(x, 2, axis=1)[1],
    "a tuple": lambda x: jnp.divmod(x, 0.75)[0],
    "views": lambda x: jnp.transpose(x)[1:],
    "several steps": lambda x: jnp.var(x, axis=1, ddof=1),
    "products": lambda x: x @ x.T,
    "special functions": lambda x: jax.nn.softmax(x),
    "converted": lambda x: (x.astype(jnp.int16) + 300).astype(jnp.int8),
    "half": lambda x: x.astype(jnp.float16) * 1.1,
    "another half": lambda x: x.astype(jnp.bfloat16) + 0.1,
    "an argument handed through": lambda x: jnp.positive(x),
    "a scalar array": lambda x: jnp.sin(x[1, 1]) + 1,
    "one of several results": lambda x: jnp.linalg.svd(jnp.nan_to_num(x), compute_uv=False),
    "a scalar converted": lambda x: jnp.float32(3) * x,
    "empty": lambda x: x[:0] * 2,
}


@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_give_the_same_bits(name):
    call, x = CALLS[name], jnp.asarray(X)
    first, *later = [call(x) for _ in range(5)]
    for result in later:
        assert result.aval is first.aval
        assert np.asarray(result).tobytes() == np.asarray(first).tobytes()
        assert not np.asarray(result).flags.writeable


def test_a_function_is_traced_once_per_kind_of_call():
    traces = []

    def plain(x, y, n):
        traces.append(n)
        return jnp.add(jnp.multiply(x, n), y)

    function = eager.EagerFunction(plain, jit(plain, static_argnums=2))
    x = jnp.arange(3.0)
    results = [function(x, 1.5, n) for n in (2, 2, 2, 2, 3)]
    assert traces == [2, 3]
    assert [r.tolist() for r in results] == [[1.5, 3.5, 5.5]] * 4 + [[1.5, 4.5, 7.5]]
    with jax.enable_x64(True):  # settings are overridden: nothing that was learnt is used
        function(x, 1.5, 2)
    assert len(traces) == 3


def entry_of(function, *args):
    """What answers such calls."""
    call = eager.EagerFunction(function, jit(function))
    found = call._traced(args, {})
    assert found is not None
    traced, leaves, order = found
    return eager._call_of(traced.closed, None, tuple(map(eager._leaf_type, leaves)), tuple(order), False, ()).entry


def test_who_computes():
    x = jnp.ones((3, 4))
    by_numpy = {
        "sum": lambda x: x + 1, "choice": lambda x: jnp.where(x > 0, x, -x), "move": lambda x: x.T[1:].reshape(-1),
        "integers": lambda x: jnp.cumsum(x.astype(int) * 3 - 1), "root": jnp.sqrt,
        "extreme": lambda x: jnp.clip(x, 0, 1),
    }
    compiled = {
        "two roundings": lambda x: x * 2 + 1, "special": jnp.sin, "sum over an axis": jnp.sum,
        "product": lambda x: x @ x.T,
        "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x),
    }
    assert {name for name, f in by_numpy.items() if isinstance(entry_of(f, x), EagerEntry)} == set(by_numpy)
    assert {name for name, f in compiled.items() if isinstance(entry_of(f, x), FastEntry)} == set(compiled)


def test_elementwise_functions_are_compiled_once_for_all_shapes():
    jax.nn.gelu(jnp.ones(3)), jax.nn.gelu(jnp.ones((2, 3)), approximate=False)
    before = stats.compiles, stats.disk_hits, stats.memory_hits
    for shape in ((5,), (64,), (65,), (7, 3), (2, 2, 2, 2), (0, 3), (1000,)):
        assert jax.nn.gelu(jnp.ones(shape)).shape == shape
        assert jax.nn.gelu(jnp.ones(shape), approximate=False).shape == shape
    assert (stats.compiles, stats.disk_hits, stats.memory_hits) == before


SHAPES = ((64,), (1,), (7,), (1, 3))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", ELEMENTWISE, ids=lambda f: f.__name__)
def test_elementwise_functions_ask_for_no_shape(function):
    """What is traced of them on a block is what is traced at every shape."""
    tried = 0
    for count in (1, 2, 3):
        for dtype in ("float32", "int32"):
            arrays = [[jnp.ones(shape, dtype)] * count for shape in SHAPES]
            try:
                programs = [jax.make_jaxpr(function)(*args) for args in arrays]
            except (TypeError, ValueError, NotImplementedError):  # not so many arguments, or others
                continue
            texts = [str(on_blocks(program)) for program in programs]
            assert len(set(texts)) == 1
            tried += texts[0] != "None"
    assert tried


@pytest.mark.slow
def test_a_new_shape_of_an_elementwise_call_is_not_traced(monkeypatch):
    x, scalar = jnp.arange(1.0, 30.0), jnp.float32(3)
    calls = {
        "compiled": jnp.sin, "by NumPy": lambda x: x + x, "primitive": lax.exp, "number": lambda x: x * 2.5,
        "two": lambda x: jnp.hypot(x, x), "static": lambda x: jnp.round(x / 7, 2), "array": lambda x: x % scalar,
        "static by name": lambda x: x.astype(int), "filled": lambda x: jnp.where(x > 3, x, 1),
    }
    arrays = [x[:int(np.prod(shape))].reshape(shape) for shape in ((5,), (3,), (2, 3), (1,), (0,), (2, 2, 2))]
    wanted = jax.jit(lambda arrays: {name: [call(a) for a in arrays] for name, call in calls.items()})(arrays)
    for call in calls.values():
        call(x[:4])
    monkeypatch.setattr(eager.EagerFunction, "_traced", None)
    monkeypatch.setattr(eager, "operation_program", None)
    for name, call in calls.items():
        for a, result in zip(arrays, wanted[name], strict=True):
            for again in (call(a), call(a)):
                assert again.aval is result.aval, name
                assert np.array_equal(again, result), name


def test_a_known_operation_looks_at_no_setting(monkeypatch):
    x = jnp.arange(5.0)
    calls = [lambda: lax.abs(x), lambda: lax.add(x, x), lambda: lax.reduce_max_p.bind(x, axes=(0,)),
             lambda: lax.square(x)]
    before = [call().tolist() for call in calls for _ in range(3)][::3]
    monkeypatch.setattr(eager, "config", None)
    assert [call().tolist() for call in calls] == before


def test_functions_of_any_shape_tell_static_values_apart():
    x = jnp.array([0.1234, 0.5678])
    assert jnp.round(x, 1)[0] != jnp.round(x, 2)[0]
    assert jnp.round(x[:1], 1)[0] != jnp.round(x[:1], 2)[0]
    assert x[:1].astype(int).dtype != x[:1].astype(bool).dtype
    with jax.enable_x64(True):
        assert jnp.sin(jnp.ones(3)).dtype == "float64"
    assert jnp.sin(jnp.ones(3)).dtype == "float32"
    with pytest.raises(TypeError, match="shapes"):
        lax.add(x, jnp.ones(5))


@pytest.mark.not_quick
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("shape", [(70,), (9, 30)])
def test_scalars_stand_beside_arrays_in_any_place(place, shape):
    """The elements of a call are those of its arrays, wherever they stand."""
    function = jax.jit(lambda a, b, c: jnp.tanh(a) * b + jnp.exp(-c))
    args = [np.linspace(k, 2, np.prod(shape), dtype=np.float32).reshape(shape) for k in range(3)]
    for scalar in (np.float32(0.75), jnp.float32(0.75)):
        args[place] = scalar
        expected = np.asarray(function(*args))
        plain = jnp.tanh(args[0]) * args[1] + jnp.exp(-args[2])
        np.testing.assert_allclose(plain, expected, 1e-6)
        pair = args[place], args[place - 1]
        for a, b in (pair, pair[::-1]):
            assert np.asarray(jnp.arctan2(a, b)).tobytes() == np.asarray(jax.jit(jnp.arctan2)(a, b)).tobytes()


def test_what_goes_on_blocks():
    def blocked(function, *args):
        return on_blocks(jax.make_jaxpr(function)(*args)) is not None

    x, s = jnp.ones((3, 4)), jnp.float32(2)
    assert blocked(jnp.sin, x)
    assert blocked(jnp.hypot, s, 3.0)
    assert blocked(jnp.sinc, s)
    assert blocked(lambda x, s: jnp.logaddexp(x, s) * 2, x, s)
    assert blocked(lambda x: jnp.exp(x) + jnp.full((3, 4), 2.0), x)
    assert not blocked(lambda x: jnp.exp(x) + jnp.ones((3, 1)), x)
    assert not blocked(jnp.sum, x)
    assert not blocked(jnp.transpose, x)
    assert not blocked(lambda x: x + np.ones((3, 4), np.float32), x)
    assert not blocked(lambda x: jnp.zeros(3), x)
    assert not blocked(lambda: jnp.zeros(3))


def test_what_has_one_answer():
    def one(function, *args):
        return has_one_answer(jax.make_jaxpr(function)(*args).jaxpr)

    x, i = jnp.ones(3), jnp.arange(3)
    assert one(lambda x: x + x, x)
    assert one(lambda x: -abs(x * 2.5), x)
    assert one(lambda x, i: x[i], x, i)
    assert one(lambda i: i * i + i // 3, i)
    assert one(lambda x: x.astype(jnp.bfloat16), x)
    assert not one(lambda x: x * x + x, x)  # may be fused
    assert not one(lambda x: jnp.where(x > 0, x * x, x) - x, x)
    assert not one(jnp.max, x)  # of two zeros
    assert not one(jnp.exp, x)
    assert not one(lambda i: i.astype(jnp.float16), i)  # by way of float32, or not
    assert not one(lambda x: jax.debug.print("{}", x), x)


def test_interpreting_is_numpy_and_compiles_nothing():
    x = jnp.linspace(0.1, 3, 999)
    before = stats.compiles + stats.disk_hits + stats.memory_hits
    with interpreting():
        results = (jnp.var(x), jnp.tanh(x), jax.jit(jnp.cosh)(x), lax.reduce(x, 2.0, lambda x, y: x + y * 1.0, (0,)),
                   lax.scan(lambda c, x: (c + x, c * x), 0.0, x), jax.debugger(jnp.expm1)(x).results)
    assert stats.compiles + stats.disk_hits + stats.memory_hits == before
    for ours, numpys in zip(results, (np.var(x), np.tanh(x), np.cosh(x), np.sum(x) + 2), strict=False):
        np.testing.assert_allclose(ours, numpys, 1e-6)


@pytest.mark.not_quick
def test_without_a_compiler_numpy_computes_and_nothing_is_said(tmp_path):
    program = ("import warnings; warnings.simplefilter('error'); import tinytrace as jax, tinytrace.numpy as jnp; "
               "x = jnp.ones(3); print([float(jnp.var(x)), float(jnp.tanh(x)[0]), float(jax.grad(jnp.sin)(0.0))] * 3)")
    env = {**os.environ, "CC": "no-such-compiler", "TINYTRACE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=60)
    assert (done.stdout, done.stderr) == (f"{[0.0, float(np.float32(np.tanh(1.0))), 1.0] * 3}\n", "")


def test_python_numbers_that_do_not_fit_are_left_to_python():
    for x in (jnp.ones(3), jnp.arange(3)):
        for _ in range(3):
            jnp.add(x, 1)
        with pytest.raises(OverflowError, match="whose argument path is y"):
            jnp.add(x, 2 ** 40)


def test_numpy_does_not_warn():
    x = jnp.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            assert np.isnan(np.asarray(x / x)).all()
            assert np.isinf(np.asarray((x + 1e30) * 1e30)).all()


def test_functions_that_warn_go_on_warning():
    x = jnp.arange(3)
    for _ in range(4):
        with pytest.warns(UserWarning, match="float64"):
            jnp.sum(x, dtype="float64")


def test_results_that_are_arguments_stay_the_same_object():
    x = jnp.ones(3)
    assert all(jnp.positive(x) is x for _ in range(4))


def test_debug_nans_sees_every_operation():
    x = jnp.zeros(3)
    for _ in range(3):
        x / x
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        x / x


@pytest.mark.parametrize("order", [1, -1])
def test_debug_nans_sees_every_result(order):
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jit(lambda x: (jnp.cos(x), jnp.arange(3), x / x)[::order])(jnp.zeros(3))


def test_functions_that_look_at_values_stay_plain():
    def function(x):
        return x * 2 if x[0] > 0 else x[jnp.arange(int(x[1]))]

    called = eager.EagerFunction(function, jit(function))
    for _ in range(4):
        assert called(jnp.array([1.0, 2.0])).tolist() == [2.0, 4.0]
        assert called(jnp.array([-1.0, 1.0])).tolist() == [-1.0]


def test_library_functions_get_static_arguments_as_they_are():
    seen = []

    @library_jit("n", "flag")
    def function(x, n, flag=True):
        seen.append((type(n), type(flag)))
        return x * n if flag else x

    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(function(x, 3, True), x * 3)
    jax.grad(lambda x: function(x, 3).sum())(x)
    jax.vmap(lambda x: function(x, 3, False))(x)
    jax.make_jaxpr(lambda x: function(x, n=3))(x)
    assert set(seen) == {(int, bool)}


def test_functions_without_results():
    called = eager.EagerFunction(lambda x: (), jit(lambda x: ()))
    assert [called(jnp.ones(2)) for _ in range(4)] == [()] * 4


def test_recipes_keep_constants_and_forget_what_nobody_needs():
    table = np.arange(3, dtype=np.float32)

    def function(x):
        y = x + table
        return jnp.sin(y) * y, y.sum()

    x = jnp.ones(3)
    traced, leaves, _ = jit(function).traced((x,), {})
    assert isinstance(numpy_entry(traced.closed, [type(x)], traced.out_tree.unflatten), EagerEntry)
    assert leaves == [x]
    called = eager.EagerFunction(function, jit(function))
    results = [called(x) for _ in range(4)]
    assert all(str(r) == str(results[0]) for r in results)
    assert type(results[3]) is tuple


LARGE = {
    "chosen": lambda x, y: jnp.where(x > y, x, y),
    "sums": lambda x, y: (x + y) * 3 - y / x,
    "integers": lambda x, y: x.astype(jnp.int32) * 7 - 3,
    "transposed": lambda x, y: jnp.transpose(x.reshape(512, -1)) + 1,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_calls_get_compiled_and_give_the_same_bits(name):
    rng = np.random.default_rng(1)
    x, y = (jnp.asarray(rng.standard_normal(1 << 19).astype(np.float32)) for _ in "xy")
    call = LARGE[name]
    first = np.asarray(call(x, y)).tobytes()
    for _ in range(4):
        assert np.asarray(call(x, y)).tobytes() == first


def indices():
    """Indices of arrays of shape (4, 5, 3), with what NumPy means by them and JAX does not, and the reverse."""
    positions, negative, far = np.array([0, 3, 1]), jnp.array([[-1], [-4]]), jnp.array([9, -9, 0])
    mask, rows = np.arange(20).reshape(4, 5) % 3 == 0, jnp.arange(4) > 1
    return [positions, negative, far, mask, rows, jnp.int32(2), jnp.uint8([1]), jnp.zeros(0, int), (positions, 1),
            (0, positions), (slice(1, None), positions[:1]), (positions, slice(None), positions - 1), (None, negative),
            (..., negative[:, 0]), (rows, 2), (mask, 0), (positions[:, None], positions), (positions, 7),
            np.array(True), np.float32([1.0]), [0, 1], "x", (0, 0, 0, positions), jnp.arange(5) > 1,
            np.array(["a"]), np.int64([2 ** 40])]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", range(len(indices())))
def test_indices_mean_what_they_mean_in_programs(k):
    index = indices()[k]
    for x in (jnp.asarray(np.arange(60, dtype=np.float32).reshape(4, 5, 3)), jnp.full((4, 5, 3), 2)):
        assert outcome(lambda x: x[index], x) == outcome(lambda x: take_index(x, index), x)


def outcome(function, x):
    try:
        found = function(x)
    except Exception as error:
        return type(error), str(error)
    return found.aval, np.asarray(found).tobytes()


def test_indices_of_keys():
    keys = jax.random.split(jax.random.key(0), 4)
    assert (jax.random.key_data(keys[jnp.array([2, 0])]) == jax.random.key_data(keys)[jnp.array([2, 0])]).all()
    with pytest.raises(TypeError):
        jnp.arange(4)[keys]


def test_what_numpy_has_answered_often_is_compiled(monkeypatch):
    monkeypatch.setattr(recipes, "BUDGET", 75)
    monkeypatch.setattr(recipes, "EQUATION", 0)
    function = jit(lambda x, i: jnp.take(x, i, axis=1) * 1)
    f = eager.EagerFunction(function, function)
    x, i = jnp.asarray(np.arange(60, dtype=np.float32).reshape(4, 15)), jnp.array([3, 14, -1, 20])
    answered = []
    monkeypatch.setattr(eager.EagerFunction, "_learn",
                        lambda self, *call: answered.append(type(call[2])) or super(type(self), self)._learn(*call))
    results = [np.asarray(f(x, i)).tobytes() for _ in range(8)]
    assert answered == [EagerEntry, FastEntry]
    assert len(set(results)) == 1


def test_elementwise_calls_that_numpy_has_answered_often_are_compiled_for_all_shapes(monkeypatch):
    monkeypatch.setattr(recipes, "BUDGET", 12)
    monkeypatch.setattr(recipes, "EQUATION", 0)
    clips = [(0.25, 0.75), (0.2, 0.8), (0.3, 0.9)]  # more operations than loops are good for

    def clip(x):
        return functools.reduce(lambda x, bounds: jnp.clip(x, *bounds), clips, x)

    f = eager.EagerFunction(clip, jit(clip), elementwise=True)
    answered = []
    learn = eager.EagerFunction._learn
    monkeypatch.setattr(eager.EagerFunction, "_learn", lambda self, *call: (
        answered.append(type(call[2])) if self is f else None, learn(self, *call))[1])
    for n in (5, 5, 5, 5, 5, 5, 7):
        assert (f(jnp.linspace(0.0, 1.0, n)) == np.clip(np.linspace(0, 1, n, dtype=np.float32), 0.3, 0.75)).all()
    assert answered == [EagerEntry, FastEntry, FastEntry]
    jaxpr = jax.make_jaxpr(clip)(jnp.ones(5)).jaxpr
    monkeypatch.setattr(recipes, "BUDGET", 15_000)
    assert recipes.calls_in_budget(jaxpr, 1_000_000) < recipes.calls_in_budget(jaxpr)


@pytest.mark.not_quick
@pytest.mark.parametrize(("function", "dtypes"), [
    (jnp.add, ["int8", "int32", "bool", "float16", "float32", "bfloat16"]), (jnp.less, ["uint16", "bool"]),
    (jnp.maximum, ["float32"]), (jnp.left_shift, ["int32"]),
    (jnp.equal, ["float32", "bfloat16", "bool", "uint8"]), (jnp.not_equal, ["float16", "int32"])],
    ids=lambda x: getattr(x, "__name__", ""))
def test_inner_loops_give_the_jitted_bits_for_all_layouts(function, dtypes):
    values = np.array([0, 1, 2, 3, 100, 7, 5, 127, 50, 1, 0, 9])
    for dtype in dtypes:
        x, y = jnp.array(values, dtype), jnp.array(values[::-1] % 3, dtype)
        many = jnp.array(np.resize(values, 70_000), dtype)
        pairs = ((x, y), (x, y[3]), (x[::-1], y), (x.reshape(3, 4).T, y.reshape(4, 3)), (x[:0], y[:0]), (x[2], y[2]),
                 (many, many), (x, y.reshape(12, 1)), (x[1:], 1), (1, y[1:]))
        results = jit(lambda pairs: [function(*pair) for pair in pairs])(pairs)
        for pair, expected in zip(pairs, results, strict=True):
            for _ in range(3):
                found = function(*pair)
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("number", [0.1, -7, True, 2 ** 31, 10 ** 400, float("inf"), -0.0])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_numbers_beside_small_arrays(number, dtype):
    def tried(f):
        try:
            return np.asarray(f(jnp.array([1, -2, 3], dtype), number)).tobytes()
        except (OverflowError, TypeError) as error:
            return type(error)

    assert len({tried(f) for f in [jit(lambda x, n: x + n), jnp.add, jnp.add, jnp.add]}) == 1


def test_lists_as_static_arguments_are_looked_up():
    f = eager.EagerFunction(lambda x, shape: jnp.reshape(x, tuple(shape)), jit(jnp.reshape, static_argnums=1))
    x = jnp.arange(6)
    for shape in ([2, 3], [3, 2], [2, 3], [-1], (2, 3), [6]) * 2:
        assert f(x, shape).shape == np.arange(6).reshape(shape).shape
    assert f._learn((x, [1, 6]), {}, f.plain)
    assert not f._learn((x, [[6]]), {}, f.plain)


def test_what_python_sees_of_an_array_stays_read_only():
    for x in (jnp.ones(3) + 1, jnp.arange(6).reshape(2, 3).T, jnp.float32(2) > 1, jnp.ones(3)[::-1],
              jnp.ones(3, jnp.bfloat16) + 1, jnp.zeros((0, 2))):
        seen = np.asarray(x)
        assert not seen.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            seen.flags.writeable = True


def bodies_run_by(call):
    """Which functions of the library's numpy a call runs, operators but for themselves."""
    run = []
    sys.setprofile(lambda frame, event, argument: run.append(frame.f_code) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    names = [code.co_name for code in run if "tinytrace/numpy/" in code.co_filename]
    return [name for name in names if name not in ("operator", "__call__")]


def test_bodies_of_known_calls_do_not_run():
    """Neither of functions that JAX jits nor of others."""
    x = jnp.linspace(0.1, 0.9, 12).reshape(3, 4)
    calls = {
        "x + y": lambda: x + x, "2 * x": lambda: 2 * x, "add": lambda: jnp.add(x, x), "clip": lambda: jnp.clip(x, 0, 1),
        "flip": lambda: jnp.flip(x, 1), "isfinite": lambda: jnp.isfinite(x), "eye": lambda: jnp.eye(3, k=1),
        "split": lambda: jnp.split(x, 3), "array_equal": lambda: jnp.array_equal(x, x), "fabs": lambda: jnp.fabs(x),
        "zeros_like": lambda: jnp.zeros_like(x), "moveaxis": lambda: jnp.moveaxis(x, 0, 1),
        "meshgrid": lambda: jnp.meshgrid(x[0], x[1]), "vecdot": lambda: jnp.vecdot(x, x), "imag": lambda: jnp.imag(x),
    }
    for name, call in calls.items():
        for _ in range(3):
            call()
        assert not bodies_run_by(call), name


def test_triangles_of_indices_are_those_of_programs():
    for function in (jnp.triu_indices, jnp.tril_indices):
        for sizes in ((3, 0, None), (3, 1, 5), (4, -2, 2), (0, 0, 3), (3, -7, 3)):
            for found, expected in zip(function(*sizes), jit(lambda: function(*sizes))(), strict=True):  # noqa: B023
                assert found.aval == expected.aval
                assert (found == expected).all()


@pytest.mark.parametrize(("function", "answer"), [
    (lambda x: x.T, True), (lambda x: jnp.flip(x)[1:], True), (lambda x: jnp.split(x, 2), True),
    (lambda x: jnp.atleast_3d(x.reshape(12)), True), (lambda x: jnp.broadcast_to(x, (3, 2, 6)), True),
    (lambda x: x.T.reshape(12), False), (lambda x: jnp.tile(x, 3), False), (lambda x: x + 1, False),
    (lambda x: jnp.full_like(x, 2), False), (lambda x: (x.T, x * 2), False)])
def test_which_programs_make_views(function, answer):
    assert makes_views(jax.make_jaxpr(function)(jnp.ones((2, 6))).jaxpr) == answer


def test_views_of_large_arrays_stay_views_and_are_copied_in_order():
    x = jnp.asarray(np.random.default_rng(0).random((520, 530)).astype(np.float32))
    copied = jax.jit(lambda y: y * 1)
    for view in (lambda x: x.T, lambda x: jnp.flip(x, 1), jnp.rot90, lambda x: jnp.moveaxis(x, 0, 1)[::2]):
        for _ in range(3):
            y = view(x)
        assert np.shares_memory(np.asarray(y), np.asarray(x))
        assert np.array_equal(np.asarray(copied(y)), np.asarray(y))


@pytest.mark.parametrize(("dtype", "shape", "order"), [
    ("int8", (70, 33), (1, 0)), ("float16", (33, 70), (1, 0)), ("float32", (3, 40, 35), (0, 2, 1)),
    ("complex64", (34, 2, 65), (2, 1, 0)), ("float32", (1, 65, 34, 2), (2, 0, 3, 1)), ("int32", (0, 4), (1, 0)),
    ("bool", (40, 3), (0, 1))])
def test_programs_read_strided_arrays_in_order(dtype, shape, order):
    x = (np.random.default_rng(0).random(shape) * 100).astype(dtype)
    for step in (-1, 2):
        y = x.transpose(order)[::step, ..., ::step]
        for _ in range(2):  # the second call is known
            assert np.array_equal(np.asarray(_unchanged(y)), y)


@jax.jit
def _unchanged(x):
    return jnp.where(True, x, x)
