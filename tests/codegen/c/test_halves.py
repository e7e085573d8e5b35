"""Two-byte floats are rounded as carefully as they must be; what is only moved keeps its bits."""
import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

PATTERNS = np.arange(1 << 16, dtype=np.uint16)
PARTNERS = np.float32([0, -0.0, 1, -3, 1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan])
OPERATIONS = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
    "max": jnp.maximum, "chosen": lambda x, y: jnp.where(x > y, -x, jnp.abs(y)),
    "twice": lambda x, y: (x * y + x) * y - x, "sqrt": lambda x, y: jnp.sqrt(x) * y,
    "powers of two": lambda x, y: [x * 2, 2 * x + y, x * -(2.0**10), (x * 0.5) * y, -4 * (x * 1)],
    "signs": lambda x, y: [-x, jnp.abs(x), -jnp.abs(y), jnp.abs(jnp.where(x > y, -x, y)), jnp.abs(x)[::-1]],
    "result and more": lambda x, y: [z := x - y, z * z, -z],
    "steps": lambda x, y: [jnp.nextafter(x, -y), jnp.nextafter(jnp.where(x > y, -x, y), x)],
    "steps and more": lambda x, y: [z := jnp.nextafter(x, y), z - y],
}


def of_every_number(operation, dtype):
    """What an operation gives for every number beside several others, jitted and one operation after the other."""
    with np.errstate(over="ignore"):
        x, y = np.broadcast_arrays(PATTERNS.view(dtype)[:, None], PARTNERS.astype(dtype))
    steps = jax.tree_util.tree_leaves(operation(jnp.asarray(x), jnp.asarray(y)))
    together = jax.tree_util.tree_leaves(jax.jit(operation)(x, y))
    return [np.asarray(leaf) for leaf in steps], [np.asarray(leaf) for leaf in together]


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_number_is_rounded_as_operation_by_operation(name, dtype):
    for step, together in zip(*of_every_number(OPERATIONS[name], dtype), strict=True):
        with np.errstate(invalid="ignore"):
            numbers = ~np.isnan(step)
            assert np.array_equal(numbers, ~np.isnan(together))
        assert np.array_equal(step.view(np.uint16)[numbers], together.view(np.uint16)[numbers])


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_what_is_stored_is_a_step_of_bits(dtype):
    x = np.zeros(100, dtype)
    for to, step in (jnp.nextafter, True), (lambda x, y: jnp.nextafter(x, jnp.inf), True), (jnp.add, False):
        text = jax.jit(to).lower(x, x).as_text()
        assert ("= tt_nextafter_words_" in text) == step
        assert ("tt_widen_" in text or "16_to_f32(" in text.split("tt_entry")[-1]) != step


def test_twice_a_bfloat16_is_not_rounded():
    def rounded(function):
        text = jax.jit(function).lower(np.zeros(100, ml_dtypes.bfloat16)).as_text()
        return text.count("tt_round_plain_bf16(") + text.count("tt_plain_to_bf16(")

    assert rounded(lambda x: x * 2) == rounded(lambda x: x * -(2.0**20)) == 0
    assert rounded(lambda x: x * 3) == rounded(lambda x: x * 0.5) == rounded(lambda x: x * 2 + 1) == 1


MOVES = {
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.reshape(64, -1).T,
    "padded": lambda x: jnp.pad(x, 3),
    "padded with a value": lambda x: jnp.pad(x, (1, 2), constant_values=2),
    "joined": lambda x: jnp.concatenate([x, x[::2], x[1:]]),
    "rolled": lambda x: jnp.roll(x, 5),
    "repeated": lambda x: jnp.repeat(x, 2),
    "gathered": lambda x: x[np.array([5, 3, 31745, -1])],
    "updated": lambda x: x.at[3:9].set(x[:6]),
}


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("name", MOVES)
def test_what_is_moved_keeps_its_bits(name, dtype):
    move = MOVES[name]
    bits = np.asarray(jax.jit(lambda x: move(x))(PATTERNS.view(dtype))).view(np.uint16)
    with np.errstate(invalid="ignore"):
        expected = np.asarray(jax.jit(lambda x: move(x))(PATTERNS))
    if name.startswith("padded with"):  # the value is of another type there
        expected = np.where(expected == 2, np.asarray(2, dtype).view(np.uint16), expected)
        bits, expected = bits[1:-2][3:], expected[1:-2][3:]
    assert np.array_equal(bits, expected)


def test_what_is_moved_is_not_converted():
    x = jax.ShapeDtypeStruct((50, 60), np.float16)
    for move in (lambda x: x[:, ::2], lambda x: x.T[::-1], lambda x: jnp.concatenate([x, x])):
        assert "to_f" not in jax.jit(move).lower(x).as_text().split("for (", 1)[1]


def test_a_sign_is_a_bit():
    x = jax.ShapeDtypeStruct((5000,), np.float16)
    for signed in (jnp.abs, jnp.negative, lambda x: -jnp.abs(x[::-1])):
        text = jax.jit(signed).lower(x).as_text().split("for (", 1)[1]
        assert "f32" not in text
        assert "0x" in text
    assert "f32" in jax.jit(lambda x: jnp.abs(x) + 1).lower(x).as_text()
