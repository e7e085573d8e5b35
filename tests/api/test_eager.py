"""Library functions outside of traces: the first call, the recipe of later ones and machine code give the same bits."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace._dispatch import EagerEntry
from tinytrace.api import eager, large_calls
from tinytrace.api.jit import jit

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
X[0, :3] = np.nan, np.inf, -0.0

CALLS = {
    "two arrays": lambda x: jnp.add(x, x),
    "a scalar": lambda x: jnp.multiply(x, 2.5),
    "an integer": lambda x: x + 3,
    "a truth value": lambda x: x * True,
    "an integer first": lambda x: 1 - x,
    "an integer and itself converted": lambda x: jnp.power(x, 3),
    "comparison": lambda x: x > 0,
    "chosen": lambda x: jnp.where(x > 0, x, 0.25),
    "chosen from scalars": lambda x: jnp.where(x > 0, 1, 2.5),
    "static arguments": lambda x: jnp.sum(x, axis=1, keepdims=True),
    "keywords": lambda x: jnp.mean(a=x, axis=0),
    "a list": lambda x: jnp.stack([x, x[::-1], x], axis=1),
    "several results": lambda x: jnp.split(x, 2, axis=1)[1],
    "a tuple": lambda x: jnp.divmod(x, 0.75)[0],
    "views": lambda x: jnp.transpose(x)[1:],
    "several steps": lambda x: jnp.var(x, axis=1, ddof=1),
    "products": lambda x: x @ x.T,
    "special functions": lambda x: jax.nn.softmax(x),
    "converted": lambda x: (x.astype(jnp.int16) + 300).astype(jnp.int8),
    "half": lambda x: x.astype(jnp.float16) * 1.1,
    "another half": lambda x: x.astype(jnp.bfloat16) + 0.1,
    "an argument handed through": lambda x: jnp.positive(x),
    "a scalar array": lambda x: jnp.sin(x[1, 1]) + 1,
    "one of several results": lambda x: jnp.linalg.svd(jnp.nan_to_num(x), compute_uv=False),
    "a scalar converted": lambda x: jnp.float32(3) * x,
    "empty": lambda x: x[:0] * 2,
}


@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_give_the_same_bits(name):
    call, x = CALLS[name], jnp.asarray(X)
    first, *later = [call(x) for _ in range(5)]
    for result in later:
        assert result.aval is first.aval
        assert np.asarray(result).tobytes() == np.asarray(first).tobytes()
        assert not np.asarray(result).flags.writeable


def test_the_third_call_runs_numpy_alone():
    traces = []

    def plain(x, y, n):
        traces.append(n)
        return jnp.add(jnp.multiply(x, n), y)

    function = eager.EagerFunction(plain, jit(plain, static_argnums=2))
    x = jnp.arange(3.0)
    results = [function(x, 1.5, n) for n in (2, 2, 2, 2, 3)]
    assert traces == [2, 2, 2, 3]  # plain, traced, plain; and plain again for another static value
    assert [r.tolist() for r in results] == [[1.5, 3.5, 5.5]] * 4 + [[1.5, 4.5, 7.5]]
    with jax.enable_x64(True):  # settings are overridden: nothing that was learnt is used
        function(x, 1.5, 2)
    assert len(traces) == 5


def test_python_numbers_that_do_not_fit_are_left_to_python():
    for x in (jnp.ones(3), jnp.arange(3)):
        for _ in range(3):
            jnp.add(x, 1)
        with pytest.raises(OverflowError, match="whose argument path is y"):
            jnp.add(x, 2 ** 40)


def test_numpy_does_not_warn():
    x = jnp.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            assert np.isnan(np.asarray(x / x)).all()
            assert np.isinf(np.asarray((x + 1e30) * 1e30)).all()


def test_functions_that_warn_go_on_warning():
    x = jnp.arange(3)
    for _ in range(4):
        with pytest.warns(UserWarning, match="float64"):
            jnp.sum(x, dtype="float64")


def test_results_that_are_arguments_stay_the_same_object():
    x = jnp.ones(3)
    assert all(jnp.positive(x) is x for _ in range(4))


def test_debug_nans_sees_every_operation():
    x = jnp.zeros(3)
    for _ in range(3):
        x / x
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        x / x


def test_a_recipe_is_refused_where_equations_hold_programs():
    def function(x):
        return jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)

    traced, _, _ = jit(function).traced((jnp.ones(3),), {})
    assert eager.entry_of(traced, [type(jnp.ones(3))]) is None


def test_functions_that_look_at_values_stay_plain():
    def function(x):
        return x * 2 if x[0] > 0 else x[jnp.arange(int(x[1]))]

    called = eager.EagerFunction(function, jit(function))
    for _ in range(4):
        assert called(jnp.array([1.0, 2.0])).tolist() == [2.0, 4.0]
        assert called(jnp.array([-1.0, 1.0])).tolist() == [-1.0]


def test_functions_without_results():
    called = eager.EagerFunction(lambda x: (), jit(lambda x: ()))
    assert [called(jnp.ones(2)) for _ in range(4)] == [()] * 4


def test_recipes_keep_constants_and_forget_what_nobody_needs():
    table = np.arange(3, dtype=np.float32)

    def function(x):
        y = x + table
        return jnp.sin(y) * y, y.sum()

    x = jnp.ones(3)
    traced, leaves, _ = jit(function).traced((x,), {})
    entry = eager.entry_of(traced, [type(x)])
    assert isinstance(entry, EagerEntry)
    assert leaves == [x]
    called = eager.EagerFunction(function, jit(function))
    results = [called(x) for _ in range(4)]
    assert all(str(r) == str(results[0]) for r in results)
    assert type(results[3]) is tuple


LARGE = {
    "chosen": lambda x, y: jnp.where(x > y, x, y),
    "sums": lambda x, y: (x + y) * 3 - y / x,
    "integers": lambda x, y: x.astype(jnp.int32) * 7 - 3,
    "transposed": lambda x, y: jnp.transpose(x.reshape(512, -1)) + 1,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_calls_get_compiled_and_give_the_same_bits(name):
    rng = np.random.default_rng(1)
    x, y = (jnp.asarray(rng.standard_normal(1 << 19).astype(np.float32)) for _ in "xy")
    call = LARGE[name]
    first = np.asarray(call(x, y)).tobytes()
    for _ in range(4):
        assert np.asarray(call(x, y)).tobytes() == first


def test_what_is_worth_compiling():
    def worth(function, n, dtype=np.float32):
        return large_calls.is_worth_compiling(jax.make_jaxpr(function)(np.ones(n, dtype)).jaxpr)

    assert worth(lambda x: x * 2 + 1, 1 << 20)
    assert worth(lambda x: jnp.where(x > 0, x, 1), 1 << 20)
    assert not worth(lambda x: x * 2 + 1, 1 << 10)
    assert not worth(jnp.exp, 1 << 20)
    assert not worth(jnp.sum, 1 << 20)
    assert not worth(lambda x: x * 2, 1 << 20, np.float16)
