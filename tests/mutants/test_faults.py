"""The faults that `make mutants` plants: programs that can be read, other than the program was, and always the same."""

import ast
import re

import pytest

from tests.mutants.__main__ import EQUIVALENT, ROOT, equivalents
from tests.mutants.faults import GROUPS, found, sample


@pytest.fixture(scope="module")
def faults():
    return sample(ROOT, seed=7, size=120)


@pytest.mark.slow
def test_the_sample_is_that_of_its_seed(faults):
    assert sample(ROOT, 7, 120) == faults
    assert sample(ROOT, 8, 120) != faults
    assert {group for group in GROUPS for fault in faults if fault.path.startswith(group)} == set(GROUPS)


@pytest.mark.slow
def test_a_planted_program_can_be_read_and_is_another(faults):
    for fault in faults:
        text = (ROOT / fault.path).read_text()
        planted = fault.planted(text)
        assert planted != text
        assert planted.count("\n") == text.count("\n") or not fault.before.startswith("(")
        if fault.path.endswith(".py"):
            assert ast.dump(ast.parse(planted)) != ast.dump(ast.parse(text)), fault


@pytest.mark.parametrize(("text", "expected"), [
    ("x = a < b", ["a <= b"]),
    ("x = a and b", ["a or b", "b", "a"]),
    ("if a:\n    f(x, y)", ["True", "False", "pass", "f(y, x)"]),
    ("x = [i for i in y if i]", ["True"]),
    ("LIMIT = 3", []),
    ("def f():\n    '''Text.'''\n    raise ValueError(1 + 2)", []),
    ("def f(x: int = 3) -> list[1]:\n    return x", ["4"]),
    ("zip(a, b, strict=True)", ["pass"]),
])
def test_what_is_planted_in_python(text, expected):
    assert [fault.after.strip("()") if "(" not in expected else fault.after
            for fault in found("x.py", text)] == [after.strip("()") for after in expected]


@pytest.mark.parametrize(("text", "expected"), [
    ("a = b < c && d;", ["<=", "||"]),
    ('/* 1 + 2 */ f("3 + 4"); x = -y;', []),
    ("x = 0x1p4f * 2.0f + 7;", ["16.16f", "+", "2.02f", "-", "8"]),
    ("#define N 3\nint n = 0xffu;", ["256u"]),
])
def test_what_is_planted_in_c(text, expected):
    assert [fault.after for fault in found("x.c", text)] == expected


def test_each_equivalent_has_a_reason_and_stands_for_something():
    entries = [entry for entry in re.split(r"\n\n+", EQUIVALENT.read_text()) if not entry.startswith("#")]
    assert len(equivalents()) == len(entries)
    assert all(len(reason) > 20 for reason in equivalents().values())
