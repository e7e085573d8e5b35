"""What users see of jit: cache sizes, traces, statics, arguments that do not fit. Every fact here is JAX 0.4.35's."""
import gc
import inspect
import re
import threading
import weakref
from collections import namedtuple
from functools import partial

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.api import jit_cache
from tinytrace.api.signatures import signature_of
from tinytrace.api_util import rebase_donate_argnums


def counted(f):
    """Return `f` with a counter of how often its Python body runs."""
    def g(*args, **kwargs):
        g.traces += 1
        return f(*args, **kwargs)
    g.traces = 0
    return g


def test_two_jits_of_one_function_share_their_cache():
    def f(x):
        return x + 1
    first, second = jax.jit(f), jax.jit(f)
    first(1.0)
    assert (first._cache_size(), second._cache_size()) == (1, 1)
    second.clear_cache()
    assert first._cache_size() == 0


def test_numpy_arrays_and_arrays_are_two_entries_but_one_trace():
    f = counted(lambda x: x * 2)
    g = jax.jit(f)
    g(np.ones(3, np.float32))
    g(jnp.ones(3))
    assert (g._cache_size(), f.traces) == (2, 1)


def test_python_scalars_and_weak_arrays_are_two_entries_but_one_trace():
    f = counted(lambda x: x * 2)
    g = jax.jit(f)
    g(2.0)
    g(jnp.array(2.0))
    assert (g._cache_size(), f.traces) == (2, 1)


def test_weak_and_strong_arrays_differ():
    g = jax.jit(lambda x: x * 2)
    g(jnp.array(2.0))
    g(jnp.float32(2.0))
    assert g._cache_size() == 2


@pytest.mark.parametrize(("values", "entries"), [
    ((True, 1, 1.0, np.int32(1)), 4),
    (((1, 2), (1, 2.0)), 1),
    ((0.0, -0.0), 1),
    ((float("nan"), float("nan")), 2),
    (("a", "b", "a"), 2),
    ((None, None), 1),
])
def test_entries_of_static_values(values, entries):
    g = jax.jit(lambda x, s: x, static_argnums=1)
    for value in values:
        g(1.0, value)
    assert g._cache_size() == entries


def test_positional_and_keyword_calls_are_two_entries_and_keyword_order_is_none():
    g = jax.jit(lambda x, y: x - y)
    g(1.0, 2.0)
    g(1.0, y=2.0)
    assert g._cache_size() == 2
    g(x=1.0, y=2.0)
    g(y=2.0, x=1.0)
    assert g._cache_size() == 3


def test_static_names_are_inferred_from_numbers_and_back():
    by_number = jax.jit(lambda x, n: x * len(n), static_argnums=1)
    by_name = jax.jit(lambda x, n: x * len(n), static_argnames="n")
    for g in (by_number, by_name):
        assert float(g(2.0, "abc")) == 6.0
        assert float(g(2.0, n="abcd")) == 8.0


def test_unhashable_statics():
    g = jax.jit(lambda x, s: x, static_argnums=1)
    with pytest.raises(ValueError, match="Non-hashable static arguments are not supported") as error:
        g(1.0, [1])
    assert str(error.value) == (
        "Non-hashable static arguments are not supported. An error occurred while trying to hash an object of type "
        "<class 'list'>, [1]. The error was:\nTypeError: unhashable type: 'list'\n")


def test_statics_that_are_no_parameters():
    with pytest.raises(ValueError, match=r"static_argnums=\(5,\), but only accepts 2 positional arguments\."):
        jax.jit(lambda x, y: x, static_argnums=5)
    with pytest.raises(ValueError, match=r"invalid argnames \{'zz'\} in static_argnames\. Function does not take"):
        jax.jit(lambda x, y: x, static_argnames="zz")


def test_negative_static_argnums():
    g = jax.jit(lambda x, n: x * n, static_argnums=-1)
    assert float(g(2.0, 3)) == 6.0


def test_side_effects_happen_once_per_trace():
    seen = []

    @jax.jit
    def f(x):
        seen.append(x)
        return x + 1
    f(1.0)
    f(2.0)
    assert len(seen) == 1
    f(1)
    assert len(seen) == 2


def test_an_exception_while_tracing_leaves_the_function_usable():
    fail = [True]

    @jax.jit
    def f(x):
        if fail[0]:
            raise RuntimeError("on purpose")
        return x + 1
    with pytest.raises(RuntimeError, match="on purpose"):
        f(1.0)
    assert f._cache_size() in (0, 1)
    fail[0] = False
    assert float(f(1.0)) == 2.0


def test_decorator_and_partial_forms():
    @partial(jax.jit, static_argnames=["n"])
    def power(x, n):
        return x ** n

    @jax.jit
    def double(x):
        "Twice."
        return 2 * x
    assert float(power(2.0, n=3)) == 8.0
    assert (double.__name__, double.__doc__, float(double(2.0))) == ("double", "Twice.", 4.0)


