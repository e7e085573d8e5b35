"""Every prediction has one computed answer, and says so."""

import pytest

from course.library import chapters
from course.predicting import LETTERS, answer, settle, tried

PREDICTIONS = [prediction for chapter in chapters() for prediction in chapter.predictions]


def test_there_are_eighty_and_half_of_them_ask_why():
    assert len(PREDICTIONS) >= 80
    assert 2 * sum(bool(prediction.reasons) for prediction in PREDICTIONS) >= len(PREDICTIONS)


@pytest.mark.parametrize("prediction", PREDICTIONS, ids=lambda prediction: prediction.id)
def test_the_answer_is_computed_and_accepted(prediction):
    right = answer(prediction)
    assert right is not None
    assert settle(prediction, right).right is True
    assert settle(prediction, "something else").right is False
    assert settle(prediction, ...).right is None
    assert prediction.because in str(settle(prediction, right))


@pytest.mark.parametrize("prediction", [p for p in PREDICTIONS if p.reasons], ids=lambda prediction: prediction.id)
def test_one_reason_holds(prediction):
    rows = tried(prediction).rows
    assert 3 <= len(rows) <= len(LETTERS)
    assert sum(holds for _, _, _, holds in rows) == 1


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_half_of_a_chapter_asks_why(chapter):
    assert 2 * sum(bool(prediction.reasons) for prediction in chapter.predictions) >= len(chapter.predictions) - 1


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_the_text_has_every_prediction_once_and_in_order(chapter):
    ids = [prediction.id for prediction in chapter.predictions]
    found = [line.split()[2] for line in chapter.text.splitlines() if line.startswith("<!-- prediction")]
    assert found == ids
