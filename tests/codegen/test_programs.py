"""Random programs make well-formed kernels and C without warnings; special programs give the interpreter's values."""

import re
import subprocess

import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tests.meanings import in_numpy
from tinytrace.codegen.generate import generate
from tinytrace.codegen.ir.verifier import verify
from tinytrace.passes.multiply_add import fuse_multiply_add
from tinytrace.passes.simplify import simplify
from tinytrace.testing.strategies import programs_with_arguments

FLAGS = [
    "-std=gnu11", "-O2", "-ftree-loop-vectorize", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits", "-Wno-tautological-compare", "-fsyntax-only",
    "-x", "c", "-",
]
"""A user may well ask whether an unsigned number is negative, or less than itself: no warnings about comparisons."""


def simplified(function, *args):
    return fuse_multiply_add(simplify(jax.make_jaxpr(function)(*args)))


def generated(function, *args, **options):
    return generate(simplified(function, *args), **options)


def compiles_without_warnings(text):
    result = subprocess.run(["cc", *FLAGS], input=text, capture_output=True, text=True, check=False)
    return result.stderr == ""


def same(function, *args, tolerance=1e-5):
    """Runs a function compiled and equation by equation in NumPy and compares; Returns the compiled results."""
    compiled = jax.tree.leaves(jax.jit(function)(*args))
    for ours, theirs in zip(compiled, in_numpy(function, *args), strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), tolerance, tolerance)
    return compiled


def random(*shape, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape).astype(dtype))


@given(programs_with_arguments(contraction=True))
def test_kernels_of_random_programs_are_well_formed(case):
    program, arguments = case
    verify(generated(program.function(), *arguments).kernels)


@examples(15)
@given(programs_with_arguments(contraction=True))
def test_c_of_random_programs_has_no_warnings(case):
    program, arguments = case
    assert compiles_without_warnings(generated(program.function(), *arguments).source.text)


# --- outputs and inputs of every sort ----------------------------------------------------------------------------

def entry_values(function, *args):
    """Runs the C entry of a program as it is, outputs that are inputs or numbers included; Returns the outputs."""
    from tinytrace.runtime.ladder import load  # noqa: PLC0415

    closed = simplify(jax.make_jaxpr(function)(*args))
    source = generate(closed).source
    inputs = [np.ascontiguousarray(np.asarray(x)) for x in (*closed.consts, *args)]
    padded = [np.concatenate([x.reshape(-1).view(np.uint8), np.zeros(64, np.uint8)]) for x in inputs]
    outputs = [np.zeros(max(a.nbytes, 1) + 64, np.uint8) for a in source.outputs]
    workspace = np.zeros(source.workspace + 64, np.uint8)
    load(source)([x.ctypes.data for x in (*padded, *outputs, workspace)])
    return [out[:a.nbytes].view(a.dtype).reshape(a.shape) for out, a in zip(outputs, source.outputs, strict=True)]


def test_outputs_that_are_inputs_numbers_and_each_other():
    x = np.arange(3, dtype=np.float32)

    def f(x, unused):
        y = x * 2
        return x, y, y, 7.0, x, y.sum(), y.sum()

    got = entry_values(f, x, x)
    for ours, theirs in zip(got, (x, 2 * x, 2 * x, 7, x, 6, 6), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_closed_over_arrays_are_inputs_not_text():
    array = jnp.asarray(np.float32([1.25, 2.5, 3.75]))
    source = generated(lambda x: x + array, np.float32(1)).source
    assert len(source.inputs) == 2
    assert "1.25" not in source.text


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_arrays_without_elements(shape):
    x = jnp.zeros(shape)
    same(lambda x: (x + 1, x.sum(), x.sum(0), jnp.sort(x), x.T @ x if x.ndim == 2 else x), x)


def test_nothing_to_compute():
    assert jax.jit(lambda: ())() == ()
    same(lambda: jnp.arange(4))


# --- comments ----------------------------------------------------------------------------------------------------

def test_nothing_ends_a_comment():
    def evil(x):
        return jax.lax.reduce_precision(x, 8, 7)

    evil.__name__ = "f */ int main; /* \\ ??/"
    text = generated(jax.jit(evil), np.float32(1)).source.text
    assert compiles_without_warnings(text)
    assert "int main" not in re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def test_the_text_does_not_depend_on_where_a_program_was_written():
    first = generated(lambda x: jnp.sin(x) + 1, np.float32(1)).source.text

    def elsewhere(y):
        z = jnp.sin(y)
        return z + 1

    assert generated(elsewhere, np.float32(2)).source.text == first
    assert __file__ not in first


# --- numbers -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("value", [
    0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4028235e38, 1.1, 16777216.0, 1e20, -1e-10,
])
def test_float_literals_are_exact(value):
    x = np.float32(value)
    ours = np.asarray(jax.jit(lambda y: jnp.where(y, x, np.float32(1)))(True))
    assert ours.tobytes() == x.tobytes() or (np.isnan(ours) and np.isnan(x))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_integer_literals_are_exact(dtype):
    info = np.iinfo(dtype)
    for value in (info.min, info.max, 0):
        ours = jax.jit(lambda y, v=value: jnp.where(y, np.dtype(dtype).type(v), np.dtype(dtype).type(1)))(True)
        assert int(ours) == value


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_round_after_each_operation(dtype):
    x = jnp.asarray([1.0, 1024.0, 3.0], dtype)
    ours = same(lambda y: ((y + 0.01) - y, y * y, y.sum(), jnp.cumsum(y)), x, tolerance=0)
    assert all(out.dtype == x.dtype for out in ours)


