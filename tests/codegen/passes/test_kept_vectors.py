"""Weights that every turn of a loop reads again are read once for some turns, and results have the same bits."""
import sys

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy
from tinytrace.codegen.passes import kept_vectors

KEPT = "_kept["


def of_each_channel(x, w, padding="SAME", stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), padding, feature_group_count=x.shape[-1],
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def along_rows(x, w):
    return sum(x[i:i + x.shape[0] - len(w) + 1] * w[i] for i in range(len(w)))


def drawn(*shapes, dtype=np.float32):
    return [np.random.default_rng(k).integers(-99, 99, shape).astype(dtype) for k, shape in enumerate(shapes)]


PROGRAMS = {
    "an image": (of_each_channel, drawn((2, 11, 13, 32), (3, 3, 1, 32))),
    "whole blocks": (lambda x, w: of_each_channel(x, w, "VALID"), drawn((1, 6, 18, 64), (3, 3, 1, 64))),
    "steps of two": (lambda x, w: of_each_channel(x, w, "VALID", 2), drawn((1, 7, 33, 32), (3, 3, 1, 32))),
    "rows": (along_rows, drawn((20, 48), (5, 48))),
    "what follows": (lambda x, w: jnp.maximum(along_rows(x, w), 3) - 1, drawn((31, 32), (4, 32))),
    "of 64 bits": (along_rows, drawn((25, 24), (6, 24), dtype=np.float64)),
    "integers": (along_rows, drawn((25, 32), (6, 32), dtype=np.int32)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_bits_of_one_loop(name, monkeypatch):
    function, args = PROGRAMS[name]
    with jax.enable_x64(args[0].dtype.itemsize == 8):
        assert KEPT in jax.jit(function).lower(*args).as_text()
        kept = np.asarray(jax.jit(function)(*args))
        checked(function, *args, inputs=args)
        monkeypatch.setattr(kept_vectors, "FEWEST", sys.maxsize)
        jax.clear_caches()
        assert KEPT not in jax.jit(function).lower(*args).as_text()
        np.testing.assert_array_equal(kept, jax.jit(function)(*args))
        np.testing.assert_array_equal(kept, in_numpy(function, *args)[0])
    jax.clear_caches()


@pytest.mark.parametrize(("function", "shapes"), [
    (along_rows, [(20, 16), (5, 16)]), (along_rows, [(20, 40), (5, 40)]), (along_rows, [(20, 512), (5, 512)]),
    (along_rows, [(20, 32), (3, 32)]), (along_rows, [(11, 32), (5, 32)]),
    (lambda x, w: x * w[0] + w[1] - x / w[2] + w[3], [(20, 32), (4, 32)])])
def test_others_stay(function, shapes):
    """One vector, parts of one, long rows, few weights, few turns, and little that is read anew."""
    assert KEPT not in jax.jit(function).lower(*drawn(*shapes)).as_text()


def test_what_is_not_there_for_all_turns_is_not_read_for_all():
    def guarded(x, w):
        return along_rows(x, w) + jnp.pad(w, ((0, 12), (0, 0)))[:16]

    x, w = drawn((20, 32), (5, 32))
    checked(guarded, x, w, inputs=[x, w])
    np.testing.assert_array_equal(jax.jit(guarded)(x, w), in_numpy(guarded, x, w)[0])
