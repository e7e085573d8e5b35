"""Functions on many machines with Dask: `pip install 'tinytrace[dask]'`.

    client.map(jitted, arrays)                      Dask's own: a jitted function is a function like others
    tinytrace.dask.map_blocks(jitted, array)        the blocks of a dask.array, whose type is known without a call
    tinytrace.dask.pmap_tree(grad_fn, shards, params, client=client)
                                                    data parallel: the sum over the shards, added up on the workers

Workers that share a store (TINYTRACE_CACHE_DIR, a directory that all of them see) compile each program once among them.
Where they share no directory, `send_store` takes what is compiled here to all workers, those that come later too.
"""
from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from tinytrace.api.jit import JitFunction, jit
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.core.array import Array
from tinytrace.core.trees import tree_map
from tinytrace.runtime.archive import Imported, export_store, import_store
from tinytrace.runtime.discovery import current_store
from tinytrace.runtime.inventory import Inventory, current_inventory
from tinytrace.runtime.ladder import stats

try:
    import dask.array as dask_array
    import dask.sizeof
    import distributed
except ImportError as error:
    raise ImportError("tinytrace.dask needs Dask: run pip install 'tinytrace[dask]'") from error

_dask: Any = dask_array  # of which some functions have types and others not
_distributed: Any = distributed
_sizeof: Any = dask.sizeof.sizeof
_sizeof.register(Array, lambda x: x.nbytes)  # Dask sends tasks to large arrays rather than these to tasks


def map_blocks(fun: Callable[..., Any], *arrays: Any, **options: Any) -> Any:
    """Return a dask.array whose blocks are `fun` of the blocks of `arrays`; `options` are those of dask's map_blocks.

    The type of the result is derived without a call; blocks of the result are NumPy arrays.
    """
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    if "meta" not in options and "dtype" not in options:
        blocks = [ShapeDtypeStruct(x.chunksize, x.dtype) for x in arrays if isinstance(x, _dask.Array)]
        options["dtype"] = np.dtype(jitted.eval_shape(*blocks).dtype)
    if "meta" not in options:
        ndim = max(x.ndim for x in arrays if isinstance(x, _dask.Array))
        options["meta"] = np.empty((0,) * ndim, options["dtype"])
    return _dask.map_blocks(functools.partial(_in_numpy, jitted), *arrays, name=options.pop("name", None),
                                 token=options.pop("token", getattr(jitted, "__name__", "jitted")), **options)


def _in_numpy(jitted: JitFunction, *blocks: Any, **settings: Any) -> Any:
    return np.asarray(jitted(*blocks, **settings))


def pmap_tree(fun: Callable[..., Any], shards: Iterable[Sequence[Any]], *shared: Any, client: Any = None,
              progress: bool = False) -> Any:
    """Return the sum over `shards` of `fun(*shared, *shard)`, which may be any tree of arrays, such as gradients.

    Args:
      shards: one tuple of arrays for each task, or of Dask's futures (see `scatter`).
      shared: the same for all shards, such as parameters; sent to each worker once.
      client: of `distributed`; None computes here, in the same order: the result is the same to the bit.
      progress: show a progress bar.

    Sums are made in pairs, on the workers: what comes back is one result. A worker that is lost loses nothing: its
    tasks run on others.
    Raises: ValueError if there are no shards.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> from tinytrace.dask import pmap_tree
    >>> pmap_tree(jax.grad(lambda w, x: (w * x).sum()), [(jnp.ones(3),), (jnp.ones(3),)], 2.0)
    Array(6., dtype=float32, weak_type=True)
    """
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    shards = list(shards)
    if not shards:
        raise ValueError("pmap_tree needs at least one shard")
    if client is None:
        return _sum_in_pairs([jitted(*shared, *shard) for shard in shards], _added)
    everywhere = [client.scatter(x, broadcast=True, hash=False) for x in map(_Boxed, shared)]
    call = functools.partial(_call_unboxed, jitted, len(everywhere))
    keys = [f"{getattr(jitted, '__name__', 'jitted')}-{uuid4().hex}" for _ in shards]  # dashboards show the name
    parts = [client.submit(call, *everywhere, *shard, key=key, pure=False)
             for key, shard in zip(keys, shards, strict=True)]
    total = _sum_in_pairs(parts, lambda a, b: client.submit(_added, a, b, pure=False))
    if progress:
        _distributed.progress(total)
    return total.result()


class _Boxed:
    """A value that Dask sends as a whole: it would take lists and dicts apart."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _call_unboxed(jitted: JitFunction, n: int, *args: Any) -> Any:
    return jitted(*[box.value for box in args[:n]], *args[n:])


@jit
def _added(a: Any, b: Any) -> Any:
    return tree_map(lambda x, y: x + y, a, b)


def _sum_in_pairs(parts: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    while len(parts) > 1:
        pairs = [add(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2:]
    return parts[0]


def scatter(client: Any, shards: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return `shards` as futures: their arrays are on the workers, and stay there from one `pmap_tree` to the next."""
    return [tuple(client.scatter(list(shard), hash=False)) for shard in shards]


def compiles(client: Any) -> dict[str, int]:
    """Return how many programs each worker has compiled since it started."""
    return dict(client.run(_compiles))


def _compiles() -> int:
    return stats.compiles


def send_store(client: Any, keys: Iterable[str] | None = None) -> dict[str, Imported | None]:
    """Send the machine code that is in the store here to the stores of all workers, and of those that come later.

    keys: digests of entries, or their beginnings; None sends all. Returns: for each worker what became of the entries
    (None without a store); those made for another processor or compiler are left out and told.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "entries.zip")
        export_store(current_inventory(), path, keys)
        with open(path, "rb") as file:
            data = file.read()
    take = functools.partial(_take_entries, data)
    client.register_worker_callbacks(setup=take)
    return dict(client.run(take))


def _take_entries(data: bytes) -> Imported | None:
    store = current_store([])
    if store is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "entries.zip")
        with open(path, "wb") as file:
            file.write(data)
        return import_store(Inventory(store), path)