def test_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @jax.jit
        def bad(self, x):
            return self.w * x

        @partial(jax.jit, static_argnums=0)
        def good(self, x):
            return self.w * x
    assert float(Model(3.0).good(2.0)) == 6.0
    with pytest.raises(TypeError, match="passed to the function at path self"):
        Model(3.0).bad(2.0)


def test_a_method_has_what_its_function_has():
    class Scaler:
        factor = 3

        @jax.jit
        def scale(self, x):
            """Scale."""
            return x * self.factor

    jax.tree_util.register_static(Scaler)
    scale = Scaler().scale
    assert (scale.__name__, scale.__doc__, scale.__wrapped__) == ("scale", "Scale.", Scaler.scale.__wrapped__)
    assert (scale(2.0), scale.lower(2.0).out_info.shape, scale.eval_shape(2.0).shape) == (6.0, (), ())
    assert (scale._cache_size(), scale.why(2.0).hit, scale.clear_cache(), scale._cache_size()) == (1, True, None, 0)


def test_pytrees_in_and_out():
    Point = namedtuple("Point", ["x", "y"])
    out = jax.jit(lambda p, d: {"sum": p.x + d["b"][0], "point": Point(p.y, None)})(Point(1.0, 2), {"b": [3.0]})
    assert float(out["sum"]) == 4.0
    assert type(out["point"]) is Point
    assert out["point"].y is None


def test_recursion():
    @partial(jax.jit, static_argnums=1)
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)
    assert float(power(2.0, 5)) == 32.0


def test_closed_over_arrays_are_constants_and_keep_their_value_at_trace_time():
    table = jnp.arange(3.0)
    f = jax.jit(lambda x: x + table)
    np.testing.assert_array_equal(f(1.0), [1, 2, 3])
    assert "lambda a:f32[3]; b:f32[]" in str(f.trace(1.0).jaxpr)


def test_a_jit_inside_closes_over_the_tracer_outside():
    @jax.jit
    def outer(x):
        return jax.jit(lambda y: x * y)(x + 1)
    assert float(outer(3.0)) == 12.0


def test_outputs_that_are_inputs_literals_and_duplicates():
    x = jnp.arange(3.0)
    a, b, c, d, e = jax.jit(lambda x, unused: (x, 1, x + 1, x + 1, (x * 2) * 0.5))(x, 7)
    np.testing.assert_array_equal(a, x)
    assert repr(b) == "Array(1, dtype=int32, weak_type=True)"
    np.testing.assert_array_equal(c, d)
    np.testing.assert_array_equal(e, x)


def test_empty_arrays_and_zero_dimensions():
    assert jax.jit(lambda x: x * 2)(jnp.zeros((0, 3))).shape == (0, 3)
    assert float(jax.jit(jnp.sum)(jnp.zeros((0,)))) == 0.0
    assert jax.jit(lambda: jnp.float32(3))().shape == ()


def test_strided_and_foreign_order_inputs():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    f = jax.jit(lambda x: x * 2)
    for view in (x[::-1], x.T, x[:, ::2], np.asfortranarray(x), x.astype(">f4").astype(np.float32)):
        np.testing.assert_array_equal(f(view), view * 2)


def test_disable_jit_runs_python():
    seen = []

    @jax.jit
    def f(x):
        seen.append(float(x))
        return x + 1
    with jax.disable_jit():
        f(1.0)
        f(2.0)
    assert seen == [1.0, 2.0]


def test_clear_caches_forgets_everything():
    f = jax.jit(lambda x: x)
    f(1.0)
    jax.clear_caches()
    assert f._cache_size() == 0
    f(1.0)
    assert f._cache_size() == 1


def test_caches_die_with_their_function():
    before = len(jit_cache._caches)

    def scope():
        f = jax.jit(lambda x: x + 1)
        f(1.0)
    scope()
    gc.collect()
    assert len(jit_cache._caches) <= before


