"""What programs for several devices ask on one: shardings, meshes, pmap, checks where values are known."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.experimental import checkify
from tinytrace.experimental.pjit import pjit
from tinytrace.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

X = jnp.arange(6.0).reshape(1, 6)


def test_shardings():
    device = jax.devices()[0]
    assert X.sharding == SingleDeviceSharding(device)
    assert X.sharding.device_set == {device}
    mesh = Mesh([device], ("x",))
    sharding = NamedSharding(mesh, PartitionSpec("x", None))
    assert sharding.shard_shape((4, 2)) == (4, 2)
    assert sharding == NamedSharding(mesh, PartitionSpec("x", None))
    assert jax.jit(lambda x: 2 * x, in_shardings=sharding, out_shardings=sharding)(X)[0, 2] == 4
    assert pjit(lambda x: 2 * x, in_shardings=sharding)(X)[0, 2] == 4
    with pytest.raises(ValueError, match="Resource axis: y of"):
        NamedSharding(mesh, PartitionSpec("y"))
    with pytest.raises(ValueError, match="a mesh of 2 devices: there is one device"):
        Mesh([device, device], "x")
    with pytest.raises(NotImplementedError, match="abstracted_axes"):
        jax.jit(len, abstracted_axes=("n",))


def test_placing():
    tree = {"a": jnp.ones(2), "b": 3.0}
    assert jax.device_put_replicated(tree, jax.devices())["b"].shape == (1,)
    assert jax.device_put_sharded([tree], jax.devices())["a"].shape == (1, 2)
    with pytest.raises(ValueError, match=r"len\(shards\) = 2 must equal len\(devices\) = 1"):
        jax.device_put_sharded([tree, tree], jax.devices())


def test_checks_where_values_are_known():
    checked = lambda x: (checkify.check(x > 0, "{} is not positive", x), x * x)[1]  # noqa: E731
    assert jax.grad(checked)(2.0) == 4
    assert jax.vmap(checked)(jnp.ones(2)).tolist() == [1, 1]
    for call in (checked, jax.grad(checked), lambda x: jax.vmap(checked)(x[None])):
        with pytest.raises(checkify.JaxRuntimeError, match="is not positive"):
            call(jnp.float32(-1))
    with pytest.raises(ValueError, match="Cannot abstractly evaluate a checkify"):
        jax.jit(checked)(2.0)
    with pytest.raises(TypeError, match="check takes a scalar pred"):
        checkify.check(np.ones(2, bool), "no")
    with pytest.raises(TypeError, match="PyTrees of arrays, but got 'x' of type"):
        checkify.check(True, "{}", "x")
