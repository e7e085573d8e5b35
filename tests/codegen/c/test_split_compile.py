"""Large programs are one text in two parts, and run the same however they are compiled."""

import subprocess

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.c.lines import CFunction, Line
from tinytrace.codegen.c.split_compile import FUNCTION, LARGE, split_compile
from tinytrace.records import replace
from tinytrace.runtime import compiler
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.ladder import artifact_key
from tinytrace.runtime.probe import probe


def long(x):
    for k in range(300):
        x = jnp.sin(x) * (2 + k / 300) + jnp.cos(x)
    return x, x.sum()


X = np.linspace(-3, 1e6, 100, dtype=np.float32)


@pytest.fixture
def source():
    source = jax.jit(long).lower(X).source
    assert source.parts
    return source


def function(name, lines):
    return CFunction(name, f"void {name}(void *ctx, int64_t begin, int64_t end)", [Line.of("    ;")] * lines)


ENTRY = CFunction("tt_entry", "int32_t tt_entry()", [Line.of("    return 0;")], linkage="")


@pytest.mark.parametrize("sizes", [[LARGE, LARGE], [LARGE, 10, LARGE], [LARGE // 2] * 5, [LARGE] * 4])
def test_parts_are_nearly_equal(sizes):
    text = "\n".join(split_compile([function(f"f{k}", n) for k, n in enumerate(sizes)], ENTRY))
    first, second = (part.split("#endif")[0].count("    ;") for part in text.split("#if TT_PART != ")[1:])
    assert first + second == sum(sizes)
    assert abs(first - second) <= max(sizes)
    assert text.count('visibility("hidden")') == len(sizes)


@pytest.mark.parametrize("sizes", [[], [LARGE // 2], [10 * LARGE], [5, LARGE, 5], [20] * 5])
def test_small_programs_and_single_functions_stay_whole(sizes):
    assert split_compile([function(f"f{k}", n) for k, n in enumerate(sizes)], ENTRY) is None


def loops(name, count):
    """A function of few lines and much work."""
    lines = ["    for (int64_t i = begin; i < end; i++) {", "        ;", "    }"]
    return CFunction(name, f"void {name}(void *ctx, int64_t begin, int64_t end)", [*map(Line.of, lines)] * count)


def test_loops_are_more_work_than_their_lines():
    text = "\n".join(split_compile([loops("f", 10), loops("g", 10), function("h", 2 * FUNCTION)], ENTRY))
    first, second = text.split("#if TT_PART != ")[1:]
    assert " f(" in first
    assert " g(" in second


def test_an_entry_that_is_not_optimised_is_little_work():
    calls = replace(ENTRY, lines=[Line.of("    f();")] * 400)
    functions = [loops("f", 10), loops("g", 10)]
    text = "\n".join(split_compile(functions, replace(calls, as_written=True)))
    first, second = text.split("#if TT_PART != ")[1:]
    assert " g(" in second
    text = "\n".join(split_compile(functions, calls))
    first, second = text.split("#if TT_PART != ")[1:]
    assert " g(" in first


@pytest.mark.parametrize("part", [(), *compiler.PARTS])
def test_each_part_is_c_without_warnings(source, part):
    words = ["gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", "-march=native", "-x", "c"]
    done = subprocess.run([*words, *part, "-c", "-o", "/dev/null", "-"], input=source.text, text=True,
                          capture_output=True)
    assert not done.returncode, done.stderr[:1000]


@pytest.mark.not_quick
def test_the_bits_are_those_of_one_compiler(source, tmp_path, monkeypatch):
    found = probe(compiler.find_command()).compiler
    if not found.stages:
        pytest.skip("only a compiler whose stages are run alone compiles parts")
    libraries = []
    for cores in (True, False):
        monkeypatch.setattr(compiler, "_has_two_cores", lambda cores=cores: cores)
        (tmp_path / "kernel.c").write_text(source.text)
        found.compile(str(tmp_path), source.quick, source.parts)
        libraries.append((tmp_path / "kernel.so").read_bytes())
        assert sorted(path.name for path in tmp_path.iterdir()) == ["kernel.c", "kernel.so"]
    assert libraries[0] != libraries[1]
    results = []
    for library in libraries:
        executable = Executable(artifact_key(source, found), source.symbol, "", library)
        inputs = jnp.asarray(X)
        outputs = [jnp.zeros(aval.shape, aval.dtype) + 0 for aval in source.outputs]
        workspace = jnp.zeros(source.workspace, np.uint8) + np.uint8(0)
        executable([array.address for array in (inputs, *outputs, workspace)])
        results.append([np.asarray(output).copy() for output in outputs])
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
