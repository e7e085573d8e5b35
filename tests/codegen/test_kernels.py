"""Kernels as values: they run in NumPy, print themselves, and say where their arrays lie."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen import checking
from tinytrace.codegen.ir import interpreter
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.passes import pipeline
from tinytrace.codegen.passes.pipeline import PASSES
from tinytrace.config import override
from tinytrace.records import replace

X = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)


def softmax(x):
    e = jnp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layers(x):
    h = jnp.tanh(x @ x.T)
    return h @ h @ h


def steps(x):
    return jax.lax.fori_loop(0, 5, lambda i, x: x.at[i].add(x[i + 1]), x)


def halved(x):
    return jax.lax.while_loop(lambda x: (x > 1).any(), lambda x: x / 2, x)


def chosen(x):
    return jax.lax.cond(x.sum() > 0, jnp.cumsum, lambda x: x.reshape(-1) * 2, x)


@pytest.mark.parametrize("function", [softmax, layers, steps, halved, chosen, lambda x: jnp.sort(x, 1),
                                      lambda x: x[::-1].T.argmax(0), lambda x: jnp.cumprod(x, 1)])
def test_they_give_in_numpy_what_they_give_in_c(function):
    jitted = jax.jit(function)
    ours, = jitted.lower(X).kernels.run(X)
    np.testing.assert_allclose(ours, jitted(X), 1e-4, 1e-3)


def test_what_they_are_called_with_is_checked():
    kernels = jax.jit(softmax).lower(X).kernels
    with pytest.raises(TypeError, match=r"have 1 inputs \(a:f32\[40,30\]\) and were called with 2"):
        kernels.run(X, X)
    with pytest.raises(TypeError, match=r"input a:f32\[40,30\] was given an array of type float32\[30,40\]"):
        kernels.run(X.T)


def test_a_loop_without_end_is_an_error(monkeypatch):
    monkeypatch.setattr(interpreter, "MOST_ITERATIONS", 50)
    kernels = jax.jit(lambda x: jax.lax.while_loop(lambda x: x < 1, lambda x: x * 2, x)).lower(0.0).kernels
    with pytest.raises(KernelError, match="has not ended after 50 iterations"):
        kernels.run(np.float32(0))


def test_a_program_that_does_not_end_on_the_drawn_inputs_is_verified_alone(monkeypatch):
    monkeypatch.setattr(interpreter, "MOST_ITERATIONS", 50)
    endless = jax.jit(lambda x: jax.lax.while_loop(lambda x: x < 100, lambda x: x * 1, x))
    assert endless.trace(np.float32(100)).lower(debug=True).compile()(np.float32(100)) == 100


def test_programs_with_empty_arrays():
    empty = np.ones((3, 0), np.float32)
    out, = jax.jit(lambda x: x.sum(1)).lower(empty).kernels.run(empty)
    np.testing.assert_array_equal(out, np.zeros(3))


@pytest.mark.parametrize("shape", [(0,), (2, 0), (2,)])
def test_a_loop_in_a_loop_carries_arrays_without_elements(shape):
    """Results of the inner loop are slices of the outer one's, which are declared where a kernel touches them only."""
    def inner(carry, x):
        ys, _ = jax.lax.scan(lambda a, b: (a * x + b, None), jnp.zeros_like(carry), jnp.stack([carry] * 3))
        return carry + 1, ys

    carry, ys = jax.jit(lambda xs, y: jax.lax.scan(inner, y, xs))(np.float32([0, 1]), np.ones(shape, np.float32))
    np.testing.assert_array_equal(carry, np.full(shape, 3))
    np.testing.assert_array_equal(ys, np.stack([np.full(shape, 1), np.full(shape, 6)]))


def test_their_text_has_every_statement():
    assert jax.jit(softmax).lower(X[:7]).kernels.as_text() == """\
input a:f32[7,30]
output h:f32[7,30]
nest:
    for i0 in 0 .. 7 independent:
        row e:f32[30]
        var b_max:f32 = -inf
        var b_nan:i32 = 0
        for i1 in 0 .. 30 simd:
            b_max max= a[30*i0 + i1]
            b_nan or= is_nan(a[30*i0 + i1])
        let b:f32 = select(b_nan, nan, b_max)
        var f:f32 = 0.0
        for i1 in 0 .. 30 simd:
            e[i1] = exp(sub(a[30*i0 + i1], b))
            f sum= exp(sub(a[30*i0 + i1], b))
        for i1 in 0 .. 30 simd:
            h[30*i0 + i1] = div(e[i1], f)"""


def test_the_chart_of_their_memory():
    def four(x):
        a = x @ x
        return (a @ a) @ (a @ x) @ a

    x = np.ones((32, 32), np.float32)
    memory = jax.jit(four).lower(x).kernels.memory()
    assert memory.conflicts() == []
    assert str(memory).splitlines()[0] == f"workspace of {memory.nbytes} bytes, 5 kernels"
    assert [line.split()[-1] for line in str(memory).splitlines()[1:]] == ["#####", ".###.", "..##.", "...##"]
    assert str(jax.jit(lambda x: x + 1).lower(x).kernels.memory()) == "no temporary arrays"


@pytest.mark.parametrize("length", [2, 3, 9])
def test_arrays_lie_where_they_just_fit(length):
    """Each of a chain of products reads the one before it, so two places of their size are enough."""
    def chain(x):
        y = x
        for _ in range(length):
            y = y @ x
        return y

    x = np.ones((32, 32), np.float32)
    assert jax.jit(chain).lower(x).kernels.memory().nbytes == min(length - 1, 2) * x.nbytes


def test_each_pass_shows_what_it_changed():
    lowered = jax.jit(lambda x: jnp.tanh(x @ x.T)).trace(X).lower(debug=True)
    changed = {step.name for step in lowered.passes if step.changed}
    assert {"reuse_temporaries", "fuse_epilogues"} <= changed
    step = next(step for step in lowered.passes if step.name == "fuse_epilogues")
    assert str(step) == "fuse_epilogues: 4 lines became 3"
    assert "+        for i0 in 0 .. 1600 simd independent:" in step.diff().splitlines()
    assert step.after == lowered.passes[lowered.passes.index(step) + 1].before
    assert [step.name for step in lowered.passes][:3] == ["inline", "fold", "algebra"]
    assert [step.name for step in lowered.passes][-len(PASSES):] == [change.__name__ for change in PASSES]
    assert all(type(step.before) is type(step.after) for step in lowered.passes)  # a change of language is no pass


def test_passes_are_held_to_their_word_on_demand(monkeypatch):
    """After each that makes new kernels."""
    seen = []
    monkeypatch.setattr(checking, "verify", lambda kernels: seen.append(kernels) or [])
    passes = [list, copies, list, copies]
    monkeypatch.setattr(pipeline, "PASSES", passes)
    with override("verify", True):
        assert jax.jit(lambda x: (x * 3).sum())(X).shape == ()
    assert len(seen) == 1 + passes.count(copies)


def copies(kernels):
    return list(map(replace, kernels))
