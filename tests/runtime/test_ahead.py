"""The compiler gets ready while the C of a small program is written, where it will be asked for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import tinytrace as jax
from tests.runtime.programs import has_ended
from tinytrace import codegen
from tinytrace.api import lowered_before
from tinytrace.api.equal_programs import forget_programs
from tinytrace.config import config
from tinytrace.runtime import compiler, discovery, ladder, process
from tinytrace.runtime.failures import CompileError
from tinytrace.runtime.probe import probe


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(compiler, "_has_two_cores", lambda: True)
    monkeypatch.setattr(lowered_before, "is_as_imported", lambda: True)  # whatever other tests have changed
    forget_programs()
    first_call(1.25)  # now it is known which compiler there is


@pytest.fixture
def started(monkeypatch) -> list[str]:
    """The names of programs that are started from now on."""
    names = []
    start = process._spawned

    def noted(argv, *args):
        names.append(os.path.basename(argv[0]))
        return start(argv, *args)
    monkeypatch.setattr(process, "_spawned", noted)
    return names


def first_call(number):
    return float(jax.jit(lambda x: x * number)(2.0))


def test_the_compiler_starts_before_there_is_a_text(started, monkeypatch):
    generate = codegen.generate.generate

    def noted(*args, **kwargs):
        started.append("C")
        return generate(*args, **kwargs)
    monkeypatch.setattr(codegen.generate, "generate", noted)
    assert first_call(1.5) == 3.0
    assert started == ["cc1", "C", "as", "ld"]


def test_it_does_not_where_programs_are_found_on_disk(started):
    for _ in range(2):
        ladder.clear_memory()
        forget_programs()
        assert first_call(1.25) == 2.5
        assert started == []


def test_one_that_was_started_for_nothing_ends():
    with discovery.Headstart() as ahead:
        ahead.start()
        pid = ahead.given._pid
        assert not has_ended(pid)
    assert has_ended(pid)


def test_an_error_while_the_c_is_written_ends_it(started, monkeypatch):
    def fails(*args, **kwargs):
        pids.extend(ahead._pid for ahead in process._waiting)
        raise KeyboardInterrupt
    pids: list[int] = []
    monkeypatch.setattr(codegen.generate, "generate", fails)
    with pytest.raises(KeyboardInterrupt):
        first_call(1.5)
    assert started == ["cc1"]
    assert [has_ended(pid) for pid in pids] == [True]
    assert not process._waiting


def test_one_that_dies_is_replaced_by_the_driver(started, monkeypatch):
    """As any stage that fails: the driver has the last word."""
    generate = codegen.generate.generate

    def kills(*args, **kwargs):
        (ahead,) = process._waiting
        os.kill(ahead._pid, signal.SIGKILL)
        return generate(*args, **kwargs)
    monkeypatch.setattr(codegen.generate, "generate", kills)
    assert first_call(1.5) == 3.0
    assert started[-1] == "gcc"


def test_another_form_of_the_compiler_than_was_thought_of(started):
    """A loop of very many steps is compiled with less effort."""
    source = jax.jit(lambda x: x + 2.5).lower(2.0).compile()._program.source
    started.clear()
    with discovery.Headstart() as ahead:
        ahead.start()
        found = ladder.find(source._replace(text=source.text + " ", quick=True), ahead=ahead.given)
    assert found.origin == "compiler"
    assert started == ["cc1", "cc1", "as", "ld"]


def test_it_has_the_text_before_the_disk_is_looked_at(monkeypatch):
    def noted(*args, **kwargs):
        told.extend(ahead._told for ahead in process._waiting)
        return find(*args, **kwargs)
    told: list[bytes] = []
    find = ladder.find
    monkeypatch.setattr(ladder, "find", noted)
    assert first_call(1.75) == 3.5
    assert [b"1.75" in text for text in told] == [True]


EARLY = """
import sys
import tinytrace as jax
from tinytrace.runtime import compiler, process
compiler._has_two_cores = lambda: True
start = process._spawned

def noted(argv, *args):
    seen.append((argv[0].rpartition("/")[2], "tinytrace.codegen.generate" in sys.modules))
    return start(argv, *args)
process._spawned, seen = noted, []
jax.jit(lambda x: x + float(sys.argv[1]))(2.0)
print(*seen[:1])
"""


@pytest.mark.not_quick
def test_the_compiler_starts_before_what_writes_the_text_is_imported():
    for number, known in [("1.25", "('cc1', False)"), ("1.25", "")]:  # not where the program is found on disk
        done = subprocess.run([sys.executable, "-c", EARLY, number + str(os.getpid())], capture_output=True, text=True,
                              env={**os.environ, "TINYTRACE_CACHE_DIR": config.cache_dir})
        assert (done.stdout.strip(), done.stderr) == (known, "")


@pytest.fixture
def found(tmp_path):
    found = probe(compiler.find_command()).compiler
    if not found.stages:
        pytest.skip("only a compiler whose stages are run alone starts its linker before")
    (tmp_path / "kernel.c").write_text(jax.jit(lambda x: x + 2.5).lower(2.0).source.text)
    return found


def test_a_linker_that_was_started_before_makes_the_same_library(found, tmp_path, started, monkeypatch):
    libraries, commands = [], []
    for has_two in (True, False):
        monkeypatch.setattr(compiler, "_has_two_cores", lambda has_two=has_two: has_two)
        commands.append(found.compile(str(tmp_path)))
        libraries.append((tmp_path / "kernel.so").read_bytes())
        (tmp_path / "kernel.so").unlink()
    assert libraries[0] == libraries[1]
    assert commands[0] == commands[1]
    assert started == ["cc1", "as", "ld", "cc1", "as", "ld"]
    assert [path.name for path in tmp_path.iterdir() if path.name != "store"] == ["kernel.c"]


def test_a_linker_that_wants_no_list_of_versions_links_when_there_are_objects(found, tmp_path, started):
    linker = tmp_path / "linker"
    linker.write_text(f'#!/bin/sh\ncase "$*" in *version-script*) exit 1;; esac\nexec {found.stages[2][0]} "$@"\n')
    linker.chmod(0o700)
    *others, (_, *options) = found.stages
    compiler_ = found._replace(stages=(*others, (str(linker), *options)))
    compiler_.compile(str(tmp_path))
    assert (tmp_path / "kernel.so").exists()
    assert started == ["cc1", "as", "linker", "linker"]


def test_a_linker_that_was_started_for_nothing_ends(found, tmp_path, started):
    (tmp_path / "kernel.c").write_text("no C")
    with pytest.raises(CompileError):
        found.compile(str(tmp_path))
    assert started == ["cc1", "as", "ld", "gcc"]
    assert not process._waiting
