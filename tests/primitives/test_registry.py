"""Laws of every primitive, over the domains that `domains.py` declares: its six statements say the same thing.

A new primitive is tested by standing in the registry; without samples it fails here.
"""

import functools
import importlib
import pkgutil

import numpy as np
import pytest

import tinytrace as jax
from tests.examples import FULL, QUICK
from tests.primitives import domains
from tinytrace.api.exactness import has_one_answer
from tinytrace.config import enable_x64
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import FLOAT0, KeyType, is_complex, is_float, is_inexact
from tinytrace.core.numpy_calls import to_numpy
from tinytrace.core.primitive import Primitive, Refusal, registry
from tinytrace.core.storage import storage_type
from tinytrace.core.trace import interpreting
from tinytrace.primitives.elementwise import Elementwise
from tinytrace.runtime.ladder import stats
from tinytrace.testing import FAULTS

RULES = ("abstract_eval", "impl", "jvp", "transpose", "batch", "lower")
for package in ("primitives", "control_flow", "random"):
    for module in pkgutil.iter_modules(importlib.import_module(f"tinytrace.{package}").__path__):
        importlib.import_module(f"tinytrace.{package}.{module.name}")

OURS = [p for p in registry.values() if type(p).__module__.startswith("tinytrace.")]
over_all = pytest.mark.parametrize("primitive", OURS, ids=lambda p: p.name)
over_tried = pytest.mark.parametrize("primitive", domains.tried(), ids=lambda p: p.name)
every_case = pytest.mark.every_case  # one wrong rule is seen by one case


def has_all_dtypes(primitive):
    """Is it tried with each dtype, float64 too, on many numbers by test_extremes.py? Then not here once more."""
    return isinstance(primitive, Elementwise) and primitive.name not in domains.SHAPED


def by_numpy(law):
    """A law about rules of transformations is not about C: its operations are computed by their meanings in NumPy."""
    @functools.wraps(law)
    def held(primitive):
        with interpreting():
            law(primitive)
    return held


@over_all
def test_each_slot_is_a_rule_or_a_stated_refusal(primitive):
    for rule in RULES:
        stated = getattr(type(primitive), rule)
        assert stated is not getattr(Primitive, rule), f"{primitive} is silent about {rule}: write or refuse(reason) it"
        if isinstance(stated, Refusal):
            with pytest.raises(NotImplementedError, match=primitive.name):
                getattr(primitive, rule)()


@every_case
@over_tried
def test_impl_has_the_type_that_abstract_eval_says(primitive):
    for sample in domains.samples(primitive.name):
        avals = [aval_of(x) for x in sample.args]
        said = listed(primitive, primitive.abstract_eval(*avals, **sample.params))
        with np.errstate(all="ignore"):
            done = listed(primitive, primitive.impl(*map(to_numpy, sample.args, avals), **sample.params))
        for aval, value in zip(said, done, strict=True):
            dtype = storage_type(aval.dtype)
            assert (np.shape(value), np.asarray(value).dtype) == (aval.shape, dtype), sample


FIRST_DECIDES = {"householder_product", "scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min",
                 "scatter-max", "windows"}
EACH_ALONE = {"sort", "sort_with_positions", "device_put", "optimization_barrier"}


@over_tried
def test_one_strong_operand_makes_the_result_strong(primitive):
    """JAX's rule of weak types: a result is weak only if all operands of its dtype are."""
    for sample in domains.samples(primitive.name):
        avals = [aval_of(x) for x in sample.args]
        if {aval.dtype for aval in avals} - {domains.F32, domains.I32}:
            continue
        for k, strong in enumerate(avals[:1] if primitive.name in FIRST_DECIDES else avals):
            mixed = [aval.update(weak_type=j != k) for j, aval in enumerate(avals)]
            outs = listed(primitive, primitive.abstract_eval(*mixed, **sample.params))
            outs = outs[k:k + 1] if primitive.name in EACH_ALONE else outs
            assert not any(out.weak_type for out in outs if out.dtype == strong.dtype), (k, sample)


