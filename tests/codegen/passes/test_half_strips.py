"""Loops over float16 that are cut into strips, each rounded as a whole, give the bits that one loop gives."""
import functools
import platform
import re
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import half_phases, half_strips
from tinytrace.runtime.flags import own_flags

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
X = np.random.default_rng(0).standard_normal(3000).astype(np.float16)
SQUARE = np.random.default_rng(1).standard_normal((7, 1500)).astype(np.float16)


def long_chain(x):
    for k in range(40):
        x = x * 1.5 - k
    return x


def many_values(x):
    values = [x * k for k in range(1, 40)]
    return sum(values) * values[0]


@jax.vmap
def counted_by_each(x):
    def step(state):
        k, y, z = state
        return k + 1, (y + k) / (x * x + 1), z * y + (k + 1).astype(x.dtype)

    return jax.lax.while_loop(lambda state: (state[0] < 9) & (jnp.abs(state[1]) < 2), step, (1, x, x))


def counted_twice(x):
    """A counter that is read behind a rounding and in front of one."""
    k = jnp.arange(x.size, dtype=np.int32)
    return jax.lax.fori_loop(0, 4, lambda _, s: (s[0] + 1, (s[1] * s[0] + s[0]) * x), (k, x))


bits_of = functools.partial(jax.lax.bitcast_convert_type, new_dtype=np.int16)
of_bits = functools.partial(jax.lax.bitcast_convert_type, new_dtype=np.float16)

PROGRAMS = {
    "tiles in blocks": (lambda x: x.T + x.T, np.tile(X[:33 * 64], 8).reshape(512, 33)),
    "every number": (lambda x: jnp.maximum(x * 2 + 1, x) * x - x, EVERY),
    "every number beside its neighbour": (lambda x: x[1:] * x[:-1] + x[1:], EVERY),
    "twice and a little": (lambda x: [y := x * 2, (y + 16) * x, (x * 2 - 16) * x, (16 - x * 2) * x], EVERY),
    "four times and twice": (lambda x: (x * 4 + 1, x * 2 + 17, x * 2 - x, (x * -2 + 1) * (x * 2)), EVERY),
    "exact operations": (lambda x: (-x, jnp.abs(x), jnp.maximum(x, 1), x > 0), EVERY),
    "a rest": (lambda x: (x + 1) * x, X[:2999]),
    "results that are used": (lambda x: [y := x * x, z := y + x, z * y - x, z], X),
    "two types": (lambda x: jnp.exp(x.astype(np.float32) / 3).astype(np.float16) * x + 1, X),
    "a dear value twice": (lambda x: [y := jnp.exp(x.astype(np.float32)), y.astype(np.float16) * x, y * 2], X),
    "comparisons": (lambda x: (jnp.isclose(x, x[::-1]), jnp.where(x * x > 1, -x, x + 1), jnp.heaviside(x, x)), EVERY),
    "short functions": (lambda x: (jnp.floor(x) * 2, jnp.sqrt(jnp.abs(x)), jnp.sign(x), jnp.round(x) / x), EVERY),
    "folds in any order": (lambda x: ((x * 2 > x).all(), (x * x == x).any(), (x > 1).sum(), x > 2), EVERY),
    "choices": (lambda x: jnp.where(x > 0, x * x, x + 1) * x, X),
    "functions": (lambda x: jnp.tanh(x) * jnp.exp(-x * x), EVERY),
    "backwards": (lambda x: x[::-1] * x + 1, X),
    "moved backwards": (lambda x: (x[::-1], x.sum(), x * 2), X),
    "moved from a table": (lambda x: (x[::3], x[:1000].sum(), x[1:1001] * 2), X),
    "strides": (lambda x: x[::3] * x[:1000] + 1, X),
    "a padded edge": (lambda x: jnp.pad(x, 3) * 2, X),
    "between edges": (jnp.gradient, EVERY),
    "between others": (lambda x: jnp.concatenate([x * x, (x[:-2] + x[2:]) * x[1:-1], x + 1]), X),
    "rows": (lambda x: x * x[0] + x[:, :1], SQUARE),
    "transposed": (lambda x: x.T * x.T + 1, SQUARE),
    "a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * x + i, x), X),
    "bits": (lambda x: (jnp.frexp(x), bits_of(x * x) + bits_of(x), of_bits(bits_of(x + x) | 1) * x), EVERY),
    "quotients by numbers": (lambda x: (x / 3, x / -7 + x, x / 1000, x / 0.1 / 0.3, x / 1e-6, jnp.log10(x)), EVERY),
    "next ones": (lambda x: (jnp.spacing(x), jnp.nextafter(x, x[::-1]) - x, jnp.nextafter(x, x * 2) + 1), EVERY),
    "points": (lambda x: jnp.cross(x.reshape(-1, 3), x[::-1].reshape(-1, 3)), X),
    "counters": (counted_by_each, X),
    "counters that are read late": (counted_twice, X),
    "a scan": (lambda x: jax.lax.scan(lambda c, y: (c * y + y, c - y), x[0], x), SQUARE),
    "a gradient": (jax.grad(lambda x: (jnp.tanh(x * x) * x).sum()), X),
    "a product of matrices": (lambda x: jax.nn.relu(x @ x.T + 1) * 2, SQUARE[:, :200]),
    "a long chain": (long_chain, X),
    "many values": (many_values, X),
    "bfloat16": (lambda x: (x.astype(jnp.bfloat16) * 3 + 1, x * 3 + 1), X),
}

