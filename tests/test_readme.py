"""The README's example does what the README says."""

import doctest
import pathlib
import re

README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_example_runs():
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried >= 7
    assert failures == 0


def test_the_files_it_names_exist():
    table = README.read_text().split("## Where do I find...?")[1].split("## The layers")[0]
    named = [name for name in re.findall(r"`([^`()]+)`", table) if "/" in name]
    assert len(named) >= 10
    assert [name for name in named if not (README.parent / name).exists()] == []
