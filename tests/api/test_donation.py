"""Donation: results are those without it, in the places of what was given up; what others see stays as it was."""

import gc
import threading
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.testing import cases

DELETED = r"Array has been deleted with shape=float32\[{}\]\."


def place(x):
    return x.unsafe_buffer_pointer()


def fresh(x):
    """The same values in an array that nobody else has."""
    return jnp.array(np.array(x)) if isinstance(x, jax.Array) and isinstance(x.dtype, np.dtype) else x


@pytest.mark.not_quick
@given(cases())
@settings(max_examples=10)
def test_results_are_those_without_donation(case):
    program, arguments = case
    fun = program.function()
    wanted = [np.asarray(x).tobytes() for x in jax.tree.leaves(jax.jit(fun)(*arguments))]
    donating = jax.jit(fun, donate_argnums=tuple(range(len(arguments))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):  # by way of Python, then on the hit path
            given_up = jax.tree.map(fresh, arguments)
            found = donating(*given_up)
            assert [np.asarray(x).tobytes() for x in jax.tree.leaves(found)] == wanted
    assert [np.asarray(x).tobytes() for x in jax.tree.leaves(jax.jit(fun)(*arguments))] == wanted


IN_PLACE = {
    "elementwise": lambda x: jnp.tanh(x) * 2,
    "with a scalar of itself": lambda x: x / jnp.sqrt((x * x).sum()),
    "update": lambda x: x.at[2].set(7.0),
    "slice": lambda x: lax.dynamic_update_slice(x, jnp.ones(3), (4,)),
    "add to rows": lambda x: x.at[jnp.array([1, 1, 3])].add(1.0),
    "loop": lambda x: lax.fori_loop(0, 5, lambda i, c: c.at[i].set(c[i + 1]), x),
    "running sum": jnp.cumsum,
}
ELSEWHERE = {
    "reversed": lambda x: x[::-1],
    "sorted": jnp.sort,
    "of neighbours": lambda x: x + jnp.roll(x, 1),
}


@pytest.mark.parametrize("name", [*IN_PLACE, *ELSEWHERE])
def test_the_place_is_taken_where_no_element_is_needed_later(name):
    fun = {**IN_PLACE, **ELSEWHERE}[name]
    donating = jax.jit(fun, donate_argnums=0)
    wanted = np.asarray(jax.jit(fun)(jnp.arange(100.0)))
    for _ in range(2):
        x = fresh(jnp.arange(100.0))
        before = place(x)
        out = donating(x)
        assert (place(out) == before) == (name in IN_PLACE)
        assert x.is_deleted()
        np.testing.assert_array_equal(out, wanted)


def test_two_arrays_change_places():
    swap = jax.jit(lambda x, y: (y * 1.0, x * 2.0), donate_argnums=(0, 1))
    for _ in range(2):
        x, y = fresh(jnp.arange(100.0)), fresh(jnp.ones(100))
        places = {place(x), place(y)}
        a, b = swap(x, y)
        assert {place(a), place(b)} == places
        np.testing.assert_array_equal(a, np.ones(100))
        np.testing.assert_array_equal(b, 2 * np.arange(100.0))


def test_an_update_of_one_element_does_not_copy():
    assert "for (" not in jax.jit(lambda x: x.at[2].set(7.0), donate_argnums=0).lower(jnp.ones(10_000)).as_text()


def test_memory_stays_that_of_one_state():
    """A thousand states of 1 MiB in places of one: no more blocks of that size are alive than two."""
    step = jax.jit(lambda s: s * 0.5 + 1, donate_argnums=0)
    state = step(jnp.zeros(1 << 18))
    places = set()
    for _ in range(100):
        state = step(state)
        places.add(place(state))
    assert len(places) == 1


def test_who_uses_a_deleted_array_is_told():
    x = fresh(jnp.arange(3.0))
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    step(x)
    assert x.is_deleted()
    assert (x.shape, x.dtype, len(x)) == ((3,), np.float32, 3)
    other = jax.jit(lambda y: y * 2)
    for use in (step, other, jnp.sin, np.asarray, repr, str, lambda x: x + 1, lambda x: x[0], lambda x: x.tolist(),
                lambda x: jax.grad(lambda y: y.sum())(x), lambda x: jax.vmap(jnp.sin)(x), lambda x: iter(x),
                lambda x: jax.jit(lambda: x + 1)(), lambda x: x.devices(), lambda x: x.copy(),
                lambda x: jax.jit(lambda y: y)(x)):
        with pytest.raises(RuntimeError, match=DELETED.format(3)):
            use(x)
    other(jnp.ones(3))
    with pytest.raises(RuntimeError, match=DELETED.format(3)):
        other(x)
    for use, name in ((lambda x: x.block_until_ready(), "BlockHostUntilReady"),
                      (lambda x: x.unsafe_buffer_pointer(), "UnsafeBufferPointer"),
                      (lambda x: x.on_device_size_in_bytes(), "GetOnDeviceSizeInBytes")):
        with pytest.raises(RuntimeError, match=name):
            use(x)


def test_delete():
    x = jnp.arange(3.0)
    x.delete()
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match=DELETED.format(3)):
        x + 1
    key = jax.random.key(0)
    key.delete()
    with pytest.raises(RuntimeError, match=r"shape=uint32\[2\]"):
        jax.random.normal(key)


