"""The hit path of a jitted call (csrc/callable.c, csrc/entry.c) and the Python path answer alike, and nothing leaks."""
import collections
import dataclasses
import gc
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace._dispatch import set_paused
from tinytrace.api import equal_programs
from tinytrace.config import enable_x64
from tinytrace.errors import UnexpectedTracerError
from tinytrace.runtime import ladder
from tinytrace.runtime.failures import StrictError
from tinytrace.tree_util import tree_flatten, tree_leaves, tree_structure

pytestmark = pytest.mark.compiled


class Watched:
    """A jitted function that counts the calls which Python had to answer."""

    def __init__(self, fun, **options):
        self.jitted = jax.jit(fun, **options)
        self.misses = 0
        self.jitted._configure(self._miss, *self.jitted._options.statics)

    def _miss(self, jitted, *args, **kwargs):
        self.misses += 1
        return self.jitted._missed(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        return self.jitted(*args, **kwargs)

    def in_python(self, *args, **kwargs):
        set_paused(True)
        try:
            return self.jitted(*args, **kwargs)
        finally:
            set_paused(False)


def same(got, wanted):
    got, tree = tree_flatten(got)
    wanted, wanted_tree = tree_flatten(wanted)
    assert tree == wanted_tree
    for x, y in zip(got, wanted, strict=True):
        assert type(x) is type(y)
        assert x.aval is y.aval
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


Pair = collections.namedtuple("Pair", "a b")
A, B = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.float32) + 10
ARGUMENTS = {
    "array": jnp.asarray(A), "weak array": jnp.asarray(2.5), "float": 2.5, "int": 7, "negative int": -7, "bool": True,
    "minus zero": -0.0, "nan": float("nan"), "infinity": float("inf"), "largest int": 2 ** 31 - 1,
    "numpy f32": A, "numpy f64": A.astype(np.float64) / 3, "numpy i64": np.arange(-3, 3),
    "numpy i8": np.arange(6, dtype="i1"),
    "numpy bool": A > 2, "numpy f16": A.astype(np.float16), "numpy bf16": A.astype(ml_dtypes.bfloat16),
    "numpy u64": np.arange(6, dtype="u8"), "numpy 0-d": np.array(1.5, np.float32),
    "numpy empty": np.zeros((0, 3), "f4"),
    "numpy strided": np.arange(12, dtype="f4")[::2], "numpy transposed": np.arange(6, dtype="f4").reshape(2, 3).T,
    "numpy unaligned": np.frombuffer(b"x" + A.tobytes(), "f4", offset=1),
    "numpy read-only": np.frombuffer(A.tobytes(), "f4"), "numpy scalar": np.float32(3),
    **{f"numpy scalar {x.dtype}": x for x in (
        np.float64(1) / 3, np.float16(2.5), np.int64(-5), np.int32(7), np.int8(-7), np.uint8(200),
        np.bool_(True), np.complex64(1 + 2j))},
    "complex": 1.5 - 2j,
    "large numpy": np.arange(100_000, dtype="f4"), "eager result": jnp.asarray(A) + 1,
}
FAST = set(ARGUMENTS) - {"numpy u64"}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_both_paths_agree_on_every_kind_of_argument(name):
    x = ARGUMENTS[name]
    f = Watched(lambda x: (x + x, x))
    g = Watched(lambda x: x + x)
    for h in (f, g):
        wanted = h.in_python(x)
        for _ in range(3):
            same(h(x), wanted)
        assert h.jitted._cache_size() == 1
    assert (g.misses < 3) == (name in FAST)  # paused once, then one miss, which teaches


def test_numpy_arrays_are_read_at_each_call():
    f = Watched(lambda x: x + 1)
    x = np.zeros(4, np.float32)
    results = []
    for i in range(5):
        x[:] = i
        results.append(f(x))
    np.testing.assert_array_equal(results, [[i + 1] * 4 for i in range(5)])
    assert f.misses == 1


def test_shapes_types_and_orders_of_numpy_arrays_are_told_apart():
    f = Watched(lambda x: x.shape[0] * 10 + x.ndim + x.sum() * 0)
    shapes = [(2, 3), (3, 2), (6,), (1, 6), (300, 2), (2, 300)]
    for _ in range(3):
        assert [int(f(np.ones(shape, np.float32))) for shape in shapes] == [s[0] * 10 + len(s) for s in shapes]
    assert f.misses == len(shapes)
    assert f(np.ones(6, np.int32)).dtype == np.int32
    assert f(np.ones(6, np.float32)).dtype == np.float32


