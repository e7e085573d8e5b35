"""Makes notebooks of master texts: `notebook(chapter)`.

A master text is Markdown in which ```python fences are code cells. A line `<!-- exercise 3.2 -->` or `<!-- prediction
3.p1 -->` stands for the cells of that exercise or prediction, which are written here.
"""

from __future__ import annotations

import re

import jupytext
import nbformat

from course.checker import bench_of
from course.exercise import Exercise, Prediction
from course.library import Chapter, exercise, prediction
from course.predicting import LETTERS
from course.verdict import shown

MARKER = re.compile(r"^<!-- (exercise|prediction) (\S+) -->$", flags=re.MULTILINE)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook(chapter: Chapter) -> nbformat.NotebookNode:
    """The notebook of a chapter, without outputs."""
    made: nbformat.NotebookNode = jupytext.reads(expanded(chapter.text), fmt="md")
    made.metadata.clear()
    made.metadata.update(METADATA)
    for i, cell in enumerate(made.cells):
        cell.id = f"cell-{i}"
    return made


def expanded(text: str) -> str:
    """A master text with its exercises and predictions written out."""

    def written(match: re.Match[str]) -> str:
        kind, id = match.groups()
        return exercise_text(exercise(id)) if kind == "exercise" else prediction_text(prediction(id))

    return MARKER.sub(written, text)


def exercise_text(exercise: Exercise) -> str:
    """An exercise as the learner gets it: the task, examples, hints, then a cell with the stub and its check."""
    parts = [
        f"### Exercise {exercise.id}: {exercise.title}",
        f"*{exercise.objective}* {exercise.task.strip()}",
        *examples(exercise),
        f"Leave aside: {exercise.out_of_scope}",
        *(
            f"<details><summary>Hint {i}</summary>\n\n{hint}\n\n</details>"
            for i, hint in enumerate(exercise.hints, 1)
        ),
        fence("python", f"{exercise.stub.rstrip()}\n\n\ncheck({exercise.id!r}, {exercise.entry})".replace("'", '"')),
    ]
    return "\n\n".join(parts)


def examples(exercise: Exercise) -> list[str]:
    """The examples of an exercise, each with what the solution gives."""
    bench = bench_of(exercise)
    cases = [case for law in exercise.properties for case in law.examples]
    return [fence("py", f"{case.strip()}\n{commented(shown(bench.expected(case)))}") for case in cases]


def prediction_text(prediction: Prediction) -> str:
    """A prediction as the learner gets it: the question, a cell for the guess, a cell that shows the answer."""
    parts = [f"**Predict {prediction.id}.** {prediction.question.strip()}"]
    if prediction.reasons:
        if prediction.program.strip():
            parts.append(fence("py", prediction.program))
        reasons = zip(LETTERS, prediction.reasons, strict=False)
        parts.append("\n".join(f"* {letter}) {reason}" for letter, (reason, _) in reasons))
    parts.append(fence("python", f'predict("{prediction.id}", ...)'))
    parts.append(fence("python", f'reveal("{prediction.id}")' if prediction.reasons else prediction.program))
    return "\n\n".join(parts)


def fence(language: str, text: str) -> str:
    """A block of code; one that is marked python becomes a cell."""
    return f"```{language}\n{text.strip()}\n```"


def commented(text: str) -> str:
    """A text as comments, behind an arrow."""
    first, *rest = text.split("\n")
    return "\n".join([f"# -> {first}", *(f"#    {line}" for line in rest)])

