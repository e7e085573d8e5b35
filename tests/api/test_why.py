"""`f.why(*args)` names the exact leaf or flag: one scripted situation after the other, and the laws behind them."""
import dataclasses
import functools
import json
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api import jit_cache
from tinytrace.api.call_keys import CallKey
from tinytrace.api.expectations import UnexpectedWorkError
from tinytrace.api.static_state import StaleStaticWarning
from tinytrace.config import config, exact
from tinytrace.runtime import discovery

X = jnp.ones(3)


class Situation(NamedTuple):
    """A first call, a second one, and the paths of the KeyDiff that must come out; `reason` if it is not a new key."""

    seen: Any
    now: Any
    paths: tuple[str, ...]
    reason: str = "new key"
    options: dict[str, Any] = {}  # noqa: RUF012


@dataclasses.dataclass(frozen=True)
class Size:
    n: int


class Params:
    """A pytree node with aux data."""

    def __init__(self, x, a):
        self.x, self.a = x, a


jax.tree_util.register_pytree_node(Params, lambda p: ((p.x,), {"a": p.a}), lambda aux, xs: Params(*xs, **aux))


class Pair(NamedTuple):
    a: Any
    b: Any


def call(*args, **kwargs):
    return args, kwargs


ARGUMENTS = {
    "shape": Situation(call(X), call(jnp.ones(4)), ("x.shape",)),
    "rank": Situation(call(X), call(jnp.ones((3, 1))), ("x.shape",)),
    "dtype": Situation(call(X), call(jnp.ones(3, "int32")), ("x.dtype",)),
    "weak type": Situation(call(jnp.float32(1)), call(jnp.asarray(1.0)), ("x.weak_type",)),
    "a Python scalar for an array": Situation(call(jnp.float32(1)), call(1.0), ("x.weak_type", "type(x)")),
    "int for float": Situation(call(1.0), call(1), ("x.dtype", "type(x)")),
    "NumPy for Array": Situation(call(X), call(np.ones(3, "float32")), ("type(x)",)),
    "one argument more": Situation(call(X), call(X, X), ("y",)),
    "keyword for position": Situation(call(X, X), call(X, y=X), ("y",)),
    "a list for a tuple": Situation(call((X, X)), call([X, X]), ("x",)),
    "a longer list": Situation(call([X]), call([X, X]), ("len(x)", "x[1]")),
    "a list for an array": Situation(call(X), call([X]), ("x",)),
    "deep in a list": Situation(call({"w": [X, X]}), call({"w": [X, jnp.ones(4)]}), ("x['w'][1].shape",)),
    "another key of a dict": Situation(call({"a": X, "b": X}), call({"a": X, "c": X}), ("x['b']", "x['c']")),
    "one key of a dict more": Situation(call({"a": X}), call({"a": X, "b": X}), ("x['b']",)),
    "a field of a namedtuple": Situation(call(Pair(X, X)), call(Pair(X, jnp.ones(4))), ("x.b.shape",)),
    "aux data": Situation(call(Params(X, 2)), call(Params(X, 3)), ("x.aux_data",)),
    "a leaf of a registered object": Situation(call(Params(X, 2)), call(Params(1.0, 2)), (
        "x[<flat index 0>].shape", "x[<flat index 0>].weak_type", "type(x[<flat index 0>])")),
    "None for an array": Situation(call(X, X), call(X, None), ("y",)),
    "static value": Situation(call(X, 2), call(X, 3), ("y",), options={"static_argnames": "y"}),
    "static True for 1": Situation(call(X, 1), call(X, True), ("y", "type(y)"), options={"static_argnames": "y"}),
    "static 1.0 for 1": Situation(call(X, 1), call(X, 1.0), ("y", "type(y)"), options={"static_argnames": "y"}),
    "static by name": Situation(call(X, 1), call(X, y=1), ("y",), options={"static_argnames": "y"}),
    "static object": Situation(call(X, Size(1)), call(X, Size(2)), ("y",), options={"static_argnums": 1}),
    "static objects that print alike": Situation(call(X, object()), call(X, object()), ("y",),
                                                 options={"static_argnums": 1}),
}


