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


@pytest.mark.not_quick
@pytest.mark.parametrize("part", [PARTS[0], *(pytest.param(part, marks=pytest.mark.slow) for part in PARTS[1:])])
def test_threads_and_turns_do_not_show_in_results(part):
    several = [name for name, (function, *args) in programs(part).items()
               if len(digests_on_threads(jax.jit(function), args)) > 1]
    assert several == []


@examples(30)
@given(programs_with_arguments(contraction=True))
def test_nor_do_they_in_those_of_random_programs(case):
    program, arguments = case
    assert len(digests_on_threads(jax.jit(program.function()), arguments)) == 1


@pytest.mark.slow
def test_processes_and_hash_seeds_do_not_show_in_results():
    answers = []
    for hash_seed, threads in (("0", "1"), ("12345", "5")):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TINYTRACE_NUM_THREADS": threads}
        command = [sys.executable, "-m", "tests.codegen.determinism"]
        done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        answers.append(json.loads(done.stdout))
    first, second = answers
    assert len(first) > 150
    assert {name for name in first if first[name] != second[name]} == set()
