"""jit(compile="background") under attack: forks, exits, compilers that fail, and many callers at once."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.runtime import ladder
from tinytrace.runtime.failures import NoCompiler

pytestmark = pytest.mark.compiled

X = np.linspace(-1, 1, 8, dtype=np.float32)


def chain(x, constant, n=300):
    for _ in range(n // 2):
        x = jnp.sin(x) * constant
    return x


def wait_for(jitted):
    next(iter(jitted._cache.calls.values())).program._compiling.join()


def test_a_child_forked_meanwhile_compiles_for_itself():
    f = jax.jit(lambda x: chain(x, 1.03125), compile="background")
    expected = np.asarray(f(X))
    child = os.fork()
    if not child:
        fine = all(np.allclose(f(X), expected, rtol=1e-4) for _ in range(3))
        os._exit(0 if fine else 1)
    deadline = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
    assert ended == (child, 0)
    wait_for(f)
    np.testing.assert_allclose(f(X), expected, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise ValueError('end')", "os.kill(os.getpid(), 9)"])
def test_a_process_that_ends_meanwhile(ending, tmp_path):
    script = f"""
import os, sys
import numpy as np
import tinytrace as jax, tinytrace.numpy as jnp
from tests.api.test_background import chain
print(jax.jit(lambda x: chain(x, 1.0625), compile="background")(np.float32(1)))
{ending}
"""
    environment = {**os.environ, "TINYTRACE_CACHE_DIR": str(tmp_path / "store")}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True,
                              timeout=60)
        assert done.stdout.startswith("0.")
        assert done.returncode == {"": 0, "sys.exit(3)": 3, "raise ValueError('end')": 1}.get(ending, -9)
        assert "tinytrace" not in done.stderr
    if "kill" not in ending:
        assert not list((tmp_path / "store").glob("*/building/*"))
        assert len(list((tmp_path / "store").glob("*/entries/??/*/kernel.so"))) == 1


def test_without_a_compiler_it_stays_interpreted(monkeypatch):
    def fails(*args):
        raise NoCompiler

    monkeypatch.setattr(ladder, "find", fails)
    f = jax.jit(lambda x: x * 1.0078125 - 5, compile="background")
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X * np.float32(1.0078125) - 5)
        wait_for(f)


def test_callers_meanwhile_get_the_same_results():
    f = jax.jit(lambda x: chain(x, 1.015625, 40), compile="background")
    results = []

    def call():
        results.extend(np.asarray(f(X)) for _ in range(20))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(f)
    for result in results:
        np.testing.assert_allclose(result, f(X), rtol=1e-5)
    assert len(results) == 80
