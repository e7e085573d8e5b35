"""Step 12: loops that stay loops; and the four seeds."""

import contextlib
import importlib
import io
import pathlib
import re
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import close, few

import tinytrace as jax
import tinytrace.cli
import tinytrace.numpy as jnp
from course.cases import functions

pytestmark = pytest.mark.slow  # it starts the C compiler often

STEPS = functions(("{} + {}", "{} * 0.5", "m.sin({})", "{} * {}", "m.where({} > 0.0, {}, 0.25)"), inputs=2, most=4,
                  results=2)  # fmt: skip
SEEDS = ["000_jaxprs_of_jitted_functions", "001_caching_behavior", "002_just_in_time_compilation",
         "003_recompilation_with_a_closure"]  # fmt: skip
PROGRAMS = ["closure", "conditions", "jit_in_loops", "log2", "selu", "shapes", "static_flag"]


def step_function(text, m):
    names = {"m": m}
    exec(text, names)
    return lambda carry, x: names["f"](carry, x)


def python_loop(f, carry, xs):
    """What scan means."""
    rows = []
    for x in xs:
        carry, y = f(carry, x)
        rows.append(y)
    return carry, rows


class NumPy:
    sin, where = np.sin, np.where


@few
@given(STEPS, st.sampled_from([(), (2,)]))
def test_a_loop_is_what_python_would_do(m, text, shape):
    xs = np.random.default_rng(0).uniform(-1, 1, (5, *shape)).astype(np.float32)
    start = np.full(shape, 0.5, np.float32)
    carry, rows = m.jit(lambda c, xs: m.scan(step_function(text, m), c, xs))(start, xs)
    expected, expected_rows = python_loop(step_function(text, NumPy), start, xs)
    close(carry, expected)
    close(rows, np.stack([np.broadcast_to(row, shape) for row in expected_rows]))


@few
@given(STEPS)
def test_tangents_and_batches_go_through(m, text):
    xs = np.random.default_rng(0).uniform(-1, 1, (3, 4)).astype(np.float32)
    loop = lambda m: lambda row: m.scan(step_function(text, m), m.sum(row) * 0.1, row)[0]  # noqa: E731
    theirs = types.SimpleNamespace(sin=jnp.sin, where=jnp.where, sum=jnp.sum, scan=jax.lax.scan)
    close(m.vmap(loop(m))(m.array(xs)), m.array([float(loop(theirs)(row)) for row in xs]), 1e-4)
    tangent = m.jvp(loop(m), (m.array(xs[0]),), (m.ones(4),))[1]
    close(tangent, jax.jvp(loop(theirs), (xs[0],), (np.ones(4, np.float32),))[1], 1e-4)


def test_it_is_one_equation_however_long(m):
    shown = {str(m.make_jaxpr(lambda xs: m.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs))(m.ones(n)))
             .replace(str(n), "n") for n in (10, 100)}  # fmt: skip
    assert len(shown) == 1
    ours = m.make_jaxpr(lambda xs: m.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs))(m.ones(10))
    theirs = jax.make_jaxpr(lambda xs: jax.lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs))(jnp.ones(10))
    assert str(ours) == str(theirs)


def test_parts_of_the_carry_may_change_places(m):
    got = m.jit(lambda: m.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (0, 1), None, length=10))()
    assert np.asarray(got[1]).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    assert [int(x) for x in got[0]] == [55, 89]


def test_loops_in_loops_closed_over_values_and_containers(m):
    weights = m.arange(3.0)

    def outer(c, row):
        inner = m.scan(lambda c, x: (c + x, None), 0.0, row * weights)[0]
        return {"sum": c["sum"] + inner}, {"inner": inner}

    rows = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    carry, out = m.jit(lambda rows: m.scan(outer, {"sum": 0.0}, rows))(rows)
    expected = (rows * np.arange(3)).sum(1)
    close(out["inner"], expected)
    close(carry["sum"], expected.sum())


def test_the_carry_must_keep_its_type(m):
    with pytest.raises(TypeError, match="carry input and carry output must have equal types"):
        m.scan(lambda c, x: (c > 0, x), 1.0, m.ones(3))


# --- the four seeds ---


@contextlib.contextmanager
def as_tinytrace(m):
    """Lets `import tinytrace` and its parts give the module `m`."""
    parts = ["tinytrace"] + [f"tinytrace.{name}" for name in ("numpy", "lax", "tree_util", "errors")]
    with pytest.MonkeyPatch.context() as patch:
        if m.__name__ != "tinytrace":
            for name in parts:
                patch.setitem(sys.modules, name, m)
        yield


def seed_tests():
    for name in SEEDS:
        module = importlib.import_module(f"tests.seeds.test_{name}")
        for test in [name for name in vars(module) if name.startswith("test_")]:
            marks = getattr(getattr(module, test), "pytestmark", [])
            for case in [dict(zip(mark.args[0], case, strict=True)) for mark in marks for case in mark.args[1]] or [{}]:
                yield pytest.param(module, test, case, id="-".join([test, *map(str, case.values())]))


@pytest.mark.parametrize(("module", "test", "arguments"), [*seed_tests()])
def test_the_texts_are_true(m, module, test, arguments):
    """The tests of the seeds, as they stand in tests/seeds, of this implementation."""
    with as_tinytrace(m):
        function = getattr(module, test)
        if "loops" in function.__code__.co_varnames[: function.__code__.co_argcount]:
            arguments = {**arguments, "loops": module.loops.__wrapped__()}
        function(**arguments)


def printed(m, program):
    """What a program of the introductions prints; times are left out."""
    text = (pathlib.Path(tinytrace.cli.__path__[0]) / "programs" / f"{program}.py").read_text()
    shown = io.StringIO()
    with as_tinytrace(m), contextlib.redirect_stdout(shown):
        exec(compile(text, f"{program}.py", "exec"), {"__name__": "__main__"})
    return re.sub(r"\d+\.\d+ ms|\d+ times", "...", shown.getvalue())


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_of_the_introductions_print_the_same(m, program):
    assert printed(m, program) == printed(jax, program)
