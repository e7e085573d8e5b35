"""Checks answers: `check(exercise, answer)` is a Verdict.

Every case is run twice, with the solution and with the answer. Hypothesis draws the cases, the same ones for everybody,
and makes the one that is shown small. A wrong answer is then compared with the wrong answers that the exercise knows:
the one that shows the same on every probe names the misunderstanding.
"""

from __future__ import annotations

import contextlib
import functools
import time
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, Verbosity, find, given, settings
from hypothesis.errors import NoSuchExample

from course.comparing import difference, same, without_addresses
from course.exercise import Answer, Exercise, Property
from course.running import Raised, namespace, observe
from course.verdict import CounterExample, Verdict

CASES = 100
"""How many cases of each property are drawn."""
PROBES = 25
"""How many of them tell wrong answers apart."""
BUDGET = 1.5
"""Seconds for making a counter-example small; the smallest until then is shown."""

SETTINGS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=CASES,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
)

NOT_A_FUNCTION = "Pass the function itself: `check(\"{id}\", {entry})`."
STUB = "This is still the stub. Replace its body; the hints are below it."
INPUT = "It gives back what it was given."
CONSTANT = "It gives the same answer whatever it is given."
MEMORISED = "It knows the answers of the examples, and no other: what is the rule behind them?"


def check(exercise: Exercise, answer: Answer) -> Verdict:
    """Whether an answer does what the solution does; if not, where not, and what that looks like."""
    started = time.perf_counter()
    bench = bench_of(exercise)
    if not callable(answer):
        message = NOT_A_FUNCTION.format(id=exercise.id, entry=exercise.entry)
        return Verdict(exercise.id, False, message, seconds=time.perf_counter() - started)
    with bench.remembering(answer):
        return verdict_on(bench, answer, started)


def verdict_on(bench: Bench, answer: Answer, started: float) -> Verdict:
    """What `check` says of a function."""
    exercise = bench.exercise
    failure = bench.failure(answer)
    if failure is None:
        return Verdict(exercise.id, True, exercise.after, seconds=time.perf_counter() - started)
    law, case = failure
    name, message = bench.recognise(answer)
    expected, got = bench.expected(case), bench.shows(answer, case)
    counter_example = CounterExample(law.says, case, expected, got, difference(expected, got))
    return Verdict(exercise.id, False, message, name, counter_example, time.perf_counter() - started)


@functools.cache
def bench_of(exercise: Exercise) -> Bench:
    """The bench of an exercise, made once."""
    return Bench(exercise)


