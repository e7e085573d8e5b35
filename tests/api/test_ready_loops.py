"""Short programs that nobody compiles: which these are, and that their results have the bits of compiled ones."""
from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.primitives import domains
from tinytrace import events, lax
from tinytrace._dispatch import EagerEntry, FastEntry, call_entry
from tinytrace.api import eager, ready_loops
from tinytrace.api.inner_loops import MADE, MOST_LOOPS, agrees
from tinytrace.api.jit_cache import CompiledCall
from tinytrace.api.recipes import LOOP_BYTES, SEVERAL_BYTES
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32
from tinytrace.csources import math_functions
from tinytrace.primitives.elementwise import Elementwise

ROOT = pathlib.Path(__file__).parents[2]
SPECIAL = np.float32([0, -0.0, np.nan, np.inf, -np.inf, 1, -1, 2.5, 1e-40, 3e38, 1e-45, 7])
X = jnp.asarray(SPECIAL)
SHORT = {
    "a sum": lambda x: x + 1, "a product and a sum": lambda x: x * 1.7 + 0.3, "their difference": lambda x: x * x - 3,
    "the other one": lambda x: 3 - x * x, "a square": lambda x: x ** 2,
    "relu": jax.nn.relu, "clip": lambda x: jnp.clip(x, -1, 1), "where": lambda x: jnp.where(x > 0, x, 0),
    "a quotient": lambda x: x / 3, "a root": lambda x: jnp.sqrt(x) / 7, "a comparison": lambda x: abs(x) < 3,
    "a closed-over array": lambda x: x + SPECIAL, "isnan": jnp.isnan, "a read of one twice": lambda x: x * x + x,
}
MATH = {
    "a sine": lambda x: jnp.sin(x), "a scaled one": lambda x: jnp.sin(x) * 3, "a logistic": jax.nn.sigmoid,
    "silu": jax.nn.silu, "log(1 + x)": jnp.log1p, "atan2": lambda x: jnp.arctan2(x, 2),
    "a sine's exponential": lambda x: jnp.exp(jnp.sin(x)), "erf": lambda x: jax.lax.erf(x) / 2 + 0.5,
}
LONG = {
    "five operations": lambda x: jnp.sqrt(abs(x) / 3) / 7 / (x + 1), "an arcsine": jnp.arcsin, "a sum": jnp.sum,
    "two results": lambda x: (x + 1, x - 1), "a tree": lambda x: {"a": x + 1}, "halves": lambda x: (x + 1) * x,
    "a conversion": lambda x: x.astype(int), "a power": lambda x: x ** 1.5, "the argument": lambda x: x,
}


def origin(f):
    return list(f.cache.values())[-1].origin


def check(f, *args, **kwargs):
    """Hold the first three calls to the compiled program, and return who answered them."""
    compiled = jax.jit(f).lower(*args, **kwargs).compile()(*args, **kwargs)
    jitted = jax.jit(f)
    for _ in range(3):
        found = jitted(*args, **kwargs)
        assert (found.aval, found.weak_type) == (compiled.aval, compiled.weak_type)
        assert bits(found) == bits(compiled)
    return origin(jitted)


def bits(array):
    """Those of the elements; of a NaN, whose bits nobody promises, that it is one."""
    elements = np.asarray(array)
    return np.where(np.isnan(elements), 0, elements).tobytes() if elements.dtype.kind in "fc" else elements.tobytes()


# --- which, and with which results ---------------------------------------------------------------------------------

@pytest.mark.parametrize("name", SHORT)
def test_short_programs_are_answered_by_loops(name):
    assert check(SHORT[name], X) == "loops"


@pytest.mark.skipif(not agrees("tt_sin_f32", FLOAT32), reason="loops of math functions are for AVX2")
@pytest.mark.parametrize("name", MATH)
def test_math_functions_are_loops(name):
    """On all kinds of numbers; arrays of NumPy's, and longer ones, are for compiled programs."""
    assert check(MATH[name], X) == "loops"
    assert check(MATH[name], 2.5) == "loops"
    assert check(MATH[name], SPECIAL[::-1]) != "loops"
    assert check(MATH[name], jnp.tile(X, 99)) != "loops"
    many = np.random.default_rng(0).integers(0, 2 ** 32, (40, 256), np.uint32).view(np.float32)
    compiled = jax.jit(MATH[name]).lower(many).compile()(many)
    f = jax.jit(MATH[name])
    for some, expected in zip(many, compiled, strict=True):
        assert bits(f(jnp.asarray(some))) == bits(expected)


