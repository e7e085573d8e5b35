"""Every exercise: its solution is accepted, and everything else is refused with the right words."""

import inspect

import pytest

from course.checker import CONSTANT, INPUT, MEMORISED, STUB, alike, bench_of, call_as_text, check
from course.library import chapters

EXERCISES = [exercise for chapter in chapters() for exercise in chapter.exercises]
WRONG = [(exercise, i) for exercise in EXERCISES for i in range(len(exercise.wrong))]


def names(case):
    return case.id if hasattr(case, "id") else str(case)


EACH = pytest.mark.parametrize("exercise", EXERCISES, ids=names, scope="module")
"""All tests of an exercise one after the other, so that its bench is made once or twice, not in every process."""


@EACH
def test_the_solution_is_accepted(exercise):
    verdict = check(exercise, bench_of(exercise).solution)
    assert verdict, str(verdict)


@EACH
def test_a_property_says_what_its_cases_show(exercise):
    """Where compilers are judged, the solution accepts all right ones and catches all faulty ones."""
    bench = bench_of(exercise)
    for law in exercise.properties:
        for verdict in ("accepts", "catches"):
            if law.says.startswith(f"It {verdict} "):
                assert [case for case in bench.probes[law] if bench.expected(case) != verdict] == []


@EACH
def test_the_stub_is_refused_as_a_stub(exercise):
    verdict = check(exercise, bench_of(exercise).answer(exercise.stub))
    assert (verdict.accepted, verdict.message) == (False, STUB)


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "i"), WRONG, ids=names, scope="module")
def test_a_wrong_answer_gets_its_own_message_and_a_small_counter_example(exercise, i):
    """The difference is there when the case is run as it is shown, and the program in it has at most five equations."""
    program, message = exercise.wrong[i]
    bench = bench_of(exercise)
    answer = bench.answer(program)
    verdict = check(exercise, answer)
    assert (verdict.accepted, verdict.message) == (False, message)
    shown = verdict.counter_example
    assert shown.difference
    assert not bench.agrees(answer, shown.program)
    assert sum(line.startswith("    ") and " = " in line for line in shown.program.splitlines()) <= 5, shown.program


@pytest.mark.slow
@EACH
def test_impostors_are_refused(exercise):
    """What returns its input, repeats itself, or knows the examples by heart; an exercise may have better words.

    A function without parameters is asked for a constant: there is nobody to refuse.
    """
    bench = bench_of(exercise)
    if not inspect.signature(bench.solution).parameters:
        return
    own = [message for _, message in exercise.wrong]
    returned = check(exercise, lambda *args, **kwargs: [*args, *kwargs.values(), None][0])
    constant = check(exercise, bench.repeating(bench.solution))
    memorised = check(exercise, bench.repeating(bench.solution, bench.examples))
    assert not any([returned, constant, memorised])
    assert returned.message in [INPUT, STUB, *own]
    assert constant.message in [CONSTANT, STUB, *own]
    assert memorised.message in [MEMORISED, CONSTANT, STUB, *own]


@pytest.mark.slow
@EACH
def test_no_case_shows_where_an_object_lies(exercise):
    """An answer that keeps what it was given, so that no address is used twice, shows what one shows that does not."""
    bench, kept = bench_of(exercise), []

    def returned(*args, **kwargs):
        return [*args, *kwargs.values(), None][0]

    def keeping(*args, **kwargs):
        kept.append((args, kwargs))
        return returned(*args, **kwargs)

    assert alike(bench.behaviour(returned, bench.cases), bench.behaviour(keeping, bench.cases))


@pytest.mark.slow
@EACH
def test_a_call_is_named_by_what_it_gets(exercise):
    """Called again with new objects, while the old ones still lie where they lay, a case has the same name."""
    bench, kept = bench_of(exercise), []

    def texts():
        found = []

        def noting(*args, **kwargs):
            found.append(call_as_text(args, kwargs))
            kept.append((args, kwargs))
            return bench.solution(*args, **kwargs)

        for case in bench.examples:
            bench.shows(noting, case)
        return found

    assert texts() == texts()


def test_functions_are_named_by_what_they_do():
    """Code, defaults, what a function closes over, functions in containers, and one that holds itself."""

    def closing(over):
        return lambda x: x + over

    def itself():
        return itself

    equal = [(closing(1), closing(1)), (lambda x=1: x, lambda x=1: x), (lambda: (lambda: 1), lambda: (lambda: 1))]
    other = [(closing(1), closing(2)), (lambda x=1: x, lambda x=2: x), (lambda: (lambda: 1), lambda: (lambda: 2))]
    for wrap in (lambda f: f, lambda f: [f], lambda f: {"f": (f,)}, lambda f: closing(f)):
        for one, two in equal:
            assert call_as_text((wrap(one),), {}) == call_as_text((wrap(two),), {})
        for one, two in other:
            assert call_as_text((wrap(one),), {}) != call_as_text((wrap(two),), {})
    assert call_as_text((), {"f": itself}) == call_as_text((), {"f": itself})


@EACH
def test_an_exercise_is_complete(exercise):
    assert len(exercise.wrong) >= 5
    assert len({message for _, message in exercise.wrong}) == len(exercise.wrong)
    assert len(exercise.hints) == 3
    assert all(exercise.hints)
    assert exercise.objective.startswith("You can ")
    assert all([exercise.title, exercise.task.strip(), exercise.out_of_scope, exercise.after, exercise.properties])
    assert any(law.examples for law in exercise.properties)


def test_the_course_is_complete():
    """Thirteen chapters of exercises; each exercise knows at least five wrong answers."""
    assert [chapter.number for chapter in chapters()] == list(range(1, 14))
    assert len(EXERCISES) == 65
    assert len(WRONG) >= 325


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_nothing_untaught_is_needed(chapter):
    """Each term that an exercise needs stands as `*term*` in an earlier chapter, or before the exercise in this one."""
    before = "".join(earlier.text for earlier in chapters() if earlier.number < chapter.number)
    for exercise in chapter.exercises:
        taught = before + chapter.text.split(f"<!-- exercise {exercise.id} -->")[0]
        assert [term for term in exercise.needs if f"*{term}*" not in taught] == [], exercise.id


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: str(chapter.number))
def test_the_text_has_every_exercise_once_and_in_order(chapter):
    ids = [exercise.id for exercise in chapter.exercises]
    found = [line.split()[2] for line in chapter.text.splitlines() if line.startswith("<!-- exercise")]
    assert found == ids