@every_case
@over_tried
def test_compiled_equals_interpreted(primitive):
    """Most of the time is the compiler's: where that counts, without the narrow dtypes, or one sample alone."""
    samples = compiled_samples(primitive)
    compiled = together(primitive)([sample.args for sample in samples])
    for sample, outs in zip(samples, compiled, strict=True):
        for k, (out, expected) in enumerate(zip(outs, interpreted(primitive, sample), strict=True)):
            tolerance = 0 if primitive.name in domains.MOVES else 4e-6
            assert_close(turned(primitive, k, out), turned(primitive, k, expected), tolerance)


def test_wrong_c_is_seen():
    with FAULTS["wrong C"].planted(), pytest.raises(AssertionError, match="Not equal to tolerance"):
        test_compiled_equals_interpreted(registry["sub"])


@pytest.mark.parametrize("primitive", [p for p in domains.tried() if not has_all_dtypes(p)], ids=lambda p: p.name)
def test_compiled_equals_interpreted_in_float64(primitive):
    pairs = list(smooth_functions(primitive))
    with enable_x64(True):
        compiled = jax.jit(lambda args: [function(*floats) for (function, _), floats in zip(pairs, args, strict=True)])(
            [floats for _, floats in pairs])
        for (function, floats), outs in zip(pairs, compiled, strict=True):
            with interpreting():
                interpreted = function(*floats)
            for k, (out, expected) in enumerate(zip(outs, interpreted, strict=True)):
                assert out.dtype == np.float64
                assert_close(turned(primitive, k, out), turned(primitive, k, expected), 4e-6)


@every_case
@over_tried
@by_numpy
def test_jvp_is_the_derivative_up_to_third_order(primitive):
    for function, floats in smooth_functions(primitive):
        rng = np.random.default_rng(1)
        tangents = [rng.uniform(-1, 1, np.shape(x)) for x in floats]
        for _ in range(3):
            function, lower = along(function, tangents), function
            step = 1e-5
            ahead, behind = ([x + sign * step * t for x, t in zip(floats, tangents, strict=True)] for sign in (1, -1))
            for out, plus, minus in zip(function(*floats), lower(*ahead), lower(*behind), strict=True):
                np.testing.assert_allclose(out, (np.asarray(plus) - np.asarray(minus)) / (2 * step), 2e-4, 2e-5)


@every_case
@over_tried
@by_numpy
def test_vjp_is_the_transpose_of_jvp(primitive):
    for function, floats in smooth_functions(primitive):
        rng = np.random.default_rng(2)
        tangents = [rng.uniform(-1, 1, np.shape(x)) for x in floats]
        outs, pullback = jax.vjp(function, *floats)
        cts = [rng.uniform(-1, 1, np.shape(x)) for x in outs]
        pushed = along(function, tangents)(*floats)
        pulled = pullback(cts)
        forward = sum(float(np.vdot(ct, out)) for ct, out in zip(cts, pushed, strict=True))
        backward = sum(float(np.vdot(t, ct)) for t, ct in zip(tangents, pulled, strict=True))
        assert forward == pytest.approx(backward, 1e-9, 1e-9)


@over_tried
def test_results_do_not_share_the_memory_of_numpy_arguments(primitive):
    """What the caller writes into an array afterwards does not show, neither in a result nor in a later call.

    Un-jitted, what NumPy answers, maybe by a view, is tried on each sample; what a program answers, on two of them.
    For narrower dtypes that differ in nothing else the jitted program does.
    """
    for sample in unjitted(primitive):
        keeps_no_argument(lambda lists, sample=sample: bound(primitive, sample, *lists), [sample])
    program, samples = together(primitive), compiled_samples(primitive)
    assert keeps_no_argument(program, samples) == keeps_no_argument(program, samples)


