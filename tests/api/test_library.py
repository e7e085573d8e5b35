"""Library functions as users have them: objects in front of Python functions, which nobody shall notice."""

import copy
import gc
import inspect
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace._dispatch import FastCallable
from tinytrace.api.library import LibraryFunction, hands_back, library_jit, remembered
from tinytrace.pure import PURE
from tinytrace.runtime.status import raise_status
from tinytrace.tracebacks import PACKAGE

FUNCTIONS = [jnp.hypot, jnp.asarray, jnp.argmax, jnp.zeros, jax.random.uniform, jax.nn.softmax, jnp.linalg.inv,
             jax.scipy.special.gammaln]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_passes_for_the_function(function):
    assert callable(function)
    assert function.__name__ in repr(function)
    assert "Return" in function.__doc__
    assert inspect.signature(function) == inspect.signature(inspect.unwrap(function))
    assert inspect.getsource(function).lstrip().startswith(("@", "def "))
    for again in (pickle.loads(pickle.dumps(function)), copy.copy(function), copy.deepcopy(function)):
        assert again is function
    assert weakref.ref(function)() is function
    assert {function: 1}[function] == 1


def test_it_is_bound_as_a_function_is():
    class Holder:
        method = library_jit()(lambda self, x: x + 1)

    holder = Holder()
    assert Holder.method is vars(Holder)["method"]
    assert holder.method.__self__ is holder


@pytest.mark.skipif(PURE, reason="without C every call goes to the function behind")
def test_known_calls_run_no_python():
    calls = []

    @remembered()
    def twice(x):
        calls.append(x)
        return x + x

    x = jnp.arange(3.0)
    for _ in range(5):
        assert twice(x).tolist() == [0, 2, 4]
    assert len(calls) == 1
    behind = inspect.unwrap(twice, stop=lambda f: not isinstance(f, LibraryFunction))
    twice._stand_before(None)  # who calls it now calls None
    assert twice(x).tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="not callable"):
        twice(jnp.arange(4.0))
    twice._stand_before(behind)
    assert twice(jnp.arange(4.0)).tolist() == [0, 2, 4, 6]


SPECIAL = {"betainc": 3, "betaln": 2, "entr": 1, "erf": 1, "erfc": 1, "erfinv": 1, "exp1": 1, "expi": 1,
           "expit": 1, "expn": 2, "fresnel": 1, "gamma": 1, "gammainc": 2, "gammaincc": 2, "gammaln": 1, "digamma": 1,
           "i0": 1, "i0e": 1, "i1": 1, "i1e": 1, "log_ndtr": 1, "logit": 1, "ndtr": 1, "ndtri": 1, "poch": 2,
           "polygamma": 2, "spence": 1, "xlog1py": 2, "xlogy": 2, "zeta": 2}


@pytest.mark.skipif(PURE, reason="without C every call goes to the function behind")
@pytest.mark.parametrize("name", SPECIAL)
def test_known_calls_of_special_functions_run_no_python(name):
    function, arrays = getattr(jax.scipy.special, name), [jnp.array([0.25, 0.5])] * SPECIAL[name]
    for _ in range(3):
        wanted = function(*arrays)
    run = []
    sys.setprofile(lambda frame, event, argument: run.append(frame.f_code) if event == "call" else None)
    try:
        result = function(*arrays)
    finally:
        sys.setprofile(None)
    assert not run
    assert str(result) == str(wanted)


def test_tracers_settings_and_other_types_reach_the_function_behind():
    x = jnp.arange(3.0)
    for _ in range(3):
        assert jnp.exp(x).dtype == jnp.float32
        assert str(jax.make_jaxpr(jnp.exp)(x)) == "{ lambda ; a:f32[3]. let b:f32[3] = exp a in (b,) }"
        assert "name=_where" in str(jax.make_jaxpr(lambda x: jnp.where(x > 0, x, 0))(x))
        assert jax.vmap(jnp.exp)(x).tolist() == jnp.exp(x).tolist()
        assert jax.grad(lambda x: jnp.exp(x).sum())(x).tolist() == jnp.exp(x).tolist()
        assert jnp.exp(np.float32(0)).item() == 1
        with jax.debug_nans(True), pytest.raises(FloatingPointError):
            jnp.log(x - 1)
        assert np.isnan(jnp.log(x - 1)[0])
        with pytest.raises(TypeError):
            jnp.exp("text")
        with pytest.raises(TypeError):
            jnp.exp(x, x)
        with pytest.raises(TypeError):
            jnp.exp(x, axis=1)


def test_a_function_that_hands_an_array_back():
    calls = []

    @hands_back
    def given(x, *, other=None):
        calls.append(x)
        return x

    x = jnp.arange(3)
    assert given(x) is x
    assert len(calls) == int(PURE)
    for args, kwargs in (((np.arange(3),), {}), ((x,), {"other": 1}), ((3,), {})):
        before = len(calls)
        assert given(*args, **kwargs) is args[0]
        assert len(calls) == before + 1
    assert jnp.asarray(x) is x
    assert jnp.asarray(x, jnp.int8).dtype == jnp.int8
    assert str(jax.make_jaxpr(jnp.asarray)(x)) == "{ lambda ; a:i32[3]. let  in (a,) }"
    assert jax.make_jaxpr(lambda: jnp.asarray(x))().consts[0] is x


@pytest.mark.skipif(PURE, reason="without C no call is known")
def test_what_a_known_call_raises_has_a_short_traceback(monkeypatch):
    monkeypatch.setattr(type(jax.config), "traceback_filtering", "quiet_remove_frames")
    known = FastCallable()
    known._configure(None, (), ())
    known._learn((1,), {}, raise_status)
    front = LibraryFunction(lambda status: "not known")
    assert front(1) == "not known"
    front._know_by(known)
    assert front("another") == "not known"
    with pytest.raises(MemoryError) as caught:
        front(1)
    frames, entry = [], caught.value.__traceback__
    while entry is not None:
        frames.append(entry.tb_frame.f_code.co_filename)
        entry = entry.tb_next
    assert [file for file in frames if file.startswith(PACKAGE)] == []


def test_fronts_are_collected_with_what_they_know():
    def make():
        @remembered()
        def twice(x):
            return x + x

        twice(jnp.arange(3.0))
        twice(jnp.arange(3.0))
        return weakref.ref(twice)

    gone = make()
    gc.collect()
    jax.clear_caches()
    gc.collect()
    assert gone() is None
    with pytest.raises(TypeError, match="FastCallable"):
        LibraryFunction(make)._know_by(make)
    assert isinstance(jnp.exp, FastCallable)


def test_threads_call_one_function_for_the_first_time():
    @library_jit()
    def thrice(x):
        return x * 3

    found = []
    start = threading.Barrier(4)

    def work():
        start.wait()
        found.extend(thrice(jnp.arange(4)).tolist() for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[0, 3, 6, 9]] * 200
