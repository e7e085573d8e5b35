"""Functions, stages and jaxprs travel: pickled by name or by value, copied, exported as text."""
import copy
import pickle

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.api.test_export_c import PROGRAMS
from tinytrace import runtime
from tinytrace.core.typecheck import check_jaxpr


@jax.jit
def by_name(x):
    return jnp.sin(x) * 2


def plain(x):
    return jnp.cos(x) * 2


def sent(value, how=pickle):
    return pickle.loads(how.dumps(value))


class Model:
    def __init__(self, scale):
        self.scale = scale

    @jax.jit
    def apply(self, x):
        return x * self.scale

    __hash__ = object.__hash__


jax.tree_util.register_pytree_node(Model, lambda m: ((m.scale,), None), lambda _, scale: Model(*scale))


def test_a_function_of_a_module_is_pickled_by_name():
    assert sent(by_name) is by_name
    jitted = sent(jax.jit(plain, inline=True))
    assert jitted.__wrapped__ is plain
    assert jitted._options.inline
    assert len(pickle.dumps(by_name)) < 100


def test_a_method_is_pickled_with_its_object():
    assert float(sent(Model(3.0).apply)(2.0)) == 6.0


def test_a_lambda_needs_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    scale = 4.0
    jitted = jax.jit(lambda x: x * scale)
    with pytest.raises(pickle.PicklingError, match="pickle it with cloudpickle"):
        pickle.dumps(jitted)
    twin = sent(jitted, cloudpickle)
    assert twin is not jitted
    assert float(twin(2.0)) == float(jitted(2.0)) == 8.0


def test_unpickled_often_compiled_once():
    cloudpickle = pytest.importorskip("cloudpickle")
    data = cloudpickle.dumps(jax.jit(lambda x: jnp.tanh(x) * 0.123 + x))
    pickle.loads(data)(jnp.ones(3))
    before = runtime.ladder.stats.compiles
    for _ in range(5):
        pickle.loads(data)(jnp.ones(3))
    assert runtime.ladder.stats.compiles == before


def test_functions_are_copied_as_functions_are():
    jitted = jax.jit(lambda x: x)
    assert copy.copy(jitted) is copy.deepcopy(jitted) is copy.deepcopy([jitted])[0] is jitted


@pytest.mark.parametrize("name", PROGRAMS)
def test_jaxprs_and_stages(name):
    fun, args = PROGRAMS[name]
    closed = jax.make_jaxpr(fun)(*args)
    for twin in (sent(closed), copy.deepcopy(closed), sent(closed.jaxpr), copy.copy(closed)):
        assert str(twin) == str(closed) or str(twin) == str(closed.jaxpr)
        check_jaxpr(getattr(twin, "jaxpr", twin))
    traced = jax.jit(fun).trace(*args)
    assert sent(traced).lower().as_text() == sent(traced.lower()).as_text() == traced.lower().as_text()


def test_a_compiled_stage_finds_its_machine_code():
    compiled = jax.jit(plain).lower(jnp.ones(3)).compile()
    before = runtime.ladder.stats.compiles
    twin = sent(compiled)
    assert runtime.ladder.stats.compiles == before
    assert twin.executable.key == compiled.executable.key
    np.testing.assert_array_equal(twin(jnp.ones(3)), compiled(jnp.ones(3)))


def test_equations_keep_their_lines_and_get_numbers_of_their_own():
    closed = jax.make_jaxpr(plain)(1.0)
    twin = sent(closed)
    assert [eqn.source.line for eqn in twin.eqns] == [eqn.source.line for eqn in closed.eqns]
    assert {eqn.ids for eqn in twin.eqns}.isdisjoint({eqn.ids for eqn in closed.eqns})


def test_functions_among_the_parameters():
    """By pickle their texts are left: the program runs; cloudpickle takes them too, and the program has derivatives."""
    closed = jax.make_jaxpr(jax.nn.relu6)(jnp.ones(3))
    twin = sent(jax.make_jaxpr(lambda x: jax.nn.relu(x))(jnp.ones(3)))
    assert float(jax.core.eval_jaxpr(twin.jaxpr, twin.consts, -jnp.ones(3))[0].sum()) == 0.0
    assert str(copy.copy(closed)) == str(closed)