def identity(x, y=None):
    return jax.tree_util.tree_leaves(x)[0] * 2


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    seen, now, paths, reason, options = ARGUMENTS[name]
    f = jax.jit(lambda x, y=None: identity(x), **options)
    f(*seen[0], **seen[1])
    why = f.why(*now[0], **now[1])
    assert (why.hit, why.reason, why.diff.paths) == (False, reason, paths)
    assert all(str(row.mine) != str(row.other) for row in why.diff)
    assert all((row.hint.startswith("the same type")) == (paths == (row.path,))  # not where the dtype differs too
               for row in why.diff if row.path.startswith("type(x"))
    assert "test_why.py" in why.made_by
    assert not f.why(*seen[0], **seen[1]).diff
    before = f._cache_size()
    f(*now[0], **now[1])
    assert f.why(*now[0], **now[1]).hit
    assert f._cache_size() == before + 1 == len(f.cache) == len(f.cache.entries())


@pytest.mark.parametrize(("context", "path"), [
    (jax.enable_x64, "config.enable_x64"), (jax.debug_nans, "config.debug_nans"),
    (lambda: exact(not config.exact), "config.exact"),
    (lambda: jax.numpy_dtype_promotion("strict"), "config.numpy_dtype_promotion"),
    (jax.check_tracer_leaks, "config.check_tracer_leaks")])
def test_settings(context, path):
    f = jax.jit(lambda x: x * 3)
    f(X)
    with context():
        assert f.why(X).diff.paths == (path,)
    assert f.why(X).hit


def test_jit_is_off():
    f = jax.jit(lambda x: x * 3)
    with jax.disable_jit():
        assert (f.why(X).hit, f.why(X).reason) == (False, "no jit")


def add(x, k):
    return x + k


@pytest.mark.compiled
def test_new_function_objects():
    for i in range(2):
        f = jax.jit(lambda x: x * 5)
        why = f.why(X)
        assert why.reason == ("new function object" if i else "first call")
        assert why.diff.paths == (("function object",) if i else ())
        if i:
            assert (why.cost.traces, why.cost.source) == (True, "memory")  # the same jaxpr, found by content
        f(X)
    jax.jit(functools.partial(add, k=1))(X)
    assert jax.jit(functools.partial(add, k=2)).why(X).diff["partial k"][1:3] == ("1", "2")


def test_new_closure_values():
    def scaled(n):
        return jax.jit(lambda x: x * n)

    scaled(2)(X)
    assert scaled(3).why(X).diff["closure n"][1:3] == ("2", "3")


def test_new_defaults():
    def powered(n):
        def f(x, n=n):
            return x * n
        return jax.jit(f)

    powered(2)(X)
    assert powered(3).why(X).diff["default n"][1:3] == ("2", "3")


class Layer:
    def __init__(self, n):
        self.n = n

    def double(self, x):
        return 2 * x * self.n


def test_methods_of_another_object():
    one, other = Layer(1), Layer(2)
    f = jax.jit(one.double)
    f(X)
    assert f.why(X).hit
    assert "self" in jax.jit(other.double).why(X).diff.paths


def test_donated():
    f = jax.jit(add)
    f(X, X)
    assert jax.jit(add, donate_argnums=1).why(X, X).diff.paths == ("donate_argnums", "donate_argnames")
    assert jax.jit(add, keep_unused=True).why(X, X).diff.paths == ("keep_unused",)


SCALE = 2.0


def test_a_changed_global_is_a_hit_and_is_told(monkeypatch):
    f = jax.jit(lambda x: x * SCALE)
    f(X)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    why = f.why(X)
    assert why.hit
    assert why.notes == ("`SCALE` was 2.0 when the function was traced and is 3.0 now; this call uses the old value: "
                         "pass it as an argument",)
    assert np.asarray(f(X)).tolist() == [2, 2, 2]


