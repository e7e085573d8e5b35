"""`debug_key_reuse`: JAX's answers are in tests/goldens/key_reuse.txt."""

import gc
import threading

import pytest

import tinytrace as jax
from tests.goldens import answer, as_tinytrace, load, set_scene
from tinytrace.errors import KeyReuseError
from tinytrace.experimental.key_reuse import tracking

SCENE, CASES = load("key_reuse")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer


def test_what_is_noted_of_a_key_goes_with_it():
    gc.collect()
    before = len(tracking._consumed)
    with jax.debug_key_reuse(True):
        key = jax.random.key(0)
        jax.random.bits(key)
        assert tracking.consumed(key)
    del key
    assert len(tracking._consumed) <= before


def test_only_the_thread_that_asks_is_watched():
    key = jax.random.key(0)
    failed = []

    def use():
        try:
            jax.random.bits(key)
            jax.random.bits(key)
        except KeyReuseError as error:
            failed.append(error)

    with jax.debug_key_reuse(True):
        worker = threading.Thread(target=use)
        worker.start()
        worker.join()
        assert failed == []
        use()
        assert len(failed) == 1


def test_for_the_whole_process():
    f = jax.jit(jax.random.bits)
    key = jax.random.key(3)
    f(key)
    jax.config.update("jax_debug_key_reuse", True)
    try:
        f(key)
        with pytest.raises(KeyReuseError, match=r"^Previously-consumed key passed to jit-compiled function at index 0"):
            f(key)
    finally:
        jax.config.update("jax_debug_key_reuse", False)
    assert f(key) == f(key)
