"""Results do not depend on how an operation is run: un-jitted and jitted, first call and tenth, any size, any threads.

The law of docs/eager.md, to the bit but for the payload of NaNs.
"""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest

import tinytrace as jax
from tests.examples import QUICK
from tests.primitives import domains
from tests.primitives.test_registry import bound, unjitted
from tinytrace import lax
from tinytrace.api.blocks import on_blocks
from tinytrace.core.dtypes import is_float
from tinytrace.primitives.elementwise import Elementwise, accepts
from tinytrace.runtime.threads import num_threads, set_num_threads

SIZES = (0, 1, 7, 1000)
MILLION = 1_000_003
COSTLY = {"igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta", "zeta", "polygamma"}
"""A microsecond per element or more: cut among threads at a tenth of a million elements."""
COMPARED = (0, 2, 9)
SHAPED = domains.SHAPED
F32, F16, BF16, I32, I8, U8 = domains.F32, domains.F16, domains.BF16, domains.I32, domains.I8, domains.U8


def bits(x):
    """The bytes of an array, every NaN being the same."""
    x = np.asarray(jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x)
    if x.dtype.kind == "c":
        return bits(np.ascontiguousarray(x).reshape(-1).view(x.real.dtype))
    if not is_float(x.dtype):
        return x.tobytes()
    return np.where(np.isnan(x.astype(np.float64)), np.array(np.nan, x.dtype), x).tobytes()


def same_bits(x, y):
    """Have two arrays the same bytes, but for those of NaNs?"""
    plain = x.dtype == y.dtype and isinstance(x.dtype, np.dtype) and np.asarray(x).tobytes() == np.asarray(y).tobytes()
    return plain or bits(x) == bits(y)


def check(function, *args, **static):
    """Hold the first, the third and the tenth call of a function to what it gives when it is jitted."""
    called = functools.partial(function, **static)
    compare(called, args, jax.jit(called).lower(*args).compile()(*args))


def compare(function, args, expected, calls=COMPARED):
    """Hold some of the calls of a function to what is expected of all."""
    for n in range(calls[-1] + 1):
        results = jax.tree.leaves(function(*args))
        if n not in calls:
            continue
        for result, wanted in zip(results, jax.tree.leaves(expected), strict=True):
            assert (result.shape, result.dtype, result.weak_type) == (wanted.shape, wanted.dtype, wanted.weak_type)
            assert same_bits(result, wanted), f"call {n}: {result} is not {wanted}"


# --- primitives --------------------------------------------------------------------------------------------------

ELEMENTWISE = [p for p in domains.tried() if isinstance(p, Elementwise)]
HELD_TO_SAMPLES = [p for p in domains.tried() if not isinstance(p, Elementwise)]


def operands(primitive, dtype, size, special=True):
    """One array per operand: numbers of the primitive's domain, and at the end what has no number."""
    numbers = domains.Numbers(primitive.name)
    low, high = domains.INTERVALS.get(primitive.name, (-3.0, 3.0))
    arrays = [numbers(size, dtype=dtype, low=low, high=high) for _ in primitive.accepts]
    for array in arrays if special and dtype.kind in "fV" and size > 8 else ():
        array[-8:] = numbers.rng.permutation(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 1e-30]).astype(dtype))
    return arrays


def dtypes_of(primitive):
    return [d for d in domains.ANY if all(accepts(accepted, d) for accepted in primitive.accepts)]


def numbers_for(primitive, sample, size):
    """Operands like those of a sample, of another size."""
    args = ([np.resize(x, size) for x in sample.args] if primitive.name in SHAPED else
            operands(primitive, sample.args[0].dtype, size))
    return list(map(jax.numpy.asarray, args))


@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=lambda p: p.name)
def test_elementwise_primitives(primitive):
    """In several sizes, and parts of one array: one jitted program does it all.

    With the first dtype; with all others only where operands are not all of one kind, for the rest of the primitives
    are held to this law with every dtype by tests/primitives/test_extremes.py, whose programs have them all.
    """
    first, *others = {s.args[0].dtype: s for s in domains.samples(primitive.name)[::-1]}.values()
    others = others if primitive.name in SHAPED else []
    tried = [*((first, size) for size in SIZES), *((sample, SIZES[-1]) for sample in others)]
    functions = [functools.partial(primitive.bind, **sample.params) for sample, _ in tried]
    lists = [numbers_for(primitive, sample, size) for sample, size in tried]
    operation, wholes = functools.partial(primitive.bind, **domains.samples(primitive.name)[0].params), parts(primitive)
    jitted = jax.jit(lambda lists, wholes: ([function(*args) for function, args in zip(functions, lists, strict=True)],
                                            [operation(*args) for args in wholes]))
    results, pieces = jitted(lists, wholes)
    for function, args, expected in zip(functions, lists, results, strict=True):
        compare(function, args, expected)
    for function, args, expected in list(zip(functions, lists, results, strict=True))[len(SIZES):]:
        for size in SIZES[:-1]:
            compare(function, [x[:size] for x in args], expected[:size])
    if wholes:
        check_places(operation, wholes, pieces)


