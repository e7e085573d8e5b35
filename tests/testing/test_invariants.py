"""The invariants hold, every planted fault breaks the one that is named for it, and the page shows both."""

import pytest

from tests.conftest import ROOT
from tests.examples import how_many
from tinytrace.testing import FAULTS, INVARIANTS

EXAMPLES = how_many(25, fast=10)
PAGE = ROOT / "docs" / "invariants.md"


@pytest.mark.parametrize("name", INVARIANTS)
def test_it_holds(name):
    INVARIANTS[name].check(EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name):
    """Within 500 examples nearly always; what Hypothesis draws depends on the modules that tests before have loaded."""
    fault = FAULTS[name]
    with fault.planted():
        assert INVARIANTS[fault.breaks].counter_example(max_examples=2000) is not None


def test_there_are_many_and_each_names_its_invariant():
    assert len(FAULTS) >= 20
    assert {fault.breaks for fault in FAULTS.values()} <= set(INVARIANTS)


@pytest.mark.not_quick
def test_faults_leave_nothing_behind():
    for name in ("stale entry", "equal zeros", "key without settings", "key without dtype"):
        with FAULTS[name].planted():
            assert INVARIANTS[FAULTS[name].breaks].counter_example(max_examples=200) is not None
        assert INVARIANTS[FAULTS[name].breaks].counter_example(max_examples=20) is None


def table():
    """The invariants as the page shows them, each with the faults that it catches."""
    rows = ["| invariant | what holds | faults that it catches |", "|---|---|---|"]
    for invariant in INVARIANTS.values():
        caught = [f"*{fault.name}*: {fault.sentence}" for fault in FAULTS.values() if fault.breaks == invariant.name]
        rows.append(f"| {invariant.name} | {invariant.sentence} | {' '.join(caught)} |")
    return "\n".join(rows) + "\n"


def test_the_page_shows_them(request):
    if request.config.getoption("--update-golden"):
        PAGE.write_text(PAGE.read_text().partition("| invariant |")[0] + table())
    _, _, after = PAGE.read_text().partition("| invariant |")
    assert "| invariant |" + after == table(), "run `pytest --update-golden tests/testing/test_invariants.py`"
