"""What `make test-fast` leaves out is bounded: of each file and of each law of primitives it runs something.

And in which order a whole run takes the files.
"""

import collections
import itertools
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import ROOT, slow_files_first
from tests.primitives import domains
from tests.quick import QUICKLY, pairs, quick_cases

WITHOUT = {
    "tests/faults", "tests/api/test_cache_model.py", "tests/runtime/test_full_disk.py",  # many processes
    "tests/inspection/debugger/test_in_browser.py", "tests/inspection/explorer/test_in_browser.py",
    "tests/inspection/notebook/test_in_browser.py", "tests/inspection/test_screenshots.py",  # a browser
    "tests/runtime/test_sanitizers.py", "tests/course/test_without_a_compiler.py", "tests/numpy/test_memory.py",
    "tests/lax/test_linear_solve.py", "tests/codegen/c/test_vector_width.py",
    "tutorials/build/step_08", "tutorials/build/step_09",
    "tutorials/build/step_11", "tutorials/build/step_12",  # the C compiler, often
    "tests/test_dask.py",  # runs where dask is installed
}
"""The files of which nothing is run, for what they are about takes seconds per test."""


def case(*marks):
    return SimpleNamespace(marks=[SimpleNamespace(name=mark) for mark in marks])


def test_of_many_cases_it_takes_few_and_never_none():
    cases = [case() for _ in range(2 * QUICKLY + 1)]
    assert quick_cases(cases, set()) == [cases[0], cases[QUICKLY], cases[2 * QUICKLY]]
    assert quick_cases(cases, {"every_case"}) == cases
    assert quick_cases(cases[:1], set()) == cases[:1]
    assert quick_cases([], set()) == []


def test_slow_cases_are_left_out_before_it_chooses():
    slow, not_quick, plain = case("slow"), case("not_quick", "skipif"), case("skipif")
    assert quick_cases([slow, not_quick, plain], set()) == [plain]
    assert quick_cases([slow, plain, plain], {"every_case"}) == [plain, plain]
    assert quick_cases([slow, slow], set()) == [slow]  # the mark of the case then leaves out the test


def test_each_process_begins_with_the_files_of_slow_tests():
    def test_of(path, *marks):
        return SimpleNamespace(path=path, get_closest_marker=lambda name: name in marks or None)

    quick = [test_of("a"), test_of("a"), test_of("b")]
    of_slow_file = [test_of("c"), test_of("c", "slow")]
    assert slow_files_first([*quick, *of_slow_file], 1) == [*of_slow_file, *quick]
    first, second = [*quick[:2], of_slow_file[0]], [of_slow_file[1], quick[2], *quick[:2]]
    assert slow_files_first([*first, *second], 2) == [first[2], *quick[:2], *second]


@pytest.mark.slow
def test_every_file_and_law_is_represented():
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--quick", "-p", "no:cacheprovider"]
    printed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    chosen = collections.Counter(line.partition("[")[0] for line in printed if "::" in line)
    files = {test.partition("::")[0] for test in chosen}
    there = {str(path.relative_to(ROOT)) for part in ("tests", "tutorials/build")
             for path in (ROOT / part).rglob("test_*.py")}
    left_out = sorted(file for file in there - files if not file.startswith(tuple(WITHOUT)))
    assert left_out == [], "take the mark off a test that is cheap, or write one"
    laws = {test.partition("::")[2]: count for test, count in chosen.items() if "test_registry.py" in test}
    of_all = {law for law, count in laws.items() if count >= len(domains.tried())}
    assert {"test_compiled_equals_interpreted", "test_jvp_is_the_derivative_up_to_third_order",
            "test_vjp_is_the_transpose_of_jvp", "test_impl_has_the_type_that_abstract_eval_says"} <= of_all
    assert {"test_vmap_is_a_stack_of_calls", "test_each_slot_is_a_rule_or_a_stated_refusal"} <= laws.keys()


@pytest.mark.parametrize("lengths", [(6, 4, 8), (4, 4, 4), (3, 2, 2), (2, 5, 3)])
def test_pairs_are_every_pair_once_of_the_longer_axes(lengths):
    cases = [SimpleNamespace(indices=dict(zip("abc", place, strict=True)))
             for place in itertools.product(*map(range, lengths))]
    chosen = [tuple(case.indices.values()) for case in pairs(cases, list("abc"))]
    assert len(chosen) == np.prod(lengths) // min(lengths)
    for one, other in itertools.combinations(range(3), 2):
        assert len({(place[one], place[other]) for place in chosen}) == lengths[one] * lengths[other]


def test_pairs_are_for_whole_products_of_three_axes():
    case = SimpleNamespace(indices={"a": 1, "b": 1, "c": 1})
    with pytest.raises(AssertionError, match="for a product"):
        pairs([case], list("abc"))
    with pytest.raises(AssertionError, match="for three axes"):
        pairs([case], list("ab"))