PARTS = (slice(292, 300), slice(285, 300), slice(0, 3), slice(17, 300), 297)


def parts(primitive):
    """Operands of 300 elements, and parts of them; none where operands are not all of one kind."""
    if primitive.name in SHAPED:
        return []
    many = [jax.numpy.asarray(x) for x in operands(primitive, dtypes_of(primitive)[0], 300)]
    return [many, *([x[part] for x in many] for part in PARTS)]


def check_places(operation, lists, pieces):
    """In vectors, in what is left over, in a block that is filled up, in a scalar: an element has the same bits."""
    whole = np.asarray(pieces[0])
    for part, few, piece in zip(PARTS, lists[1:], pieces[1:], strict=True):
        assert bits(operation(*few)) == bits(piece) == bits(whole[part])


@pytest.mark.slow
@pytest.mark.usefixtures("threads_as_before")
@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=lambda p: p.name)
def test_elementwise_primitives_on_many_elements(primitive):
    """With one dtype, which is another for each primitive: how loops are cut does not depend on what they compute.

    The program gives the same bits on any number of threads, too.
    """
    size = MILLION // 10 if primitive.name in COSTLY else MILLION
    samples = list({s.args[0].dtype: s for s in domains.samples(primitive.name)[::-1]}.values())[::-1]
    tried = [samples[ELEMENTWISE.index(primitive) % len(samples)]]
    functions = [functools.partial(primitive.bind, **sample.params) for sample in tried]
    lists = [numbers_for(primitive, sample, size) if primitive.name in SHAPED else
             [many(sample.args[0].dtype, *domains.INTERVALS.get(primitive.name, (-3.0, 3.0)), size, k)
              for k in range(len(sample.args))] for sample in tried]
    jitted = jax.jit(lambda lists: [function(*args) for function, args in zip(functions, lists, strict=True)])
    results = jitted(lists)
    for function, args, expected in zip(functions, lists, results, strict=True):
        compare(function, args, expected)
    wanted = [np.asarray(x).tobytes() for x in jax.tree.leaves(results)]
    for threads in (1, 2, 5):
        set_num_threads(threads)
        assert [np.asarray(x).tobytes() for x in jax.tree.leaves(jitted(lists))] == wanted, threads


@pytest.fixture
def threads_as_before():
    before = num_threads()
    yield
    set_num_threads(before)


@functools.lru_cache(64)
def many(dtype, low, high, size, k):
    """An array that all primitives share: numbers of an interval in no order, and at the end what has no number."""
    x = np.roll(np.random.default_rng(0).permutation(size) / size, 1001 * k)
    if dtype.kind == "b":
        return jax.numpy.asarray(x < 0.5)
    if dtype.kind in "iu":
        low = max(low, 0) if dtype.kind == "u" else low
        return jax.numpy.asarray(np.floor(low + (high + 1 - low) * x).astype(dtype))
    x = (low + (high - low) * x).astype(dtype)
    x[-8:] = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 1e-30]).astype(dtype)
    return jax.numpy.asarray(x)


@pytest.mark.parametrize("primitive", HELD_TO_SAMPLES, ids=lambda p: p.name)
def test_all_other_primitives(primitive):
    """All samples are one jitted program, the one that the registry's law is about: a compiler is started once.

    Un-jitted, each that NumPy does not answer is a program of its own, of which there are two.
    """
    samples = domains.samples(primitive.name)[:2 if QUICK else None]
    alone = list(map(id, unjitted(primitive, samples)))
    jitted = jax.jit(lambda lists: [bound(primitive, sample, xs) for sample, xs in zip(samples, lists, strict=True)])
    for sample, expected in zip(samples, jitted([sample.args for sample in samples]), strict=True):
        if id(sample) in alone:
            args = map(jax.numpy.asarray, sample.args)
            compare(functools.partial(primitive.bind, **sample.params), list(args), expected)


# --- threads -----------------------------------------------------------------------------------------------------

