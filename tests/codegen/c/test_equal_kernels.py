"""Kernels that differ in their arrays alone are one C function."""
import re

import numpy as np
import pytest
from hypothesis import given, settings

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace.codegen.c import equal_kernels, translation_unit
from tinytrace.codegen.ir.nodes import axis, number
from tinytrace.codegen.ir.statements import For
from tinytrace.records import replace
from tinytrace.testing.strategies import programs_with_arguments


def layers(count, size=64, gradient=jax.grad):
    """A network of equal layers with the gradient of its parameters, and arguments for it."""
    numbers = np.random.default_rng(0)
    parameters = [(jnp.asarray(numbers.standard_normal((size, size)).astype(np.float32) / 9), jnp.ones(size))
                  for _ in range(count)]

    def loss(parameters, x):
        for w, b in parameters:
            x = jnp.tanh(x @ w + b)
        return jnp.sum(x ** 2)

    return gradient(loss), (parameters, jnp.asarray(numbers.standard_normal((32, size)).astype(np.float32)))


def functions(lowered):
    """The names of the functions that a program defines."""
    return set(re.findall(r"^(?!.*;$).*void (tt_kernel_\d+)\(", lowered.as_text(full=True), re.MULTILINE))


def loops(lowered):
    return lowered.as_text().count("for (")


def test_deeper_networks_have_no_more_loops():
    few, many = (jax.jit(f).lower(*args) for f, args in map(layers, (10, 20)))
    assert functions(many) == functions(few) != set()
    assert loops(many) == loops(few)


def test_bits_are_those_of_kernels_apart(monkeypatch):
    function, args = layers(8)
    together = jax.jit(function)(*args)
    monkeypatch.setattr(equal_kernels, "FEWEST", 1000)
    monkeypatch.setattr(equal_kernels, "MANY", 1000)
    jax.clear_caches()
    apart = jax.jit(lambda *args: function(*args))(*args)
    for x, y in zip(jax.tree.leaves(together), jax.tree.leaves(apart), strict=True):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def test_a_function_gives_the_variable_that_others_read():
    """A sum of squares is a number that ends in no array: the next kernels read it."""
    def program(xs):
        lengths = [jnp.sqrt(jnp.sum(x * x)) for x in xs]
        return [x / (length + 1) for x, length in zip(xs, lengths, strict=True)]
    xs = [jnp.arange(5.0 + k, 12.0 + k) for k in range(4)]
    lowered = jax.jit(program).lower(xs)
    assert re.search(r"static float (tt_kernel_\d)\(", lowered.as_text())
    for mine, wanted in zip(jax.jit(program)(xs), in_numpy(program, xs), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-6)


@pytest.mark.not_quick
@settings(deadline=None)
@given(programs_with_arguments(max_steps=12))
def test_bits_are_the_same_when_every_kernel_is_a_function(case):
    program, args = case

    def bits(limit):
        jax.clear_caches()
        before = equal_kernels.MANY, equal_kernels.LARGE
        equal_kernels.MANY = equal_kernels.LARGE = limit
        try:
            return [np.asarray(x).tobytes() for x in jax.tree.leaves(jax.jit(program.function())(*args))]
        finally:
            equal_kernels.MANY, equal_kernels.LARGE = before
    assert bits(0) == bits(1 << 20)


def recurrent(steps=5):
    """The gradient of a loop whose body is long, and arguments for it."""
    def loss(weights, x):
        def step(carry, row):
            for w in weights:
                carry = jnp.tanh(carry @ w + row) * jax.nn.sigmoid(carry)
                carry = jnp.where(carry.sum(axis=1, keepdims=True) > 0, carry, carry - carry.mean(axis=0))
            return carry, carry.max(axis=1)

        last, seen = jax.lax.scan(step, jnp.ones((8, 32)), x)
        return jnp.sum(last ** 2) + jnp.sum(seen)

    numbers = np.random.default_rng(0)
    weights = [jnp.asarray(numbers.standard_normal((32, 32)).astype(np.float32) / 6) for _ in range(3)]
    return jax.grad(loss), (weights, jnp.asarray(numbers.standard_normal((steps, 32)).astype(np.float32)))