def test_subclasses_of_known_types_take_their_own_way():
    class Dict(dict):
        pass

    f = Watched(lambda t: [2 * x for x in tree_flatten(t)[0]])
    x, y = jnp.asarray(A), jnp.asarray(B)
    trees = [{"a": x, "b": y}, (x, y), [x, y], Pair(x, y), collections.OrderedDict(b=x, a=y), {"b": x, "a": y}, None,
             (x, None), (None, x), ((x,), y), (x, (y,)), ()]
    for _ in range(3):
        for tree in trees:
            same(f(tree), f.in_python(tree))
    assert f.jitted._cache_size() == len(trees) - 1  # two dicts are the same
    with pytest.raises(TypeError, match="as an abstract array"):
        Watched(lambda t: t)(Dict(a="text"))


class Own:
    def __init__(self, *xs, tag=None):
        self.xs, self.tag = xs, tag


class Refusing(Own):
    def __init__(self, *xs, tag=None):
        super().__init__(*xs, tag=tag)
        assert all(hasattr(x, "shape") for x in xs)


jax.tree_util.register_pytree_node(Own, lambda own: (own.xs, own.tag), lambda tag, xs: Own(*xs, tag=tag))
jax.tree_util.register_pytree_node(Refusing, lambda own: (iter(own.xs), own.tag), lambda t, xs: Refusing(*xs, tag=t))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: str = dataclasses.field(default="layer", metadata={"static": True})


class Backwards(Pair):
    def __iter__(self):
        return iter((self[1], self[0]))


@pytest.mark.not_quick
@pytest.mark.parametrize("make", [
    lambda x, y: Own(x, y), lambda x, y: Own(x, {"b": y, "a": x}, tag="t"), lambda x, y: Refusing(x, y),
    lambda x, y: Layer(x, y), lambda x, y: Layer({"z": x, "y": y}, [y], name="other"), lambda x, y: Pair(x, [y]),
    lambda x, y: collections.OrderedDict(b=x, a=y), lambda x, y: collections.defaultdict(int, b=x, a=y),
    lambda x, y: {2: x, 1: y}, lambda x, y: {10: {-1: x}, 2 ** 70: y}, lambda x, y: [Own(), x, Own(y)],
    lambda x, y: jax.tree_util.Partial(max, x, key=y)])
def test_containers_of_all_kinds(make):
    """Wherever one stands among other arguments, the hit path reads it as Python does."""
    f = Watched(lambda *ts: [k * x for k, x in enumerate(tree_flatten(ts)[0], 2)])
    x, y, z = jnp.asarray(A), jnp.asarray(B), jnp.asarray(A - 3)
    for args in ((make(x, y),), (make(y, z), z), (z, make(x, z)), ([x, make(y, x)] * 40,)):
        before = f.misses
        for _ in range(3):
            same(f(*args), f.in_python(*args))
        assert f.misses - before == 3 + 1  # those in Python, and the first
    assert f.jitted._cache_size() == 4


def test_named_tuples_are_read_by_their_items_whatever_their_methods_say():
    f = Watched(lambda t: [k * x for k, x in enumerate(tree_flatten(t)[0], 2)])
    for _ in range(3):
        same(f(Backwards(A, B)), f.in_python(Backwards(A, B)))
        np.testing.assert_array_equal(f(Backwards(A, B)), [2 * A, 3 * B])
    structure = tree_structure(Backwards(0, 0))
    assert structure.flatten_up_to(Backwards(1, 2)) == tree_leaves([Backwards(1, 2)]) == [1, 2]


def test_static_data_of_nodes_is_told_apart():
    f = Watched(lambda t: t.xs[0] * (t.tag or 5))
    for _ in range(3):
        assert [float(f(Own(jnp.ones(1), tag=tag))[0]) for tag in (2, 3, 0, None)] == [2, 3, 5, 5]
    g = Watched(lambda t: t.w + len(t.name))
    for _ in range(3):
        assert [float(g(Layer(1.0, 2.0, name=name))) for name in ("", "ab", "abcde")] == [1, 3, 6]


def test_dicts_in_another_order_are_the_same_call():
    f = Watched(lambda d: d["a"] - d["b"])
    one, other = {"a": jnp.asarray(A), "b": jnp.asarray(B)}, {"b": jnp.asarray(B), "a": jnp.asarray(A)}
    for _ in range(3):
        np.testing.assert_array_equal(f(one), A - B)
        np.testing.assert_array_equal(f(other), A - B)
    assert f.jitted._cache_size() == 1
    assert f.misses == 2


