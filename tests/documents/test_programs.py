"""The example programs find what JAX 0.4.35 finds with the same seeds."""

import json
import math

import pytest

from tests.documents.programs import EXAMPLES, STORED, figures

EXPECTED = json.loads(STORED.read_text())
RELATIVE = {"attention": 0.01}  # one digit more or less of 4000 in its place is 0.00025
STEPS = {"character_rnn": 40}  # later losses hang on the last digits of all earlier ones, until they settle


def test_every_program_has_figures():
    assert {path.stem for path in EXAMPLES} == set(EXPECTED)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:sklearn")
@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_program(path):
    name = path.stem
    found = figures(path)
    assert set(found) == set(EXPECTED[name])
    for key, expected in EXPECTED[name].items():
        assert differences(expected, found[key], RELATIVE.get(name, 1e-3), STEPS.get(name)) == [], key
    if name.startswith("digits"):
        assert found["test accuracy"] > 0.96


def differences(expected, found, relative, steps):
    """Which elements of a figure (its first `steps`) are not what they should be."""
    if not isinstance(expected, list):
        expected, found = [expected], [found]
    assert len(expected) == len(found)
    return [(i, a, b) for i, (a, b) in enumerate(zip(expected[:steps], found[:steps], strict=True))
            if not (math.isclose(a, b, rel_tol=relative, abs_tol=1e-5) if isinstance(a, float) else a == b)]
