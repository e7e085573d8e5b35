"""The same bytes from run to run, for any number of threads, and in processes with other hash seeds."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given

import tinytrace as jax
from tests.codegen.determinism import PARTS, digest, programs
from tests.conftest import ROOT
from tests.examples import examples
from tinytrace.runtime.threads import num_threads, set_num_threads
from tinytrace.testing.strategies import programs_with_arguments


@pytest.fixture(autouse=True)
def threads_as_before():
    before = num_threads()
    yield
    set_num_threads(before)


def digests_on_threads(function, args):
    """The digests of a compiled function's results on 1, 2 and 5 threads, and once more on 5."""
    found = set()
    for threads in (1, 2, 5, 5):
        set_num_threads(threads)
        found.add(digest(function(*args)))
    return found


def digests_elsewhere(part):
    """The digests in another process, with another hash seed and a thread: what it compiled is found on disk."""
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "TINYTRACE_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.codegen.determinism", part]
    return json.loads(subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


@pytest.mark.not_quick
@pytest.mark.parametrize("part", [pytest.param(part, marks=[pytest.mark.slow] * (part != "own")) for part in PARTS])
def test_threads_turns_processes_and_hash_seeds_do_not_show_in_results(part):
    found = {name: digests_on_threads(jax.jit(function), args) for name, (function, *args) in programs(part).items()}
    assert [name for name, several in found.items() if len(several) > 1] == []
    assert len(found) >= PARTS[part]
    elsewhere = digests_elsewhere(part)
    assert {name for name in {**found, **elsewhere} if {elsewhere.get(name)} != found.get(name)} == set()


@examples(30)
@given(programs_with_arguments(contraction=True))
def test_nor_do_they_in_those_of_random_programs(case):
    program, arguments = case
    assert len(digests_on_threads(jax.jit(program.function()), arguments)) == 1