def test_keyword_and_static_arguments():
    f = Watched(lambda x, y, *, flag, z: (x + y + z) * (2 if flag else 3), static_argnames="flag")
    x, y, z = jnp.asarray(A), jnp.asarray(B), 1.0
    for flag in (True, False, 1, 1.0, "yes", ()):
        for _ in range(2):
            same(f(x, y, flag=flag, z=z), f.in_python(x, y, flag=flag, z=z))
    assert f.jitted._cache_size() == 6  # True, 1 and 1.0 are equal and yet three
    misses = f.misses
    f(x, y, z=z, flag=True)
    f(x, y, flag=True, z=z)
    assert f.misses <= misses + 1  # another order of keywords is learnt at most once


def test_statics_of_strange_equality():
    class Never:
        __hash__ = object.__hash__

        def __eq__(self, other):
            return False

    class Raises:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise RuntimeError("not comparable")

    f = Watched(lambda x, s: x + 1, static_argnums=1)
    never = Never()
    for s in (never, never, float("nan"), float("nan"), -0.0, 0.0):
        np.testing.assert_array_equal(f(A, s), A + 1)
    f(A, Raises())
    with pytest.raises(ValueError, match=r"(?s)should be comparable using __eq__.*RuntimeError: not comparable"):
        f(A, Raises())
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        f(A, [])


def test_dtypes_that_are_none_are_refused_on_both_paths():
    f = Watched(lambda x: x + 1)
    f(A), f(A)
    for bad in (A.astype(">f4"), np.array(["text"] * 6), np.array([None] * 6), "text", object()):
        for _ in range(2):
            with pytest.raises(TypeError):
                f(bad)
    same(f(A), f.in_python(A))


def test_integers_that_do_not_fit_are_refused_on_both_paths():
    f = Watched(lambda x: x + 1)
    assert [int(f(5)), int(f(5)), int(f(-2 ** 31))] == [6, 6, -2 ** 31 + 1]
    for huge in (2 ** 31, 2 ** 40, 2 ** 70, -2 ** 70):
        for _ in range(2):
            with pytest.raises(OverflowError):
                f(huge)
    assert int(f(7)) == 8


def test_a_float_is_no_int_and_no_bool():
    f = Watched(lambda x: x * 2)
    for _ in range(3):
        assert [f(1).dtype.name, f(1.0).dtype.name, f(True).dtype.name] == ["int32", "float32", "int32"]
    assert f.jitted._cache_size() == 3


def test_tracers_never_take_the_hit_path():
    f = Watched(lambda x: jnp.sin(x) * 2)
    x = jnp.asarray(A)
    f(x), f(x)
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(x), 2 * np.cos(A), rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(f)(jnp.stack([x, x])), [2 * np.sin(A)] * 2, rtol=1e-5)
    assert "pjit" in str(jax.make_jaxpr(f)(x))
    leaked = []
    jax.jit(lambda x: leaked.append(x) or x)(x)
    with pytest.raises(UnexpectedTracerError):
        f(leaked[0])
    same(f(x), f.in_python(x))


def test_a_call_inside_a_trace_on_concrete_values_is_staged():
    f = Watched(lambda x: x + 1)
    x = jnp.asarray(A)
    f(x), f(x)
    assert "pjit" in str(jax.make_jaxpr(lambda y: y + f(x))(x))


def test_reentrant_calls():
    x = jnp.asarray(A)
    inner = Watched(lambda x: x * 3)
    seen = []

    def report(value):
        seen.append(np.asarray(inner(jnp.asarray(value))))

    outer = Watched(lambda x: (jax.debug.callback(report, x), x + 1)[1])
    for _ in range(3):
        same(outer(x), outer.in_python(x))
    assert len(seen) == 6
    np.testing.assert_array_equal(seen, [A * 3] * 6)


def test_an_exception_in_a_callback_passes_through_and_nothing_is_lost():
    def fails(value):
        raise KeyError("asked for")

    f = Watched(lambda x: (jax.debug.callback(fails, x), x + 1)[1])
    for _ in range(4):
        with pytest.raises(KeyError, match="asked for"):
            f(jnp.asarray(A))
    np.testing.assert_array_equal(Watched(lambda x: x + 1)(A), A + 1)


