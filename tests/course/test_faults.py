"""The planted faults: right compilers obey the laws, and every fault breaks one of them."""

import numpy as np
import pytest
from hypothesis import strategies as st

from course.faults import FAULTS, RIGHT, TINY, fault, grade, load

X = np.array([0.5, -1.25, 2.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)


class NumPy:
    """The operations of the programs below, in NumPy."""

    sin, cos, tanh, where, sum = np.sin, np.cos, np.tanh, np.where, np.sum


PROGRAMS = {
    "arithmetic": (lambda m, x: 2.0 - m.cos(x) * x / (1.5 + x * x) + m.tanh(x) * 0.3125, X),
    "a choice": (lambda m, x: m.where(x > 0.0, x, 3.0 * x), X),
    "a sum": (lambda m, x: x / m.sum(x), X),
    "rows and columns": (lambda m, x: m.sum(x * x, axis=0) - m.sum(x, axis=0), M),
}
Y, Z = np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)


def close(got, expected):
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-4, atol=1e-5)


def evaluating(m, name):
    """Programs compute what NumPy computes."""
    f, x = PROGRAMS[name]
    traced = m.inlined(m.make_jaxpr(lambda x: f(m, x))(x))
    close(m.eval_jaxpr(traced, x)[0], f(NumPy, x))


def compiling(m, name):
    """Compiled programs compute what NumPy computes."""
    f, x = PROGRAMS[name]
    close(m.jit(lambda x: f(m, x))(x), f(NumPy, x))


def differentiating(m, name):
    """Tangents are what differences tend to, and backward is the transpose of forward."""
    f, x = PROGRAMS[name]
    h, direction = 1e-5, np.ones_like(x)
    x64 = x.astype(float)
    slope = (f(NumPy, x64 + h) - f(NumPy, x64 - h)) / (2 * h)
    close(m.jvp(lambda x: f(m, x), (m.array(x),), (m.array(direction),))[1], slope)
    ct = np.arange(1, slope.size + 1, dtype=np.float32).reshape(slope.shape)
    (back,) = m.vjp(lambda x: f(m, x), m.array(x))[1](m.array(ct))
    close(np.vdot(np.asarray(back), direction), np.vdot(slope, ct))


def batching(m, name):
    """A batch is the stack of single calls."""
    f, x = PROGRAMS[name]
    rows = np.stack([x, 2 * x, x + 1])
    close(m.vmap(lambda x: f(m, x))(m.array(rows)), np.stack([f(NumPy, row) for row in rows]))


def closing_over(m):
    """Closed-over arrays keep their values."""
    y, z = m.array(Y), m.array(Z)
    close(m.jit(lambda x: x * y - z)(X), X * Y - Z)


def printing(m):
    """Numbers stand in the text as they are."""
    assert "1.67578125" in str(m.make_jaxpr(lambda x: x * 1.67578125)(1.0))


def remembering(m):
    """A hit gives what a miss gives, and other values are a hit."""
    double = m.jit(lambda x: x * 2)
    for x in (1.5, 2.5, 3, np.ones(3, np.float32), np.ones(4, np.float32)):
        close(double(m.array(x) if np.ndim(x) else x), np.asarray(x) * 2)
    structure = m.jit(lambda x: 1 if isinstance(x, list) else 2)
    assert [int(structure(x)) for x in ([1.0], (1.0,), [2.0])] == [1, 2, 1]
    if hasattr(double, "_cache_size"):
        assert double._cache_size() == 4
        power = m.jit(lambda x, n: x * n if n > 2 else -x, static_argnums=1)
        assert [float(power(2.0, n)) for n in (3, 1, 4)] == [6.0, -2.0, 8.0]


def looping(m):
    """A loop is what Python would do."""
    if hasattr(m, "scan"):
        carry, rows = m.jit(lambda xs: m.scan(lambda c, x: (c + x, c * x), 0.0, xs))(X)
        close(carry, X.sum())
        close(rows, np.concatenate([[0], np.cumsum(X)[:-1]]) * X)


def broken_laws(m):
    """The names of the laws that a compiler breaks, one after the other."""
    laws = [(f"{law.__name__} {name}", law, (name,)) for name in PROGRAMS
            for law in (evaluating, compiling, differentiating, batching)]  # fmt: skip
    laws += [(law.__name__, law, ()) for law in (closing_over, printing, remembering, looping)]
    for name, law, arguments in laws:
        try:
            law(m, *arguments)
        except Exception:
            yield name


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYTRACE_CACHE_DIR", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.split("/")[2])
def test_right_compilers_obey(file):
    assert list(broken_laws(load(file))) == []


@pytest.mark.slow
@pytest.mark.parametrize("planted", [f for f in FAULTS if f.file == TINY], ids=lambda planted: planted.id)
def test_every_fault_breaks_a_law(planted):
    assert any(broken_laws(load(planted.file, planted)))


def test_the_table():
    assert len(FAULTS) >= 20
    assert len({planted.id for planted in FAULTS}) == len(FAULTS)
    assert len(RIGHT) >= 5
    assert fault("product-rule").stage == "differentiate"


def test_a_learners_property_is_graded():
    """In the way an exercise does it: a law of compilers, texts of inputs."""

    def law(m, f, x):
        _, tangent = m.jvp(lambda x: f(m, x), (x,), (1.0,))
        forward = float(tangent)
        return abs(forward - (f(np, x + 1e-5) - f(np, x - 1e-5)) / 2e-5) < 1e-2

    cases = st.integers(-3, 3).map(lambda x: f"lambda m, x: m.cos(x) * x, {x}.0")
    assert grade(law, load(TINY), cases) == "accepts"
    assert grade(law, load(TINY, fault("slope-of-cos")), cases) == "catches"
    assert grade(law, load(TINY, fault("product-rule")), cases) == "catches"
    assert grade(lambda m, f, x: True, load(TINY, fault("product-rule")), cases) == "accepts"