def test_cleared_and_evicted(monkeypatch):
    f = jax.jit(lambda x: x * 7)
    f(X)
    f.clear_cache()
    assert f.why(X).reason == "cleared"
    f._cache.calls = f._cache.table_of_calls(2)
    for n in range(1, 5):
        f(jnp.ones(n))
    assert (f.why(jnp.ones(1)).reason, f.why(jnp.ones(4)).reason) == ("evicted", "hit")
    for n in (5, 5, 5, 6, 7):  # however often it was used before, what was used last stays
        f(jnp.ones(n))
    assert [f.why(jnp.ones(n)).reason for n in (5, 6, 7)] == ["evicted", "hit", "hit"]


def test_numpy_for_array_costs_no_trace():
    traced = []
    f = jax.jit(lambda x: traced.append(x.shape) or x * 9)
    f(X)
    assert (f.why(np.ones(3, "float32")).cost.traces, traced) == (False, [(3,)])  # nor does the question
    assert (f.why(jnp.ones(4)).cost.traces, traced) == (True, [(3,), (4,)])


def test_the_answer_as_text():
    f = jax.jit(lambda x: x * 7)
    assert str(f.why(X)).splitlines()[0].startswith("miss: ")
    f(X)
    hit, miss = str(f.why(X)).splitlines(), str(f.why(jnp.ones(4))).splitlines()
    assert hit[0] == f"hit: {f.key_for(X)}"
    assert hit[1].startswith(f"  made at {__file__}:")
    assert hit[-1] == "  cost: nothing: it is answered from memory"
    assert miss[0] == f"miss: {f.key_for(jnp.ones(4))}"
    assert miss[1].startswith("  because: ")
    assert miss[2].startswith("    x.shape: ")
    assert miss[3] == hit[1].replace("made at", "nearest made at")
    assert miss[-1].startswith("  cost: retrace")


@pytest.mark.compiled
def test_costs(tmp_path, monkeypatch):
    monkeypatch.setattr(discovery, "_stores", {})
    before = config.cache_dir
    config.update("cache_dir", str(tmp_path))
    try:
        def f():
            return jax.jit(lambda x: x * 2.125 + 1)

        assert f().why(X).cost.source == "compiler"
        f()(X)
        assert f().why(X).cost.source == "memory"
        jax.clear_caches()
        assert f().why(X).cost.source == "disk"
        with exact(not config.exact):  # other C: a product is fused with a sum, or not
            assert f().why(X).cost.source == "compiler"
        compiler = discovery.known_compiler()
        monkeypatch.setitem(discovery._compilers, discovery._asked(), compiler._replace(command=("gcc", "-DNAME=1")))
        cost = f().why(X).cost
        assert (cost.source, cost.diff.paths) == ("compiler", ("argv",))
        assert jax.jit(lambda x: x).why(X).cost.source == "nothing"
        assert "TypeError" in jax.jit(lambda x: x + "a").why(X).cost.detail
    finally:
        config.update("cache_dir", before)


@pytest.mark.compiled
def test_another_compiler_processor_or_number_of_threads(monkeypatch):
    f = jax.jit(lambda x: x * 2.25)
    f(X)
    compiler = discovery.known_compiler()
    for change, path in (({"identity": "gcc 99"}, "compiler"), ({"cpu": "another"}, "cpu")):
        monkeypatch.setitem(discovery._compilers, discovery._asked(), compiler._replace(**change))
        why = f.why(X)
        assert why.hit  # what is in memory stays
        assert any(path in note for note in why.notes)
        f.clear_cache()
        cost = f.why(X).cost
        assert (cost.source, path in cost.diff.paths) == ("compiler", True)
        monkeypatch.setitem(discovery._compilers, discovery._asked(), compiler)
        f(X)
    monkeypatch.setenv("TINYTRACE_NUM_THREADS", "1")  # in no key
    assert f.why(X).hit