FOLDS = {
    "sums of rows": (lambda x: (x * x).sum(1), SQUARE),
    "sums of columns": (lambda x: (x * x).sum(0), SQUARE),
    "greatest": (lambda x: (x * x + 1).max(1), SQUARE),
    "softmax": (lambda x: jax.nn.softmax(x), SQUARE),
    "a sum": (lambda x: (x * x + 1).sum(), X),
    "a running sum": (lambda x: jnp.cumsum(x * x), X),
    "mean and deviation": (lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), SQUARE),
}


def bits(function, x):
    """The results as bytes; a NaN is a NaN, whatever its sign."""
    jax.clear_caches()
    leaves = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(jax.jit(lambda x: function(x))(x))]
    with np.errstate(invalid="ignore"):
        return [np.where(leaf == leaf, leaf, np.nan).astype(leaf.dtype).tobytes() for leaf in leaves]


@pytest.mark.parametrize("name", PROGRAMS)
def test_strips_give_the_bits_of_one_loop(name, monkeypatch):
    function, x = PROGRAMS[name]
    in_strips = bits(function, x)
    monkeypatch.setattr(half_strips, "FEWEST", sys.maxsize)
    assert bits(function, x) == in_strips
    jax.clear_caches()


@pytest.mark.parametrize("name", FOLDS)
def test_folds_over_strips_are_as_good(name, monkeypatch):
    """How many lanes a compiler gives a loop, and so the order of a sum, depends on what else is in it."""
    function, x = FOLDS[name]
    jax.clear_caches()
    in_strips = np.asarray(jax.jit(lambda x: function(x))(x), np.float32)
    monkeypatch.setattr(half_strips, "FEWEST", sys.maxsize)
    jax.clear_caches()
    in_one_loop = np.asarray(jax.jit(lambda x: function(x))(x), np.float32)
    np.testing.assert_allclose(in_one_loop, in_strips, rtol=2e-3, atol=1e-3)
    jax.clear_caches()


def text_of(function, *shapes, dtype=np.float16):
    return jax.jit(function).lower(*[jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]).as_text()


