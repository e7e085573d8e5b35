"""Finding the compiler, knowing what it is, and both ways of running it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import subprocess

import numpy as np
import pytest

import tinytrace as jax
from tests.runtime.programs import adder, answer, expected, script
from tinytrace.codegen.effort import LONG_KERNEL
from tinytrace.config import config
from tinytrace.csources import math_functions
from tinytrace.runtime import probe as probing
from tinytrace.runtime.compiler import Compiler, find_command
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.failures import CompileError, TimeLimitError
from tinytrace.runtime.flags import NEWEST
from tinytrace.runtime.ladder import artifact_key
from tinytrace.runtime.places import read_library
from tinytrace.runtime.probe import Known, probe


@pytest.fixture(scope="module")
def gcc():
    return probe((shutil.which("gcc"),)).compiler


def compiled(compiler: Compiler, folder, source=None) -> Executable:
    source = source or adder(1)
    (folder / "kernel.c").write_text(source.text)
    compiler.compile(str(folder))
    return Executable(artifact_key(source, compiler), source.symbol, "", read_library(str(folder)))


def test_cc_names_the_compiler_and_may_have_arguments(tmp_path):
    path = script(tmp_path / "my cc", 'exec gcc "$@"\n')
    config.update("compiler", f"'{path}' -DNAME=1")
    assert find_command() == (path, "-DNAME=1")
    config.update("compiler", "")
    assert os.path.basename(find_command()[0]) == "gcc"
    config.update("compiler", "no-such-compiler -x")
    with pytest.raises(CompileError, match="no C compiler found: CC=no-such-compiler -x") as caught:
        find_command()
    assert caught.value.remedy == "install gcc, or set CC to a C compiler"


def test_only_files_that_may_be_run_are_programs(tmp_path, monkeypatch):
    for kind in ("folder", "text", "program"):
        (tmp_path / kind).mkdir()
    (tmp_path / "folder" / "gcc").mkdir()
    (tmp_path / "text" / "gcc").write_text("no program")
    path = script(tmp_path / "program" / "gcc", "exit 0\n")
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / kind) for kind in ("folder", "text", "program")))
    assert find_command() == (path,)


def test_arguments_of_cc_are_part_of_the_key(gcc):
    plain, instrumented = (artifact_key(adder(1), gcc._replace(command=command)).argv
                           for command in (("gcc",), ("gcc", "-fsanitize=address")))
    assert instrumented == ("-fsanitize=address", *plain)


def test_what_it_says_of_itself(gcc):
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    assert gcc.identity.startswith(version + ", ")
    assert "-march=native" not in gcc.target
    assert Compiler.from_json(json.loads(json.dumps(gcc.to_json()))) == gcc


def test_the_stages_are_found_and_work_alone(gcc, tmp_path):
    assert [os.path.basename(stage[0]) for stage in gcc.stages] == ["cc1", "as", "ld"]
    only_stages = gcc._replace(command=("/bin/false",))
    assert answer(compiled(only_stages, tmp_path)) == expected(1)
    assert sorted(os.listdir(tmp_path)) == ["kernel.c", "kernel.so"]


def test_the_driver_alone_and_as_the_last_word(gcc, tmp_path):
    broken = tuple((*stage, "--nonsense") for stage in gcc.stages)
    for stages in [(), broken]:
        assert answer(compiled(gcc._replace(stages=stages), tmp_path)) == expected(1)


def test_both_ways_make_the_same_machine_code(gcc, tmp_path):
    def disassembly(compiler):
        compiled(compiler, tmp_path)
        text = subprocess.run(["objdump", "-d", tmp_path / "kernel.so"], capture_output=True, text=True).stdout
        lines = text.partition("<tt_entry>:")[2].splitlines()
        return [line.split("\t")[2].split()[0] for line in lines if line.count("\t") > 1]

    staged, driven = disassembly(gcc), disassembly(gcc._replace(stages=()))
    assert staged == driven
    assert len(staged) > 3


def test_gccs_own_helpers_are_linked(gcc, tmp_path):
    """Division of 128-bit integers is a function of libgcc, which no process has loaded."""
    text = adder(1).text + "__int128 tt_div(__int128 a, __int128 b) { return a / b; }\n"
    source = adder(1)._replace(text=text)
    for stages in (gcc.stages, ()):
        assert answer(compiled(gcc._replace(stages=stages), tmp_path, source)) == expected(1)


def test_the_compiler_fuses_no_product_with_a_sum_unasked(gcc, tmp_path):
    for value, asked in [("a * b + c", False), ("tt_fma_f32(a, b, c)", True)]:
        text = math_functions({"tt_fma_f32": 1}) + f"float tt_entry(float a, float b, float c) {{ return {value}; }}\n"
        (tmp_path / "kernel.c").write_text(text)
        gcc.compile(str(tmp_path))
        code = subprocess.run(["objdump", "-d", tmp_path / "kernel.so"], capture_output=True, text=True).stdout
        assert ("fma" in code or "fmadd" in code) == (asked and any("fma" in flag for flag in gcc.target))


def test_an_error_shows_the_command_and_the_compilers_words(gcc, tmp_path):
    (tmp_path / "kernel.c").write_text("int x = nonsense;\n")
    with pytest.raises(CompileError) as caught:
        gcc.compile(str(tmp_path))
    assert "<stdin>:1:9: error: 'nonsense' undeclared" in caught.value.output
    assert caught.value.command[:2] == (*gcc.command, "-std=gnu11")
    assert f"  command: {gcc.command[0]} -std=gnu11 -O2 " in str(caught.value)
    assert "-march=native" in str(caught.value)


@pytest.mark.parametrize("place", [0, 1, -2, -1])
def test_a_program_that_differs_at_its_start_or_end_is_another(tmp_path, place):
    """However long it is, and though its size is the same."""
    for size in (10, probing._SAMPLE + 5, 4 * probing._SAMPLE):
        content = bytearray(os.urandom(size))
        (tmp_path / "one").write_bytes(content)
        content[place] ^= 1
        (tmp_path / "other").write_bytes(content)
        assert probing._digest([str(tmp_path / "one")]) != probing._digest([str(tmp_path / "other")])


def test_a_compiler_that_does_not_say_in_time_what_it_is(tmp_path):
    config.update("compile_timeout", 1)
    with pytest.raises(TimeLimitError, match="and was stopped when it was asked what it is"):
        probe((script(tmp_path / "cc", "sleep 60\n"),))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="processors of one family")
@pytest.mark.parametrize(("maker", "flag"), NEWEST.items())
def test_a_processor_newer_than_the_compiler_has_the_costs_of_the_newest_it_knows(maker, flag, tmp_path, monkeypatch):
    gcc = shutil.which("gcc") or pytest.skip("there is no gcc")
    path = script(tmp_path / "cc", f'exec {gcc} "$@" -march=x86-64 -mavx512f -mtune=generic\n')
    monkeypatch.setattr("tinytrace.runtime.probe.cpu_kind", lambda: f"x86_64 {maker} 99")
    target = probe((path,)).compiler.target
    assert flag in target
    assert "-mtune=generic" not in target


def test_what_is_known_holds_until_a_program_changes(tmp_path, monkeypatch):
    path = script(tmp_path / "cc", 'exec gcc "$@"\n')
    known = Known.from_json(json.loads(json.dumps(probe((path,)).to_json())))
    assert known.holds((path,))
    assert not known.holds((path, "-O3"))
    with monkeypatch.context() as patch:
        patch.setattr("tinytrace.runtime.probe.cpu_kind", lambda: "another processor")
        assert not known.holds((path,))
    script(tmp_path / "cc", 'exec gcc "$@" # newer\n')
    assert not known.holds((path,))


@pytest.mark.parametrize("damage", [
    {"compiler": None}, {"programs": []}, {"programs": {}}, {"version": 1}, {"is_wrapper": 0}, {"is_wrapper": None},
    *({"compiler": {field: value}} for field in ("command", "target", "stages", "identity", "cpu", "support")
      for value in (None, 1, [1], [[1]], [[]], [["a"]], {})),
    *({"compiler": {field: "text"}} for field in ("command", "target", "stages", "cpu")),
])
def test_notes_of_another_form_are_refused(gcc, damage):
    note = json.loads(json.dumps(probe(gcc.command).to_json()))
    for name, value in damage.items():
        note[name] = {**note[name], **value} if isinstance(value, dict) and value else value
    with contextlib.suppress(TypeError, KeyError, ValueError):
        assert not Known.from_json(note).holds(gcc.command)


def test_a_launcher_is_what_runs_and_is_asked_by_every_process(tmp_path):
    """Its own file stays the same when the compiler behind it is another."""
    log = tmp_path / "log"
    (tmp_path / "current").symlink_to(shutil.which("gcc"))
    path = script(tmp_path / "cc", f'echo "$*" >> {log}\nexec {tmp_path}/current "$@"\n')
    known = probe((path,))
    assert known.is_wrapper
    assert not known.compiler.stages
    assert "-march=native" not in known.compiler.target
    log.unlink()
    assert answer(compiled(known.compiler, tmp_path)) == expected(1)
    assert "kernel.so" in log.read_text()
    assert known.holds((path,))
    (tmp_path / "current").unlink()
    newer = 'case "$*" in --version) echo "gcc 99";; *) exec gcc "$@";; esac\n'
    script(tmp_path / "current", newer)
    assert not known.holds((path,))
    assert probe((path,)).compiler.identity != known.compiler.identity


def test_another_compiler_is_run_by_its_driver(tmp_path):
    """One that is not gcc: its -### is not understood."""
    path = script(tmp_path / "cc", 'case "$*" in *-###*) echo "clang version 14"; exit 0;; *) exec gcc "$@";; esac\n')
    other = probe((path,)).compiler
    assert (other.stages, other.target) == ((), ("-march=native",))
    assert answer(compiled(other, tmp_path)) == expected(1)


def test_programs_of_one_long_loop_are_compiled_quickly():
    def long(n):
        def f(x):
            for _ in range(n):
                x = x * 1.5 + 1
            return x
        return f

    x = np.linspace(-1, 1, 100, dtype=np.float32)
    for n, quick in ((10, 0), (LONG_KERNEL // 2, 1)):
        lowered = jax.jit(long(n)).lower(x)
        assert lowered.source.quick == quick
        assert ("-O1" in lowered.compile().executable.key.argv) == quick
        np.testing.assert_allclose(jax.jit(long(n))(x), long(n)(x.astype(np.float64)), rtol=1e-4)
