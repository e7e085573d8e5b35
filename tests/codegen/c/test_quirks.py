"""Faults of compilers that are worked around: each shows in the versions named and in no other, its switch avoids it.

Where a compiler turns out to be right without the switch, the test says which line of quirks.py to change.
"""

import functools
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import tinytrace as jax
from tests.compilers import installed
from tinytrace import lax
from tinytrace.codegen.c.quirks import QUIRKS, switches
from tinytrace.runtime.flags import family, own_flags

CPUINFO = pathlib.Path("/proc/cpuinfo")
over_quirks = pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: quirk.name)
over_compilers = pytest.mark.parametrize("command", installed())


@functools.cache
def identity(command):
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return f"{said}, {subprocess.run([command, '-dumpmachine'], capture_output=True, text=True, check=True).stdout}"


def is_right(command, quirk, flags, switch, folder):
    """Is the program's answer right, compiled by `command`?"""
    feature, switched_on = quirk.needs
    if not CPUINFO.exists() or feature not in CPUINFO.read_text().split():
        pytest.skip(f"shows on processors with {feature} only")
    program = quirk.program.replace("SWITCH", switch)
    beside = quirk.beside if family(identity(command))[0] == quirk.compiler else ()
    argv = [command, *flags, *beside, switched_on, "-x", "c", "-", "-o", str(folder / "program")]
    subprocess.run(argv, input=program, text=True, check=True, capture_output=True)
    return subprocess.run([folder / "program"], check=False).returncode == 0


@over_quirks
@over_compilers
def test_with_its_switch_a_program_is_right(command, quirk, tmp_path):
    kind, version = family(identity(command))
    text = "\n".join(quirk.in_text()) if quirk.line else quirk.words
    assert is_right(command, quirk, own_flags(identity(command)), text, tmp_path), (
        f"{kind} {version} has the fault '{quirk.name}': does `since` or `until` leave it out?")


@over_quirks
@over_compilers
def test_without_its_switch_the_fault_shows_in_the_versions_that_are_named(command, quirk, tmp_path):
    kind, version = family(identity(command))
    flags = [flag for flag in own_flags(identity(command)) if flag not in quirk.flags]
    right = is_right(command, quirk, flags, quirk.avoids, tmp_path)
    if quirk.concerns(kind, version):
        assert not right, f"{kind} {version} does not need the switch for '{quirk.name}': let `until` be {version}"
    else:
        assert right, f"{kind} {version} has the fault '{quirk.name}', too: `since` and `until` leave it out"


@over_quirks
def test_an_entry_is_complete(quirk):
    assert quirk.fault.endswith(".")
    assert [bool(quirk.flags), bool(quirk.line), bool(quirk.words)].count(True) == 1
    assert ("SWITCH" in quirk.program) == (not quirk.flags)
    assert bool(quirk.avoids) == bool(quirk.words)
    assert quirk.concerns(quirk.compiler, 0), "an unknown version may have any fault"
    assert not quirk.concerns(quirk.compiler, quirk.since - 1)
    assert not quirk._replace(until=20).concerns(quirk.compiler, 20)


def test_each_version_gets_the_switches_of_its_own_faults():
    machine = "x86_64-linux-gnu"
    assert switches("clang", 16, machine) == ()
    assert switches("gcc", 10, machine) == ()
    every = {flag for quirk in QUIRKS for flag in quirk.flags}
    assert set(switches("gcc", 12, machine)) == every == set(switches("gcc", 0, machine))


def test_a_machine_gets_no_flags_of_another_one():
    assert {flag for flag in switches("gcc", 12, "aarch64-linux-gnu") if flag.startswith("-m")} == set()


@pytest.mark.skipif(not shutil.which("gcc"), reason="asks gcc")
def test_lines_in_the_text_are_for_the_versions_that_are_named():
    for quirk in (quirk for quirk in QUIRKS if quirk.line):
        lines = subprocess.run(["gcc", "-E", "-P", "-"], input="\n".join(quirk.in_text()), capture_output=True,
                               text=True, check=True).stdout  # fmt: skip
        assert bool(lines.strip()) == quirk.concerns(*family(identity("gcc")))


def test_guards_ask_for_no_sign():
    text = jax.jit(lambda x: lax.reduce_window(x, 0.0, lax.add, (61,), (1,), "SAME")).lower(np.ones(400)).as_text()
    assert "(i1 + lane + 64 * i0 >= 30 && (" in text
    assert "0 <= " not in text
