"""The checker itself, on an exercise of three lines."""

import contextlib

import pytest
from hypothesis import strategies as st

import course
from course.checker import CASES, bench_of, check
from course.comparing import difference
from course.exercise import Exercise, Property, edit
from course.faults import FAULTS, TRACER, fault, grade, load
from course.running import Raised, observe

DOUBLE = Exercise(
    id="0.1",
    title="twice",
    objective="You can double a number.",
    needs=(),
    out_of_scope="everything else.",
    task="Double `x`.",
    setup="offset = 0",
    entry="double",
    stub="def double(x):\n    ...",
    solution="def double(x):\n    return x + x + offset",
    wrong=(("def double(x):\n    return x * x", "That is the square."),),
    hints=("Add.", "Add twice.", "x + x"),
    properties=(Property("It doubles.", st.integers(-100, 100).map("double({})".format), ("double(2)", "double(0)")),),
    after="Well done.",
)


def test_another_right_answer_is_accepted():
    verdict = check(DOUBLE, lambda x: 2 * x)
    assert verdict
    assert str(verdict) == "Exercise 0.1: right. Well done."


def test_a_known_wrong_answer_is_named_and_shown_small():
    verdict = check(DOUBLE, lambda x: x**2)
    assert verdict.message == "That is the square."
    assert verdict.counter_example.program == "double(1)"
    assert verdict.counter_example.difference == "expected 2, got 1"


def test_an_unknown_wrong_answer_is_shown_all_the_same():
    verdict = check(DOUBLE, lambda x: 2 * x if x < 50 else 0)
    assert (verdict.recognised, verdict.message) == ("", "")
    assert verdict.counter_example.program == "double(50)"
    assert "broken by:        double(50)" in str(verdict)


def test_the_same_counter_example_for_everybody():
    texts = {str(check(DOUBLE, lambda x: 2 * x if x % 7 else 1)) for _ in range(3)}
    assert len(texts) == 1


@pytest.mark.parametrize("answer", [5, None, "double"])
def test_what_is_no_function_is_refused(answer):
    verdict = check(DOUBLE, answer)
    assert not verdict
    assert verdict.message == 'Pass the function itself: `check("0.1", double)`.'


@pytest.mark.slow
def test_an_answer_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr("course.running.LIMIT", 0.02)
    monkeypatch.setattr("course.checker.BUDGET", 0.1)

    def endless(x):
        while x == x:
            with contextlib.suppress(Exception):
                x = -x

    verdict = check(DOUBLE, endless)
    assert verdict.counter_example.got == Raised("OutOfTime", "no answer within 0.02 s")


@pytest.mark.parametrize("error", [SystemExit, RecursionError, ZeroDivisionError("x"), KeyError("y")])
def test_an_answer_that_raises_is_refused(error):
    def raises(x):
        raise error

    assert "Error" in str(check(DOUBLE, raises)) or "SystemExit" in str(check(DOUBLE, raises))


def test_ctrl_c_is_not_an_answer():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(DOUBLE, interrupted)


def test_an_answer_cannot_spoil_the_case_or_print():
    assert observe("print('x')\nxs = [1]\nf(xs)\nxs", {"f": list.clear}) == []


def test_a_verdict_in_html_says_what_the_text_says_and_escapes_it():
    html = check(DOUBLE, lambda x: "<b>")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>'" not in html


def test_few_cases_are_run_for_a_right_answer():
    calls = []
    bench_of(DOUBLE)
    check(DOUBLE, lambda x: calls.append(x) or 2 * x)
    assert len(calls) <= 2 * CASES


def test_a_stale_edit_is_found():
    with pytest.raises(ValueError, match="does not occur"):
        edit("x + 1", ("-", "+"))


@pytest.mark.parametrize("id", ["99.1", "1.99", "x", 1.2, None])
def test_unknown_exercises(id):
    with pytest.raises(LookupError):
        course.hint(id)


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [
        (1, 1.0, ""),
        (True, 1, "expected True, got 1"),
        (float("nan"), float("nan"), ""),
        ([1, 2], (1, 2), ""),
        ([1, 2], [1], "expected 2 items, got 1 items"),
        ({"a": 1}, {"a": 2}, "at ['a']: expected 1, got 2"),
        (10**400, 10**400 + 1, f"expected {10**400}, got {10**400 + 1}"),
        (Raised("TypeError", "a"), Raised("TypeError", "b"), ""),
        (Raised("TypeError", "a"), None, "expected TypeError: a, got None"),
        (None, None, ""),
    ],
)
def test_differences(expected, got, said):
    assert difference(expected, got) == said


# --- planted faults ---

IN_THE_TRACER = [planted for planted in FAULTS if planted.file == TRACER]


def program_agrees(compiler, run, f, *numbers):
    """The law of tracing: the program does what the function does."""
    return run(compiler.trace(f, len(numbers)), *numbers) == f(*numbers)


CASES_OF_TWO = st.tuples(st.integers(-3, 3), st.integers(-3, 3)).map(
    lambda xy: f"lambda x, y: where(x > y, 2.0 - x, y * 3.0), {xy[0]}.0, {xy[1]}.0"
)


@pytest.mark.parametrize("planted", [None, *IN_THE_TRACER], ids=lambda planted: planted.id if planted else "right")
def test_a_law_accepts_the_right_compiler_and_catches_the_faulty_ones(planted):
    tracer = load(TRACER, planted)
    run = load("chapters/ch01_a_tracer_in_60_lines/meaning.py").run
    said = grade(lambda compiler, *case: program_agrees(compiler, run, *case), tracer, CASES_OF_TWO, where=tracer.where)
    assert said == ("catches" if planted else "accepts")


def test_a_property_that_always_holds_catches_nothing():
    planted = fault("operand-order")
    assert grade(lambda compiler, *case: True, load(planted.file, planted), st.just("1")) == "accepts"


GRADED_SETUP = """
from hypothesis import strategies as st
from course.faults import TRACER, fault, grade, load
CASES = st.sampled_from(["lambda x: 2.0 - x, 1.0", "lambda x: x * x, 1.0"])
"""
GRADED = Exercise(
    id="0.2",
    title="a property of tracers",
    objective="You can state the law of tracing.",
    needs=(),
    out_of_scope="everything else.",
    task="Write a law.",
    setup=GRADED_SETUP,
    entry="law",
    stub="def law(compiler, f, x):\n    ...",
    solution="def law(compiler, f, x):\n    return 'sub a 2.0' not in str(compiler.trace(f, 1))",
    wrong=(
        ("def law(compiler, f, x):\n    return True", "It holds of everything."),
        ("def law(compiler, f, x):\n    return 'mul' in str(compiler.trace(f, 1))", "Right compilers break it."),
    ),
    hints=("a", "b", "c"),
    properties=(
        Property("It accepts the right compiler.", st.just("grade(law, load(TRACER), CASES)"),
                 ("grade(law, load(TRACER), CASES)",)),
        Property("It catches the faulty one.", st.just('grade(law, load(TRACER, fault("operand-order")), CASES)')),
    ),
    after="Well done.",
    clues=("law(load(TRACER), lambda x: x, 1.0)",),
)  # fmt: skip


def test_a_learners_property_is_graded_by_compilers():
    bench = bench_of(GRADED)
    assert check(GRADED, bench.solution)
    for program, message in GRADED.wrong:
        assert check(GRADED, bench.answer(program)).message == message
    blind = check(GRADED, bench.answer(GRADED.wrong[0][0]))
    assert blind.counter_example.law == "It catches the faulty one."
    assert blind.counter_example.difference == "expected 'catches', got 'accepts'"