THREADED = """
import hashlib, numpy as np, tinytrace as jax, tinytrace.numpy as jnp
x = jnp.asarray(np.random.default_rng(0).standard_normal((1000, 1111)).astype(np.float32))
y = jnp.asarray(np.asarray(x).T.copy())  # a transpose would become a part of the product, whose sums have another order
functions = (jnp.sin, jnp.var, jax.nn.softmax, jnp.cumsum, jnp.sort, lambda x: x @ y, lambda x: x.sum(0))
for f in functions:
    for call in (f, f, f, jax.jit(f)):
        print(hashlib.sha256(np.asarray(call(x)).tobytes()).hexdigest()[:16], end=" ")
print(hashlib.sha256(np.asarray(jax.jit(lambda x: x @ x.T)(x)).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads():
    texts = [subprocess.run([sys.executable, "-c", THREADED], capture_output=True, text=True, timeout=300, check=True,
                            env={**os.environ, "TINYTRACE_NUM_THREADS": str(n)}).stdout for n in (1, 2, 5)]
    assert texts[0] == texts[1] == texts[2]
    words = texts[0].split()
    assert len(words) == 29
    assert all(len(set(words[k:k + 4])) == 1 for k in range(0, 28, 4))


# --- public functions --------------------------------------------------------------------------------------------

MODULES = {"numpy": jax.numpy, "lax": lax, "nn": jax.nn, "scipy.special": jax.scipy.special,
           "numpy.linalg": jax.numpy.linalg, "numpy.fft": jax.numpy.fft}
PUBLIC = [(module, name) for module, place in MODULES.items() for name in sorted(vars(place))
          if not name.startswith("_") and callable(getattr(place, name)) and not isinstance(getattr(place, name), type)]
NOT_PURE = {"empty", "empty_like", "save", "savez", "load", "fromfile", "fromfunction", "frompyfunc", "vectorize"}


@functools.cache
def candidates(dtype, size):
    """Argument lists, one of which most functions accept."""
    numbers = domains.Numbers(f"public {size}")
    v, w, u = (numbers(size, dtype=dtype, low=0.25, high=3) for _ in range(3))
    m = numbers(3, 3, dtype=dtype, low=0.5, high=2) + 3 * np.eye(3, dtype=dtype)
    i = numbers(size, dtype=I32, low=0, high=5)
    arrays = [(v,), (v, w), (v, w, u), (m,), (m, m[0]), (m, m), (i,), (i, i), (v, i), (i, v), (v > 1,), (v > 1, w, u)]
    return [tuple(map(jax.numpy.asarray, args)) for args in arrays]


@functools.cache
def accepted_arguments(function, dtype, size=3):
    """The first candidate that the function takes when it is traced, and so un-jitted; None where there is none."""
    for args in candidates(dtype, size):
        results = []
        try:
            jax.make_jaxpr(lambda *xs: results.extend(jax.tree.leaves(function(*xs))))(*args)  # noqa: B023 (called here)
        except Exception:
            continue
        if results and all(isinstance(result, jax.Array) for result in results):
            return args
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda x: x)
def test_public_functions(module, name):
    """With few elements; with many, too, where a function runs on blocks, for all others run the program of `jit`."""
    function = getattr(MODULES[module], name)
    args = accepted_arguments(function, F32)
    if args is None or name in NOT_PURE:
        return
    if on_blocks(jax.make_jaxpr(function)(*args)) is None:
        check(function, *args)
        return
    many = next(many for few, many in zip(candidates(F32, 3), candidates(F32, 1000), strict=True)
                if [x.aval for x in few] == [x.aval for x in args])
    jitted = jax.jit(lambda lists: [function(*args) for args in lists])  # both sizes: one run of the compiler
    for arguments, expected in zip((args, many), jitted((args, many)), strict=True):
        compare(function, arguments, expected)


@pytest.mark.slow
def test_most_public_functions_are_tried():
    tried = sum(accepted_arguments(getattr(MODULES[module], name), F32) is not None for module, name in PUBLIC)
    assert tried > 300


@pytest.mark.not_quick
@pytest.mark.parametrize("dtype", [BF16, F16], ids=str)
def test_products_of_polynomials_in_two_bytes(dtype):
    """Sums of products that are rounded on their way: un-jitted and jitted in the same places."""
    numbers = np.random.default_rng(0)
    for n, m in [(1, 1), (2, 5), (5, 7), (8, 8), (30, 3)]:
        for _ in range(10):
            check(jax.numpy.polymul, *(jax.numpy.asarray(numbers.normal(size=k).astype(dtype)) for k in (n, m)))