def keeps_no_argument(function, samples):
    """Its results' bytes, which stay when its arguments change."""
    lists = [[x.copy() if isinstance(x, np.ndarray) else x for x in sample.args] for sample in samples]
    mine = [x for args in lists for x in args if isinstance(x, np.ndarray) and x.size and x.ndim]
    outs = jax.tree.leaves(function(lists))
    before = [bits(out) for out in outs]
    for x in mine:
        x.view(np.uint8)[...] ^= 1
    assert [bits(out) for out in outs] == before, samples
    return before


@over_tried
@by_numpy
def test_vmap_is_a_stack_of_calls(primitive):
    if isinstance(type(primitive).batch, Refusal):
        return
    for sample in thinned(primitive):
        if not domains.batch_is_a_stack(primitive.name, sample):
            continue
        stacks = [variations(x) if sample.mixed else [x, x * 2, x * 3] for x in sample.args]
        mapped = [(k,) for k in range(len(sample.args))] + [tuple(range(len(sample.args)))] * (len(sample.args) > 1)
        for which in mapped:
            rank = min(np.ndim(sample.args[k]) for k in which)
            for axis in range(rank + 1):
                dims = [axis if k in which else None for k in range(len(sample.args))]
                args = [stacked(stacks[k], axis) if k in which else x for k, x in enumerate(sample.args)]
                outs = jax.vmap(functools.partial(listed_call, primitive, sample), dims)(*args)
                calls = [bound(primitive, sample, [stacks[k][n] if k in which else x
                                                   for k, x in enumerate(sample.args)]) for n in range(3)]
                for out, parts in zip(outs, zip(*calls, strict=True), strict=True):
                    tolerance = 0 if primitive.name in domains.MOVES else 2e-6
                    assert_close(meaning(primitive, out), meaning(primitive, stacked(parts, 0)), tolerance)


# --- how a primitive is called -----------------------------------------------------------------------------------

def listed(primitive, outs):
    return list(outs) if primitive.multiple_results else [outs]


def compiled_samples(primitive):
    if FULL and not has_all_dtypes(primitive):
        return domains.samples(primitive.name)
    return list(thinned(primitive))[:1 if QUICK else None]


def together(primitive):
    """All of these samples as one program: laws that ask for the same one share what was compiled."""
    samples = compiled_samples(primitive)
    return jax.jit(lambda lists: [bound(primitive, sample, xs) for sample, xs in zip(samples, lists, strict=True)])


def bound(primitive, sample, args):
    return listed(primitive, primitive.bind(*args, **sample.params))


def interpreted(primitive, sample):
    """The results by the primitive's meaning in NumPy: un-jitted it would run the very C that is to be tested."""
    before = stats.compiles + stats.disk_hits + stats.memory_hits
    with interpreting():
        outs = bound(primitive, sample, sample.args)
    assert stats.compiles + stats.disk_hits + stats.memory_hits == before
    return outs


def listed_call(primitive, sample, *args):
    return bound(primitive, sample, args)


def meaning(primitive, out):
    """The part of a result that means something."""
    return np.tril(out) if primitive.name == "cholesky" else out


VECTORS = {("eigh", 0): -2, ("eig", 1): -2, ("eig", 2): -2, ("svd", 1): -2, ("svd", 2): -1}
"""Along which axis vectors lie, in results that consist of them."""


def turned(primitive, k, out):
    """Result number `k`; of vectors that are known up to a factor of size 1 those with a positive largest element.

    Two LAPACKs round differently, and then choose other factors.
    """
    if primitive.name == "schur":  # eigenvalues have no order, which test_lapack.py knows
        x = np.asarray(out)
        return np.sort(np.diagonal(x, axis1=-2, axis2=-1)) if k == 0 else x.conj().mT @ x
    axis = VECTORS.get((primitive.name, k))
    if axis is None:
        return out
    vectors = np.asarray(out)
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis, keepdims=True), axis)
    return vectors * (largest.conj() / np.abs(largest)).astype(vectors.dtype)


