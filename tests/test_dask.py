"""Jitted functions on a cluster of Dask on this machine: few compiles, nothing lost, the same numbers."""
import os
import time

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Dask's own
distributed = pytest.importorskip("distributed", reason="dask is not installed")
dask_array = pytest.importorskip("dask.array")

from tinytrace import dask as parallel  # noqa: E402

SHAPES = [(16,), (32,), (8, 8), (4, 4, 4), (100,)]


def curve(x):
    return jnp.tanh(x) * 2 + jnp.exp(-x)


def loss(params, x, y):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return ((x @ w + b - y) ** 2).sum()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Four workers, each a process with one thread, and a store of their own that they share."""
    tmp_path = tmp_path_factory.mktemp("cluster")
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    env = {"TINYTRACE_CACHE_DIR": str(store), "TINYTRACE_NUM_THREADS": "1"}
    with (distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None, env=env,
                                   local_directory=str(tmp_path)) as made, distributed.Client(made) as client):
        yield client


def slowly(jitted, pause, x):
    time.sleep(pause)
    return np.asarray(jitted(x))


def test_a_thousand_tasks_of_five_shapes_compile_five_programs(client):
    jitted = jax.jit(lambda x: curve(x) + 1)
    arrays = [np.full(SHAPES[k % 5], k / 1000, np.float32) for k in range(1000)]
    before = sum(parallel.compiles(client).values())
    results = client.gather(client.map(jitted, arrays))
    for x, result in zip(arrays, results, strict=True):
        np.testing.assert_array_equal(result, jitted(x))
    assert 1 <= sum(parallel.compiles(client).values()) - before <= 5


def test_an_mlp_trained_in_parallel_is_the_one_trained_here(client):
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(64, n)).astype(np.float32) for n in (8, 2))
    start = [(random.normal(size=(8, 16)).astype(np.float32), np.zeros(16, np.float32)),
             (random.normal(size=(16, 2)).astype(np.float32), np.zeros(2, np.float32))]
    shards = [(x[k:k + 16], y[k:k + 16]) for k in range(0, 64, 16)]
    gradients = jax.jit(jax.value_and_grad(loss))

    def trained(shards, client):
        params, losses = start, []
        for _ in range(10):
            value, grads = parallel.pmap_tree(gradients, shards, params, client=client)
            params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads)
            losses.append(float(value))
        return params, losses

    there, losses = trained(parallel.scatter(client, shards), client)
    here, expected = trained(shards, None)
    assert losses == expected
    assert losses[-1] < losses[0]
    for a, b in zip(jax.tree.leaves(there), jax.tree.leaves(here), strict=True):
        np.testing.assert_array_equal(a, b)


def test_blocks_of_arrays(client):
    x = dask_array.random.random((40, 6), chunks=(10, 6)).astype("float32")
    result = parallel.map_blocks(curve, x)
    assert (result.dtype, result.chunks) == (np.float32, x.chunks)
    got, values = client.compute([result, x], sync=True)
    np.testing.assert_array_equal(got, np.concatenate([jax.jit(curve)(values[k:k + 10]) for k in range(0, 40, 10)]))
    plain = dask_array.map_blocks(jax.jit(curve), x, dtype="float32")
    np.testing.assert_array_equal(np.asarray(client.compute(plain, sync=True)).shape, (40, 6))


def test_machine_code_is_sent_where_no_directory_is_shared(client):
    jitted = jax.jit(lambda x: curve(x) * 5)
    jitted(np.ones(7, np.float32))
    entry = next(iter(jitted.cache.values()))
    before = sum(parallel.compiles(client).values())
    taken = parallel.send_store(client, [entry.artifact.digest])
    assert [len(t.added) + len(t.present) for t in taken.values()] == [1] * 4
    client.gather(client.map(jitted, [np.ones(7, np.float32)] * 8, pure=False))
    assert sum(parallel.compiles(client).values()) == before


def test_a_worker_that_is_killed_loses_nothing(client):
    jitted = jax.jit(curve)
    arrays = [np.full(4, k, np.float32) for k in range(80)]
    futures = [client.submit(slowly, jitted, 0.05, x, pure=False) for x in arrays]
    distributed.wait(futures[:8])
    victim = client.run(os.getpid)
    os.kill(next(iter(victim.values())), 9)
    for x, future in zip(arrays, futures, strict=True):
        np.testing.assert_array_equal(future.result(timeout=60), jitted(x))