def test_what_is_cut():
    def calls(*args, **kwargs):
        text = text_of(*args, **kwargs)
        return [text.count(f"{name}(") for name in ("tt_widen_f16", "tt_round_strip_f16", "tt_narrow_f16")]

    assert calls(lambda x, y: x * y + x, (1024,), (1024,)) == [2, 1, 1]
    assert calls(lambda x, y: x * y + x, (1000,), (1000,)) == [4, 2, 2]  # 15 strips in registers, and a rest
    assert calls(lambda x, y: x * y > x, (1000,), (1000,)) == [4, 2, 0]
    assert calls(lambda x, y: (x * y > x).all(), (5000,), (5000,)) == [4, 2, 0]
    assert calls(lambda x: jnp.floor(x) * 3, (1000,)) == [2, 0, 2]
    assert calls(lambda x, y: jnp.exp(x) * y, (1000,), (1000,)) == [2, 1, 1]
    assert calls(lambda x: -x, (1000,)) == [0, 0, 0]
    assert calls(lambda x: x + 0, (1024,)) == [1, 0, 1]
    assert calls(lambda x: x.sum(), (1000,)) == [1, 0, 0]
    assert calls(lambda x: x + 1, (30,)) == [0, 0, 0]
    assert calls(lambda x: jnp.exp(x) * 3, (100,)) == [1, 1, 1]  # a row of a network
    assert calls(lambda x: x.astype(np.float32), (1000,)) == [0, 0, 0]
    assert calls(lambda x: x.astype(np.float16), (1024,), dtype=np.float32) == [0, 0, 1]
    assert calls(lambda x: x.astype(np.float16), (1024,), dtype=np.int8) == [0, 0, 1]
    assert calls(lambda x: jnp.arange(1024, dtype=np.float16), (3,)) == [0, 0, 1]
    assert calls(lambda x: jnp.exp(x) + 1, (1000,), dtype=jnp.bfloat16) == [0, 0, 0]


def test_products_by_powers_of_two_are_rounded_with_the_sum():
    def roundings(function):
        return text_of(function, (1024,)).count("tt_round_strip_f16(")

    assert roundings(lambda x: (x * 2 + 1) * x) == 1
    assert roundings(lambda x: (x * 2 - 16) * x) == 1
    assert roundings(lambda x: (x * 2 - 17) * x) == 2
    assert roundings(lambda x: (x * 3 + 1) * x) == 2
    assert roundings(lambda x: (x * 0.5 + 1) * x) == 2
    assert roundings(lambda x: (x * 2 + x) * x) == 2


def test_what_is_chosen_and_narrowed_is_not_rounded_before():
    def roundings(function):
        return text_of(function, (1024,)).count("tt_round_strip_f16(")

    assert roundings(lambda x: jnp.where(x > 0, x, x * 0.3)) == 0
    assert roundings(lambda x: jnp.where(x > 1, x * 3, jnp.where(x < -1, x + 0.7, x * x))) == 0
    assert roundings(lambda x: jnp.where(x * 0.3 > 1, x, x * 0.3)) == 1
    assert roundings(lambda x: jnp.where(x > 0, x, x * 0.3) * x) == 1
    assert roundings(lambda x: jnp.maximum(x * 0.3, x)) == 1


def test_too_large_a_sum_is_found(monkeypatch):
    """A planted fault: 65536, which is infinite, and -100 are 65436 where the product is not rounded.

    tanh keeps the loop in strips where the CPU computes with float16."""
    def bits_now():
        return bits(lambda x: jnp.tanh(32736 - (x * 2 - 100) * 0.5), EVERY)

    right = bits_now()
    monkeypatch.setattr(half_phases, "UNSEEN", 100)
    assert bits_now() != right
    jax.clear_caches()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint32, np.int16, np.uint8, np.bool_])
def test_numbers_become_the_float16_that_is_next(dtype):
    """Halfway between two as well, and a little above and below."""
    x = np.concatenate([EVERY[EVERY == EVERY].astype(np.float64) * k for k in (1, 1 + 2.0 ** -11, 1 + 2.0 ** -30)])
    with np.errstate(all="ignore"), jax.enable_x64(True):
        x = np.where(abs(x) < 2.0 ** 31, x, 0).astype(dtype)
        got = np.asarray(jax.jit(lambda x: x.astype(np.float16))(x))
        np.testing.assert_array_equal(got, x.astype(np.float16))


