"""Devices, of which there is one: the CPU. `device_put` and its kin are what programs written for JAX call."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from tinytrace.api.concrete import as_array
from tinytrace.core import views
from tinytrace.core.array import CPU, Array, Device
from tinytrace.core.avals import aval_of, is_valid_type
from tinytrace.core.dtypes import KeyType
from tinytrace.core.placements import given_sharding, placed_again
from tinytrace.core.trace import Tracer, is_eager
from tinytrace.core.tree_paths import broadcast_prefix
from tinytrace.core.trees import tree_flatten, tree_leaves, tree_map
from tinytrace.primitives.placement import CopySemantics, device_put_p

Result = TypeVar("Result")


def devices(backend: str | None = None) -> list[Device]:
    """Return the list of devices: the CPU.

    Raises: RuntimeError for a backend other than cpu.

    >>> devices()
    [CpuDevice(id=0)]
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend: '{backend}' requested, but no platforms that are instances of {backend} "
                           "are present. tinytrace computes on the cpu.")
    return [CPU]


def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """Return the devices of this process: the CPU."""
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Return 1."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return 1."""
    return len(devices(backend))


def process_count(backend: str | None = None) -> int:
    """Return how many processes compute together: 1."""
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    """Return the number of this process: 0."""
    return 0


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes: that of this one."""
    return [0]


def host_count(backend: str | None = None) -> int:
    """Return `process_count()`, with a warning: the name of that before."""
    return _renamed("host_count", process_count)(backend)


def host_id(backend: str | None = None) -> int:
    """Return `process_index()`, with a warning: the name of that before."""
    return _renamed("host_id", process_index)(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """Return `process_indices()`, with a warning: the name of that before."""
    return _renamed("host_ids", process_indices)(backend)


def _renamed(old: str, new: Callable[..., Result]) -> Callable[..., Result]:
    warnings.warn(f"jax.{old} has been renamed to jax.{new.__name__}. This alias will eventually be removed; please "
                  "update your code.", stacklevel=3)
    return new


def default_backend() -> str:
    """Return `cpu`."""
    return CPU.platform


def default_device(device: Device | None) -> AbstractContextManager[None]:
    """Return a context within which arrays are made on `device`: there is one.

    Raises: ValueError for what is no device.

    >>> with default_device(devices("cpu")[0]):
    ...     pass
    """
    if device is not None and not isinstance(device, Device):
        raise ValueError("jax.default_device must be passed a Device object (e.g. `jax.devices('cpu')[0]`), got: "
                         f"{device!r}")
    return nullcontext()


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Return the tree `x` with its leaves as Arrays; copies of them where `may_alias` is False.

    `device` is a device, a sharding, or a tree of these that is a prefix of `x`.

    Raises: ValueError for a device that is none, for a sharding that does not fit, and for leaves that may be aliased
    and donated at once.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.device_put.html.
    """
    leaves, tree = tree_flatten(x)
    places = [device] * len(leaves)
    if device is not None:
        places = broadcast_prefix(device, x, is_leaf=lambda one: one is None)
        _check_places(tree_leaves(device), places, leaves)
    may = _per_leaf(may_alias, x, tree.num_leaves)
    if any(one and other for one, other in zip(may, _per_leaf(donate, x, tree.num_leaves), strict=True)):
        raise ValueError("may_alias and donate cannot be True at the same time.")
    if not is_eager():
        return tree.unflatten(_stage(leaves, places, src, may, _per_leaf(donate, x, tree.num_leaves)))
    return tree.unflatten(map(_placed, leaves, places, may))


def _check_places(given: list[Any], places: list[Any], leaves: list[Any]) -> None:
    """Raise ValueError unless each place is one, and each leaf has the axes that its sharding speaks of."""
    for one in given:
        if not isinstance(one, (Device, views.sharding.Sharding)):
            raise ValueError("`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, `Layout` or "
                             f"a pytree of these values. Received invalid value: {one}")
    for place, leaf in zip(places, leaves, strict=True):
        if place is not None and not isinstance(place, Device):
            _check(leaf)
            try:
                place.check_compatible_aval(aval_of(leaf).shape)
            except ValueError as error:
                raise ValueError("One of device_put args is incompatible with its sharding annotation "
                                 f"{place}: {error}") from None


def _stage(leaves: list[Any], places: list[Any], src: Any, may: list[Any], donate: list[Any]) -> Any:
    for leaf in leaves:
        _check(leaf)
    semantics = [CopySemantics.DONATE if one else CopySemantics.COPY if other is False else CopySemantics.ALIAS
                 for one, other in zip(donate, may, strict=True)]
    return device_put_p.bind(*leaves, devices=places, srcs=[src] * len(leaves),
                             copy_semantics=semantics)


def _per_leaf(flags: Any, x: Any, num_leaves: int) -> list[Any]:
    """Return one flag per leaf of `x`, of which `flags` is a prefix."""
    return [flags] * num_leaves if flags is None or isinstance(flags, bool) else broadcast_prefix(flags, x)


def _placed(leaf: Any, place: Any, may_alias: bool | None) -> Any:
    _check(leaf)
    if not isinstance(leaf, Array):
        return lies_at(as_array(leaf, aval_of(leaf)), place)
    if may_alias is False:
        leaf = copy.deepcopy(leaf)
    return leaf if place is None else lies_at(leaf, place)


def lies_at(x: Array, place: Any) -> Array:
    """Return `x` at a place: itself when it lies there, else another array of the same elements."""
    wanted = views.sharding.SingleDeviceSharding(place) if isinstance(place, Device) else place
    if wanted == given_sharding(x):
        return x
    placed: Array = placed_again(x, wanted)
    return placed


def _check(leaf: Any) -> None:
    if not is_valid_type(leaf):
        raise TypeError(f"Argument '{leaf}' of type {type(leaf)} is not a valid JAX type")


def created_at(x: Any, device: Any) -> Any:
    """Return a new array where the argument `device=` of its maker says; while tracing it is left where it is."""
    return x if device is None or not is_eager() else device_put(x, device)


def device_get(x: Any) -> Any:
    """Return the tree `x` with its Arrays as NumPy arrays; tracers and typed keys stay what they are.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.device_get.html.
    """
    return tree_map(_on_host, x)


def _on_host(leaf: Any) -> Any:
    if isinstance(leaf, Tracer) or isinstance(getattr(leaf, "dtype", None), KeyType) or not hasattr(leaf, "__array__"):
        return leaf
    return leaf.__array__()


def block_until_ready(x: Any) -> Any:
    """Return the tree `x` when all its arrays are computed: at once."""
    return x
