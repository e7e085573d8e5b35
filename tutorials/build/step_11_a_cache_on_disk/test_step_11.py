"""Step 11: what a process leaves behind for the next one."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow  # it starts the C compiler often

PROGRAM = """
import sys
sys.path[:0] = {paths!r}
import {module} as m
{names}
for k in range(1, 5):
    print(float(jit(lambda x: sum(exp(x * k)))(ones(3))))
"""
HERE = pathlib.Path(__file__).parents[1]
ROOT = HERE.parents[1]


def command(m, path):
    """The command line of a process that compiles four programs."""
    if path is None:
        names = "import tinytrace.numpy as jnp; jit, sum, exp, ones = m.jit, jnp.sum, jnp.exp, jnp.ones"
        text = PROGRAM.format(paths=[str(ROOT)], module="tinytrace", names=names)
    else:
        names = "jit, sum, exp, ones = m.jit, m.sum, m.exp, m.ones"
        text = PROGRAM.format(paths=[str(path.parent)], module=path.stem, names=names)
    return [sys.executable, "-c", text]


def run(m, path, folder):
    """What such a process prints."""
    environment = {**os.environ, "TINYTRACE_CACHE_DIR": str(folder)}
    ran = subprocess.run(command(m, path), env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def shared_objects(folder):
    return {file: (file.stat().st_mtime_ns, file.stat().st_ino) for file in folder.rglob("*.so")}


def test_the_second_process_compiles_nothing(m, path, folder):
    first = run(m, path, folder)
    compiled = shared_objects(folder)
    assert len(compiled) == 4
    assert run(m, path, folder) == first
    assert shared_objects(folder) == compiled


def test_a_killed_process_leaves_nothing_half_done(m, path, folder):
    for name in ("whole", "killed"):
        (folder / name).mkdir(mode=0o700)
    expected = run(m, path, folder / "whole")
    environment = {**os.environ, "TINYTRACE_CACHE_DIR": str(folder / "killed")}
    moments = random.Random(0)
    for _ in range(4):
        process = subprocess.Popen(command(m, path), env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(moments.uniform(0.2, 0.9))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert run(m, path, folder / "killed") == expected
    assert run(m, path, folder / "killed") == expected


DAMAGES = {"half": lambda data: data[: len(data) // 2], "empty": lambda data: b"", "byte": lambda data: b"x" + data[1:]}


def test_a_damaged_entry_is_a_miss(m, path, folder):
    """In one way after the other: what is a miss is compiled and whole again."""
    expected = run(m, path, folder)
    whole = [file.read_bytes() for file in shared_objects(folder)]
    for name, damage in DAMAGES.items():
        for file in shared_objects(folder):
            file.chmod(0o600)
            file.write_bytes(damage(file.read_bytes()))
        assert run(m, path, folder) == expected, name
        assert [file.stat().st_size for file in shared_objects(folder)] == [len(data) for data in whole], name


def test_a_folder_that_cannot_be_used_costs_only_time(m, path, folder):
    (folder / "file").write_text("")
    assert run(m, path, folder / "file" / "below") == run(m, path, folder)


def test_two_processes_at_once(m, path, folder):
    environment = {**os.environ, "TINYTRACE_CACHE_DIR": str(folder)}
    both = [subprocess.Popen(command(m, path), env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    one, other = (process.communicate(timeout=100)[0] for process in both)
    assert one == other != ""
    assert len(shared_objects(folder)) == 4
