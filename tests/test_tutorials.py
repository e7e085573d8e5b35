"""Every notebook runs, and shows what it says it shows."""

import importlib.util

import pytest

from tests.conftest import ROOT

SPEC = importlib.util.spec_from_file_location("execute", ROOT / "tutorials" / "execute.py")
execute = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(execute)

NOTEBOOKS = sorted((ROOT / "tutorials").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the warnings are those of the notebook machinery
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    assert execute.differences(path) == []