@pytest.mark.skipif(not agrees("tt_sin_f32", FLOAT32), reason="loops of math functions are for AVX2")
def test_no_loop_is_of_a_function_that_asks_what_the_text_says():
    """`x ** 1.5` is computed by a square root where the exponent is a number in the text, and only there."""
    names = set(re.findall(r"DO\((tt_\w+)\)", (ROOT / "csrc" / "math_loops.c").read_text()))
    assert len(names) > 15
    assert all(agrees(name, FLOAT32) for name in names)
    assert not agrees("tt_pow_f32", FLOAT32)
    for name in names:
        assert "__builtin_constant_p" not in math_functions({name: 1}), name


@pytest.mark.parametrize("operation", [jnp.arctan2, jnp.power, lax.rem, jnp.maximum, jnp.minimum, lax.div, lax.sub])
@pytest.mark.parametrize("number", [0.5, 1.5, 2.0, 3.0, -2.5, 0.0, -0.0, float("inf"), float("nan")])
def test_numbers_in_the_text(operation, number):
    check(lambda x: operation(x, jnp.float32(number)), X)
    check(lambda x: operation(jnp.float32(number), x), X)


@pytest.mark.parametrize("name", LONG)
def test_others_are_compiled(name):
    f = jax.jit(LONG[name])
    f(X.astype(jnp.float16) if name == "halves" else X)
    assert origin(f) != "loops"


@pytest.mark.skipif(not agrees("fma", FLOAT32), reason="the processor has no fused multiply-add")
def test_a_product_and_a_sum_are_rounded_once():
    """As in compiled programs; two roundings would give 0."""
    x = np.float32(1 + 2 ** -12)
    assert jax.jit(lambda x: x * x - (1 + 2 ** -11))(x) == np.float32(2 ** -24)


@pytest.mark.not_quick
def test_every_operation_that_loops_compute():
    """On samples of each dtype, held to one compiled program of them all."""
    calls = [(functools.partial(primitive.bind, **sample.params), list(map(jnp.asarray, sample.args)))
             for primitive in domains.tried() if isinstance(primitive, Elementwise)
             for sample in domains.samples(primitive.name)]
    calls = [(f, args) for f, args in calls if jax.jit(lambda *args, f=f: f(*args)).why(*args).cost.source == "loops"]
    assert len(calls) > 100
    compiled = jax.jit(lambda lists: [f(*args) for (f, _), args in zip(calls, lists, strict=True)]).lower(
        [args for _, args in calls]).compile()([args for _, args in calls])
    for (f, args), expected in zip(calls, compiled, strict=True):
        found = jax.jit(lambda *args, f=f: f(*args))(*args)
        assert (found.aval, bits(found)) == (expected.aval, bits(expected)), f


OPERATIONS = [lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, jnp.maximum, jnp.minimum,
              lambda x, y: jnp.where(x < y, x, y), lambda x, y: x * y + x, lambda x, y: y - x * 3, lax.rem]


@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3),
       st.sampled_from([(12,), (1,), (), (0,), (3, 4), (12, 12)]), st.sampled_from(["float32", "int32"]),
       st.lists(st.sampled_from(["array", "row", "number", "numpy", "view", "scalar"]), min_size=2, max_size=2))
def test_programs_of_a_few_operations(steps, shape, dtype, kinds):
    def f(*args):
        values = [*args, 2, 1.25 if dtype == "float32" else -3]
        for operation, i, j in steps:
            values.append(operation(values[i if i % 4 > 1 else 0], values[j % 2] if i % 2 else values[-1]))
        return values[-1] + args[0]

    def argument(kind, seed):
        elements = np.resize(np.roll(SPECIAL, seed), shape)
        elements = elements.astype(dtype) if dtype == "float32" else np.arange(elements.size).reshape(shape) - seed
        match kind:
            case "row":
                return jnp.asarray(elements[:1] if shape else elements, dtype)
            case "number":
                return 2.5 if dtype == "float32" else 7
            case "numpy":
                return elements[::-1] if shape else elements
            case "view":
                return jnp.asarray(elements.T.copy(), dtype).T
            case "scalar":
                return np.dtype(dtype).type(3)
        return jnp.asarray(elements, dtype)

    with np.errstate(all="ignore"):
        check(f, argument("array", 3), argument(kinds[1], 5))


