"""A process that finds its programs compiled plans no kernels and writes no C; its answers are those of the first."""
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.compiled

PROGRAM = """
import sys
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.runtime import ladder

X = jnp.arange(12.0).reshape(3, 4)
def loss(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)
PROGRAMS = {
    "one operation": (lambda x: x + 1, X),
    "gradient": (jax.grad(loss), jnp.ones((4, 2)), X),
    "scan": (lambda x: jax.lax.scan(lambda c, y: (c * 0.5 + y, jnp.sin(c)), jnp.zeros(4), x), X),
    "branch": (lambda x: jax.lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), X),
    "vmap": (jax.vmap(lambda x: jnp.sort(x)[::-1]), X),
    "linalg": (lambda x: jnp.linalg.solve(x @ x.T + jnp.eye(3), x), X),
    "random": (lambda x: x + jax.random.normal(jax.random.PRNGKey(7), x.shape), X),
    "inner jit": (lambda x: jax.jit(jnp.linalg.norm)(x) + jax.nn.softmax(x), X),
    "constant": (lambda x: x * np.arange(4, dtype=np.float32), X),
}
def donated():
    y = X + 1
    return jax.jit(lambda x: x * 2, donate_argnums=0)(y), y.is_deleted()
def run():
    answers = [np.asarray(leaf).tobytes().hex()[:64] for name, (f, *args) in PROGRAMS.items()
               for leaf in jax.tree.leaves(jax.jit(f)(*args))]
    result, is_deleted = donated()
    return [*answers, np.asarray(result).tobytes().hex(), is_deleted]
"""
TELL = "print(run(), ladder.stats.compiles, 'tinytrace.codegen.generate' in sys.modules)"


@pytest.fixture
def python(tmp_path):
    """Run a program in a process with a store of this test's; what it prints."""
    def run(program, **environment):
        env = {**os.environ, "TINYTRACE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT), **environment}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
    return run


@pytest.mark.not_quick
def test_the_second_process_does_not_import_the_code_generator(python):
    answers, compiles, imported = python(PROGRAM + TELL).rsplit(" ", 2)
    assert (int(compiles) > 9, imported) == (True, "True")
    for environment in ({}, {"PYTHONHASHSEED": "7"}):
        assert python(PROGRAM + TELL, **environment).rsplit(" ", 2) == [answers, "0", "False"]


@pytest.mark.not_quick
def test_what_is_looked_at_is_made_then(python):
    code = PROGRAM + "f = jax.jit(lambda x: jnp.sin(x) + 1)\nprint(f(X).sum())\n"
    look = "lowered = f.lower(X)\nprint(lowered.as_text(), lowered.compile()(X).sum(), ladder.stats.compiles)"
    first, compiles = python(code + look).rsplit(" ", 1)
    assert int(compiles) > 0
    assert python(code + look).rsplit(" ", 1) == [first, "0"]


@pytest.mark.not_quick
def test_closed_over_arrays_and_callbacks_are_each_process_s_own(python):
    code = PROGRAM + """
c = jnp.full(4, float(NUMBER))
print(jax.jit(lambda x: jax.lax.scan(lambda s, y: (s + y * c, None), jnp.zeros(4), x)[0])(X).tolist())
print(jax.jit(lambda x: jax.pure_callback(lambda y: np.asarray(y) * NUMBER, x, x))(X).sum())
"""
    for number in (2, 3, 2):
        sums = [float(v * number) for v in (12, 15, 18, 21)]
        assert python(code.replace("NUMBER", str(number))) == f"{sums}\n{66.0 * number}"


@pytest.mark.not_quick
def test_arrays_that_loops_close_over_are_handed_in_by_each_process(python):
    code = PROGRAM + """
b, c = jnp.full(4, NUMBER, jnp.float32), jnp.arange(4.0)
inner = jax.jit(lambda y: y * c + b * y)
xs = jax.jit(lambda x: jax.lax.map(inner, x))(X)
print(xs.tolist() == ((np.asarray(c) + NUMBER) * np.asarray(X)).tolist(), TELL)
""".replace("TELL", "ladder.stats.compiles, 'tinytrace.codegen.generate' in sys.modules")
    assert python(code.replace("NUMBER", "2")) == "True 1 True"
    assert python(code.replace("NUMBER", "3")) == "True 0 False"
    swapped = code.replace("y * c + b * y", "y * b + c * y").replace("NUMBER", "5")
    assert python(swapped) == "True 0 False"  # it is one program with two arrays, each in the other's place


def test_what_a_changed_process_lowers_stays_in_it(python):
    change = """
from unittest import mock
from tinytrace.primitives.elementwise import Elementwise
from tinytrace.testing.faults import FAULTS
with FAULTS["wrong C"].planted():
    print(jax.jit(lambda x: 10 - x)(jnp.float32(3)))
"""
    plain = PROGRAM + "print(jax.jit(lambda x: 10 - x)(jnp.float32(3)))"
    wrong = python(PROGRAM + change)
    assert wrong != "7.0"
    assert python(plain) == "7.0"  # what was lowered wrongly was not remembered
    assert python(plain) == "7.0"
    assert python(PROGRAM + change) == wrong  # and what was lowered rightly does not hide a change


@pytest.mark.not_quick
def test_without_its_entry_a_program_is_compiled_again(python, tmp_path):
    tell = PROGRAM + "print(jax.jit(jnp.cumsum)(X[0]), ladder.stats.compiles)"
    first = python(tell)
    for source in tmp_path.glob("cache/*/entries/??/*/kernel.so"):
        source.unlink()
    assert python(tell) == first
    assert python(tell) == first.removesuffix("1") + "0"


@pytest.mark.not_quick
def test_settings_are_part_of_what_is_looked_up(python):
    tell = PROGRAM + "print(jax.jit(lambda x: x * x + x)(X[0] / 3).tolist())"
    answers = [python(tell, TINYTRACE_EXACT=exact) for exact in ("0", "1", "0", "1")]
    assert answers[:2] == answers[2:]
