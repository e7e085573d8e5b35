"""Random programs under random stacks of transformations, against an independent differentiator.

A program is a function of one number, written twice: with tinytrace, and with truncated power series, which know every
derivative of a program exactly and nothing of tracing. On such functions all transformations commute: `grad` and `jvp`
each take one derivative, `jit` and `checkpoint` change nothing, and our `vmap` adds up shifted copies.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr

ORDER = 4
WEIGHTS = (0.5, -0.25, 0.75)
SHIFTS = (-0.1, 0.0, 0.2)


class Series:
    """A power series up to order ORDER: what a program gives for x + t, as a polynomial in t."""

    def __init__(self, coefficients):
        self.c = np.asarray(coefficients, float)

    def __add__(self, other):
        return Series(self.c + as_series(other).c)

    def __mul__(self, other):
        return Series(np.convolve(self.c, as_series(other).c)[:ORDER + 1])

    def __truediv__(self, other):
        d, q = as_series(other).c, np.zeros(ORDER + 1)
        for k in range(ORDER + 1):
            q[k] = (self.c[k] - sum(q[j] * d[k - j] for j in range(k))) / d[0]
        return Series(q)


def as_series(x):
    return x if isinstance(x, Series) else Series([x] + [0.0] * ORDER)


def solve(x, first, step):
    """The series y with y_0 = first and k y_k = step(k, y): how derivatives of y follow from y itself."""
    y = np.zeros(ORDER + 1)
    y[0] = first
    for k in range(1, ORDER + 1):
        y[k] = step(k, y) / k
    return Series(y)


def exp_series(x):
    return solve(x, math.exp(x.c[0]), lambda k, y: sum(j * x.c[j] * y[k - j] for j in range(1, k + 1)))


def sin_cos_series(x):
    s, c = np.zeros(ORDER + 1), np.zeros(ORDER + 1)
    s[0], c[0] = math.sin(x.c[0]), math.cos(x.c[0])
    for k in range(1, ORDER + 1):
        s[k] = sum(j * x.c[j] * c[k - j] for j in range(1, k + 1)) / k
        c[k] = -sum(j * x.c[j] * s[k - j] for j in range(1, k + 1)) / k
    return Series(s), Series(c)


def tanh_series(x):
    e = exp_series(x * 2.0)
    return (e + -1.0) / (e + 1.0)


class WithSeries:
    """What the nodes of a program mean for power series."""

    sin = staticmethod(lambda x: sin_cos_series(x)[0])
    cos = staticmethod(lambda x: sin_cos_series(x)[1])
    exp = staticmethod(exp_series)
    tanh = staticmethod(tanh_series)
    dot = staticmethod(lambda xs: sum((x * w for x, w in zip(xs[1:], WEIGHTS[1:], strict=False)), xs[0] * WEIGHTS[0]))
    call = staticmethod(lambda wrapper, f, x: f(x))
    choose = staticmethod(lambda x, a, b: a(x) if x.c[0] > 0.3 else b(x))

    @staticmethod
    def loop(f, x):
        carry = x
        for w in WEIGHTS:
            carry = f(carry) * w + x
        return carry


class WithTinytrace:
    """What they mean for arrays: with vectors, branches, loops, and calls under other transformations."""

    sin, cos, exp, tanh = jnp.sin, jnp.cos, jnp.exp, jnp.tanh
    dot = staticmethod(lambda xs: jnp.stack(xs) @ jnp.array(WEIGHTS[:len(xs)]))
    choose = staticmethod(lambda x, a, b: lax.cond(x > 0.3, a, b, x))

    @staticmethod
    def call(wrapper, f, x):
        return WRAPPERS[wrapper](f)(x)

    @staticmethod
    def loop(f, x):
        return lax.scan(lambda carry, w: (f(carry) * w + x, carry), x, jnp.array(WEIGHTS))[0]


WRAPPERS = {
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "vmap": lambda f: lambda x: jax.vmap(f)(x[None])[0],
    "where": lambda f: lambda x: jnp.where(jnp.abs(x) < 100, f(x), 0.0),
    "while": lambda f: lambda x: lax.fori_loop(0, 1, lambda i, y: f(y), x),
}


@st.composite
def programs(draw, depth=3):
    """A function of (meaning of the nodes, x), and a text that says what it is."""
    kind = draw(st.sampled_from(["x", "constant"] if depth == 0 else
                                ["unary", "unary", "add", "mul", "div", "dot", "loop", "choose", "call"]))
    inner = programs(depth=depth - 1)
    if kind == "x":
        return lambda m, x: x, "x"
    if kind == "constant":
        value = draw(st.sampled_from([-1.5, 0.5, 2.0]))
        return lambda m, x: x * 0.0 + value, str(value)
    if kind == "unary":
        name = draw(st.sampled_from(["sin", "cos", "tanh", "exp"]))
        f, text = draw(inner)
        scale = 0.3 if name == "exp" else 1.0
        return lambda m, x: getattr(m, name)(f(m, x) * scale), f"{name}({text})"
    if kind in ("loop", "call"):
        f, text = draw(inner)
        wrapper = draw(st.sampled_from(sorted(WRAPPERS)))
        if kind == "loop":
            return lambda m, x: m.loop(lambda y: m.sin(f(m, y)), x), f"loop({text})"
        return lambda m, x: m.call(wrapper, lambda y: f(m, y), x), f"{wrapper}({text})"
    (f, f_text), (g, g_text) = draw(inner), draw(inner)
    if kind == "add":
        return lambda m, x: f(m, x) + g(m, x), f"({f_text} + {g_text})"
    if kind == "mul":
        return lambda m, x: f(m, x) * g(m, x), f"({f_text} * {g_text})"
    if kind == "div":
        return lambda m, x: f(m, x) / (g(m, x) * g(m, x) + 1.5), f"({f_text} / {g_text})"
    if kind == "dot":
        return lambda m, x: m.dot([f(m, x), g(m, x), x]), f"dot({f_text}, {g_text})"
    return lambda m, x: m.choose(x, lambda y: f(m, y), lambda y: g(m, y)), f"choose({f_text}, {g_text})"


TRANSFORMS = {
    "jit": jax.jit,
    "grad": jax.grad,
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (1.0,))[1],
    "linearize": lambda f: lambda x: jax.linearize(f, x)[1](1.0),
    "vjp": lambda f: lambda x: jax.vjp(f, x)[1](1.0)[0],
    "jacfwd": jax.jacfwd,
    "vmap": lambda f: lambda x: jax.vmap(f)(x + jnp.array(SHIFTS)) @ jnp.array(WEIGHTS),
    "vmap of out_axes": lambda f: lambda x: jnp.sum(jax.vmap(lambda s, w: w * f(x + s))(
        jnp.array(SHIFTS), jnp.array(WEIGHTS))),
}
DERIVATIVES = ("grad", "jvp", "linearize", "vjp", "jacfwd")


def expected(program, stack, x):
    """The same by power series: derivatives counted, shifted copies added up."""
    order = sum(name in DERIVATIVES for name in stack)
    points = [(x, 1.0)]
    for _ in range(sum(name.startswith("vmap") for name in stack)):
        points = [(p + shift, weight * w) for p, weight in points for shift, w in zip(SHIFTS, WEIGHTS, strict=True)]
    values = [weight * program(WithSeries, Series([p, 1.0, 0.0, 0.0, 0.0])).c[order] for p, weight in points]
    return math.factorial(order) * sum(values)


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


CASES = (programs(), st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=4),
         st.sampled_from([-0.7, 0.11, 0.25, 0.47, 0.9]))


def transformed(program, stack):
    function, _ = program
    result = lambda x: function(WithTinytrace, x)  # noqa: E731
    for name in stack:
        result = TRANSFORMS[name](result)
    return result


def check(value, program, stack, x):
    function, text = program
    wanted = expected(function, stack, x)
    np.testing.assert_allclose(value, wanted, rtol=1e-7, atol=1e-7 * (1 + abs(wanted)),
                               err_msg=f"{' of '.join(reversed(stack))} of {text}")


@examples(300, fast=60)
@given(*CASES)
def test_a_staged_stack_of_transformations_is_what_it_says(program, stack, x):
    closed = jax.make_jaxpr(transformed(program, stack))(jnp.float64(x))
    check_jaxpr(closed.jaxpr)
    with interpreting():  # each equation by its NumPy meaning, loops and branches too
        value, = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, jnp.float64(x))
    check(value, program, stack, x)


@examples(40, fast=10)
@given(*CASES)
def test_an_eager_stack_of_transformations_is_what_it_says(program, stack, x):
    check(transformed(program, stack)(jnp.float64(x)), program, stack, x)
