"""What `import tinytrace` does: it reads its own modules, starts no process and makes no file."""
import os
import subprocess
import sys

import pytest

LATER = ["tinytrace.codegen.generate", "tinytrace.runtime.ladder", "tinytrace.runtime.compiler", "tinytrace.nn",
         "tinytrace.random", "tinytrace.scipy", "tinytrace.experimental", "tinytrace.missing", "tinytrace.interpreters",
         "tinytrace.extend", "tinytrace.image", "tinytrace.sharding"]  # fmt: skip


def run(code, **environment):
    everything = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=everything, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout


def test_it_touches_neither_compiler_nor_cache(tmp_path):
    store = tmp_path / "store"
    code = """if True:
        import sys
        def heard(event, arguments):
            if event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork", "os.mkdir", "ctypes.dlopen"):
                print(event, arguments)
        import numpy
        sys.addaudithook(heard)
        import tinytrace"""
    assert run(code, TINYTRACE_CACHE_DIR=str(store), CC=str(tmp_path / "no-compiler")) == ""
    assert not store.exists()


@pytest.mark.not_quick
def test_what_a_first_program_needs_is_imported_by_it():
    code = f"""if True:
        import sys
        import tinytrace as jax
        print([name for name in {LATER} if name in sys.modules])
        jax.jit(lambda x: x + 1)(2.0)
        print([name for name in {LATER} if name in sys.modules])"""
    assert run(code).splitlines() == ["[]", str(LATER[:3])]