def test_arguments_by_name_are_read_in_their_order():
    def difference(x, y):
        return x - 2 * y

    assert check(difference, y=X, x=jnp.ones(12)) == "loops"
    jitted = jax.jit(difference)
    for _ in range(3):
        assert jitted(y=2.0, x=np.float32([1, 2])).tolist() == [-3, -2]


def test_a_short_program_is_one_on_small_arrays():
    for function, most in ((lambda x: x + 1, LOOP_BYTES), (lambda x: x * x + 3 * x, SEVERAL_BYTES)):
        for nbytes, is_short in ((most, True), (most + 4, False)):
            f = jax.jit(function)
            f(jnp.ones(nbytes // 4))
            assert (origin(f) == "loops") == is_short


def test_what_is_too_large_for_a_type_is_told_as_ever():
    f = jax.jit(lambda x: x + 1)
    for _ in range(2):
        with pytest.raises(OverflowError, match="path is x"):
            f(2 ** 40)
    assert f(2) == 3


# --- nothing is compiled -------------------------------------------------------------------------------------------

def test_no_compiler_runs_and_why_says_so():
    f, told = jax.jit(lambda x: x * 1.0625 + 1.1875), []
    assert (f.why(X).cost.source, f.why(X).cost.compiles) == ("loops", False)
    with events.listening(lambda event: told.append((event.kind, event.name))):
        f(X)
        f(X)
    assert ("load", "loops") in told
    assert not {"compiler", "disk"} & {name for _, name in told}
    assert "executable" not in next(iter(f._cache.calls.values())).program.__dict__
    entry = next(iter(f.cache.values()))
    assert (entry.hits, entry.misses, entry.nbytes, f._cache_size()) == (1, 1, 0, 1)


def test_a_fresh_process_does_not_import_the_code_generator():
    code = ("import sys, tinytrace as jax\nprint(jax.jit(lambda x: x + 1.5)(2.0), jax.jit(lambda x: x * 3 + 1)(2.0))\n"
            "print([name for name in ('codegen.generate', 'runtime.ladder') if f'tinytrace.{name}' in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3.5 7.0\n[]\n"


def test_who_asks_for_a_compiled_program_gets_one():
    f = jax.jit(lambda x: x + 1)
    assert "void" in f.lower(X).as_text()
    assert bits(f.lower(X).compile()(X)) == bits(f(X))
    assert origin(f) == "loops"


@pytest.mark.parametrize("setting", ["tinytrace_ready_loops", "tinytrace_verify"])
def test_settings(setting):
    before = jax.config.read(setting)
    jax.config.update(setting, not before)
    try:
        f = jax.jit(lambda x: x + 1.375)
        assert (f.why(X).cost.source == "loops", bits(f(X))) == (False, bits(X + 1.375))
        assert origin(f) != "loops"
    finally:
        jax.config.update(setting, before)


def test_the_environment():
    code = ("import tinytrace as jax\nf = jax.jit(lambda x: x + 1)\nf(2.0)\n"
            "print(list(f.cache.values())[0].origin == 'loops')")
    for value in "10":
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TINYTRACE_READY_LOOPS": value},
                              capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(value == "1")


def test_donated_arguments_are_deleted():
    f, x = jax.jit(lambda x: x + 1, donate_argnums=0), jnp.ones(8)
    f(x)
    assert x.is_deleted()
    assert origin(f) != "loops"


def test_deleted_arguments_are_refused():
    f, x = jax.jit(lambda x: x + 1), jnp.ones(8)
    f(x)
    x.delete()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="deleted"):
            f(x)


def test_threads_on_one_function():
    f, wrong = jax.jit(lambda x: x * x + 1.5), []

    def call(number):
        x = jnp.full(16, float(number))
        wrong.extend(k for k in range(300) if f(x).tolist() != [number * number + 1.5] * 16)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_nans_are_looked_for():
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jit(lambda x: x - x)(X)


# --- the entry in C ------------------------------------------------------------------------------------------------

ADD = (np.add, np.add.types.index("ff->f"))
F32 = (11, 4)
AVAL = ShapedArray((12,), np.dtype("float32"))


def entry(*loops, constants=()):
    return EagerEntry(lambda x: x, (None,), (tuple(loops), tuple(constants)), (AVAL,), None)


def test_loops_read_arguments_constants_and_each_other():
    loops = [(*ADD, ((0, *F32), (-1, *F32)), F32, 12, None), (*ADD, ((MADE, *F32), (0, *F32)), F32, -1, None)]
    found = call_entry(entry(*loops, constants=[jnp.ones(12)]), X)
    assert bits(found) == bits((X + 1) + X)


@pytest.mark.parametrize("loops", [
    [(*ADD, ((0, *F32), (-2, *F32)), F32, 12, None)], [(*ADD, ((0, *F32), (MADE, *F32)), F32, 12, None)],
    [(*ADD, ((0, *F32),), F32, 12, None)], [], [("no such loop", 0, ((0, *F32),), F32, 12, None)], [3],
    [(*ADD, ((0, *F32), (0, *F32)), F32, 12, None)] * (MOST_LOOPS + 1)])
def test_what_is_no_loop_is_refused(loops):
    with pytest.raises((ValueError, TypeError)):
        entry(*loops, constants=[jnp.ones(12)])


def test_a_wrong_loop_is_noticed(monkeypatch):
    """The law above can fail: a planted fault."""
    ready = CompiledCall.__init__.__globals__["ready_loops"]

    def wrong(program, consts, types, *more):
        found = ready(program, consts, types, *more)
        loop = (np.subtract, np.subtract.types.index("ff->f"), ((0, *F32), (0, *F32)), F32, 12, None)
        return found and EagerEntry(np.subtract, (None,), ((loop,), ()), program.out_avals, None)

    monkeypatch.setitem(CompiledCall.__init__.__globals__, "ready_loops", wrong)
    with pytest.raises(AssertionError):
        check(lambda x: x + x, X)


# --- outside of traces ---------------------------------------------------------------------------------------------

UNJITTED = {"sin": jnp.sin, "exp": jnp.exp, "log1p": jnp.log1p, "sigmoid": jax.nn.sigmoid, "silu": jax.nn.silu,
            "many operations": jnp.logaddexp, "a written out power": lambda x: x ** 5, "gelu": jax.nn.gelu,
            "the operation": lax.tanh, "two arguments": lambda x: jnp.arctan2(x, X[:len(x)])}


@pytest.mark.skipif(not agrees("tt_sin_f32", FLOAT32), reason="loops of math functions are for AVX2")
@pytest.mark.parametrize("name", UNJITTED)
def test_calls_outside_of_traces(name):
    """Of few elements by loops, of many by the program on a block: with the bits of the jitted program, compiled."""
    f = UNJITTED[name] if name != "many operations" else lambda x: jnp.logaddexp(x, x)
    for x in (X, X[:1], X[:0], X.reshape(3, 4), jnp.asarray(X.reshape(3, 4).T), jnp.tile(X, 99), jnp.tile(X, 22), X[3]):
        if name == "two arguments" and x.shape != X[:x.size].shape:
            continue
        expected = jax.jit(lambda x: f(x)).lower(x).compile()(x)
        for _ in range(3):
            assert (f(x).aval, bits(f(x))) == (expected.aval, bits(expected))


@pytest.mark.skipif(not agrees("tt_sin_f32", FLOAT32), reason="loops of math functions are for AVX2")
def test_many_loops_answer_until_a_compiler_would_have_paid(monkeypatch):
    monkeypatch.setattr(ready_loops, "BUDGET", 1)
    f = eager.EagerFunction(jax.nn.softplus.__wrapped__, jax.jit(lambda x: jax.nn.softplus(x)), elementwise=True)
    learnt, learn = [], eager.EagerFunction._learn
    monkeypatch.setattr(eager.EagerFunction, "_learn", lambda self, *call: (
        learnt.append(type(call[2])) if self is f else None, learn(self, *call))[1])
    assert len({bits(f(X)) for _ in range(20)}) == 1
    assert learnt == [EagerEntry, FastEntry]


def test_the_first_calls_of_math_functions_start_no_compiler():
    code = ("import sys, tinytrace.numpy as jnp\nx = jnp.ones(8)\njnp.sin(x), jnp.exp(x), jnp.tanh(jnp.ones((3, 4)))\n"
            "print('tinytrace.codegen.generate' in sys.modules)\njnp.sin(jnp.ones(1000))\n"
            "print('tinytrace.runtime.ladder' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(not agrees("tt_sin_f32", FLOAT32)), "True"]