def test_float16_is_converted_as_numpy_does():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    numbers = every[~np.isnan(every)]
    widened = jax.jit(lambda x: x.astype("float32"))(numbers)
    assert np.asarray(widened).tobytes() == numbers.astype(np.float32).tobytes()
    assert np.isnan(jax.jit(lambda x: x.astype("float32"))(every[np.isnan(every)])).all()
    wide = numbers.astype(np.float32)
    ties = np.concatenate([wide, *(np.nextafter(wide, side) for side in (np.float32(-9e9), np.float32(9e9)))])
    with np.errstate(over="ignore", invalid="ignore"):
        halfway = (wide + np.nextafter(numbers, np.float16(np.inf)).astype(np.float32)) / 2
    drawn = np.random.default_rng(0).integers(0, 1 << 32, 1 << 17, dtype=np.uint32).view(np.float32)
    x = np.concatenate([ties, halfway, np.nextafter(halfway, np.float32(0)), drawn[~np.isnan(drawn)],
                        np.float32([65519.996, 65520, -65520, 2**-25, np.nextafter(np.float32(2**-25), 1)])])
    x = x[~np.isnan(x)]
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    narrow, rounded = jax.jit(lambda x: (x.astype("float16"), x.astype("float16").astype("float32")))(x)
    assert np.asarray(narrow).tobytes() == expected.tobytes()
    assert np.asarray(rounded).tobytes() == expected.astype(np.float32).tobytes()
    assert np.isnan(jax.jit(lambda x: x.astype("float16"))(drawn[np.isnan(drawn)])).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(3, 5, 4), (40, 70, 30), (60, 80, 1)])