def test_a_counter_of_each_element_may_be_where_its_loop_reads_it():
    text = text_of(counted_by_each, (992,))  # two strips and no rest
    assert text.count("tt_round_f16(") == 0
    assert text.count("tt_round_strip_f16(") > 2


def test_what_is_stored_side_by_side_is_rounded_in_strips():
    """A short axis that has been written out leaves a loop without vectors of its own."""
    text = text_of(jnp.cross, (992, 3), (992, 3))
    assert text.count("tt_round_strip_f16(") >= 6
    assert text_of(lambda x, y: jnp.stack([x * y, x + y, x - y], 1), (992,), (992,)).count("tt_round_f16(") == 0


def test_what_is_cut_may_begin_anywhere():
    text = jax.jit(jnp.gradient).lower(X).as_text()
    assert "tt_widen_f16(a_strip, (a + (992 * i0_strip + 64 * i0_block + 2)), 64);" in text


def test_strips_that_are_read_no_more_are_used_again():
    text = text_of(lambda x: ((((x + 1) * 2 + 1) * 3 + 1) * 5 + 1) * 7, (1000,))
    assert text.count("_strip[64];") == 2


def test_strips_of_several_kernels_have_names_of_their_own():
    text = text_of(lambda x: (x * x.sum() + 1) * (x * x).max(), (1000,))
    names = re.findall(r"float (\w+)\[\d+\];", text)
    assert len(names) > 3
    assert len(set(names)) == len(names)
    same = np.asarray(jax.jit(lambda x: (x * x.sum() + 1) * (x * x).max())(X[:1000]))
    assert np.isfinite(same).all()


def test_the_heading_says_what_the_loop_was():
    assert "/* loop over 5000: reads 10.0 kB, writes 10.0 kB, 10.0 kflop" in text_of(lambda x: x * 3 + 1, (5000,))


def test_what_a_cpu_with_float16_computes_itself():
    def ways(function, *shapes):
        return text_of(function, *shapes).count("#ifdef __AVX512FP16__")

    assert ways(lambda x, y: jnp.maximum(x * y + x, y) / y, (1000,), (1000,)) == 1
    assert ways(lambda x, y: x * y[3], (1000,), (1000,)) == 1
    text = text_of(lambda x, y: (x * y + x) / y, (1000,), (1000,))
    assert "float" not in text[text.index("#ifdef __AVX512FP16__"):text.index("#else")].lower().replace("_float16", "")
    assert not ways(lambda x: jnp.tanh(x) + 1, (1000,))  # a function of floats
    assert not ways(jnp.isfinite, (1000,))  # one whose results are truth values
    assert not ways(lambda x: (x * x).sum(), (1000,))  # floats are added
    assert not ways(lambda x: (x * 2, x.astype(np.float32)), (1000,))
    assert ways(lambda x: x + 1, (100,)) == 1  # too short for strips
    assert not ways(lambda x: x + 1, (10,))
    assert ways(lambda x, y: jnp.where(x < y, -x, abs(y) * 2), (1000,), (1000,)) == 1
    assert ways(lambda x, y: jnp.isclose(x, y), (1000,), (1000,)) == 1
    assert ways(lambda x, y: (x * y > y).sum(), (1000,), (1000,)) == 1  # truth values are counted
    assert ways(lambda x, y: (x > y).all(), (3000,), (3000,)) == 1  # folds in any order
    assert not ways(lambda x, y: jnp.where(x < y, jnp.sign(x), y), (1000,), (1000,))


def test_numbers_become_float16_before_a_loop():
    text = text_of(lambda x, y: x * y[3] + y[5], (1000,), (1000,))
    own = text[text.index("#ifdef __AVX512FP16__"):text.index("#else")]
    assert len(re.findall(r"const _Float16 \w+_own\w* = ", own)) == 2
    assert "(_Float16)" not in own[own.index("for ("):]


