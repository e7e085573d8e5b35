"""Libraries that are written for JAX: with LIBRARIES=FOLDER, where they are, their programs are run."""

import json
import os
import pathlib

import pytest

from tests.libraries import measure

FOLDER = os.environ.get("LIBRARIES", "")
ANSWERS = json.loads(measure.ANSWERS.read_text())


def test_every_program_has_an_answer():
    sources = [path.read_text() for path in pathlib.Path(__file__).parent.glob("*.py")]
    names = [line[4:].split("(")[0] for source in sources for line in source.splitlines() if line.startswith("def ")]
    assert {name for name in names if "__" in name} == set(ANSWERS)
    assert not [name for name, answer in ANSWERS.items() if isinstance(answer, str)]


def test_same():
    assert measure.same([1.0, "a"], [1.001, "a"])
    assert measure.same([[1.0, 2.0]], [[1.0, 2.0]])
    assert not measure.same([1.0], [1.01])
    assert not measure.same([[1.0, 2.0]], [[1.0]])
    assert not measure.same("! TypeError", [1.0])
    assert not measure.same([1.0], ["1.0"])


@pytest.mark.skipif(not FOLDER, reason="LIBRARIES=FOLDER says where the libraries are")
@pytest.mark.parametrize("name", ANSWERS)
def test_same_numbers(name):
    ours = measure.run(measure.sys.executable, "tinytrace", pathlib.Path(FOLDER), [name])[name]
    assert measure.same(ours, ANSWERS[name]) or name in measure.REASONS
