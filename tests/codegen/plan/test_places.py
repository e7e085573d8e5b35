"""Where places are computed: those made of places alone are sums of loop variables, those of gathers in their loop."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked

SLICES = {
    "every other": lambda x: x[::2, 1::2],
    "backwards": lambda x: x[::-1, 40:3:-3],
    "four of them": lambda x: x[::2, ::2] - x[1::2, ::2] + x[::2, 1::2] - x[1::2, 1::2],
    "places": lambda x: x[2 * jnp.arange(20) + 1, 59 - jnp.arange(20)],
    "past the end": lambda x: x[jnp.arange(20) * 3, 0],
}


@pytest.mark.parametrize("name", SLICES)
def test_steps_are_read_without_gathers(name):
    x = np.random.default_rng(0).standard_normal((40, 60)).astype(np.float32)
    jitted = jax.jit(SLICES[name])
    if name not in ("places", "past the end"):
        assert "int32_t" not in jitted.lower(x).as_text().split("tt_entry")[-1].split("{", 1)[1]
        np.testing.assert_array_equal(jitted(x), SLICES[name](x))
    checked(SLICES[name], x, inputs=[x])
    np.testing.assert_array_equal(jitted(x), np.asarray(SLICES[name](jnp.asarray(x))))


def test_sums_that_leave_their_type_wrap():
    def places(x):
        return x[(jnp.arange(40, dtype=jnp.int8) * 7).astype(jnp.int32) % 40]
    x = np.arange(40, dtype=np.float32)
    at = (np.arange(40, dtype=np.int8) * np.int8(7)).astype(np.int32) % 40
    np.testing.assert_array_equal(jax.jit(places)(x), x[at])


def floors(*coordinates):
    return [jnp.floor(c).astype(jnp.int32) for c in coordinates]


def bilinear(image, y, x):
    i, j = floors(y, x)
    u, v = y - i, x - j
    return ((1 - u) * (1 - v) * image[i, j] + (1 - u) * v * image[i, j + 1] + u * (1 - v) * image[i + 1, j]
            + u * v * image[i + 1, j + 1])


@pytest.mark.parametrize("gathered", [
    lambda image, y, x: image[tuple(floors(y, x))],
    lambda image, y, x: image[floors(x)[0], floors(y)[0]] + image[floors(x)[0], 3],
    lambda image, y, x: image.reshape(8, 5, 60)[floors(y / 6)[0], floors(x / 13)[0], floors(y)[0]],
    bilinear,
    lambda image, y, x: jax.scipy.ndimage.map_coordinates(image, [y, x], 1),
], ids=["one", "turned", "three axes", "bilinear", "map_coordinates"])
def test_rows_and_columns_are_computed_where_a_gather_reads_them(gathered):
    """The places are joined in rows of two or three, of which each gather takes all: nothing is computed twice."""
    random = np.random.default_rng(1)
    image = random.standard_normal((40, 60)).astype(np.float32)
    y, x = (random.uniform(0, 38, (50, 30)).astype(np.float32) for _ in range(2))
    assert jax.jit(gathered).lower(image, y, x).as_text().count("/* loop over") == 1
    checked(gathered, image, y, x, inputs=[image, y, x])


def test_what_is_joined_in_short_rows_for_a_fold_is_computed_before_it():
    """Each turn of the fold reads one element of a row, and would compute an exponential for each of the others."""
    def folded(x, y, c):
        return (jnp.stack([jnp.exp(x), y * 2], -1).reshape(20, 80) * c).sum(1)
    x, c = np.linspace(0.1, 1, 800, dtype=np.float32).reshape(20, 40), np.ones(80, np.float32)
    assert "] = tt_exp_f32(" in jax.jit(folded).lower(x, x, c).as_text()
    np.testing.assert_allclose(jax.jit(folded)(x, x, c), (np.exp(x) + 2 * x).sum(1), rtol=1e-5)
