"""Every notebook with a master text is what the text makes of it. (That it runs is tests/test_tutorials.py.)"""

import nbformat
import pytest

from course.library import chapters
from course.notebooks import notebook


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_the_notebook_is_what_the_text_makes(chapter):
    stored = nbformat.read(chapter.notebook, as_version=4)
    made = notebook(chapter)
    assert [(cell.cell_type, cell.source) for cell in stored.cells] == [(c.cell_type, c.source) for c in made.cells]


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_a_question_first_and_a_picture_last(chapter):
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    assert "?" in cells[0].source
    assert any(name.startswith("image/") for output in cells[-1].outputs for name in output.get("data", {}))


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_pictures_are_told_in_words(chapter):
    """To those who do not see them: as their alternative text."""
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    pictures = [output for cell in cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    words = [output.metadata.get("image/png", {}).get("alt", "") for output in pictures]
    assert all(len(text) > 40 for text in words), words


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_the_notebook_is_shipped_unsolved(chapter):
    """No solution stands in it, and no cell raises."""
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    text = "\n".join(cell.source for cell in cells)
    assert [exercise.id for exercise in chapter.exercises if exercise.solution.strip() in text] == []
    assert all(output.output_type != "error" for cell in cells for output in cell.get("outputs", []))