@pytest.mark.skipif(not shutil.which("gcc") or platform.machine() != "x86_64", reason="these are vectors of x86")
@pytest.mark.parametrize("function", [
    lambda x, y: x * y[3] + y[5], lambda x, y: jnp.where(x < y, -x, abs(y) * 2), jnp.isclose,
    lambda x, y: jax.lax.fori_loop(0, 5, lambda i, z: z * x + y[i], x), lambda x, y: (x > y).all(),
    lambda x, y: (x[:672].reshape(7, 96) - y[:7, None]) * x[:96],
])
def test_compilers_make_vectors_of_float16(function):
    text = jax.jit(function).lower(X[:1008], X[1008:2016]).as_text(full=True)
    identity = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    argv = ["gcc", *own_flags(f"{identity}, x86_64"), "-march=sapphirerapids", "-S", "-x", "c", "-", "-o", "-"]
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if "sapphirerapids" in done.stderr:
        pytest.skip("this gcc knows no CPU that computes with float16")
    assert re.search(r"\bv(mul|add|sub|cmp|fmadd\d+)ph\b.*%[yz]mm", done.stdout)
    assert not re.search(r"\bv(mul|add|sub|u?comi|fmadd\d+)sh\b", done.stdout)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
def test_each_operation_on_neighbours_has_the_bits_of_numpy(sign):
    x = np.concatenate([EVERY, EVERY[::-1], EVERY[::257].repeat(300)])
    y = np.roll(x, 12_345)
    got = np.asarray(jax.jit(lambda x, y: eval(f"(x {sign} y) {sign} x"))(x, y))
    with np.errstate(all="ignore"):
        expected = eval(f"(x {sign} y) {sign} x")
    np.testing.assert_array_equal(got, expected)
    is_number = expected == expected
    np.testing.assert_array_equal(np.signbit(got[is_number]), np.signbit(expected[is_number]))


BRAIN = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
PARTNERS = [np.roll(BRAIN, 1), np.roll(BRAIN[::-1], 12_345), (BRAIN.view(np.uint16) ^ 0x8085).view(BRAIN.dtype),
            np.where(np.arange(1 << 16) % 2, 0x7F7F, 0xFF7F).astype(np.uint16).view(BRAIN.dtype)]
"""Neighbours, others, numbers of nearly the same size, and the largest there are."""
OF_BRAIN = {
    "the bench's chain": lambda x, y: jnp.maximum(x * 2 + 1, x) * x - x,
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
    "choices": lambda x, y: [jnp.maximum(x, y), jnp.minimum(x, y), jnp.maximum(x * y, y) - jnp.minimum(x, 0)],
    "powers of two": lambda x, y: [x * 2, x * 0.5 + y, -4 * (x * y), (x * 2 - 100) * 0.5],
    "signs": lambda x, y: [-(x + y), jnp.abs(x * y) - x, -jnp.abs(x - y) * y],
    "several": lambda x, y: [z := x * y + x, w := z / y - x, z * w],
}
OF_PLACES = {
    "with a number of its own": lambda x, y: x * y[3] + x[5],
    "shifted": lambda x, y: x[1:] * y[:-1] + x[:-1],
    "a rest": lambda x, y: x[:1000] * y[7:1007] + 1,
    "shorter": lambda x, y: x[16256:16456] * y[:200] + 1,
    "backwards": lambda x, y: x[::-1] * y + 1,
    "at places": lambda x, y: x[::2] * y[1::2] + y[::2],
    "at computed places": lambda x, y: x[jnp.arange(1 << 15) ^ 1] * y[jnp.arange(1 << 15) ^ 3] + y[:1 << 15],
    "rows": lambda x, y: x.reshape(64, -1) * y[:64, None] + y[:1024],
    "a counter": lambda x, y: x * y + jnp.arange(1 << 16).astype(x.dtype),
    "beside floats": lambda x, y: (x * y + 1, x.astype(np.float32) * 3),
    "a choice between": lambda x, y: jnp.where(x > y, x * y, x + 1) * y,
    "functions": lambda x, y: jnp.sqrt(x * x + 1) * jnp.tanh(y),
    "folds": lambda x, y: ((x * y + 1).reshape(64, -1).max(1), x * y),
    "in its place": lambda x, y: jax.lax.fori_loop(0, 3, lambda i, z: z * y + x, x),
}