class Bench:
    """An exercise with what is worth computing once: its names, its solution, its probes, what known answers show."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self.names = namespace(exercise.setup)
        self.solution = self.answer(exercise.solution)
        self.probes = {law: [*law.examples, *drawn(law, PROBES)] for law in exercise.properties}
        self._expected: dict[str, Any] = {}
        self._checked: tuple[Answer, dict[str, Any]] | None = None

    @contextlib.contextmanager
    def remembering(self, answer: Answer) -> Iterator[None]:
        """Inside of the block each case is run once with this answer."""
        before, self._checked = self._checked, (answer, {})
        try:
            yield
        finally:
            self._checked = before

    def answer(self, program: str) -> Answer:
        """The answer that a program defines."""
        names = namespace(program, **self.names)
        answer: Answer = names[self.exercise.entry]
        return answer

    def shows(self, answer: Answer, case: str) -> Any:
        """What a case shows with this answer."""
        checked, shown = self._checked or (None, {})
        if checked is not answer:
            shown = {}
        if case not in shown:
            shown[case] = observe(case, {**self.names, self.exercise.entry: answer})
        return shown[case]

    def expected(self, case: str) -> Any:
        """What a case shows with the solution."""
        if case not in self._expected:
            self._expected[case] = self.shows(self.solution, case)
        return self._expected[case]

    def agrees(self, answer: Answer, case: str) -> bool:
        """Whether a case shows the same with this answer and with the solution."""
        return same(self.expected(case), self.shows(answer, case))

    def failure(self, answer: Answer) -> tuple[Property, str] | None:
        """The first property that the answer breaks, and a small case that shows it."""
        for law in self.exercise.properties:
            broken = next((case for case in self.probes[law] if not self.agrees(answer, case)), None)
            smaller = self.smallest(answer, law)
            if smaller is not None or broken is not None:
                return law, smaller or broken or ""
        return None

    def smallest(self, answer: Answer, law: Property) -> str | None:
        """The smallest case that Hypothesis finds on which the answer differs from the solution."""
        until = time.perf_counter() + BUDGET
        seen: dict[str, bool] = {}

        def differs(case: str) -> bool:
            if case not in seen:
                late = any(seen.values()) and time.perf_counter() > until
                seen[case] = not late and not self.agrees(answer, case)
            return seen[case]

        try:
            return find(law.cases, differs, settings=SETTINGS)
        except NoSuchExample:
            return None

    # --- which wrong answer is it? ---

    def recognise(self, answer: Answer) -> tuple[str, str]:
        """The name and the message of the known wrong answer that this one behaves like; empty texts for a new one."""
        shown, clues = self.behaviour(answer, self.cases), self.behaviour(answer, self.exercise.clues)
        matching = [known for known in self.known if alike(known.shown, shown)]
        for known in [known for known in matching if alike(known.clues, clues)] or matching:
            return known.name, known.message
        for name, message, keep in (("constant", CONSTANT, ()), ("memorised", MEMORISED, self.examples)):
            if alike(self.behaviour(self.repeating(answer, keep), self.cases), shown):
                return name, message
        return "", ""

    @functools.cached_property
    def known(self) -> list[Known]:
        """Every answer that is recognised: the stub, the exercise's own wrong ones, and the input returned."""
        answers = [("stub", STUB, self.answer(self.exercise.stub))]
        for i, (program, message) in enumerate(self.exercise.wrong):
            answers.append((f"wrong {i}", message, self.answer(program)))
        answers.append(("input returned", INPUT, lambda *args, **kwargs: [*args, *kwargs.values(), None][0]))
        return [
            Known(name, message, self.behaviour(answer, self.cases), self.behaviour(answer, self.exercise.clues))
            for name, message, answer in answers
        ]

    @functools.cached_property
    def examples(self) -> tuple[str, ...]:
        """The cases that the text shows."""
        return tuple(case for law in self.exercise.properties for case in law.examples)

    @functools.cached_property
    def cases(self) -> tuple[str, ...]:
        """All probes of all properties."""
        return tuple(case for law in self.exercise.properties for case in self.probes[law])

    def behaviour(self, answer: Answer, cases: Iterable[str]) -> list[Any]:
        """What these cases show with an answer."""
        return [self.shows(answer, case) for case in cases]

    def repeating(self, answer: Answer, keep: Iterable[str] = ()) -> Answer:
        """Does what `answer` does in the cases `keep`; on everything else, what `answer` does first in another case."""
        learnt: list[tuple[str, Any]] = []

        def learning(*args: Any, **kwargs: Any) -> Any:
            key, result = call_as_text(args, kwargs), answer(*args, **kwargs)
            learnt.append((key, result))
            return result

        self.behaviour(learning, keep)
        by_heart, elsewhere = dict(learnt), len(learnt)
        for case in self.cases:
            if case not in keep and len(learnt) == elsewhere:
                self.shows(learning, case)

        def repeats(*args: Any, **kwargs: Any) -> Any:
            if len(learnt) == elsewhere:
                return None
            return by_heart.get(call_as_text(args, kwargs), learnt[elsewhere][1])

        return repeats


class Known(NamedTuple):
    """A wrong answer that is recognised: what it shows in the judged cases, and in those that only tell it apart."""

    name: str
    message: str
    shown: list[Any]
    clues: list[Any]


def alike(one: list[Any], other: list[Any]) -> bool:
    """Whether two behaviours are the same, to the text of their errors."""
    return all(
        without_addresses(str(x)) == without_addresses(str(y))
        if isinstance(x, Raised) and isinstance(y, Raised)
        else same(x, y)
        for x, y in zip(one, other, strict=True)
    )


def call_as_text(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments of a call as text: functions by what they do, nothing by where it lies."""
    return repr([*map(described, args), *((name, described(x)) for name, x in sorted(kwargs.items()))])


def described(x: Any, inside: tuple[int, ...] = ()) -> Any:
    """What a value is, as text and lists of texts; equal for two values that do the same, wherever they lie."""
    if id(x) in inside:
        return "..."
    within = functools.partial(described, inside=(*inside, id(x)))
    if isinstance(x, types.FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or ()]
        return ["function", *map(within, (x.__code__, x.__defaults__, x.__kwdefaults__, cells))]
    if isinstance(x, types.CodeType):
        return ["code", repr(x.co_code), x.co_names, *map(within, x.co_consts)]
    if isinstance(x, dict):
        return [type(x).__name__, *((within(key), within(value)) for key, value in x.items())]
    if isinstance(x, list | tuple):
        return [type(x).__name__, *map(within, x)]
    return without_addresses(repr(x))


def drawn(law: Property, count: int) -> list[str]:
    """The first cases of a property, each once, as Hypothesis draws them."""
    cases: dict[str, None] = {}

    @settings(SETTINGS, max_examples=count, phases=[Phase.generate])
    @given(law.cases)
    def collect(case: str) -> None:
        cases[case] = None

    collect()
    return list(cases)