# --- statics that change ---------------------------------------------------------------------------------------------


class Mutable:
    def __init__(self, n):
        self.n = n


@dataclasses.dataclass(unsafe_hash=True)
class Hashed:
    n: int


class ConstantHash:
    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return type(other) is ConstantHash and self.n == other.n


class Holder:
    def __init__(self, n):
        self.inside = [Mutable(n)]

    @property
    def n(self):
        return self.inside[0].n

    @n.setter
    def n(self, value):
        self.inside[0].n = value


@pytest.mark.parametrize("kind", [Mutable, Hashed, ConstantHash, Holder])
def test_a_static_that_changes_is_a_miss_never_a_stale_hit(kind):
    f = jax.jit(lambda x, c: x * c.n, static_argnums=1)
    c = kind(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleStaticWarning)
        for n in (2, 2, 3, 3, 5):
            c.n = n
            for _ in range(2):
                assert np.asarray(f(X, c)).tolist() == [n] * 3
            assert jax.jit(lambda x: f(x, c))(X).tolist() == [n] * 3  # inside a trace


def test_the_warning_names_the_attribute_and_the_users_line():
    f = jax.jit(lambda x, c: x * c.n, static_argnums=1)
    c = Mutable(2)
    f(X, c)
    c.n = 3
    why = f.why(X, c)
    assert (why.reason, why.diff.paths) == ("static changed", ("c.n",))
    with pytest.warns(StaleStaticWarning, match=r"\.n was 2 and is 3") as caught:
        f(X, c)
    assert caught[0].filename == __file__
    assert f._cache_size() == 1  # the key is the same


def test_statics_that_cannot_change_stay_on_the_hit_path():
    for value in (3, "a", (1, ("b", None)), Size(2), int, np.float32(1), np.dtype("int8"), add, frozenset([1])):
        f = jax.jit(lambda x, c: x * 2, static_argnums=1)
        f(X, value)
        hits = next(iter(f.cache.values())).hits
        for _ in range(3):
            f(X, value)
        assert next(iter(f.cache.values())).hits == hits + 3
        assert next(iter(f._cache.traces.values())).states is None


# --- expectations ----------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_expect():
    f = jax.jit(lambda x: x * 11)
    with jax.expect(traces=1) as work:
        f(X)
        f(X)
    assert work.compiles + work.disk_hits == 1
    with jax.expect(traces=0, compiles=0, disk_hits=0):
        f(X)
    told = r"1 traces instead of 0(.|\n)*x\.shape: \(3,\) -> \(4,\)"
    with pytest.raises(UnexpectedWorkError, match=told) as caught, jax.expect(traces=0):
        f(jnp.ones(4))
    assert caught.value.whys[0].diff.paths == ("x.shape",)
    with pytest.raises(KeyError), jax.expect(traces=7):
        raise KeyError


# --- keys ------------------------------------------------------------------------------------------------------------


