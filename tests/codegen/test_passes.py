"""After every pass kernels are well formed and give, run in NumPy, what they gave before it: to the bit.

Over the registry, the golden programs and random programs. Every load and store is proven to lie inside its array, by
ranges or by a solver, and no two iterations of a vectorised or independent loop to meet.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen import test_goldens as golden
from tests.codegen.ir.solver import counterexample
from tests.codegen.test_programs import generated, simplified
from tests.examples import examples
from tests.primitives import domains
from tests.primitives import test_registry as registry
from tinytrace.codegen import memory
from tinytrace.codegen.checking import Checker
from tinytrace.codegen.generate import generate
from tinytrace.codegen.ir import cost
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.ir.nodes import walk
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import For, are_same, expressions, nested
from tinytrace.codegen.ir.verifier import accesses
from tinytrace.codegen.passes import (
    complex_dots,
    crosswise_folds,
    flat_rows,
    half_strips,
    kept_vectors,
    loop_fission,
    loop_threads,
    narrow_gathers,
    near_positions,
    parallel_folds,
    pipeline,
    prefetch,
    quotients,
    repeated_divisors,
    short_sums,
    streaming_stores,
    streams,
    strided_reads,
    strip_places,
    strips,
    threads,
    tiling,
    wider_first,
    woven_rows,
)
from tinytrace.codegen.schedule import column_folds, inner_simd
from tinytrace.codegen.whole import gemm, panels, scatter
from tinytrace.core import kinds
from tinytrace.core.dtypes import BFLOAT16, FLOAT16
from tinytrace.core.numpy_calls import to_numpy
from tinytrace.testing.strategies import programs_with_arguments

f32 = golden.f32


@pytest.fixture
def small(monkeypatch):
    """What pays for large arrays only is done for small ones."""
    for module in (cost, threads, loop_threads, scatter):
        monkeypatch.setattr(module, "WORTH_SPREADING", 20.0)
    for module in (cost, threads):
        monkeypatch.setattr(module, "CHUNK", 5.0)
    for module, name, value in [
        (streaming_stores, "LARGER_THAN_CACHES", 256), (prefetch, "LARGER_THAN_CACHES", 256), (prefetch, "LEAST", 16),
        (prefetch, "LARGER_THAN_SECOND_CACHE", 256), (streams, "LARGER_THAN_SECOND_CACHE", 256), (streams, "PAGE", 32),
        (streaming_stores, "STRIP", 16), (scatter, "STRIP", 8), (scatter, "CHUNKS", 4), (scatter, "USES", 1),
        (scatter, "USES_OF_EXTREMES", 1), (woven_rows, "FEWEST", 4), (woven_rows, "LONGEST", 8),
        (flat_rows, "FEWEST", 4), (flat_rows, "ROWS", 8),
        (crosswise_folds, "ROWS", 8), (crosswise_folds, "SHORT_IN_MEMORY", range(8, 16)),
        (inner_simd, "BLOCK", 16), (column_folds, "GROUP_ROWS", 8), (loop_fission, "LONG_CHAIN", 6),
        (kinds, "SMALL_PRODUCT", 64), (kinds, "SMALL_IN_BATCH", 8), (gemm, "LEAST_GATHERED", 64),
        (panels, "PANEL", 96), (panels, "FEWEST", 4), (panels, "MOST", 8),
        (tiling, "FEWEST", 2), (tiling, "LARGE", 16), (tiling, "LANES", 4),
        (quotients, "FEWEST_REMAINDERS", 2), (half_strips, "FEWEST", 4), (half_strips, "LONGEST", 8),
        (strips, "VECTOR", 2), (half_strips, "REGISTERS", {FLOAT16: 64, BFLOAT16: 4}),
        (narrow_gathers, "FEWEST", 4), (narrow_gathers, "LONGEST", 8), (narrow_gathers, "WORTH", 1),
        (strided_reads, "FEWEST", 4), (strided_reads, "LONGEST", 8), (kept_vectors, "BLOCK", 2),
        (kept_vectors, "VECTOR", 16), (kept_vectors, "TURNS", 2),
        (complex_dots, "FEWEST", 4), (near_positions, "BLOCKS", {1: 16, 2: 16}), (near_positions, "FEWEST", 4),
        (strip_places, "FEWEST", 16), (strip_places, "SHORT", 8), (wider_first, "FEWEST", 16),
        (parallel_folds, "FEWEST", 4), (parallel_folds, "ALIGNED", 1), (repeated_divisors, "FEWEST", 4),
        (short_sums, "BLOCKS", {"bool": 16, "int8": 16, "uint8": 32}), (short_sums, "FEWEST", 4),
    ]:  # fmt: skip
        monkeypatch.setattr(module, name, value)


def checked(function, *args, inputs=None):
    """Compiles a function as far as kernels, every pass held to its word; Returns the checker.

    inputs: the leaves of the arguments, to run the kernels on; None: on some that are drawn.
    """
    closed = simplified(function, *args)
    consts = [to_numpy(x, v.aval) for x, v in zip(closed.consts, closed.jaxpr.constvars, strict=True)]
    checker = Checker(inputs and [*consts, *inputs])
    checker.finish(generate(closed, watch=checker).kernels)
    for claim in checker.unproven:
        assert counterexample(claim) == "", f"not proven: {claim}"
    return checker


def shrunk(spec):
    """Smaller dimensions, equal ones where they were equal."""
    return jax.ShapeDtypeStruct(tuple(d if d <= 64 else 8 + d % 13 for d in spec.shape), spec.dtype)


PROGRAMS = {name: (function, *map(shrunk, args)) for name, (function, *args) in golden.PROGRAMS.items()} | {
    "an empty row": (lambda x: x[:, 1:].sum(), f32(3, 1)),
    "a dot product of complex numbers": (jnp.vdot, *[jax.ShapeDtypeStruct((8,), np.complex64)] * 2),
    "an empty sum": (lambda x: jnp.sin(x).sum(0), f32(5, 0)),
    "a quotient": (lambda x: jnp.repeat(x, 2), f32(9)),
    "across rows": (lambda x: x.T, f32(64, 128)),
    "sums of rows": (lambda x: x.sum(1), f32(18, 32)),
    "sums of short rows": (lambda x: jnp.abs(x).sum(1) + (x * x).sum(1), f32(21, 12)),
    "a loop of rows": (lambda x: jax.lax.map(lambda row: jnp.cumsum(jnp.sin(row)) / row[0], x), f32(5, 40)),
    "a short axis": (lambda x: jnp.exp(x[:, None] * jnp.arange(3.0)), f32(100)),
    "rows of features": (lambda x: jnp.stack([x, jnp.sin(x), jnp.cos(x), jnp.exp(x), x * x], -1), f32(100)),
    "rows of halves": (lambda x, b: x / jnp.sqrt((x * x).sum(1, keepdims=True)) - b,
                       *[jax.ShapeDtypeStruct(shape, np.float16) for shape in ((30, 6), (6,))]),
    "a trace": (lambda x: jnp.trace(x, 1), f32(9, 9)),
    "a divisor": (lambda x, y: x // y[2] + x % y[3], golden.i32(30), golden.i32(5)),
    "powers": (lambda x: jnp.vander(x, 6), golden.i32(100)),
    "a place in chunks": (lambda x: jnp.argmax(x), f32(300_000)),
    "places in rows": (lambda x: jnp.argmin(x, 1), f32(3, 50)),
    "a product of complex numbers": (jnp.prod, jax.ShapeDtypeStruct((200,), np.complex64)),
    "a place among bytes": (lambda x: jnp.argmin(x * 2), jax.ShapeDtypeStruct((50,), np.int8)),
    "a count": (jnp.count_nonzero, jax.ShapeDtypeStruct((50,), np.int8)),
    "sums of bytes": (lambda x: x.sum(1), jax.ShapeDtypeStruct((5, 40), np.uint8)),
    "places among truth values": (lambda x: jnp.argmax(x, 1), jax.ShapeDtypeStruct((5, 16), np.bool_)),
    "a complex dot product": (jnp.vdot, *2 * [jax.ShapeDtypeStruct((50,), np.complex64)]),
    "a kernel for each channel": (lambda x, w: sum(x[:, i:i + 2] * w[i] for i in range(4)), f32(3, 5, 8), f32(4, 8)),
    "a backward reading": (lambda x, i: x[::-1] * i - x, f32(50), jax.ShapeDtypeStruct((50,), np.int8)),
    "bytes that become floats": (lambda x: jnp.log(x) * 2, jax.ShapeDtypeStruct((64,), np.int8)),
    "a narrow gather": (lambda x, i: x[i] * 3 + x * 2 - 1, jax.ShapeDtypeStruct((50,), np.int8), golden.i32(50)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_of_golden_programs(name, small):
    function, *args = PROGRAMS[name]
    checker = checked(function, *args)
    assert checker.runs == checker.programs + 1  # and on the bytes that temporary arrays share


@pytest.mark.parametrize("name", golden.PROGRAMS)
def test_every_access_of_golden_programs_is_proven(name, capsys):
    function, *args = golden.PROGRAMS[name]
    checker = Checker()
    checker.inputs, checker._is_worth_running = [], lambda kernels: False
    kernels = generated(function, *args, watch=checker).kernels
    left = [claim for claim in checker.unproven if counterexample(claim)]
    with capsys.disabled():
        by_solver = len(checker.unproven) - len(left)
        print(f"{name}: {accesses(kernels)} accesses, {by_solver} proven by the solver, {len(left)} left unproven")
    assert left == []


@pytest.mark.parametrize("primitive", domains.tried(), ids=lambda p: p.name)
def test_of_the_registry(primitive):
    samples = domains.samples(primitive.name)
    arguments = [sample.args for sample in samples]

    def function(*args):
        return [registry.bound(primitive, sample, xs) for sample, xs in zip(samples, args, strict=True)]

    assert checked(function, *arguments, inputs=jax.tree.leaves(arguments)).unproven is not None


@pytest.mark.parametrize(("layout", "strides", "groups"), [
    (("NHWC", "HWIO", "NHWC"), (1, 1), 1), (("NCHW", "OIHW", "NCHW"), (2, 1), 1),
    (("HWCN", "OIHW", "NHWC"), (1, 1), 2), (("NHWC", "HWIO", "NCHW"), (1, 2), 4),
])  # fmt: skip
def test_of_convolutions_and_their_gradients(layout, strides, groups, small):
    sizes, kernel = {"N": 2, "C": 4, "H": 5, "W": 4}, {"O": 8, "I": 4 // groups, "H": 3, "W": 2}
    x, w = f32(*(sizes[c] for c in layout[0])), f32(*(kernel[c] for c in layout[1]))

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, strides, ((1, 1), (0, 2)), dimension_numbers=layout,
                                            feature_group_count=groups)

    checked(convolved, x, w)
    checked(jax.grad(lambda x, w: (convolved(x, w) ** 2).sum(), (0, 1)), x, w)


@examples(500, fast=25)
@given(programs_with_arguments(contraction=True))
def test_of_random_programs(case):
    program, arguments = case
    checked(program.function(), *arguments)


def test_all_passes_have_something_to_do(small):
    """The programs above try every pass, so none of them is right for want of work."""
    idle = {change.__name__ for change in pipeline.PASSES}
    for function, *args in PROGRAMS.values():
        last = []

        def watch(name, kernels, last=last):
            if last and not are_same(last[-1], kernels):
                idle.discard(name)
            last.append(kernels)

        generated(function, *args, watch=watch)
    assert idle == set()


# --- planted faults ----------------------------------------------------------------------------------------------

def fault(monkeypatch, name, change):
    """Puts a wrong pass in the place of one."""
    k = next(k for k, known in enumerate(pipeline.PASSES) if known.__name__ == name)
    right = pipeline.PASSES[k]

    def wrong(kernels):
        return change(right(kernels))

    wrong.__name__ = name
    monkeypatch.setattr(pipeline, "PASSES", [*pipeline.PASSES[:k], wrong, *pipeline.PASSES[k + 1:]])


def test_a_pass_that_loses_a_kernel_is_found(monkeypatch):
    fault(monkeypatch, "reuse_temporaries", lambda kernels: kernels[1:])
    with pytest.raises(KernelError, match="after reuse_temporaries"):
        checked(lambda x: jnp.cumsum(x.sum(0)) * x, np.ones((5, 4), np.float32))


def test_quotients_by_the_reciprocal_of_something_else_are_found(monkeypatch):
    def halved(kernels):
        body = kernels[-1].body
        found = {node: node.args[1] for stmt in nested(body) for node in walk(expressions(stmt))
                 if node.op == "apply" and node.args[0].name == "rem_by"}
        assert found
        return [*kernels[:-1], kernels[-1].with_body(Replacement(found).of(body))]

    fault(monkeypatch, "multiply_by_reciprocals", halved)
    with pytest.raises(KernelError, match="after multiply_by_reciprocals"):
        checked(lambda x, y: jax.lax.rem(x, y[0]), np.arange(100), np.array([7, 9]))


def test_a_pass_that_cuts_a_loop_short_is_found(monkeypatch):
    def shorter(kernels):
        loop = kernels[0].body[0]
        assert isinstance(loop, For)
        return [kernels[0].with_body([For(loop.axis, loop.begin, loop.begin, loop.body, loop.simd)]), *kernels[1:]]

    fault(monkeypatch, "split_index_sets", shorter)
    with pytest.raises(KernelError, match="after split_index_sets: element 0"):
        checked(lambda x: x + 1, np.ones(5, np.float32))


@pytest.mark.parametrize("flag", ["simd", "independent"])
def test_a_loop_whose_iterations_meet_and_may_run_side_by_side_is_found(monkeypatch, flag):
    """Interpreted, such a loop gives what it gave: whether two lanes store in one place is a matter of the machine."""
    def side_by_side(kernels):
        return [kernel.with_body([replace(stmt, **{flag: True}) if isinstance(stmt, For) else stmt
                                  for stmt in kernel.body]) for kernel in kernels]

    fault(monkeypatch, "spread_over_threads", side_by_side)
    with pytest.raises(AssertionError, match="not proven: iterations of the loop over i0 meet"):
        checked(lambda x, at: x.at[at].add(1.0), np.ones(5, np.float32), np.array([1, 1, 2]))


def test_arrays_that_share_bytes_too_early_are_found(monkeypatch):
    monkeypatch.setattr(memory.Life, "meets", lambda self, other: False)
    with pytest.raises(KernelError):
        checked(lambda x: (x @ x) @ (x @ x.T), np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32))
