"""Math functions that are compiled once and linked: the same bits, once in a process, and never a reason to fail."""

import platform
import shutil
import subprocess

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import csources
from tinytrace.csources import OFTEN, host_source, linked_functions, math_functions
from tinytrace.records import replace
from tinytrace.runtime import compiler as compilers
from tinytrace.runtime import discovery, ladder, linked_math
from tinytrace.runtime.compiler import find_command
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.kept_math import MathOnDisk
from tinytrace.runtime.ladder import artifact_key
from tinytrace.runtime.probe import probe

LONG = sorted(name for name in csources._functions() if csources.is_long(name))
OF_ROWS = sorted(name for name, function in csources._functions().items() if "of rows" in function.words)
GCC = ["gcc", "-std=gnu11", "-O2", "-fopenmp-simd", "-march=native", "-ffp-contract=off", "-x", "c"]


@pytest.fixture
def found(monkeypatch):
    found = probe(find_command()).compiler
    if not found.stages:
        pytest.skip("only a compiler whose stages are run alone links functions")
    monkeypatch.setattr(linked_math, "_kept", {})
    return found


def waves(x):
    for k in range(OFTEN):
        x = jnp.sin(x) * (2 + k) + jnp.exp(-x * x)
    return x, jnp.cos(x).sum()


def compiled(found, folder, source):
    folder.mkdir(exist_ok=True)
    (folder / "kernel.c").write_text(source.text)
    return found.compile(str(folder), source.quick, source.parts)


def results(found, folder, source, x):
    library = (folder / "kernel.so").read_bytes()
    executable = Executable(artifact_key(source, found), source.symbol, "", library)
    outputs = [jnp.zeros(aval.shape, aval.dtype) + 0 for aval in source.outputs]
    workspace = jnp.zeros(source.workspace, np.uint8) + np.uint8(0)
    arrays = [jnp.asarray(x), *outputs, workspace]  # they live as long as the call
    executable([array.address for array in arrays])
    return [np.asarray(output).copy() for output in outputs]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_are_those_of_functions_that_the_program_defines(found, tmp_path, dtype):
    with jax.enable_x64(True):
        x = np.linspace(-3, 1e6, 1003).astype(dtype)
        source = jax.jit(waves).lower(x).source
        assert linked_functions(source.text)
        by_name = {"linked": found, "alone": replace(found, stages=())}
        outs = []
        for name, compiler in by_name.items():
            commands = compiled(compiler, tmp_path / name, source)
            has_linked = any(linked_math.LINKED in argv for each in commands for argv in each.commands)
            assert has_linked == (name == "linked")
            outs.append(results(compiler, tmp_path / name, source, x))
    for one, two in zip(*outs, strict=True):
        np.testing.assert_array_equal(one, two)


def test_each_is_compiled_once_in_a_process(found, tmp_path, monkeypatch):
    ran = []

    def run(folder, pipelines, *args):
        ran.append(" ".join(map(str, pipelines)))
        return run_in(folder, pipelines, *args)

    run_in = compilers._run_in
    monkeypatch.setattr(compilers, "_run_in", run)
    monkeypatch.setattr(compilers, "_has_two_cores", lambda: False)  # the linker is not started before
    sources = [jax.jit(lambda x, k=k: waves(x + k)).lower(np.float32([1, 2])).source for k in range(2)]
    commands = [compiled(found, tmp_path / str(k), source) for k, source in enumerate(sources)]
    assert ["tt_sin_f32.c" in text for text in ran] == [True, False, False, False]  # each is compiled, then linked
    assert commands[0] == commands[1]  # what is linked was made by these commands, now or before
    assert "tt_sin_f32.o" in str(commands[0][-1])
    assert [path.name for path in sorted((tmp_path / "1").iterdir())] == ["kernel.c", "kernel.so"]


@pytest.fixture
def compiled_functions(found, monkeypatch):
    """The functions that were compiled since, by name."""
    names = []

    def run(folder, pipelines, *args):
        names.extend(word[:-2] for each in pipelines for argv in each.commands for word in argv if word.endswith(".c")
                     and word.startswith("tt_"))
        return run_in(folder, pipelines, *args)

    run_in = compilers._run_in
    monkeypatch.setattr(compilers, "_run_in", run)
    return names


def first_call(x, k):
    """The results of a program that no store knows, in what may be a new process."""
    linked_math._kept.clear()
    return [np.asarray(y) for y in jax.jit(lambda x: waves(x + k))(x)]


def test_a_later_process_finds_them_on_disk(compiled_functions, store_folder):
    x = np.float32([1, 2])
    expected = first_call(x, 0.25)
    made = sorted(compiled_functions)
    assert "tt_sin_f32" in made
    assert len(list(store_folder.glob("*/math/*"))) == len(made)
    compiled_functions.clear()
    first_call(x, 0.5)
    assert compiled_functions == []
    for file in store_folder.glob("*/entries"):
        shutil.rmtree(file)
    ladder.clear_memory()
    for one, two in zip(first_call(x, 0.25), expected, strict=True):
        np.testing.assert_array_equal(one, two)