# --- export ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_exported_function_computes_the_same(name, tmp_path):
    fun, args = PROGRAMS[name]
    jax.export(fun)(*args).save(tmp_path / "f.json")
    loaded = jax.export.load(tmp_path / "f.json")
    want, got = jax.jit(fun)(*args), loaded.call(*args)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b)
    assert jax.export.parse(loaded.to_text()).to_text() == loaded.to_text()


def test_an_exported_function_can_be_transformed():
    loaded = jax.export.deserialize(jax.export(jnp.sin)(1.0).serialize())
    assert float(jax.grad(loaded.call)(0.0)) == 1.0
    assert jax.vmap(lambda x: loaded.call(x))(jnp.zeros(4)).shape == (4,)
    assert sent(loaded).to_text() == loaded.to_text()


def test_closed_over_arrays_travel():
    table = jnp.array([1.0, jnp.nan, -jnp.inf], jnp.bfloat16)
    loaded = jax.export.parse(jax.export(lambda i: table[i] * 2)(0).to_text())
    assert str(loaded.call(2)) == "-inf"


@pytest.mark.parametrize(("args", "kwargs", "message"), [
    ((np.ones(4, np.float32), {"a": 1.0}), {}, r"argument 0: exported for f32\[3\], called with f32\[4\]"),
    ((np.ones(3, np.int32), {"a": 1.0}), {}, r"exported for f32\[3\], called with i32\[3\]"),
    ((np.ones(3, np.float32), {"b": 1.0}), {}, r"at args\[1\]"),
    ((np.ones(3, np.float32),), {}, "other containers"),
])  # fmt: skip
def test_arguments_of_other_types_are_refused(args, kwargs, message):
    exported = jax.export(lambda x, d: x * d["a"])(jnp.ones(3), {"a": 1.0})
    with pytest.raises(TypeError, match=message):
        exported.call(*args, **kwargs)


def test_what_a_text_cannot_hold_is_refused():
    def noisy(x):
        jax.debug.print("{}", x)
        return x
    with pytest.raises(ValueError, match="noisy calls Python"):
        jax.export(noisy)(1.0)
    with pytest.raises(ValueError, match="containers are tuples"):
        jax.export(lambda m: m.scale)(Model(2.0))


def damaged(text):
    yield ""
    yield "{}"
    yield "[" * 100_000
    yield text.replace("tinytrace-export-1", "tinytrace-export-9")
    yield text.replace("sin", "__import__('os').system('false')")
    yield text.replace("f32[]", "f32[2]", 1)
    yield text.replace('"in_avals": [\n  "f32[]~"', '"in_avals": [\n  "f32[7]"')
    yield text.replace(' "out_tree": 0', ' "out_tree": ["tuple", [0, 1]]')


def test_damaged_texts_are_refused():
    text = jax.export(jnp.sin)(1.0).to_text()
    for broken in damaged(text):
        assert broken != text
        with pytest.raises(ValueError, match=r".+"):
            jax.export.parse(broken)


# --- functions with rules ----------------------------------------------------------------------------------------


def test_functions_with_rules_are_pickled_by_name_or_by_value():
    cloudpickle = pytest.importorskip("cloudpickle")
    assert sent(jax.nn.relu) is sent(jax.nn.relu, cloudpickle) is jax.nn.relu

    @jax.custom_jvp
    def forward(x):
        return x * 2

    forward.defjvp(lambda primals, tangents: (forward(primals[0]), 20 * tangents[0]))

    @jax.custom_vjp
    def backward(x):
        return x * 2

    backward.defvjp(lambda x: (backward(x), None), lambda _, ct: (30 * ct,))
    for function, slope in ((forward, 20.0), (backward, 30.0)):
        twin = sent(function, cloudpickle)
        assert (float(twin(3.0)), float(jax.grad(twin)(3.0)), twin.__name__) == (6.0, slope, function.__name__)
    closed = sent(jax.make_jaxpr(forward)(1.0), cloudpickle)
    assert float(jax.grad(lambda x: jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0])(1.0)) == 20.0
    assert sent(jax.make_jaxpr(jax.nn.relu)(1.0), cloudpickle).eqns
