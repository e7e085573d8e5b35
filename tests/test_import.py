"""What `import tinytrace` does: it reads its own modules, starts no process and makes no file."""
import ast
import importlib
import os
import pathlib
import subprocess
import sys
import types

import pytest

import tinytrace

LATER = ["tinytrace.codegen.generate", "tinytrace.runtime.ladder", "tinytrace.runtime.compiler", "tinytrace.nn",
         "tinytrace.random", "tinytrace.scipy", "tinytrace.experimental", "tinytrace.missing", "tinytrace.interpreters",
         "tinytrace.extend", "tinytrace.image", "tinytrace.sharding", "tinytrace.numpy.linalg", "tinytrace.numpy.fft",
         "tinytrace.numpy.sets", "tinytrace.lax.root", "tinytrace.api.show"]  # fmt: skip


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
def test_what_a_first_program_needs_is_imported_by_it(tmp_path):
    code = f"""if True:
        import sys
        import tinytrace as jax
        print([name for name in {LATER} if name in sys.modules])
        jax.jit(lambda x: x + 1)(2.0)  # loops that are there compute it
        print([name for name in {LATER} if name in sys.modules])
        jax.jit(lambda x: (x + 1, x * 2))(2.0)
        print([name for name in {LATER} if name in sys.modules])"""
    store = {"TINYTRACE_CACHE_DIR": str(tmp_path / "store")}
    assert run(code, **store).splitlines() == ["[]", "[]", str(LATER[:3])]
    assert run(code, **store).splitlines() == ["[]", "[]", str(LATER[1:3])]  # it is found without being lowered


@pytest.mark.parametrize("package", [tinytrace, tinytrace.numpy])
def test_names_that_come_later_are_those_that_type_checkers_see(package):
    """Both know where a name is defined: the import that type checkers read, and the table that `__getattr__` reads."""
    tree = ast.parse(pathlib.Path(package.__file__).read_text())
    block, = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    assert len(block.body) > 10
    for statement in block.body:
        for alias in statement.names:
            home = importlib.import_module(statement.module)
            if isinstance(vars(home).get(alias.name), types.ModuleType) or statement.module == package.__name__:
                assert getattr(package, alias.name) is importlib.import_module(f"{statement.module}.{alias.name}")
            else:
                assert getattr(package, alias.name) is getattr(home, alias.name)


def test_a_name_that_comes_later_is_there_from_then_on():
    code = """if True:
        import tinytrace.numpy as jnp
        print("pad" in dir(jnp), "pad" in vars(jnp), jnp.pad is jnp.pad, "pad" in vars(jnp))"""
    assert run(code) == "True False True True\n"