@pytest.mark.parametrize("name", [*OF_BRAIN, *OF_PLACES])
def test_strips_of_bfloat16_give_the_bits_of_one_loop(name, monkeypatch):
    function = (OF_BRAIN | OF_PLACES)[name]

    def all_bits():
        return [bits(lambda both: function(*both), (BRAIN, partner)) for partner in PARTNERS]

    in_strips = all_bits()
    monkeypatch.setattr(half_strips, "FEWEST", sys.maxsize)
    assert all_bits() == in_strips
    jax.clear_caches()


@pytest.mark.parametrize("name", OF_BRAIN)
def test_a_nan_keeps_its_bits_in_strips(name, monkeypatch):
    """One alone: which one of two goes on, compilers decide."""
    def words():
        jax.clear_caches()
        function = jax.jit(lambda x, y: OF_BRAIN[name](x, y))
        partners = [np.where(y.view(np.uint16) & 0x7FFF > 0x7F80, np.ones_like(y), y) for y in PARTNERS]
        results = [function(*both) for y in partners for both in [(BRAIN, y), (y, BRAIN)]]
        return [np.asarray(leaf).tobytes() for leaf in jax.tree_util.tree_leaves(results)]

    in_strips = words()
    monkeypatch.setattr(half_strips, "FEWEST", sys.maxsize)
    assert words() == in_strips
    jax.clear_caches()


def test_which_loops_over_bfloat16_are_cut():
    def cut(function, *shapes):
        text = text_of(function, *shapes, dtype=jnp.bfloat16)
        return [text.count(f"{name}(") for name in ("tt_widen_bf16", "tt_round_strip_bf16", "tt_narrow_bf16")]

    assert cut(lambda x, y: x * y + x, (1024,), (1024,)) == [2, 1, 1]
    assert cut(lambda x, y: x * y + x, (1000,), (1000,)) == [2, 1, 1]  # and a loop over what is left
    assert cut(lambda x: (x * 2 + 1) * x, (1024,)) == [1, 1, 1]  # twice a bfloat16 is one
    assert cut(lambda x, y: x * y[3] + 1, (1024,), (1024,)) == [1, 1, 1]
    assert not any(cut(lambda x: -x, (1024,)))
    assert not any(cut(lambda x: x + 1, (100,)))
    for function in (lambda x: x[::-1] * x + 1, lambda x: x + jnp.arange(1024).astype(x.dtype),
                     lambda x: jnp.tanh(x) + 1, lambda x: (x * x).sum(), lambda x: (x + 1).astype(np.float32),
                     lambda x: jnp.where(x > 0, x + 1, x)):
        assert not any(cut(function, (1024,)))


def test_strips_of_bfloat16_are_registers():
    def is_unrolled(function, dtype):
        return "peel-loops" in jax.jit(function).lower(jax.ShapeDtypeStruct((1024,), dtype)).compile().as_text()

    assert is_unrolled(lambda x: x * 3 + 1, jnp.bfloat16)
    assert not is_unrolled(lambda x: jnp.tanh(x) + 1, jnp.bfloat16)


def test_strips_of_strips_have_names_of_their_own():
    """What lies at computed places is read a strip at a time; what is read is computed in strips again."""
    text = text_of(OF_PLACES["at computed places"], (1 << 16,), (1 << 16,), dtype=jnp.bfloat16)
    loops = re.findall(r"for \(int64_t (\w+_strip\w*) = 0;", text)
    assert len(loops) == len(set(loops)) == 2