def test_constants_stay_when_the_user_deletes_his():
    c = jnp.ones(3)
    f, constant = jax.jit(lambda x: x + c), jax.jit(lambda: c * 1)
    x = jnp.arange(3.0)
    wanted = f(x)
    constant().delete()
    np.testing.assert_array_equal(constant(), np.ones(3))
    c.delete()
    np.testing.assert_array_equal(f(x), wanted)
    with pytest.raises(RuntimeError, match="deleted"):
        f(jnp.ones((2, 3)))  # it is traced, and reads c, again


def test_what_is_handed_through_is_another_array():
    x = jnp.arange(3.0)
    through = jax.jit(lambda x: (x, x * 2), donate_argnums=0)
    for _ in range(2):
        given_up = fresh(x)
        same, twice = through(given_up)
        assert (given_up.is_deleted(), same.is_deleted()) == (True, False)
        np.testing.assert_array_equal(same, x)
        np.testing.assert_array_equal(twice, 2 * np.arange(3.0))
    y = jax.jit(lambda x: x)(x)
    y.delete()
    np.testing.assert_array_equal(x, np.arange(3.0))


@pytest.mark.parametrize("donated", [(), 0])
def test_what_is_handed_through_stays_when_the_argument_is_deleted_meanwhile(donated):
    arguments = []

    def delete(value):
        arguments[-1].delete()
        return value

    f = jax.jit(lambda x: (x, jax.pure_callback(delete, x, x * 2)), donate_argnums=donated)
    for _ in range(3):  # by way of Python, then on the hit path
        arguments.append(jnp.arange(3.0))
        same, twice = f(arguments[-1])
        assert (arguments[-1].is_deleted(), same.is_deleted()) == (True, False)
        np.testing.assert_array_equal(same, np.arange(3.0))
        np.testing.assert_array_equal(twice, 2 * np.arange(3.0))


def test_an_array_that_numpy_looks_at_stays():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    for make in (lambda: jnp.arange(8.0), lambda: fresh(jnp.arange(8.0))):
        for look in (np.asarray, lambda x: np.asarray(x)[2:], lambda x: memoryview(np.asarray(x))):
            for _ in range(2):
                x = make()
                seen = look(x)
                before = np.array(seen)
                out = step(x)
                assert not x.is_deleted()
                np.testing.assert_array_equal(seen, before)
                np.testing.assert_array_equal(x, np.arange(8.0))
                np.testing.assert_array_equal(out, np.arange(8.0) + 1)
    x = fresh(jnp.arange(8.0))
    float(np.asarray(x).sum())  # nobody holds what was looked at
    step(x)
    assert x.is_deleted()


SAME, TWICE = jax.jit(lambda x: x), jax.jit(lambda x: x * 2)
STEPS = {"donated": jax.jit(lambda x: x + 1, donate_argnums=0),
         "donated, and given back": jax.jit(lambda x: (x, x * 3), donate_argnums=0)}
USES = {
    "NumPy's": lambda x: jnp.asarray(np.array(x)), "computed": TWICE, "handed through": SAME, "seen": np.asarray,
    "part seen": lambda x: np.asarray(x)[1:], "part": lambda x: x[1:], "DLPack": np.from_dlpack,
    "memory": lambda x: memoryview(np.asarray(x)), "turned": lambda x: x[::-1], "row": lambda x: x[None],
}


def use(alive, name, x, values):
    """Use one of the arrays that are alive, and add what it gives."""
    if name.startswith("donated"):
        alive += zip(jax.tree.leaves(STEPS[name](x)), [values + 1] if name == "donated" else [values, values * 3],
                     strict=True)
    else:
        alive.append((USES[name](x), np.array(USES[name](values))))  # nobody looks at what was made