def test_products_of_halves_are_added_up_as_float32_and_rounded_once(dtype, shape):
    n, k, m = shape
    a, b = random(n, k).astype(dtype), random(k, m).astype(dtype)
    exact = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
    ours = jax.jit(jnp.matmul)(a, b)
    assert np.asarray(ours).tobytes() == np.asarray(a @ b).tobytes()
    assert np.mean(np.asarray(ours) == exact.astype(ours.dtype)) > 0.99
    preferred = jax.jit(lambda a, b: jnp.matmul(a, b, preferred_element_type="float32"))(a, b)
    np.testing.assert_allclose(preferred, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("types", ["int8 int8", "uint8 uint8", "int8 uint8", "int16 int8", "bool bool", "int16 int16"])
@pytest.mark.parametrize("depth", [70, 1100])
def test_large_products_of_small_integers_are_exact_and_wrap(types, depth):
    def drawn(dtype, shape):
        if dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        info = np.iinfo(dtype)
        return np.where(rng.random(shape) < 0.5, info.min, rng.integers(info.min, info.max, shape)).astype(dtype)

    rng = np.random.default_rng(depth)
    a, b = (drawn(dtype, shape) for dtype, shape in zip(types.split(), ((33, depth), (depth, 20)), strict=True))
    for preferred in (None, "int32") if "bool" not in types else (None,):
        ours = jax.jit(lambda a, b, p=preferred: jax.lax.dot(a, b, preferred_element_type=p))(a, b)
        exact = a.astype(np.int64) @ b.astype(np.int64)
        assert np.array_equal(ours, exact.astype(ours.dtype)), preferred


def test_many_small_products_are_loops():
    for n in (1, 3, 4, 8, 9):
        a, b = random(300, n, n), random(300, n, n)
        same(jnp.matmul, a, b)
        assert "sgemm" not in jax.jit(jnp.matmul).lower(a, b).as_text()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_exact_operations_on_halves_are_not_rounded_again(dtype):
    x = random(1000).astype(dtype)
    exact = same(lambda x: (jnp.maximum(x, -x), jnp.where(x > 0, x, abs(x)), jnp.floor(x), x % x[0]), x, tolerance=0)
    assert all(out.dtype == x.dtype for out in exact)
    text = jax.jit(lambda x: jnp.maximum(jnp.maximum(x, -x) * x, x)).lower(x[:896]).as_text()  # strips without a rest
    assert text.count("tt_round_") == 1


def test_nan_wins_in_maximum_and_argmax_and_signed_zeros_sum():
    x = random(40, 50)
    for place in [(0, 0), (39, 49), (3, 7)]:
        y = x.at[place].set(jnp.nan)
        same(lambda y: (y.max(), y.max(0), y.max(1), y.min(1), y.argmax(0), y.argmin(1), y.argmax()), y)


# --- loops and branches ------------------------------------------------------------------------------------------

def test_scan_slices_reverse_and_stacks():
    x, h = random(7, 3), random(3)

    def step(carry, x):
        new = jnp.tanh(carry + x)
        return new, (new.sum(), carry)

    same(lambda h, x: jax.lax.scan(step, h, x), h, x)
    same(lambda h, x: jax.lax.scan(step, h, x, reverse=True), h, x)


def test_carries_that_exchange_places():
    x = random(5)
    same(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: (c[1], c[0], c[3], c[2]), (x, x + 1, x[0], x[1])), x)


def test_carries_that_stay():
    x = random(5)
    same(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: (c[0], c[1] + c[0]), (x, x * 2)), x)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_the_last_carry_is_in_its_place_whatever_the_parity(count):
    x, w = random(6), random(6, 6)
    same(lambda x, w: jax.lax.fori_loop(0, count, lambda i, c: jnp.tanh(w @ c), x), x, w)
    more, body = lambda c: c[0] < count, lambda w: lambda c: (c[0] + 1, jnp.tanh(w @ c[1]))
    same(lambda x, w: jax.lax.while_loop(more, body(w), (0, x)), x, w)


def test_while_under_vmap_lets_elements_rest():
    x = jnp.arange(6, dtype=jnp.int32)
    same(jax.vmap(lambda n: jax.lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + 1), (n, 0))), x)


def test_branches_with_arrays_and_scalars():
    x = random(4)
    branches = [lambda x: (x.sum(), x), lambda x: (1.0, x * 2), lambda x: (x[0], x + x.max())]
    for k in (-1, 0, 1, 2, 9):
        same(lambda k, x: jax.lax.switch(k, branches, x), jnp.int32(k), x)
    for p in (True, False):
        same(lambda p, x: jax.lax.cond(p, lambda x: x * 2, lambda x: x - 1, x), p, x)


def test_one_body_in_two_loops():
    x = random(4)

    def body(i, c):
        return jnp.sin(c) + i

    same(lambda x: (jax.lax.fori_loop(0, 3, body, x), jax.lax.fori_loop(0, 4, body, x + 1)), x)


# --- updates -----------------------------------------------------------------------------------------------------

def test_updates_in_loops_do_not_copy():
    def fill(x):
        return jax.lax.fori_loop(1, 8, lambda i, x: x.at[i].set(x[i - 1] * 2), x)

    x = random(8, 5)
    same(fill, x)
    text = generated(fill, x).source.text
    assert "_next" not in text


def test_updates_keep_the_order_of_collisions():
    x, index = random(4), jnp.asarray([1, 1, 9, -1, 2])
    updates = random(5)
    same(lambda x, i, u: (x.at[i].set(u), x.at[i].add(u), x.at[i].max(u), x.at[i].mul(u)), x, index, updates)


