"""What each turn of a loop would compute again is computed once, where that pays; and nothing else is."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.jaxpr import subjaxprs
from tinytrace.core.trace import interpreting
from tinytrace.passes.loop_invariants import hoist_invariants
from tinytrace.passes.simplify import simplify

DRAWN = np.random.RandomState(0)
A, V = DRAWN.rand(40, 40).astype("float32") - 0.2, DRAWN.rand(40).astype("float32")


def scanned(of, length=20):
    """A loop over `of(a, carry)`."""
    return lambda a, v: lax.fori_loop(0, length, lambda i, v: of(a, v), v)


def waiting(of, length=20):
    """The same as a loop of which nobody knows the length."""
    return lambda a, v: lax.while_loop(lambda s: s[0] < length, lambda s: (s[0] + 1, of(a, s[1])), (0, v))[1]


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def inside(jaxpr):
    """The names of what the loops of a program do."""
    return [name for eqn in jaxpr.eqns for body in subjaxprs(eqn.params) for name in names(body)]


def simplified(f, *args):
    return simplify(jax.make_jaxpr(f)(*args)).jaxpr


@pytest.mark.parametrize("loop", [scanned, waiting])
@pytest.mark.parametrize(("of", "moved"), [
    (lambda a, v: (a / a.sum(0)) @ v, ["reduce_sum", "div"]),
    (lambda a, v: v + jnp.sort(a @ a.T, 1)[0], ["dot_general", "sort"]),
    (lambda a, v: jnp.exp(-(a[:, :1] - a[:1]) ** 2) @ v, ["exp"]),  # more elements than there were, but dear ones
    (lambda a, v: v + jnp.linalg.solve(a, a[0]), ["lu"]),
    (lambda a, v: v * jnp.sum(lax.fori_loop(0, 9, lambda i, x: x * a[0], a[1])), ["scan", "reduce_sum"]),
])
def test_what_does_not_vary_is_computed_before(loop, of, moved):
    program = simplified(loop(of), A, V)
    assert set(moved) <= set(names(program))
    assert set(moved).isdisjoint(inside(program))
    kept = jax.jit(loop(of))(A, V)
    want = V
    for _ in range(20):
        want = of(jnp.asarray(A), want)
    np.testing.assert_allclose(kept, want, rtol=2e-4)


@pytest.mark.parametrize("loop", [scanned, waiting])
@pytest.mark.parametrize(("of", "stays"), [
    (lambda a, v: v + jnp.repeat(a[0, :1], 40), "broadcast_in_dim"),  # moves elements: free where it is read
    (lambda a, v: v * (a[0, 0] + 1), "add"),  # one number: no kernel for that
    (lambda a, v: ((a[:, :1] + a[:1]) * v).sum(0), "add"),  # more elements than there were, and cheap
    (lambda a, v: jnp.sin(v) + a[0], "sin"),
    (lambda a, v: ((a * 2) * jnp.abs(a - v)).sum(0), "mul"),  # a is read anyway
])
def test_what_varies_or_costs_little_stays(loop, of, stays):
    program = simplified(loop(of), A, V)
    assert stays in inside(program)


def test_one_turn_is_no_loop():
    assert "div" in inside(hoist_invariants(jax.make_jaxpr(scanned(lambda a, v: a / 2 @ v, 1))(A, V)).jaxpr)


@pytest.mark.parametrize("loop", [
    lambda a, v: lax.scan(lambda s, _: ((s[0], s[0] @ s[1]), s[1].sum()), (a, v), None, length=5),
    lambda a, v: lax.while_loop(lambda s: s[2] < 5, lambda s: (s[0], s[0] @ s[1], s[2] + 1), (a, v, 0)),
    lambda a, v: lax.while_loop(lambda s: (s[2] < 5) & (s[0][0, 0] < 9), lambda s: (s[0], s[0] @ s[1], s[2] + 1),
                                (a, v, 0))[1:],
    lambda a, v: jax.vmap(lambda v: lax.while_loop(lambda s: jnp.abs(s[1]).sum() < s[0][0, 0] + 90,
                                                   lambda s: (s[0], s[0] @ s[1] * 2), (a, v)))(jnp.stack([v, v * 3])),
    lambda a, v: lax.scan(lambda s, x: ((s[1], s[0]), x), (a, a), v),  # both change, though neither is computed
])
def test_a_carry_that_no_turn_changes_is_a_constant(loop):
    program = simplified(loop, A, V)
    for eqn in program.eqns:
        if eqn.primitive.name == "scan":
            body, consts, carries = (eqn.params[name] for name in ("jaxpr", "num_consts", "num_carry"))
            assert all(body.jaxpr.outvars[k] is not body.jaxpr.invars[consts + k] for k in range(carries))
        if eqn.primitive.name == "while":
            body, consts = eqn.params["body_jaxpr"], eqn.params["body_nconsts"]
            assert all(x is not y for x, y in zip(body.jaxpr.outvars, body.jaxpr.invars[consts:], strict=True))
    with interpreting():
        want = loop(A, V)
    for x, y in zip(jax.tree.leaves(jax.jit(loop)(A, V)), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4)


def test_hosts_are_called_in_each_turn():
    calls = []

    def counted(a):
        calls.append(1)
        return np.asarray(a) * 2

    def of(a, v):
        return v + jax.pure_callback(counted, jax.ShapeDtypeStruct((40, 40), "float32"), a)[0]

    for loop in (of, lambda a, v: lax.cond(a[0, 0] < 9, lambda: of(a, v), lambda: v)):
        calls.clear()
        jax.jit(scanned(loop, 3))(A, V).block_until_ready()
        assert len(calls) == 3


def test_a_loop_without_an_end_stays_in_a_loop_without_turns():
    def endless(a):
        return lax.while_loop(lambda x: x[0] < a[0] + 1, lambda x: x * 1, a)

    def endless_inside(a):
        return lax.fori_loop(0, 9, lambda i, x: x + endless(x), a)

    for of in (endless, endless_inside):
        f = jax.jit(lambda a, v, of=of: lax.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] + of(a)), (1, v)))
        np.testing.assert_array_equal(f(A[0], V)[1], V)


def test_much_that_is_made_of_few_stays():
    def f(x, v):
        return lax.fori_loop(0, 20, lambda i, v: jnp.exp(-(x[:, None] - x) ** 2) @ v, v)

    few, many = (jax.ShapeDtypeStruct((n,), np.float32) for n in (1000, 5000))
    assert "exp" not in inside(simplified(f, few, few))
    assert "exp" in inside(simplified(f, many, many))


def test_gradients_and_maps_of_such_loops():
    def loss(a, v):
        return scanned(lambda a, v: jnp.tanh((a / jnp.abs(a).sum(0)) @ v))(a, v).sum()

    with interpreting():
        want = jax.grad(loss)(jnp.asarray(A), jnp.asarray(V))
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(A, V), want, rtol=1e-3, atol=1e-5)
    many = jax.jit(jax.vmap(loss, (None, 0)))(A, np.stack([V, V + 1]))
    np.testing.assert_allclose(many[0], jax.jit(loss)(A, V), rtol=1e-4)