@given(st.lists(st.tuples(st.sampled_from([*USES, *STEPS, "dropped", "dropped"]), st.sampled_from([0, 0, 0, -1, 1])),
                min_size=4, max_size=12))
@example([("seen", 0), ("computed", 0), ("dropped", -1), ("dropped", -1), ("handed through", 0), ("donated", 0)])
@settings(max_examples=20)
def test_what_others_have_is_never_changed(uses):
    """Whoever else has the elements of what is given up, as an Array or as NumPy's, keeps them as they are."""
    alive = []
    for name, number in uses:
        while len(alive) < 2:
            first = np.arange(6.0, dtype=np.float32)
            alive.append((jnp.asarray(first), first.copy()))
        if name == "dropped":
            del alive[number]
        elif isinstance(alive[number][0], jax.Array) and not alive[number][0].is_deleted():
            use(alive, name, *alive[number])
    for x, values in alive:
        if not (isinstance(x, jax.Array) and x.is_deleted()):
            np.testing.assert_array_equal(np.asarray(x), values)


def test_unusable_donations_are_told_once_and_stay():
    x = jnp.arange(4.0)
    total = jax.jit(lambda x: x.sum(), donate_argnums=0)
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: ShapedArray\(float32\[4\]\)\.\n"):
        total(x)
    assert not x.is_deleted()
    total(x)  # and no warning more: it would be an error
    jax.jit(lambda x: 3.0, donate_argnums=0)(x)  # what is not used is not missed
    assert not x.is_deleted()
    both = jax.jit(lambda x, y: x + y, donate_argnums=(0, 1))
    y = jnp.ones(4)
    with pytest.warns(UserWarning, match="not usable"):
        both(x, y)
    assert (x.is_deleted(), y.is_deleted()) == (True, False)


def test_one_array_given_twice():
    x = jnp.arange(4.0)
    once = jax.jit(lambda x, y: (x * 2, y), donate_argnums=0)
    twice = jax.jit(lambda x, y: (x * 2, y * 1), donate_argnums=(0, 1))
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"flattened argument 1.*f\(donate\(a\), a\)"):
            once(x, x)
        with pytest.raises(RuntimeError, match=r"flattened argument 1.*f\(donate\(a\), donate\(a\)\)"):
            twice(x, x)
        assert not x.is_deleted()
        once(fresh(x), x)
        twice(fresh(x), fresh(x))


def test_names_trees_and_stages():
    f = jax.jit(lambda a, s: {"k": s["k"] + a}, donate_argnames="s")
    s = {"k": fresh(jnp.ones(3))}
    f(1.0, s=s)
    assert s["k"].is_deleted()
    s = {"k": fresh(jnp.ones(3))}
    f(1.0, s)
    assert s["k"].is_deleted()
    lowered = jax.jit(lambda x, y: x + y, donate_argnums=0).lower(jnp.ones(3), 2)
    assert str(lowered.args_info) == ("((ArgInfo(_aval=ShapedArray(float32[3]), donated=True), "
                                      "ArgInfo(_aval=ShapedArray(int32[], weak_type=True), donated=False)), {})")
    assert lowered.donate_argnums == (0,)
    compiled = lowered.compile()
    x = fresh(jnp.ones(3))
    before = place(x)
    out = compiled(x, 2)
    assert (place(out), x.is_deleted(), out.tolist()) == (before, True, [3, 3, 3])
    with pytest.raises(RuntimeError, match="deleted"):
        compiled(x, 2)


def test_no_donation_inside_of_traces_and_without_compiling():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(3.0)
    jax.jit(lambda x: f(x) + x)(x)
    with jax.disable_jit():
        f(x)
    with jax.debug_nans(True):
        f(x)
    assert not x.is_deleted()


def test_threads_that_give_up_one_array_get_a_result_or_an_error():
    step = jax.jit(lambda x: jnp.tanh(x) + 1, donate_argnums=0)
    wanted = np.asarray(step(jnp.ones(50_000)))
    answers = []

    def call(x, begin):
        begin.wait()
        try:
            answers.append(np.array_equal(step(x), wanted))
        except RuntimeError as error:
            answers.append("deleted" in str(error))
        try:
            answers.append(np.array_equal(np.asarray(x), np.ones(50_000)))
        except RuntimeError as error:
            answers.append("deleted" in str(error))

    for _ in range(20):
        x, begin = fresh(jnp.ones(50_000)), threading.Barrier(3)
        threads = [threading.Thread(target=call, args=(x, begin)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [True] * 120
    gc.collect()