def test_large_kernels_in_the_loops_of_a_long_program_are_functions(monkeypatch):
    """Two compilers can take half of them each; what a loop carries may lie where another array does."""
    function, args = recurrent()
    lowered = jax.jit(function).lower(*args)
    text = lowered.as_text(full=True)
    entry = text[text.rindex("int32_t tt_entry("):]
    inside = [line for line in entry.splitlines() if re.match(r" {8,}tt_kernel_\d+\(", line)]
    assert len(inside) > 3
    assert "#if TT_PART != 1" in text
    for call in inside:
        name = call.strip().partition("(")[0]
        assert not re.search(rf"{name}\(.*restrict", text)
    monkeypatch.setattr(equal_kernels, "LARGE", 1 << 30)
    jax.clear_caches()
    apart = jax.jit(lambda *args: function(*args)).lower(*args)
    assert not re.search(r"^ {8,}tt_kernel_", apart.as_text(full=True), re.MULTILINE)
    for x, y in zip(jax.tree.leaves(lowered.compile()(*args)), jax.tree.leaves(apart.compile()(*args)), strict=True):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def test_every_equation_leads_to_the_function_that_computes_it():
    function, args = layers(8)
    lowered = jax.jit(function).lower(*args)
    source = lowered.source_map
    lines = lowered.as_text(full=True).splitlines()
    found = [e for e in source.equations if "= tanh" in e.text]
    assert len(found) == 8
    for equation in found:
        places = [place for place in source.c_of(equation) if place.role == "compute"]
        assert any("tt_tanh_f32(" in lines[place.line - 1] for place in places)
    shared = next(k for k, line in enumerate(lines, 1) if "tt_tanh_f32(" in line and "static" not in line)
    assert len({e.id for e in source.equations_at(shared) if "= tanh" in e.text}) > 1


def test_every_property_of_a_loop_is_in_the_pattern():
    """Kernels that differ in one of them are two functions: each says how the loop is written or what it rounds."""
    loop = For(axis("i0", 8), number(0), number(8), [])
    others = [replace(loop, **{name: not value}) for name, value in vars(loop).items() if isinstance(value, bool)]
    others.append(replace(loop, grain=4))
    assert len(others) == 4
    assert len({equal_kernels.pattern([x]).key for x in (loop, *others)}) == 5


@pytest.mark.parametrize("others", ["numbers", "types", "order", "sizes"])
def test_what_differs_in_more_than_arrays_is_no_function(others):
    """Four kernels, of which never three are equal."""
    def program(xs):
        scales = [2.0 + k * (others == "numbers") for k in range(4)]
        folds = [jnp.max if others == "order" and k % 2 else jnp.sum for k in range(4)]
        return [fold(jnp.sin(x * scale)) for fold, x, scale in zip(folds, xs, scales, strict=True)]

    types = ["int32" if others == "types" and k % 2 else "float32" for k in range(4)]
    xs = [jnp.ones((7 + k if others == "sizes" else 7 + k % 2, 3), dtype) for k, dtype in enumerate(types)]
    assert not functions(jax.jit(program).lower(xs))


def test_kernels_around_shared_ones_see_what_they_store():
    """Sums of sums: what a function stores is read by the next kernel, and a place is used again."""
    def program(x):
        for _ in range(6):
            x = jnp.cumsum(x * 2.0, axis=0) - jnp.mean(x, axis=0)
        return x

    x = jnp.asarray(np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32))
    wanted, = in_numpy(program, x)
    np.testing.assert_allclose(jax.jit(program)(x), wanted, rtol=1e-4)


@pytest.mark.not_quick
@pytest.mark.parametrize("gradient", [jax.grad, jax.value_and_grad])
def test_an_entry_that_only_calls_is_compiled_as_it_stands(monkeypatch, gradient):
    """Of a long program: its loops are functions, and no compiler looks for what its calls have in common."""
    function, args = layers(20, gradient=gradient)
    lowered = jax.jit(function).lower(*args)
    text = lowered.as_text(full=True)
    entry = text[text.rindex("int32_t tt_entry("):]
    assert 'optimize("O0")' in text
    assert "for (" not in entry
    assert 'optimize("O0")' not in jax.jit(layers(2)[0]).lower(*layers(2)[1]).as_text(full=True)
    quick = lowered.compile()(*args)
    monkeypatch.setattr(translation_unit, "MANY_CALLS", 1 << 20)
    jax.clear_caches()
    for x, y in zip(jax.tree.leaves(quick), jax.tree.leaves(jax.jit(lambda *a: function(*a))(*args)), strict=True):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
