"""Random words of one key are made in pieces, which threads share: the words are those of NumPy's hashes."""
import numpy as np
import pytest

import tinytrace as jax
from tinytrace.config import enable_x64
from tinytrace.primitives.random_bits import PAIRS, random_words
from tinytrace.runtime.threads import num_threads, set_num_threads

KEY = np.array([0x12345678, 0x9ABCDEF0], np.uint32)


def bits(n, dtype):
    return jax.jit(lambda key: jax.random.bits(key, (n,), dtype))


def expected(n, dtype):
    words = random_words(KEY.view(np.uint64), n * np.dtype(dtype).itemsize // 4).reshape(-1)
    if dtype == np.uint32:
        return words
    high, low = np.split(words, 2)
    return high.astype(np.uint64) << np.uint64(32) | low


@pytest.fixture(params=[1, 2, 5], ids=lambda count: f"{count} threads")
def threads(request):
    before = num_threads()
    set_num_threads(request.param)
    yield
    set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("n", [2 * PAIRS + k for k in (-1, 0, 1, 2)] + [4 * PAIRS + 1, 100_001, 6 * PAIRS])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_words_of_pieces_are_those_of_the_whole(n, dtype):
    with enable_x64(True):
        np.testing.assert_array_equal(np.asarray(bits(n, dtype)(KEY)), expected(n, dtype))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_pieces_are_on_threads_and_mean_the_same_without_a_compiler(dtype):
    with enable_x64(True):
        n = 60 * PAIRS + 3
        compiled = bits(n, dtype).lower(KEY).compile()
        text = compiled._program.source.text
        assert "_piece(" in text
        assert "host->parallel_for(" in text
        interpreted, = compiled._program.run_kernels([jax.numpy.asarray(KEY)])
        np.testing.assert_array_equal(np.asarray(interpreted), expected(n, dtype))


def test_few_words_and_many_keys_are_made_at_once():
    assert "_piece(" not in bits(2 * PAIRS, np.uint32).lower(KEY).as_text()
    of_keys = jax.jit(jax.vmap(lambda key: jax.random.bits(key, (5 * PAIRS,))))
    assert "_piece(" not in of_keys.lower(np.stack([KEY, KEY])).as_text()


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 6, 7, 8])
def test_words_of_many_keys_are_those_of_each(words):
    """Two hashes at a time, of which one may be over."""
    lists = [random_words(KEY.view(np.uint64), 2 * count).reshape(-1, 2) for count in (8, 63, 64, 65)]
    draw = jax.vmap(lambda key: jax.random.bits(key, (words,)))
    for keys, drawn in zip(lists, jax.jit(lambda lists: list(map(draw, lists)))(lists), strict=True):
        np.testing.assert_array_equal(np.asarray(drawn), random_words(keys.view(np.uint64).reshape(-1), words))
