"""Lockstep agrees with a right compiler, and finds ten planted miscompilations, each in at most five equations."""

import subprocess
import sys

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.inspection.lockstep import Agreement, Difference, lockstep
from tinytrace.testing import FAULTS

X = jnp.asarray(np.float32([np.nan, -0.0, 0.9, 1.5, np.inf, -2.6, 3.2, 0.25]))
M = jnp.asarray(np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32))


def program(x, m):
    """Every operation that a fault below changes, among others."""
    a = jnp.maximum(x, 0.25)
    b = jnp.where(a < 1.5, a * 1.4142135, -a)
    c = lax.slice(b, (1,), (7,), (2,)) - x[:3]
    d = jnp.cumsum(m, axis=0) + jnp.cumsum(m, axis=1)
    e = (x * 3.7).astype(jnp.int32) + 1
    g = jnp.sort(m, axis=0) @ m
    h = jnp.sin(g).sum(axis=1)
    k = jnp.max(-jnp.abs(m), axis=1)
    n = jnp.tanh(h) * k + jnp.exp(-jnp.abs(k))
    return x + 0.0, x[0] * 0.0, b, c, d, e, g, jnp.sort(jnp.cumsum(jnp.sort(n)))


def test_complex_numbers_agree_up_to_rounding():
    z = np.complex64([1 + 2j, 0, complex(np.inf, 1), -3j])
    assert isinstance(jax.lockstep(lambda z: (jnp.exp(z) * z, z / (z - z), jnp.sum(z * 0.1)))(z), Agreement)


def test_a_right_compiler_agrees_with_itself():
    agreement = jax.lockstep(program)(X, M)
    assert isinstance(agreement, Agreement)
    assert {"jaxpr", "cse", "plan", "the layout of the workspace", "C"} <= set(agreement.forms)
    assert not agreement
    assert "forms agree: jaxpr, inline" in str(agreement)


MISCOMPILATIONS = {  # the fault, the first form that is wrong, the operation to blame
    "lost NaN": ("plan", "max"), "comparison with equality": ("plan", "lt"), "empty maximum": ("plan", "reduce_max"),
    "conversion that rounds": ("plan", "convert_element_type"), "wrong index": ("plan", "slice"),
    "wrong C": ("C", "sub"), "wrong number in C": ("C", ""), "merged twins": ("cse", "cumsum"),
    "lost sign of zero": ("algebra", "add"), "product with zero": ("algebra", "mul"),
}


@pytest.mark.parametrize("fault", MISCOMPILATIONS)
def test_a_miscompilation_is_found_and_made_small(fault):
    stage, operation = MISCOMPILATIONS[fault]
    with FAULTS[fault].planted():
        found = lockstep(program)(X, M)
        assert isinstance(found, Difference)
        assert found.stage == stage
        equations = list(found.smallest.program.jaxpr.walk())
        assert len(equations) <= 5
        assert not operation or operation in {eqn.primitive.name for eqn in equations}
        assert found.equations
        assert ("of kernel" in found.place) == (stage == "C")
        assert all(e.file == __file__ for e in found.equations if e.file)
        assert len(found.as_python().splitlines()) == 5
        assert found.as_python() in str(found)
    assert isinstance(lockstep(program)(X, M), Agreement)


def test_static_arguments_and_effects():
    scaled = jax.jit(lambda x, n: x * n, static_argnums=1)
    assert isinstance(lockstep(scaled)(X, 3), Agreement)
    with pytest.raises(ValueError, match="has effects each time"):
        lockstep(lambda x: jax.debug.print("{}", x))(X)


@pytest.mark.not_quick
def test_the_five_lines_run(tmp_path):
    with FAULTS["empty maximum"].planted():
        text = lockstep(program)(X, M).as_python()
    (tmp_path / "five.py").write_text(text)
    done = subprocess.run([sys.executable, str(tmp_path / "five.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("expected [array([0., 0., 0., 0.], dtype=float32)] got [Array([-0.10490011")
