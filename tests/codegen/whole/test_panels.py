"""Windows of images are gathered a block at a time: nowhere in memory, cut alike for any number of threads."""

import math

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import generated
from tinytrace.codegen.whole.panels import TILE, WIDEST, _parts

LAYOUTS = [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")]


@pytest.mark.parametrize("sizes", [(), (7,), (3, 5), (2, 3, 1, 4), (1, 56, 56), (1000,), (13, 7, 64)])
@pytest.mark.parametrize("most", [1, 4, 10, 64, 1000])
def test_parts_are_every_element_once(sizes, most):
    seen = []
    for part in _parts(sizes, most):
        inside = [np.arange(n) for n in (part.length, *part.whole)]
        for piece in np.ndindex(*part.walked):
            places = [*piece[:-1], part.begin + piece[-1] * part.length + inside[0], *inside[1:]]
            grid = np.meshgrid(*places, indexing="ij")
            seen += np.ravel_multi_index([g.ravel() for g in grid], sizes).tolist() if sizes else [0]
        assert part.size <= most
    assert sorted(seen) == list(range(math.prod(sizes)))


@pytest.mark.parametrize(("sizes", "columns"), [
    ((56, 56), [448]), ((14, 14), [196]), ((32, 32), [64]), ((28, 28), [448, 336]), ((30, 1000), [64, 40]),
    ((1000,), [64, 40]), ((57, 57), [57]), ((7, 7), [49])])
def test_columns_fill_the_tiles_of_a_blas(sizes, columns):
    parts = _parts(sizes, 112, TILE)
    assert [part.size for part in parts] == columns
    assert max(columns) <= WIDEST
    assert sum(part.size * part.count for part in parts) == math.prod(sizes)


def test_columns_of_a_block_are_whole_tiles():
    x, w = arguments(LAYOUTS[1], size=(56, 56))

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUTS[1])

    text = generated(convolved, x, w).source.text
    assert "sgemm(0, 0, 24, 448, " in text
    assert "_Alignas(64) float panel[" in text
    np.testing.assert_allclose(jax.jit(convolved)(x, w), by_taps(x, w, LAYOUTS[1]), rtol=2e-5, atol=2e-4)


