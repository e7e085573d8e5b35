"""Arrays that are not what one expects, through `jit`: layouts, no elements, no dimensions, NaN, too large, donated."""

import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

BASE = np.arange(-60, 60, dtype=np.float32).reshape(2, 3, 4, 5)
MISALIGNED = np.frombuffer(b"." + BASE.tobytes(), np.float32, offset=1).reshape(BASE.shape)
READ_ONLY = BASE.copy()
READ_ONLY.flags.writeable = False

LAYOUTS = {
    "as it is": BASE, "reversed": BASE[::-1, ::-1, ::-1, ::-1], "every other": BASE[..., ::-2], "transposed": BASE.T,
    "Fortran's": np.asfortranarray(BASE), "one element repeated": np.broadcast_to(BASE[0, 0, 0, 0], (3, 4)),
    "one row repeated": np.broadcast_to(BASE[0, 0, 0], (7, 5)), "misaligned": MISALIGNED, "read-only": READ_ONLY,
    "part": BASE[:, 1:2, 1:3], "no elements": BASE[:0], "none in the middle": BASE[:, :, :0],
    "no elements, reversed": BASE[:0, ::-1], "no dimensions": BASE[1, 1, 1, 1, ...], "a scalar": BASE[1, 1, 1, 1],
    "one element": BASE[1:, 2:, 3:, 4:],
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.bool_, np.float16])
def test_layouts(layout, dtype):
    x = LAYOUTS[layout]
    if dtype != np.float32:
        x = np.asarray(x.astype(dtype, order="K"))[...]
    before = x.copy()

    @jax.jit
    def f(x):
        return x, x.sum(), jnp.flip(x), x.reshape(-1), x * 2

    for _ in range(3):  # a miss, then hits
        same, total, flipped, flat, double = f(x)
        wanted = x.astype(same.dtype)
        np.testing.assert_array_equal(same, wanted)
        np.testing.assert_array_equal(flipped, np.flip(wanted))
        np.testing.assert_array_equal(flat, wanted.reshape(-1))
        np.testing.assert_array_equal(double, (wanted * 2).astype(double.dtype))
        assert float(total) == float(wanted.sum(dtype=np.float64 if wanted.dtype.kind == "f" else None))
    np.testing.assert_array_equal(x, before)


def test_results_do_not_see_later_changes_of_arguments():
    x = np.arange(5, dtype=np.float32)
    f = jax.jit(lambda x: (x, x + 1))
    same, more = f(x)
    x[:] = -1
    np.testing.assert_array_equal(same, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(more, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(f(x)[1], [0] * 5)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38])
def test_special_values_pass_unchanged(special):
    x = np.full(1000, special, np.float32)
    x[::3] = 1
    same, picked, stacked = jax.jit(lambda x: (x, x[5:90:2], jnp.stack([x, x[::-1]])))(x)
    assert np.asarray(same).tobytes() == x.tobytes()
    assert np.asarray(picked).tobytes() == x[5:90:2].tobytes()
    assert np.asarray(stacked).tobytes() == np.stack([x, x[::-1]]).tobytes()


def test_bits_of_nan_pass_unchanged():
    x = np.array([0x7FC00001, 0xFFC12345, 0x7F800001], np.uint32).view(np.float32)
    out = jax.jit(lambda x: jnp.concatenate([x, x[::-1]]))(x)
    assert np.asarray(out).tobytes() == np.concatenate([x, x[::-1]]).tobytes()


@pytest.mark.parametrize("shape", [(1 << 44,), (1 << 31, 1 << 31), (1 << 24, 1 << 24, 3)])
def test_what_does_not_fit_in_memory_is_an_error(shape):
    fill = jax.jit(functools.partial(jnp.full, shape, jnp.float32(1)))
    for _ in range(2):
        with pytest.raises(MemoryError):
            fill()
    temporary = jax.jit(lambda x: jnp.sort(jnp.broadcast_to(x, shape), axis=0)[0])
    with pytest.raises(MemoryError):
        temporary(np.float32(1))
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(np.float32([1])), [2])


@pytest.mark.parametrize("shape", [(0, 1 << 40), (1 << 40, 0, 3), (1 << 31, 0)])
def test_many_times_nothing(shape):
    x = jax.jit(lambda: jnp.zeros(shape))()
    assert x.shape == shape
    assert float(jax.jit(jnp.sum)(x)) == 0
    assert jax.jit(lambda x: x.max(initial=1.0))(x) == 1


# --- donation ----------------------------------------------------------------------------------------------------

def test_views_of_donated_arrays_stay():
    """NumPy's view of an array was made before it is donated: nobody may write into what it shows."""
    x = jnp.arange(1000.0)
    view = np.asarray(x)
    out = jax.jit(lambda x: x.at[3].set(-1.0) * 2, donate_argnums=0)(x)
    assert float(out[3]) == -2
    np.testing.assert_array_equal(view, np.arange(1000.0))


def test_numpy_arrays_are_not_touched_by_donation():
    x = np.arange(1000, dtype=np.float32)
    f = jax.jit(lambda x: x.at[3].set(-1.0), donate_argnums=0)
    for _ in range(3):
        assert float(f(x)[3]) == -1
        np.testing.assert_array_equal(x, np.arange(1000))


def test_a_chain_of_donated_states():
    step = jax.jit(lambda state, x: {"sum": state["sum"] + x, "last": x * 1}, donate_argnames="state")
    state = {"sum": jnp.zeros(100), "last": jnp.zeros(100)}
    for k in range(50):
        state = step(state, jnp.full(100, float(k)))
    np.testing.assert_array_equal(state["sum"], np.full(100, 49 * 50 / 2))
    np.testing.assert_array_equal(state["last"], np.full(100, 49.0))


def test_what_holds_the_elements_of_a_donated_array_stays():
    """Closed-over constants and results that are arguments handed through are other names of the same block."""
    x = jnp.arange(100.0)
    through = jax.jit(lambda x: x)(x)
    closed = jax.jit(lambda y: y + x)
    closed(1.0)
    out = jax.jit(lambda y: y.at[0].set(7.0), donate_argnums=0)(x)
    assert float(out[0]) == 7
    np.testing.assert_array_equal(through, np.arange(100.0))
    np.testing.assert_array_equal(closed(1.0), np.arange(100.0) + 1)
