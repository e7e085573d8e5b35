"""Arrays and tracers have every operator and method that JAX's have: `METHODS` is the table that installs them."""

import json
import pathlib

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.array import Array
from tinytrace.core.trace import Tracer

# The public names and double underscores that `dir` shows of an array and a tracer of JAX 0.4.35.
NAMES = set(json.loads((pathlib.Path(__file__).parent.parent / "goldens" / "array_names.json").read_text()))
DEVICES = {
    "device_buffer", "device_buffers", "layout", "traceback", "clone",
}  # fmt: skip
"""Names that speak of devices and buffers, of which there is one kind here."""
OTHER = {
    "__abstractmethods__", "__array_module__", "__hex__", "__oct__",
}  # fmt: skip
"""Python 2's conversions, protocols of other libraries, and what 0.4.35 lists but NumPy's array does."""
OF_ARRAYS = {"addressable_data", "addressable_shards", "block_until_ready", "committed", "copy_to_host_async", "delete",
             "device", "devices", "global_shards", "is_deleted", "is_fully_addressable", "is_fully_replicated",
             "is_ready", "on_device_size_in_bytes", "platform", "sharding", "unsafe_buffer_pointer"}


@pytest.mark.parametrize("kind", [Array, Tracer])
def test_every_operator_and_method_is_there(kind):
    wanted = NAMES - DEVICES - OTHER - (OF_ARRAYS if kind is Tracer else set())
    assert sorted(name for name in wanted if not hasattr(kind, name)) == []
    assert len(wanted) > 100


def test_what_is_left_out_is_not_there():
    assert sorted(name for name in DEVICES | OTHER if hasattr(Array, name)) == []


@pytest.mark.parametrize("name", ["mean", "var"])
def test_means_of_arrays_made_in_x64_mode_are_narrowed_outside(name):
    with jax.enable_x64(True):
        x = jnp.arange(3.0)
        assert getattr(jnp, name)(x).dtype == np.float64
    for _ in range(3):
        assert getattr(jnp, name)(x).dtype == np.float32