def along(function, tangents):
    """The derivative of `function` in the direction of `tangents`."""
    return lambda *xs: jax.jvp(function, xs, tuple(tangents))[1]


def smooth_functions(primitive):
    """The primitive as a function of its float operands, in float64, with float results."""
    if primitive.name in domains.NO_TANGENT | domains.TANGENT_BY_CONVENTION or isinstance(type(primitive).jvp, Refusal):
        return
    with enable_x64(True):
        for sample in thinned(primitive):
            floats = [k for k, x in enumerate(sample.args) if aval_of(x).dtype in (np.float32, np.float64)]
            where = [k for k in floats if k not in domains.HELD.get(primitive.name, ())]
            if not sample.smooth or not where:
                continue
            args = [np.asarray(x, np.float64) if k in floats else x for k, x in enumerate(sample.args)]
            with interpreting():  # only their types are wanted: that needs no compiler
                outs = bound(primitive, sample, args)
            kept = [k for k, out in enumerate(outs) if is_float(out.dtype)]
            if not kept:
                continue

            def function(*floats, args=args, where=where, kept=kept, sample=sample):
                filled = list(args)
                for k, x in zip(where, floats, strict=True):
                    filled[k] = x
                outs = bound(primitive, sample, filled)
                return [outs[k] for k in kept]

            yield function, [args[k] for k in where]


def thinned(primitive, samples=None):
    """The samples without those that differ from another in nothing but a narrower dtype."""
    seen = set()
    for sample in samples or domains.samples(primitive.name):
        key = tuple((np.shape(x), "f" if is_float(aval_of(x).dtype) else "i") for x in sample.args), repr(sample.params)
        if key not in seen:
            seen.add(key)
            yield sample


def unjitted(primitive, samples=None):
    """The samples, thinned, on which a primitive is tried un-jitted; two of those where that is a run of a compiler.

    All of these programs are called in one way; how NumPy is asked depends on the sample.
    """
    programs = 0
    for sample in thinned(primitive, samples):
        traced = jax.make_jaxpr(functools.partial(bound, primitive, sample))(sample.args)
        compiled = not has_one_answer(traced.jaxpr)
        programs += compiled
        if not compiled or programs <= 2:
            yield sample


def variations(x):
    """Three arguments like `x`, made of the same elements where it has several."""
    if isinstance(aval_of(x).dtype, KeyType):
        return [x] * 3
    x = np.asarray(x)
    if x.ndim == 0:
        return [x, x, x] if x.dtype == bool else [x, x + x.dtype.type(1), x * x.dtype.type(1)]
    return [np.roll(x.reshape(-1), n).reshape(x.shape) for n in range(3)]


def stacked(xs, axis):
    if isinstance(aval_of(xs[0]).dtype, KeyType):
        return jax.numpy.stack(xs, axis)
    return np.stack([np.asarray(x) for x in xs], axis)


def bits(out):
    """The bytes of an array."""
    return np.asarray(jax.random.key_data(out) if isinstance(aval_of(out).dtype, KeyType) else out).tobytes()


def assert_close(out, expected, tolerance):
    if isinstance(aval_of(out).dtype, KeyType):
        out, expected = jax.random.key_data(out), jax.random.key_data(expected)
    out, expected = np.asarray(out), np.asarray(expected)
    assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
    if is_complex(out.dtype) and tolerance:
        for part, wanted in ((out.real, expected.real), (out.imag, expected.imag)):
            assert_close(part, wanted, 10 * tolerance)
    elif is_inexact(out.dtype):
        if not tolerance:
            assert out.tobytes() == expected.tobytes(), (out, expected)
            return
        tolerance = {2: 2e-2, 4: tolerance, 8: 1e-12}[out.dtype.itemsize]
        np.testing.assert_allclose(out.astype(np.float64), expected.astype(np.float64), tolerance, tolerance)
    elif out.dtype != FLOAT0:
        np.testing.assert_array_equal(out, expected)
