"""Jitted functions that only show their arguments: NumPy answers them by views, of which nobody can notice anything."""
from __future__ import annotations

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api import recipes

SHOWS = {
    "ravel": jnp.ravel, "atleast_3d": jnp.atleast_3d, "expand_dims": lambda x: jnp.expand_dims(x, 1), "flip": jnp.flip,
    "transpose": jnp.transpose, "moveaxis": lambda x: jnp.moveaxis(x, 0, 1), "part": lambda x: x[10:90],
    "broadcast": lambda x: jnp.broadcast_to(x, (2, *x.shape)), "split": lambda x: tuple(jnp.split(x, 2)),
    "two": lambda x: {"a": x[::-1], "b": x.T}, "squeezed": lambda x: x.reshape(1, -1)[0],
}


def matrix(n, dtype="float32"):
    return jnp.asarray(np.arange(n * n).reshape(n, n).astype(dtype))


def known(f, *args):
    """Return the results of a call that the hit path answers."""
    for _ in range(3):
        results = f(*args)
    return jax.tree.leaves(results)


def shares(x, y):
    return np.shares_memory(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("name", SHOWS)
def test_a_view_has_the_bits_and_type_of_the_first_call(name):
    f, x = jax.jit(SHOWS[name]), matrix(100)
    first = jax.tree.leaves(f(x))
    for y, expected in zip(known(f, x), first, strict=True):
        assert y.aval == expected.aval
        assert np.asarray(y).tobytes() == np.asarray(expected).tobytes()
        assert shares(x, y)
        assert not np.asarray(y).flags.writeable


@pytest.mark.parametrize("part", [jnp.real, jnp.imag, lambda z: z.real[1:].T, lambda z: (z.imag, z.real)])
def test_the_parts_of_complex_numbers_are_shown(part):
    """From 1 MiB on less than half of the numbers is copied."""
    z = jnp.asarray(np.random.default_rng(0).standard_normal((99, 200)).view(np.complex128).astype(np.complex64))
    f, add = jax.jit(part), jax.jit(lambda x: x + 1)
    first = [np.array(y) for y in jax.tree.leaves(f(z))]
    for y, expected in zip(known(f, z), first, strict=True):
        assert shares(z, y)
        assert np.array_equal(np.asarray(y), expected)
        assert np.array_equal(np.asarray(add(y)), expected + 1)
        assert np.array_equal(np.asarray(y + 1), expected + 1)
    many = jnp.tile(z, (20, 1))
    y = known(f, many)[0]
    assert shares(many, y) == (y.size == many.size)


@pytest.mark.parametrize("name", SHOWS)
def test_a_view_stays_when_its_argument_is_deleted_or_given_away(name):
    f, give = jax.jit(SHOWS[name]), jax.jit(lambda x: x + 1, donate_argnums=0)
    for end in (lambda x: x.delete(), give):
        x = matrix(100)
        before = [np.array(y) for y in f(x)] if isinstance(f(x), tuple) else [np.array(y) for y in known(f, x)]
        shown = known(f, x)
        after = [end(x) for _ in range(1)]
        assert x.is_deleted()
        for y, expected in zip(shown, before, strict=True):
            assert np.array_equal(np.asarray(y), expected)
            assert np.array_equal(np.asarray(jax.jit(lambda y: y * 2)(y)), expected * 2)
        del after


@pytest.mark.parametrize("name", SHOWS)
def test_who_gives_a_view_away_leaves_the_argument_as_it_was(name):
    f, x = jax.jit(SHOWS[name]), matrix(100)
    before = np.array(x)
    give = jax.jit(lambda y: y + 1, donate_argnums=0)
    for _ in range(3):
        for y in known(f, x):
            expected = np.array(y) + 1
            assert np.array_equal(np.asarray(give(y)), expected)
    assert np.array_equal(np.asarray(x), before)


@pytest.mark.parametrize(("function", "n", "is_view"), [
    (jnp.ravel, 600, True), (jnp.transpose, 600, True), (jnp.flip, 600, True), (jnp.transpose, 500, True),
    (lambda x: x[:5], 600, False), (lambda x: x[:5], 500, True), (jnp.ravel, 50, False),
    (lambda x: x[300:], 600, True), (lambda x: x[301:], 600, False), (lambda x: x[:, 300:], 600, True),
    (lambda x: x[:, 301:], 600, False), (lambda x: x[::2], 600, False),
    (lambda x: x[100:].ravel(), 600, True), (lambda x: x[300:].T, 600, True), (lambda x: x[301:].T, 600, False),
    (lambda x: jnp.broadcast_to(x, (5, *x.shape)), 300, True), (lambda x: x.T.ravel(), 100, False),
    (lambda x: x + 1, 100, False)])
def test_small_parts_of_large_arrays_and_small_arrays_are_copied(function, n, is_view):
    """What nobody needs is given back; of few elements a copy is quicker."""
    x = matrix(n)
    y, = known(jax.jit(function), x)
    assert shares(x, y) == is_view


def test_the_halves_of_a_large_array_are_shown_and_quarters_are_copied():
    x = matrix(600)
    for parts, is_view in ((2, True), (4, False)):
        pieces = known(jax.jit(lambda x, parts=parts: jnp.split(x, parts)), x)
        assert [shares(x, y) for y in pieces] == [is_view] * parts
        assert np.array_equal(np.concatenate(pieces), np.asarray(x))


def test_a_donated_argument_is_not_shown_and_numpys_is_not_seen_to_change():
    x = matrix(100)
    f = jax.jit(jnp.flip, donate_argnums=0)
    for _ in range(4):
        given, x = x, f(x)
        assert given.is_deleted()
    assert np.array_equal(np.asarray(x), np.asarray(matrix(100)))
    g, of_numpy = jax.jit(jnp.ravel), np.asarray(matrix(100)).copy()
    g(matrix(100)), g(matrix(100))
    y, = known(g, of_numpy)
    of_numpy[:] = -1
    assert np.array_equal(np.asarray(y), np.arange(10_000))


def test_views_are_counted_as_hits_and_traced_once():
    traced = []

    def f(x):
        traced.append(x)
        return x.ravel()

    jitted, x = jax.jit(f), matrix(100)
    for _ in range(7):
        jitted(x)
    assert len(traced) == 1
    entry, = jitted.cache.values()
    assert entry.hits == 6


def test_numpy_answers_nothing_that_computes():
    for function in (jnp.sin, lambda x: (x.T, x + 1), lambda x: x):
        closed = jax.make_jaxpr(function)(matrix(100))
        assert recipes.view_entry(closed, list, None) is None


def test_what_the_trace_left_dead_is_not_called():
    f, x = jax.jit(lambda x: (jnp.sort(x), x.T)[1]), matrix(100)
    y, = known(f, x)
    assert shares(x, y)