def by_taps(x, w, layout):
    """A convolution with padding SAME, in NumPy and float64."""
    x = np.asarray(x, np.float64).transpose([layout[0].index(c) for c in "NHWC"])
    w = np.asarray(w, np.float64).transpose([layout[1].index(c) for c in "HWIO"])
    height, width = w.shape[:2]
    padded = np.pad(x, ((0, 0), ((height - 1) // 2, height // 2), ((width - 1) // 2, width // 2), (0, 0)))
    out = sum(padded[:, i:i + x.shape[1], j:j + x.shape[2]] @ w[i, j] for i in range(height) for j in range(width))
    return out.transpose(["NHWC".index(c) for c in layout[2]])


def arguments(layout, n=3, size=(31, 33), channels=20, features=24):
    sizes = {"N": n, "C": channels, "H": size[0], "W": size[1]}
    taps = {"O": features, "I": channels, "H": 3, "W": 4}
    rng = np.random.default_rng(0)
    return (jnp.asarray(rng.standard_normal([sizes[c] for c in layout[0]]).astype(np.float32)),
            jnp.asarray(rng.standard_normal([taps[c] for c in layout[1]]).astype(np.float32)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_windows_are_nowhere_in_memory(layout):
    x, w = arguments(layout)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout)

    source = generated(convolved, x, w).source
    assert "panel" in source.text
    assert source.workspace < 2 * x.nbytes  # the padded image, and no windows
    expected = by_taps(x, w, layout)
    ours = jax.jit(convolved)(x, w)
    np.testing.assert_allclose(ours, expected, rtol=2e-5, atol=2e-4)
    assert np.asarray(ours).tobytes() == np.asarray(convolved(x, w)).tobytes()


@pytest.mark.pairs
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize(("channels", "features", "n"), [(32, 32, 3), (32, 20, 3), (40, 24, 1), (7, 33, 4)])
def test_rows_of_a_small_kernel_are_taps_of_one_product(strides, channels, features, n, dtype):
    x, w = arguments(LAYOUTS[0], n, (37, 49), channels, features)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=LAYOUTS[0])

    with jax.experimental.enable_x64(dtype == np.float64):
        x, w = x.astype(dtype), w.astype(dtype)
        text = generated(convolved, x, w).source.text
        assert "panel[" not in text
        assert f"gemm_taps({-(-49 // strides[1])}, {features}, {4 * channels}, 3, " in text
        ours, (down, right) = jax.jit(convolved)(x, w), strides
        np.testing.assert_allclose(ours, by_taps(x, w, LAYOUTS[0])[:, ::down, ::right], rtol=2e-5, atol=4e-4)
        assert np.asarray(ours).tobytes() == np.asarray(convolved(x, w)).tobytes()


def test_pieces_of_a_volume_and_of_a_kernel_with_holes():
    """Taps of further dimensions are added; with holes between the columns of a kernel these are the taps."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 6, 7, 60, 8)).astype(np.float32)
    w = rng.standard_normal((2, 3, 3, 8, 5)).astype(np.float32)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1, 1), "VALID", rhs_dilation=(1, 1, 2),
                                            dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))

    text = generated(convolved, x, w).source.text
    assert "gemm_taps(56, 5, 8, 3, 16, " in text
    found = sum(np.einsum("nhwdc,co->nhwdo", x[:, i:i + 5, j:j + 5, 2 * k:2 * k + 56], w[i, j, k])
                for i in range(2) for j in range(3) for k in range(3))
    np.testing.assert_allclose(jax.jit(convolved)(x, w), found, rtol=2e-5, atol=4e-4)


@pytest.mark.parametrize(("moved", "is_gathered"), [
    (lambda x: x[:, ::-1], False), (lambda x: jnp.broadcast_to(x[:, :1], x.shape), False),
    (lambda x: x[:, :, ::-1], True), (lambda x: jnp.broadcast_to(x[:, :, :1], x.shape), True)])
def test_rows_that_do_not_rise_are_gathered(moved, is_gathered):
    """An image upside down, or of one row, is read as it lies; one that is mirrored, or of one column, is not."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 40, 60, 16)).astype(np.float32)
    w = rng.standard_normal((3, 3, 16, 24)).astype(np.float32)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(moved(x), w, (1, 1), "VALID", dimension_numbers=LAYOUTS[0])

    text = generated(convolved, x, w).source.text
    assert ("panel[" in text, "gemm_taps(" in text) == (is_gathered, not is_gathered)
    still = np.asarray(moved(jnp.asarray(x)))
    found = sum(still[:, i:i + 38, j:j + 58].astype(np.float64) @ w[i, j] for i in range(3) for j in range(3))
    np.testing.assert_allclose(jax.jit(convolved)(x, w), found, rtol=2e-5, atol=4e-4)


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("n", [3, 1])
def test_rows_with_many_channels_are_multiplied_where_they_lie(strides, n):
    x, w = arguments(LAYOUTS[0], n, (37, 49), 128, 64)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=LAYOUTS[0])

    text = generated(convolved, x, w).source.text
    assert "panel[" not in text
    assert f", 64, {w.shape[1] * 128}, 1.0f" in text  # all taps of a row at once
    ours, (down, right) = jax.jit(convolved)(x, w), strides
    np.testing.assert_allclose(ours, by_taps(x, w, LAYOUTS[0])[:, ::down, ::right], rtol=2e-5, atol=6e-4)
    assert np.asarray(ours).tobytes() == np.asarray(convolved(x, w)).tobytes()


def test_rows_with_many_features_are_gathered():
    x, w = arguments(LAYOUTS[0], channels=64, features=96)
    text = generated(lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUTS[0]),
                     x, w).source.text
    assert "panel[" in text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_long_sums_are_cut_and_added(layout):
    x, w = arguments(layout, n=8)

    def loss(x, w):
        return (jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout) ** 2).sum()

    gradient = jax.jit(jax.grad(loss, 1))
    assert "_step++" in gradient.lower(x, w).as_text()
    found, step = gradient(x, w), np.zeros(w.shape, np.float32)
    step[tuple(n // 2 for n in w.shape)] = 1e-2
    sides = [np.sum(by_taps(x, w + sign * step, layout) ** 2) for sign in (1, -1)]
    assert np.sum(np.asarray(found) * step) == pytest.approx((sides[0] - sides[1]) / 2, rel=1e-3)


def test_a_computed_image_is_kept_once():
    x, w = arguments(LAYOUTS[0])

    def layers(x, w):
        return jax.lax.conv_general_dilated(jnp.maximum(x, 0), w, (1, 1), "SAME", dimension_numbers=LAYOUTS[0])

    assert generated(layers, x, w).source.workspace < 4 * x.nbytes  # and padded
    np.testing.assert_allclose(jax.jit(layers)(x, w), by_taps(np.maximum(x, 0), w, LAYOUTS[0]), rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize("kernel", [3, 7])
def test_each_channel_with_its_own_kernel_is_a_loop(kernel):
    x, w = np.ones((2, 24, 26, 16), np.float32), np.ones((kernel, kernel, 1, 16), np.float32)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUTS[0], feature_group_count=16)

    text = jax.jit(convolved).lower(x, w).as_text()
    assert "gemm(" not in text
    assert ("?" in text) == (kernel == 3)  # few guards are cut off but for the first rows, many are in a padded copy
    counts = np.convolve(np.ones(24), np.ones(kernel), "same"), np.convolve(np.ones(26), np.ones(kernel), "same")
    expected = np.broadcast_to(np.multiply.outer(*counts)[None, :, :, None], x.shape)
    assert np.array_equal(jax.jit(convolved)(x, w), expected)
