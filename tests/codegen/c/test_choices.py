"""Loops with choices, of what was chosen and beside long functions, become vectors: gcc's flags see to it."""
import re
import shutil
import subprocess

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import same
from tests.csrc.test_math_text import REPORTS
from tinytrace.runtime.flags import own_flags

NESTED = {
    "argmax of a choice": lambda x: jnp.nanargmax(x, 0),
    "maxima of a choice, in a row": lambda x: jnp.nanmax(x, 0),
    "choice of a choice": lambda x: jnp.where(x < 1, jnp.where(x > -1, x, -1), 1),
    "through arithmetic": lambda x: jnp.where(jnp.where(x > 0, x, 0) * 2 + 1 > 2, x, 3),
    "in a loop of the program": lambda x: jax.lax.fori_loop(0, 3, lambda _, x: jnp.nanmax(x, 0) + x, x),
}
CALLS = {
    "a function on one side": lambda x: jnp.where(x > 0.5, 1, jnp.sin(x)),
    "a function of what was chosen": lambda x: jnp.where(x > 0, x, 0.5) ** jnp.abs(x),
    "a maximum of a function": lambda x: jnp.maximum(jnp.log(x), 0),
    "a function of a function": lambda x: jnp.cbrt(jnp.exp(x)),
    "a function alone": lambda x: jnp.sin(x) + 1,
    "a sample": lambda x: jnp.where(x > 0.5, 1, (1 - jnp.maximum(x, 0)) ** (1 / x)),
}
"""Long functions, which consist of choices, with a choice beside them, or alone."""
FLAT = {
    "a function beside a fold": lambda x: jnp.sum(jnp.sin(x) + 1),
    "a function in a loop of its own": lambda x: jnp.sum(jnp.exp(x - jnp.max(x, 1, keepdims=True)), 1),
    "one choice": lambda x: jnp.where(x < 1, x, 1),
    "argmax": lambda x: jnp.argmax(x, 1),
    "maximum": lambda x: jnp.max(x, 0),
    "two loops": lambda x: jnp.where(jnp.sum(jnp.where(x > 0, x, 0), 1) > 2, 1, 0),
    "maximum of a choice, in a variable": lambda x: jnp.nanmax(x),
}


CASES = NESTED | CALLS | FLAT


def numbers():
    x = np.random.default_rng(0).standard_normal((100, 300)).astype(np.float32)
    return np.where(x > 2, np.nan, x)


def source_of(f):
    return jax.jit(f).lower(numbers()).compile().as_text()


@pytest.mark.parametrize("case", CASES)
def test_choices_are_right(case):
    same(CASES[case], numbers())


@pytest.mark.parametrize("case", [case for case in NESTED | CALLS if case != "in a loop of the program"])
def test_their_loops_have_vectors(case, tmp_path):
    command = shutil.which("gcc")
    if command is None:
        pytest.skip("there is no gcc to ask what it vectorised")
    text = source_of((NESTED | CALLS)[case])
    identity = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    report, pattern = REPORTS["gcc"]
    argv = [command, *own_flags(f"{identity}, x86_64"), "-march=native", report, "-x", "c", "-c", "-", "-o",
            str(tmp_path / "loops.o")]  # fmt: skip
    done = {int(line) for line in re.findall(pattern, subprocess.run(
        argv, input=text, capture_output=True, text=True, check=True).stderr)}
    loops = text.count("#pragma omp simd")
    assert loops
    assert len(done) >= loops