def test_settings_are_seen_at_once():
    f = Watched(lambda x: x * 2)
    f(A), f(A)
    with enable_x64():
        assert f(A.astype(np.float64)).dtype == np.float64
        assert f(np.arange(3)).dtype == np.int64
    assert f(A.astype(np.float64)).dtype == np.float32
    with jax.disable_jit():
        assert f(A) is not None
    jax.clear_caches()
    assert f.jitted._cache_size() == 0
    np.testing.assert_array_equal(f(A), A * 2)
    assert f.jitted._cache_size() == 1


def test_results_keep_their_buffers_and_inputs_are_not_changed():
    f = Watched(lambda x: x + 1)
    x = jnp.asarray(A)
    results = [x]
    for _ in range(100):
        results.append(f(results[-1]))
    np.testing.assert_array_equal(results, [A + i for i in range(101)])
    view = np.asarray(f(f(x)))
    for _ in range(100):
        f(x)
    np.testing.assert_array_equal(view, A + 2)


def test_threads():
    f = Watched(lambda x, d: {"s": x + d["a"], "n": x * 2})
    wrong = []

    def work(k):
        x = np.full(64, k, np.float32)
        for i in range(300):
            d = {"a": jnp.full(64, float(i))} if i % 2 else {"a": float(i)}
            out = f(x, d)
            if not (np.all(np.asarray(out["s"]) == k + i) and np.all(np.asarray(out["n"]) == 2 * k)):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("make", [
    lambda: (jnp.asarray(A),), lambda: (A.copy(),), lambda: (A.astype(np.float64),), lambda: (1.5,),
    lambda: ({"a": jnp.asarray(A), "b": [A.copy(), 2]},), lambda: (jnp.asarray(A) + 1,)],
    ids=["array", "numpy", "narrowed", "scalar", "tree", "eager"])
def test_nothing_leaks(make):
    f = Watched(lambda t: [x + 1 for x in tree_flatten(t)[0]])
    shapes = (300, 7)  # a dimension that is no cached integer
    extra = np.ones(shapes, np.float32)
    args = make()
    held = [args, extra, extra.dtype, args[0]]
    for _ in range(20):
        f(*args), f(extra)
    gc.collect()
    before = [sys.getrefcount(x) for x in held], sys.getallocatedblocks()
    for _ in range(2000):
        f(*args), f(extra)
    gc.collect()
    growth = [sys.getrefcount(x) - n for x, n in zip(held, before[0], strict=True)]
    assert max(growth) < 20  # the dtype is everybody's
    assert sys.getallocatedblocks() - before[1] < 200


def test_misses_in_the_middle_of_a_call_leak_nothing():
    f = Watched(lambda x, y: x + y)
    x, bad = A.copy(), np.arange(12, dtype="f4")[::2]
    for _ in range(10):
        f(x, bad)
    before = sys.getrefcount(x), sys.getrefcount(bad), sys.getrefcount(x.dtype)
    for _ in range(500):
        f(x, bad)
    assert (sys.getrefcount(x), sys.getrefcount(bad)) == before[:2]


def test_the_last_call_is_known_by_its_types_alone():
    """A call like the last one looks nothing up, and is answered by what is known now."""
    f = Watched(lambda x, n=2: x * n, static_argnames="n")
    x, y = jnp.asarray(A), jnp.arange(3)
    for _ in range(3):
        for args in ((x,), (y,), (x, 3), (x, 3.0), (x, True), (x, 1000), (x, 500 + 500), (x, (1, 2)[0])):
            same(f(*args), f.in_python(*args))
    misses = f.misses
    for _ in range(3):
        f(x), f(y), f(x, 3), f(x, 1000), f(x, 10 ** 3)
    assert f.misses == misses


def test_long_arguments_are_told_apart_by_their_lengths():
    """Lengths above 256 are made anew for each call, and compared by what they are."""
    f = Watched(lambda x, y, name: len(x), static_argnames="name")
    few, many = [jnp.asarray(A)] * 257, [jnp.asarray(A)] * 258
    for _ in range(3):
        assert [f(few, many, name="a" * 2), f(many, few, name="aa"), f(few, many, name="ab")] == [257, 258, 257]


def test_the_last_call_is_forgotten_with_all_others():
    scale = 2.0
    f = Watched(lambda x: x * scale)
    x = jnp.asarray(A)
    for _ in range(3):
        f(x)
    misses = f.misses
    f(x)
    assert f.misses == misses
    scale = 3.0
    jax.clear_caches()
    np.testing.assert_array_equal(f(x), A * 3)
    assert f.misses == misses + 1