def test_keys_are_values():
    f = jax.jit(lambda x, *rest, n=1, **more: x, static_argnames="n")
    key = f.key_for({"w": [X, 2.0]}, X, np.ones(2), n=Size(3), z=1)
    assert [leaf.path for leaf in key.leaves] == ["x['w'][0]", "x['w'][1]", "rest[0]", "rest[1]", "more['z']"]
    again = CallKey.from_json(json.loads(json.dumps(key.to_json())))
    assert (again, hash(again), again.digest, not again.diff(key)) == (key, hash(key), key.digest, True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.function = "g"
    assert "rest[0]: f32[3]" in str(key)
    assert "static_argnames" not in str(key)  # the values are shown
    with exact(False):
        kept = jax.jit(lambda x, n=0: x, keep_unused=True, static_argnums=1).key_for(X)
    assert str(kept).endswith("[keep_unused=True]")
    types = {container.type for container in f.key_for({"w": (Params(X, 2), [None])}).containers}
    assert types == {"dict", "tuple", "list", "NoneType", f"{__name__}.Params"}
    assert "rest[0]" in key._repr_html_()
    assert f._cache_size() == 0  # nothing ran


def test_equal_keys_and_only_they_hit():
    f = jax.jit(lambda x, n: x, static_argnums=1)
    arguments = [(x, n) for x in (X, 1.0, 1, [X], (X,), {"a": X}, Params(X, 2)) for n in (1, True, 1.0, "1", 0.0, -0.0)]
    for x, n in arguments:
        known = set(f.cache)
        hit = f.why(x, n).hit
        assert (f.key_for(x, n) in known) == hit
        f(x, n)
        assert (len(f.cache) == len(known)) == hit


@pytest.mark.compiled
def test_the_table():
    f = jax.jit(lambda x: jnp.sin(x) * 1.5)
    for _ in range(4):
        f(X)
    entry = f.cache[f.key_for(X)]
    assert (entry.hits, entry.misses, entry.kernels, entry.last_use) == (3, 1, 1, 0)
    assert entry.milliseconds["trace"] > 0
    assert entry.nbytes > 1000
    assert entry.path.endswith("kernel.so")
    assert entry.origin in ("compiler", "disk")
    json.dumps(f.cache.to_json())
    assert "x: f32[3]" in repr(f.cache)
    assert "<table>" in f.cache._repr_html_()
    assert f.key_for(X) in jax.cache
    assert entry.artifact.digest in jax.cache.store
    with pytest.raises(TypeError):
        f.cache[f.key_for(X)] = entry
    assert jit_cache.all_caches()


def test_inside_a_trace():
    f = jax.jit(lambda x: x * 13)
    told = []

    @jax.jit
    def outer(x):
        told.append(f.why(x))
        f(x)
        told.append(f.why(x))
        told.append(f.why(x[0]))
        return x

    outer(X)
    assert [(why.hit, why.diff.paths) for why in told] == [(False, ()), (True, ()), (False, ("x.shape",))]


def test_stand_ins_methods_and_errors():
    class Model:
        @functools.partial(jax.jit, static_argnums=0)
        def double(self, x, *, times=2):
            return times * x

    model = Model()
    model.double(X)
    assert model.double.why(X).hit
    assert model.double.why(jax.ShapeDtypeStruct((3,), "float32")).hit
    assert model.double.why(X, times=3).diff.paths == ("times",)
    assert [leaf.path for leaf in model.double.key_for(X, times=3).leaves] == ["x", "times"]
    with pytest.raises(ValueError, match="Non-hashable static"):
        Model.double.why([], X)
    with pytest.raises(KeyError, match="there is no difference at 'y', but at times"):
        model.double.why(X, times=3).diff["y"]


def test_keys_made_under_other_settings_tell_their_own_types():
    f = jax.jit(lambda x: x + 1)
    with jax.enable_x64():
        f(1.0)
        inside = f.key_for(1.0)
    (outside,) = f.cache
    assert outside == inside
    assert outside.leaves[0].dtype == "f64"
    assert f.why(1.0).diff.paths == ("x.dtype", "config.enable_x64")


class Odd:
    """A static value that does what it can to be awkward."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        if self.text is None:
            raise RuntimeError("no repr")
        return self.text

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self is other


def test_awkward_static_values():
    f = jax.jit(lambda x, c: x, static_argnums=1)
    values = [Odd(None), Odd(None), Odd("x" * 10_000), Odd("x" * 10_000), Odd("<b>"), float("nan"), Odd("\ud800")]
    for value in values:
        f(X, value)
    assert len(set(f.cache)) == len(f.cache) == len(values)
    for key in f.cache:
        assert len(str(key)) < 400
        assert len(key.digest) == 12
        assert "<b>" not in key._repr_html_()
    assert not f.why(X, float("nan")).hit  # nan is never equal, and so never a hit
    assert f.why(X, Odd("x" * 10_000)).diff.paths == ("c",)
