"""Random programs: the interpreter and the compiled code agree, and texts are the same wherever they are made.

300 programs are compiled in default mode in a full run (`make test`), half as many are tried for each other law; twice
as many, and other ones in each run, with HYPOTHESIS_PROFILE=search; in `make test-fast` they are fewer.
"""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import Phase, given, seed, settings

import tinytrace as jax
from tests.conftest import ROOT
from tests.examples import examples
from tests.meanings import in_numpy
from tinytrace.config import override
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.testing.strategies import programs_with_arguments
from tinytrace.testing.values import agree

EXAMPLES = examples(600, fast=30)
HALF = examples(300, fast=30)


def interpret(program, arguments):
    return in_numpy(program.function(), *arguments)


def complaints(program, ours, theirs):
    """Where two computations of the program's results differ by more than they may."""
    return [text for text in map(agree, ours, theirs, program.results) if text]


@pytest.mark.not_quick
@HALF
@given(programs_with_arguments())
def test_compiled_and_interpreted_results_agree_in_exact_mode(case):
    program, arguments = case
    with override("exact", True):
        compiled = jax.jit(program.function())(*arguments)
    assert complaints(program, compiled, interpret(program, arguments)) == []


@EXAMPLES
@given(programs_with_arguments(contraction=True))
def test_compiled_and_interpreted_results_agree(case):
    program, arguments = case
    assert complaints(program, jax.jit(program.function())(*arguments), interpret(program, arguments)) == []


@pytest.mark.not_quick
@examples(60, fast=20)
@given(programs_with_arguments(contraction=True, large=True))
def test_compiled_and_interpreted_results_of_large_arrays_agree(case):
    program, arguments = case
    assert complaints(program, jax.jit(program.function())(*arguments), interpret(program, arguments)) == []


@pytest.mark.not_quick
@HALF
@given(programs_with_arguments())
def test_eval_jaxpr_is_the_function(case):
    program, arguments = case
    closed = jax.make_jaxpr(program.function())(*arguments)
    check_jaxpr(closed.jaxpr)
    evaluated = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
    called = program.function()(*map(jax.numpy.asarray, arguments))
    assert complaints(program, evaluated, called) == []


@HALF
@given(programs_with_arguments())
def test_tracing_twice_gives_the_same_text(case):
    program, arguments = case
    first, second = (jax.make_jaxpr(program.function())(*arguments) for _ in range(2))
    assert str(first) == str(second)
    kernels = [jax.jit(program.function()).lower(*arguments).as_text() for _ in range(2)]
    assert kernels[0] == kernels[1]


def texts_of_programs(count):
    """The digest of the jaxpr and of the C of each of `count` random programs, always the same ones."""
    digests = []

    @seed(0)
    @settings(max_examples=count, database=None, phases=[Phase.generate])
    @given(programs_with_arguments())
    def collect(case):
        program, arguments = case
        lowered = jax.jit(program.function()).lower(*arguments)
        text = program.source + str(jax.make_jaxpr(program.function())(*arguments)) + lowered.as_text()
        digests.append((program.source, hashlib.sha256(text.encode()).hexdigest()))

    collect()
    return digests


def print_texts(count):
    """`texts_of_programs` for another process."""
    print(json.dumps(texts_of_programs(count)))


@pytest.mark.slow
def test_c_does_not_depend_on_the_hash_seed():
    script = "from tests.testing.test_random_programs import print_texts; print_texts(100)"
    answers = []
    for hash_seed in ("0", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        printed = subprocess.run([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, check=True)
        answers.append(json.loads(printed.stdout))
    assert len(answers[0]) >= 50
    assert [mine for mine, theirs in zip(*answers, strict=True) if mine != theirs] == []


def test_the_same_random_program_runs_with_numpy_arrays_and_with_arrays():
    @examples(20)
    @given(programs_with_arguments())
    def check(case):
        program, arguments = case
        function = jax.jit(program.function())
        from_numpy = function(*arguments)
        from_arrays = function(*map(jax.numpy.asarray, arguments))
        for ours, theirs in zip(from_numpy, from_arrays, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    check()
