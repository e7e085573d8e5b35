"""What executes the notebooks tells a right one from a wrong one. `make tutorials` executes all of them."""

import importlib.util

import nbformat
import pytest

from tests.conftest import ROOT

SPEC = importlib.util.spec_from_file_location("execute", ROOT / "tutorials" / "execute.py")
execute = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(execute)

NOTEBOOKS = sorted((ROOT / "tutorials").glob("*.ipynb"))
SUM = "import tinytrace.numpy as jnp\nprint(jnp.ones(3).sum())"


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 14


@pytest.mark.parametrize(("source", "says", "lines"), [
    (SUM, "3.0\n", 0),
    (SUM, "4.0\n", 5),
    ("1 / 0", "", None),
])
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the warnings are those of the notebook machinery
def test_a_notebook_must_show_what_it_says(tmp_path, source, says, lines):
    cell = nbformat.v4.new_code_cell(source, outputs=[nbformat.v4.new_output("stream", name="stdout", text=says)])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "one.ipynb")
    if lines is None:
        with pytest.raises(Exception, match="ZeroDivisionError"):
            execute.differences(tmp_path / "one.ipynb")
    else:
        assert len(execute.differences(tmp_path / "one.ipynb")) == lines