def test_one_that_was_damaged_is_compiled_again(compiled_functions, store_folder):
    first_call(np.float32([1, 2]), 0.25)
    made = sorted(compiled_functions)
    for file in store_folder.glob("*/math/*"):
        data = file.read_bytes()
        file.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    for missing in (made, []):
        compiled_functions.clear()
        first_call(np.float32([1, 2]), 0.5 + len(missing))
        assert sorted(compiled_functions) == missing


def test_another_compiler_makes_its_own(found, store_folder):
    store = discovery.current_store([])
    kept = MathOnDisk(store, found)
    kept.remember("command and text", b"\x7fELF\n\n")
    assert kept.recall("command and text") == b"\x7fELF\n\n"
    assert kept.recall("another text") is None
    for other in (replace(found, identity="another"), replace(found, cpu="another")):
        assert MathOnDisk(store, other).recall("command and text") is None
    store.clear()
    assert kept.recall("command and text") is None


def test_where_nothing_can_be_kept_each_process_compiles_them(compiled_functions, store_folder):
    discovery.current_store([])
    (next(store_folder.iterdir()) / "math").write_text("in its place")
    for k in (3.25, 3.5):
        compiled_functions.clear()
        first_call(np.float32([1, 2]), k)
        assert "tt_sin_f32" in compiled_functions


def test_where_one_cannot_be_compiled_the_program_defines_it(found, tmp_path, monkeypatch):
    monkeypatch.setattr(compilers, "linked_functions", lambda text: {"tt_sin_f32": "no C at all"})
    source = jax.jit(waves).lower(np.float32([1, 2])).source
    commands = compiled(found, tmp_path / "a", source)
    assert len(commands) == 1
    assert linked_math._kept == {}
    assert results(found, tmp_path / "a", source, np.float32([1, 2]))


def linked_with(name):
    """A long function and those that it is linked to, each with the text that defines it alone."""
    return linked_functions(math_functions({name: OFTEN}))


@pytest.mark.not_quick
@pytest.mark.skipif(platform.machine() != "x86_64", reason="variants for several widths exist on x86-64 alone")
@pytest.mark.parametrize("cpu", ["haswell", "znver3", "skylake-avx512"])
def test_what_variants_for_vectors_call_is_there_whatever_width_the_cpu_has(cpu, tmp_path):
    """gcc makes variants for vectors wider than the CPU's too: these never run, but they are linked."""
    together = [linked_with(name) for name in LONG]
    texts = {each: text for linked in together if len(linked) > 1 for each, text in linked.items()}
    assert all(linked[each] == texts[each] for linked in together for each in linked if each in texts)
    for each, text in texts.items():  # once, though several are linked to it
        subprocess.run([*GCC, f"-march={cpu}", "-fPIC", "-DTT_LINKED_MATH", "-c", "-o", tmp_path / f"{each}.o", "-"],
                       input=text, check=True, text=True)
    for objects in ([tmp_path / f"{each}.o" for each in linked] for linked in together if len(linked) > 1):
        done = subprocess.run(["gcc", "-shared", "-o", tmp_path / "all.so", *objects], capture_output=True, text=True)
        assert not done.returncode, done.stderr[:1000]


@pytest.mark.parametrize("name", OF_ROWS)
def test_each_function_of_rows_can_be_defined_alone(name):
    text = math_functions({name: 1}, for_few=[name])
    assert list(linked_functions(text)) == [name]
    assert not linked_functions(math_functions({name: 1}))
    for source, wanted in ((linked_functions(text)[name], True), (host_source(False) + text, False)):
        done = subprocess.run([*GCC, "-O0", "-Wall", "-Wextra", "-Werror", "-DTT_LINKED_MATH", "-S", "-o", "-", "-"],
                              input=source, capture_output=True, text=True)
        assert not done.returncode, done.stderr[:1000]
        assert (f"\n{name}:\n" in done.stdout) == wanted


@pytest.mark.not_quick
@pytest.mark.parametrize("name", LONG)
def test_each_long_function_can_be_defined_alone(name):
    """Not optimised: that takes three times as long, and is what all other tests of functions do."""
    text = math_functions({name: OFTEN})
    alone = linked_functions(text)[name]
    done = subprocess.run([*GCC, "-O0", "-Wall", "-Wextra", "-Werror", "-DTT_LINKED_MATH", "-S", "-o", "-", "-"],
                          input=alone, capture_output=True, text=True)
    assert not done.returncode, done.stderr[:1000]
    assert f"\n{name}:\n" in done.stdout
    assert f"_{name}:\n" in done.stdout.replace("v_tt", "_tt")  # a variant for vectors