def test_an_operand_that_is_needed_later_is_not_overwritten():
    x = random(6)

    def f(x):
        y = x * 2
        z = y.at[0].set(1)
        return z.sum() + y.sum(), jnp.where(y > 0, z, y)

    same(f, x)


def test_an_update_that_reads_other_elements_of_its_operand():
    x = random(6)
    same(lambda x: jax.lax.fori_loop(0, 4, lambda i, x: x.at[1:].set(x[:-1]), x), x)
    same(lambda x: jax.lax.fori_loop(0, 4, lambda i, x: x.at[1:-1].add(x[2:] + x[:-2]), x), x)


def test_the_pads_around_a_stencil_are_not_arrays():
    """What they are filled with is a variable, so elements of them cost nothing."""
    def step(i, u):
        p = jnp.pad(u, 1)
        return u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)

    def heat(u):
        return jax.lax.fori_loop(0, 3, step, u)

    x = random(20, 16)
    same(heat, x)
    assert generated(heat, x).source.workspace == x.nbytes  # the other of two places that the loop exchanges


def test_what_is_padded_is_kept_not_the_padded_array():
    def laplacian(u):
        p = jnp.pad(u, 1)
        return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u

    x = random(20, 16)
    same(lambda u: laplacian(laplacian(u)), x)
    assert generated(lambda u: laplacian(laplacian(u)), x).source.workspace == x.nbytes


# --- matrix products ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("spec", [
    "ij,jk->ik", "ji,jk->ik", "ij,kj->ik", "ji,kj->ik", "ij,jk->ki", "bij,bjk->bik", "bij,bkj->bik", "ibj,bjk->bik",
    "ij,j->i", "i,ij->j", "i,i->", "i,j->ij", "ijk,jkl->il", "ij,ij->i",
])
def test_products_of_every_layout(spec):
    """Of small arrays, which are written out, and of larger ones."""
    inputs, _ = spec.split("->")
    pairs = []
    for size in (3, 40):
        sizes = {letter: size + k for k, letter in enumerate("ijklb")} | ({"b": 3} if size > 3 else {})
        pairs.append([random(*(sizes[letter] for letter in part)) for part in inputs.split(",")])
    same(lambda pairs: [jnp.einsum(spec, x, y) for x, y in pairs], pairs, tolerance=1e-4)


def test_products_of_integers_wrap_and_of_views():
    x = jnp.arange(48, dtype=jnp.int8).reshape(6, 8)
    same(lambda x: x @ x.T, x)
    y = random(60, 50)
    same(lambda y: y[5:45, ::2] @ y[20:45, 3:40], y, tolerance=1e-4)
    same(lambda y: jnp.flip(y, 1)[:, :40] @ jnp.broadcast_to(y[0, :30], (40, 30)), y, tolerance=1e-4)


# --- sizes that are not multiples of anything --------------------------------------------------------------------

@pytest.mark.parametrize("shape", [(1, 1), (3, 517), (517, 3), (1025, 513), (2, 3, 4, 5), (7, 1, 9)])
def test_reductions_over_any_axes(shape):
    """Over each group of axes those of an array of its own, in loops of its own."""
    groups = [axes for axes in ((0,), (1,), (0, 1), (-1,), (0, -1)) if len({a % len(shape) for a in axes}) == len(axes)]

    def folds(*xs):
        return [(x.sum(a), x.max(a), (x * x).mean(a), jnp.exp(x).sum(a)) for a, x in zip(groups, xs, strict=True)]

    same(folds, *[random(*shape)] * len(groups), tolerance=1e-3)


def test_results_are_the_same_on_any_number_of_threads():
    from tinytrace._runtime import lib  # noqa: PLC0415

    x = random(1000, 1003)

    def f(x):
        return jnp.exp(x).sum(), x.max(), x.sum(0), (x / x.sum(1, keepdims=True)), jnp.sin(x)

    before = lib.tt_threads()
    results = []
    for threads in (1, 2, 5):
        lib.tt_set_threads(threads)
        results.append([np.asarray(out).tobytes() for out in jax.jit(f)(x)])
    lib.tt_set_threads(before)
    assert results[0] == results[1] == results[2]
