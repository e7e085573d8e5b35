"""What programs for several devices ask on one: shardings, meshes, pmap, shard_map, checks where values are known.

JAX's answers, on one device too, are in tests/goldens/one_device.txt.
"""

import pickle

import cloudpickle
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.goldens import answer, as_tinytrace, load, set_scene
from tinytrace import lax
from tinytrace.core import placements
from tinytrace.core.trace import interpreting
from tinytrace.experimental import checkify
from tinytrace.experimental.pjit import pjit
from tinytrace.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

X = jnp.arange(6.0).reshape(1, 6)
SCENE, CASES = load("one_device")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer


@pytest.mark.not_quick
@pytest.mark.parametrize("in_axis", [0, 1, None])
@pytest.mark.parametrize("out_axis", [0, 1])
def test_pmap_is_vmap_over_an_axis_of_size_one(in_axis, out_axis):
    """With derivatives and batches, un-jitted and jitted, and where the interpreter runs it."""
    x, y = np.float32(np.random.default_rng(3).normal(size=(2, 1, 1, 3)))
    other = y[0] if in_axis is None else y

    def f(a, b):
        return jnp.sin(a) * b + lax.pmean(a * b, "i") * (1 + lax.axis_index("i"))

    def loss(mapped):
        def of(a, b):
            over = mapped(f, in_axes=(0, in_axis), out_axes=out_axis, axis_name="i")
            return (over(a, b) ** 2).sum()
        return of

    theirs = [jax.value_and_grad(loss(jax.vmap), (0, 1))(x, other)]
    ours = [jax.value_and_grad(loss(jax.pmap), (0, 1))(x, other),
            jax.jit(jax.value_and_grad(loss(jax.pmap), (0, 1)))(x, other)]
    with interpreting():
        ours.append(jax.value_and_grad(loss(jax.pmap), (0, 1))(x, other))
    batched = [jax.vmap(jax.grad(loss(mapped), (0, 1)), (1, None))(np.stack([x, -x], 1), other)
               for mapped in (jax.pmap, jax.vmap)]
    for one, wanted in [*((tree, theirs[0]) for tree in ours), batched]:
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, 1e-5, 1e-6)


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


def test_given_shardings_stay_with_the_array_alone():
    sharding = NamedSharding(Mesh(jax.devices(), ("x",)), PartitionSpec("x"))
    x = jnp.arange(3.0)
    placed = jax.device_put(x, sharding)
    assert (x.sharding, placed.sharding) == (SingleDeviceSharding(jax.devices()[0]), sharding)
    assert np.shares_memory(np.asarray(x), np.asarray(placed))
    assert jax.device_put(placed, sharding) is placed
    x.delete()
    assert placed.tolist() == [0, 1, 2]
    del placed
    assert placements._given == {}
    f = jax.jit(lambda x: x, out_shardings=sharding)
    assert [f(jnp.ones(2)).sharding for _ in range(3)] == [sharding] * 3
    assert jax.jit(lambda x: x)(jnp.ones(2)).sharding != sharding  # they share a cache
    assert pickle.loads(cloudpickle.dumps(f))(jnp.ones(2)).sharding == sharding
    assert pjit(lambda x: x, out_shardings=sharding)(jnp.ones(2)).sharding == sharding
    out, step = jnp.linspace(0, 1, 3, retstep=True, device=sharding)
    assert (out.sharding == sharding, step) == (True, 0.5)


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


def test_another_kind_of_memory_is_refused_as_jax_does():
    cpu = jax.devices()[0]
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        cpu.memory("tpu")
    assert str(caught.value) == ("INVALID_ARGUMENT: Could not find memory addressable by device cpu. Device cpu can "
                                 "address the following memory kinds: unpinned_host. Got memory kind: tpu")
    assert cpu.memory("unpinned_host") is cpu.default_memory()
