"""Loops across the rows of large arrays run tile by tile, and store the same."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy
from tinytrace.codegen.passes import streaming_stores, tiling

PROGRAMS = {
    "whole tiles": (lambda x: x.T, (128, 256)),
    "rests of both axes": (lambda x: x.T, (131, 203)),
    "a short last row": (lambda x: x.T, (17, 1001)),
    "with what lies straight": (lambda x: x + x.T, (130, 130)),
    "of a batch": (lambda x: jnp.transpose(x, (0, 2, 1)) * 2, (3, 150, 90)),
    "the first axis last": (lambda x: jnp.transpose(x, (1, 2, 0)), (33, 30, 21)),
    "both ends exchanged": (lambda x: jnp.transpose(x, (2, 1, 0)), (33, 30, 41)),
    "parts of rows": (lambda x: x[3:, 5:].T + x[:-3, :-5].T, (140, 150)),
    "backwards": (lambda x: x[::-1].T, (140, 150)),
    "rows read backwards": (lambda x: jnp.rot90(x), (140, 150)),
    "both backwards": (lambda x: x[::-1, ::-1].T, (131, 203)),
    "turned the other way": (lambda x: jnp.rot90(x, 3) + 1, (140, 150)),
    "two results": (lambda x: (x.T, jnp.exp(x.T)), (140, 150)),
    "in a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda k, y: y.T * 0.5 + x, x), (130, 130)),
}


@pytest.fixture
def no_lines_stay(monkeypatch):
    """Few rows, which would need no tile, are tiled too."""
    monkeypatch.setattr(tiling, "WAYS", 0)
    jax.clear_caches()
    yield
    jax.clear_caches()


@pytest.mark.usefixtures("no_lines_stay")
@pytest.mark.parametrize("name", PROGRAMS)
def test_tiled_loops_store_the_same(name):
    function, shape = PROGRAMS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    text = jax.jit(function).lower(x).as_text()
    assert "_tile" in text or "tt_turn_32" in text
    checked(function, x, inputs=[x])
    got = jax.tree.leaves(jax.jit(function)(x))
    for a, b in zip(got, in_numpy(function, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.usefixtures("no_lines_stay")
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float64, np.complex64, np.complex128])
def test_lines_of_elements_of_any_size(dtype):
    with jax.enable_x64():
        x = np.arange(300 * 190).reshape(300, 190).astype(dtype)
        np.testing.assert_array_equal(jax.jit(jnp.transpose)(x), x.T)


def test_tiles_of_large_results_are_stored_past_the_caches(monkeypatch):
    monkeypatch.setattr(streaming_stores, "LARGER_THAN_CACHES", 4096)
    jax.clear_caches()
    x = np.random.default_rng(0).standard_normal((128, 256)).astype(np.float32)
    assert "tt_stream((c + (8192 * i0_block + 128 * i0 + 64 * i1_block)), c_part, 256)" in \
        jax.jit(lambda x: x.T + 1).lower(x).as_text()
    checked(lambda x: x.T + 1, x, inputs=[x])
    np.testing.assert_array_equal(jax.jit(lambda x: x.T + 1)(x), x.T + 1)
    jax.clear_caches()


TURNED = {
    "squares": (lambda x: x.T, (64, 128)),
    "rests of both axes": (lambda x: x.T, (133, 211)),
    "one row more than in a part": (lambda x: x.T, (17, 2049)),
    "of a batch": (lambda x: jnp.transpose(x, (0, 2, 1)), (3, 150, 90)),
    "parts of rows": (lambda x: x[3:, 5:].T, (140, 150)),
    "into a larger array": (lambda x: jnp.concatenate([x.T, x.T]), (150, 140)),
}


@pytest.mark.usefixtures("no_lines_stay")
@pytest.mark.parametrize("name", TURNED)
@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float16, np.uint16, np.float32, np.int32, np.complex64])
def test_small_elements_are_turned_in_registers(name, dtype, monkeypatch):
    monkeypatch.setattr(tiling, "LARGE", 64)
    function, shape = TURNED[name]
    x = np.random.default_rng(0).integers(-1000, 1000, shape).astype(dtype)
    text = jax.jit(function).lower(x).as_text()
    assert f"tt_turn_{8 * x.itemsize}" in text
    checked(function, x, inputs=[x])
    np.testing.assert_array_equal(jax.jit(function)(x), in_numpy(function, x)[0])


def test_rows_in_one_set_of_the_caches_have_tiles():
    def text(*shape):
        return jax.jit(jnp.transpose).lower(jax.ShapeDtypeStruct(shape, np.float32)).as_text()

    assert "tt_turn_32" in text(1000, 1024)
    assert "_tile" in text(1024, 1000)
    assert "tt_turn_64" in jax.jit(jnp.transpose).lower(np.zeros((512, 500), np.complex64)).as_text()


@pytest.mark.parametrize(("function", "shape"), [
    (lambda x: x.T, (40, 40)),                                   # it stays in the first-level cache
    (lambda x: x.T, (300, 500)),                                 # a line of each row does
    (lambda x: x.T, (3, 100_000)),                               # there are few rows
    (lambda x: jnp.pad(x.T, 5), (400, 400)),                     # some elements are read on one side of a choice only
    (lambda x: x.T[jnp.arange(150) ^ 1], (400, 400)),            # which row depends on elements
    (lambda x: x * 2, (200, 200)),
])  # fmt: skip
def test_what_is_not_tiled(function, shape):
    assert "_tile" not in jax.jit(function).lower(np.zeros(shape, np.float32)).as_text()


@pytest.mark.parametrize(("rows", "stride", "stay"), [
    (320, 2000, True), (330, 2000, False),   # the lines of 64 sets, five in each
    (64, 512, False), (40, 512, True),       # of eight sets
    (5, 4096, True), (6, 1 << 14, False),    # of one
])  # fmt: skip
def test_which_lines_stay(rows, stride, stay):
    assert tiling._stay(rows, stride) == stay