def test_what_is_learnt_anew_answers_the_next_call():
    f = jax.jit(lambda x: x)
    x = jnp.asarray(A)
    for answer in ("one", "other"):
        for _ in range(3):
            f._learn((x,), {}, lambda x, answer=answer: answer)
            assert [f(x), f(x)] == [answer, answer]


def test_a_static_argument_that_changes_is_looked_up_again():
    class Changing:
        size = 1

        def __hash__(self):
            return hash(self.size)

        def __eq__(self, other):
            return isinstance(other, Changing) and self.size == other.size

    f, changing, x = Watched(lambda x, s: x * s.size, static_argnums=1), Changing(), jnp.asarray(A)
    for _ in range(3):
        f(x, changing)
    misses = f.misses
    changing.size = 4
    f(x, changing)
    assert f.misses == misses + 1


def test_a_class_may_be_given_another_way_to_be_called(monkeypatch):
    f, x = jax.jit(lambda x: x + 1), jnp.asarray(A)
    f(x), f(x)
    monkeypatch.setattr(type(f), "__call__", lambda self, *args, **kwargs: (args, kwargs))
    assert f(1, a=2) == ((1,), {"a": 2})
    monkeypatch.undo()
    np.testing.assert_array_equal(f(x), A + 1)


def test_functions_that_hold_themselves_are_collected():
    def fun(x):
        return x + 1

    f = jax.jit(fun)
    f(A), f(A)
    f.myself = f
    gone = weakref.ref(f)
    del f, fun
    gc.collect()
    assert gone() is None


def test_more_arguments_than_the_hit_path_reads():
    f = Watched(lambda *xs: sum(xs))
    for n in (3, 60, 70, 200):
        xs = [jnp.asarray(float(i)) for i in range(n)]
        for _ in range(3):
            assert float(f(*xs)) == n * (n - 1) / 2
    deep = jnp.asarray(A)
    for _ in range(50):
        deep = (deep,)
    g = Watched(lambda t: tree_flatten(t)[0][0] * 2)
    same(g(deep), g.in_python(deep))


def test_compiling_in_the_background(monkeypatch):
    go_on, asked = threading.Event(), []
    find = ladder.find

    def slowly(*args):
        asked.append(threading.current_thread() is threading.main_thread())
        assert go_on.wait(20)
        return find(*args)

    monkeypatch.setattr(ladder, "find", slowly)
    f = Watched(lambda x: jnp.sin(x) * 1.0625, compile="background")
    x = jnp.asarray(A)
    for _ in range(3):  # interpreted: nobody waits
        np.testing.assert_allclose(f(x), np.sin(A) * 1.0625, rtol=1e-6)
    assert f.misses == 3
    go_on.set()
    next(iter(f.jitted._cache.calls.values())).program._compiling.join()
    for _ in range(3):
        np.testing.assert_allclose(f(x), np.sin(A) * 1.0625, rtol=1e-6)
    assert f.misses == 4
    assert asked == [False]


def test_an_error_of_the_background_is_raised_by_the_next_call(monkeypatch):
    go_on = threading.Event()

    def broken(*args):
        assert go_on.wait(20)
        raise StrictError("the disk is on fire")

    monkeypatch.setattr(ladder, "find", broken)
    f = jax.jit(lambda x: x * 1.0078125 - 3, compile="background")
    np.testing.assert_allclose(f(A), A * 1.0078125 - 3, rtol=1e-6)
    go_on.set()
    next(iter(f._cache.calls.values())).program._compiling.join()
    with pytest.raises(StrictError, match="on fire"):
        f(A)
    with pytest.raises(ValueError, match="background"):
        jax.jit(lambda x: x, compile="never")


def test_masked_arrays_are_refused_on_both_paths():
    f = Watched(lambda x: x + 1)
    for _ in range(3):
        f(A)
    for call in (f, f.in_python):
        with pytest.raises(ValueError, match="numpy masked arrays are not supported"):
            call(np.ma.masked_array(A, A > 2))


def test_subclasses_of_numbers_are_numbers_that_are_not_weak():
    class Celsius(float):
        pass

    f = Watched(lambda x: x)
    for _ in range(3):
        assert f(Celsius(2.5)).aval is jnp.float32(2.5).aval
        assert f(2.5).weak_type


def test_eager_loops_over_fresh_functions_share_one_program():
    def count():
        return int(lax.fori_loop(0, 3, lambda i, c: c + 1, 0))

    count()
    shared = len(equal_programs.programs)
    assert [count() for _ in range(5)] == [3] * 5
    assert len(equal_programs.programs) == shared
