"""How the answers of a chapter are judged, as a table: `python -m course.table 1`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from course import predicting
from course.checker import Bench, bench_of, check
from course.exercise import Answer
from course.library import chapter


def answers(bench: Bench) -> Iterator[tuple[str, Answer]]:
    """Every answer of which the checker's verdict is known, with the name of that verdict."""
    exercise = bench.exercise
    yield "", bench.solution
    yield "stub", bench.answer(exercise.stub)
    yield from ((f"wrong {i}", bench.answer(program)) for i, (program, _) in enumerate(exercise.wrong))
    yield "input returned", lambda *args, **kwargs: [*args, *kwargs.values(), None][0]
    yield "constant", bench.repeating(bench.solution)
    yield "memorised", bench.repeating(bench.solution, bench.examples)


def main(number: int) -> None:
    """Prints one line for each answer: whether it was recognised, the seconds, the counter-example."""
    for exercise in chapter(number).exercises:
        print(f"{exercise.id} {exercise.title}")
        for name, answer in answers(bench_of(exercise)):
            verdict = check(exercise, answer)
            as_known = verdict.accepted if name == "" else verdict.recognised == name
            shown = verdict.counter_example.program if verdict.counter_example else ""
            said = "" if as_known else f" taken for {verdict.recognised or 'something new'!r}"
            print(f"  {'ok' if as_known else '??'} {verdict.seconds:4.1f} s {name or 'solution'}{said}: {shown!r}")
            if name == "" and not verdict:
                print(verdict)
    for prediction in chapter(number).predictions:
        print(prediction.id, repr(predicting.answer(prediction)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
