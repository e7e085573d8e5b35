"""`jax.extend`, shardings and stages: JAX's answers are in tests/goldens/extend.txt."""

import threading

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.goldens import answer, as_tinytrace, load, set_scene
from tinytrace import lax
from tinytrace.extend import random as jr

SCENE, CASES = load("extend")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer


def test_draws_without_a_key_differ_and_stay_in_range():
    draw = jax.jit(lambda: (lax.rng_uniform(0.0, 1.0, (50,)), lax.rng_uniform(0.0, 1.0, (50,))))
    found = [*draw(), *draw(), lax.rng_uniform(0.0, 1.0, (50,))]
    assert len({x.tolist()[0] for x in found}) == len(found)
    assert all(((x >= 0) & (x < 1)).all() for x in found)
    whole = lax.rng_uniform(jnp.int8(-3), jnp.int8(3), (200,))
    assert set(whole.tolist()) == set(range(-3, 3))
    with pytest.raises(TypeError, match="draws integers or floats, not bool"):
        lax.rng_uniform(False, True, ())


def test_generators_of_users_are_checked():
    good = {"seed": abs, "split": abs, "random_bits": abs, "fold_in": abs}
    with pytest.raises(NotImplementedError, match=r"keys of shape \(3,\): a key has two or four words"):
        jr.define_prng_impl(key_shape=(3,), **good)
    with pytest.raises(TypeError, match="split must be a function on words, not 1"):
        jr.define_prng_impl(key_shape=(2,), **good | {"split": 1})
    with pytest.raises(TypeError, match="takes a generator of jax"):
        jr.random_seed(0, impl="fry")


def test_a_generator_serves_threads_and_compiled_programs():
    mine = NAMESPACE["mine"]
    draws = jax.jit(lambda k: jax.random.bits(k, (4,)))
    results = {}

    def work(n):
        results[n] = draws(jax.random.key(n, impl=mine)).tolist()

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    ramp = np.arange(4, dtype=np.uint32) * np.uint32(1234567891)
    assert results == {n: (n + ramp).tolist() for n in range(4)}


def test_a_generator_may_be_used_without_being_defined():
    square = jr.threefry_prng_impl._replace(name="other", tag="other")
    key = jr.random_seed(3, square)
    assert (key.dtype.name, jax.random.key_data(key).tolist()) == ("key<other>", [0, 3])
    assert jr.seed_with_impl(square, 3).dtype == key.dtype
    assert jax.random.bits(key) == jax.random.bits(jax.random.key(3))
    assert jr.threefry_prng_impl.fold_in(jr.threefry_prng_impl.seed(3), 4).tolist() == \
        jax.random.key_data(jax.random.fold_in(key, 4)).tolist()