def test_threads_share_one_function():
    f = counted(lambda x: jnp.sin(x) * 2)
    g = jax.jit(f)
    results = [[] for _ in range(4)]

    def work(mine):
        mine.extend(float(g(jnp.float32(i))) for i in range(50))
    threads = [threading.Thread(target=work, args=[mine]) for mine in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [float(np.sin(np.float32(i)) * 2) for i in range(50)]
    np.testing.assert_allclose(results, [expected] * 4, rtol=1e-5)


def test_wrong_arguments_name_the_path():
    with pytest.raises(TypeError, match=r"passed to the function at path x\[1\]"):
        jax.jit(lambda x: x)([1, "a"])
    with pytest.raises(OverflowError, match="whose argument path is x"):
        jax.jit(lambda x: x)(2**40)
    with pytest.raises(TypeError, match="Value 'abc' with type <class 'str'> is not a valid JAX type"):
        jax.jit(lambda x: "abc")(1)
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        jax.jit(3)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        jax.jit(lambda x: x)(1, 2)


def test_stages():
    f = jax.jit(lambda x: (x + 1, {"a": x}))
    traced = f.trace(1.0)
    assert str(traced.jaxpr) == "{ lambda ; a:f32[]. let b:f32[] = add a 1.0 in (b, a) }"
    compiled = traced.lower().compile()
    assert repr(compiled(1.0)) == repr(f(1.0))
    with pytest.raises(TypeError, match=r"Argument 'x' compiled with float32\[\] and called with float32\[3\]"):
        compiled(jnp.ones(3))


def test_eval_shape():
    out = jax.jit(lambda x: (x + 1, {"a": x})).eval_shape(1.0)
    assert repr(out) == ("(ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True), "
                         "{'a': ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)})")


def test_a_backend_must_be_there_and_is_deprecated():
    with pytest.warns(DeprecationWarning, match="backend and device argument on jit is deprecated"):
        assert float(jax.jit(lambda x: x + 1, backend="cpu")(1.0)) == 2.0
    with pytest.raises(RuntimeError, match="Unknown backend"):
        jax.jit(lambda x: x, backend="tpu")


def test_decorators_ask_for_a_function():
    assert float(jax.jit(inline=True)(lambda x: x + 1)(1.0)) == 2.0
    with pytest.raises(TypeError, match="Expected a callable value, got None"):
        jax.jit(None)


def test_an_argument_is_differentiated_once():
    with pytest.raises(ValueError, match=r"argnums must be distinct, got \(0, -2\) for 2 positional arguments"):
        jax.grad(lambda x, y: x * y, argnums=(0, -2))(1.0, 2.0)


def test_callbacks_return_the_promised_dtype():
    promised = jax.ShapeDtypeStruct((3,), np.float32)
    f = jax.jit(lambda x, dtype: jax.pure_callback(lambda x: np.asarray(x, dtype), promised, x), static_argnums=1)
    assert f(jnp.ones(3), np.float64).dtype == np.float32  # 64 bits are 32 without x64
    with pytest.raises(RuntimeError, match="Incorrect output dtype for return value #0: Expected: float32, Actual"):
        f(jnp.ones(3), np.int32)


@pytest.mark.parametrize("values", [(True, 1), (1, True), (1, 1.0), (False, 0), (1.0, True)])
def test_statics_that_are_equal_and_of_other_types_are_others(values):
    """`True == 1 == 1.0`, and what is traced with each of them may differ: the type belongs to the key."""
    def kind(x, n):
        return x + {bool: 10, float: 20, int: 30}[type(n)]

    by_place, by_name = jax.jit(kind, static_argnums=1), jax.jit(kind, static_argnames="n")
    for _ in range(4):  # traced, then found by Python, then by the hit path in C
        for n in values:
            assert by_place(1.0, n) == by_name(1.0, n=n) == kind(1.0, n)


def test_inspect_sees_the_signature_without_looking_inside():
    """Libraries ask with `follow_wrapped=False`; of a method the instance is given."""
    class Model:
        @jax.jit
        def step(self, x, n=2):
            return x * n

    f = lambda x, *, n=1: x  # noqa: E731
    for wrapped in (jax.jit(f), jax.pmap(f)):
        assert inspect.signature(wrapped) == inspect.signature(f)
        assert inspect.signature(wrapped, follow_wrapped=False) == inspect.signature(f)
    assert str(inspect.signature(Model().step)) == "(x, n=2)"


def test_functions_whose_signature_nobody_knows():
    """Built-in types tell inspect nothing: names of arguments are left out of messages, and all else works."""
    assert float(jax.jit(dict)(a=1.0)["a"]) == 1.0
    assert jax.make_jaxpr(dict)(a=1.0, b=2.0).eqns == []
    with pytest.raises(TypeError, match="was passed to the function at path"):
        jax.jit(dict)(a=object())


@pytest.mark.parametrize(("number", "args"), [(1, (2.0, 3)), (-1, (2.0, 3)), (0, (3, 2.0)), (-2, (3, 2.0))])
def test_static_numbers_count_from_both_ends_in_make_jaxpr(number, args):
    operands = "a 3.0" if args[1] == 3 else "3.0 a"
    closed = jax.make_jaxpr(lambda x, y: x * y, static_argnums=number)(*args)
    assert str(closed) == f"{{ lambda ; a:f32[]. let b:f32[] = mul {operands} in (b,) }}"


def test_names_of_arguments_that_have_none_are_refused():
    def f(a, /, b, *args, **kwargs):
        return b

    for option in ("static_argnames", "donate_argnames"):
        for name in ("a", "args"):
            with pytest.raises(ValueError, match=rf"argnames \{{'{name}'\}} in {option}. These are positional-only"):
                jax.jit(f, **{option: name})
        assert jax.jit(f, **{option: ("b", "any")})(1.0, 2.0) == 2.0
    with pytest.raises(ValueError, match="Pass donate_argnums instead of donate_argnames"):
        jax.jit(dict, donate_argnames="a")
    with pytest.raises(ValueError, match=r"`static_argnums` \[0, 2\] and `donate_argnums` \[2, 3\] cannot intersect"):
        rebase_donate_argnums((3, 2, 3), (2, 0))
    assert rebase_donate_argnums((3, 1, 3), (0, 2)) == (0, 1)


def test_a_static_value_that_cannot_be_compared():
    class Static:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            raise NotImplementedError("no order here")

    f = jax.jit(lambda x, y: x, static_argnums=1)
    f(1, Static())
    with pytest.raises(ValueError, match=r"(?s)static arguments should be comparable using __eq__\..* raised when "
                                         r"comparing two objects of types .*Static.*NotImplementedError: no order"):
        f(1, Static())
    assert f(1, 2) == 1


def test_a_function_whose_repr_fails_has_one_when_it_is_jitted():
    class Nameless:
        def __call__(self):
            return 1.0

        def __repr__(self):
            raise ValueError("invalid repr")

    jitted = jax.jit(Nameless())
    assert (repr(jitted), jitted()) == ("<PjitFunction>", 1.0)
    del jitted.__wrapped__
    assert repr(jitted) == "<PjitFunction>"


def test_make_jaxpr_is_named_after_its_function():
    def f(x):
        return x

    name = "test_make_jaxpr_is_named_after_its_function.<locals>.f"
    for fun, names in ((f, ("make_jaxpr(f)", f"make_jaxpr({name})")), (partial(f), 2 * ("<unnamed function>",))):
        made = jax.make_jaxpr(fun)
        assert (made.__name__, made.__qualname__, made.__module__) == (*names, "jax")


@pytest.mark.parametrize("x", [np.array("hello"), object(), "hello"])
def test_an_operation_says_which_operand_is_no_array(x):
    with pytest.raises(TypeError, match=r"(?s)Error interpreting argument to <function add at .*The problematic value "
                                        rf"is of type {re.escape(str(type(x)))} and was passed .* at path args\[1\]"):
        jax.lax.add(jnp.array(7), x)


def test_shape_dtype_struct_takes_a_sharding_and_nothing_else():
    with pytest.raises(ValueError, match=r"sharding should be an instance of `jax.sharding.Sharding`"):
        jax.ShapeDtypeStruct((4, 2), np.float32, sharding=jax.sharding.PartitionSpec("x"))
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    assert f", sharding={sharding})" in repr(jax.ShapeDtypeStruct((4, 2), np.float32, sharding=sharding))


def test_functions_of_one_code_have_their_own_parameters():
    """Parameters are remembered by code; defaults, and what a decorator tells, are not part of it."""
    def make():
        def f(x, n):
            return x
        return f

    plain, with_default, told = make(), make(), make()
    with_default.__defaults__ = (1,)
    told.__signature__ = inspect.signature(lambda y: y)
    for fun in (plain, with_default, told, make()):
        assert signature_of(fun) == inspect.signature(fun)
        assert signature_of(fun) == inspect.signature(fun)


def test_code_that_is_gone_is_forgotten():
    namespace = {}
    exec("def f(x): return x", namespace)
    code = weakref.ref(namespace["f"].__code__)
    signature_of(namespace.pop("f"))
    gc.collect()
    assert code() is None


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_integer_that_does_not_fit_is_named(count):
    """Also where smaller ones have taught the function its call."""
    f = jax.jit(lambda x, y: x + y["a"])
    for _ in range(count):
        f(1, {"a": 2})
    with pytest.raises(OverflowError, match=r"An overflow was encountered while parsing an argument to a jitted "
                                            r"computation, whose argument path is y\['a'\]\."):
        f(1, {"a": 2**31})


def test_constants_that_became_tracers_are_told_with_their_operations():
    """In the words of JAX 0.4.35, in which constants are variables still."""
    @jax.jit
    def f(n):
        assert sum(jnp.add(1, 1) for _ in range(n)) > 0

    for n, rest in ((1, "  operation a:bool\\[\\] = gt b c\n"),
                    (6, "\\(Additional originating lines are not shown.\\)\n")):
        with pytest.raises(jax.errors.TracerBoolConversionError, match=(
                "(?s)This value became a tracer due to JAX operations on these lines:\n\n"
                "  operation a:i32\\[\\] = add b b\n    from line .*test_jit.py:.*" + rest)):
            jax.jit(f.__wrapped__, static_argnums=0)(n)
