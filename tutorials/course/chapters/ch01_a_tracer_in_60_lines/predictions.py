"""The predictions of chapter 1."""

from course.chapters.ch01_a_tracer_in_60_lines.exercises import SETUP
from course.exercise import Prediction, text

PREDICTIONS = (
    Prediction(
        id="1.p1",
        question="`2.0 - x`: the number stands on the left, and numbers know nothing of tracers. What are the operands of the "
        "equation, as a tuple?",
        setup=SETUP,
        program="trace(lambda x: 2.0 - x, 1).eqns[0].args",
        because="Python asks `2.0` first, which does not know what to do, then the tracer's `__rsub__`, which puts them back "
        "in order.",
    ),
    Prediction(
        id="1.p2",
        question="A loop of four rounds, with one product in each. How many equations does tracing note?",
        setup=SETUP,
        program=text("""
            def product(x):
                result = 1.0
                for _ in range(4):
                    result = result * x
                return result


            len(trace(product, 1).eqns)
        """),
        because="The loop runs while the function is traced; each round meets the tracer once.",
    ),
    Prediction(
        id="1.p3",
        question="The function appends to a list whenever it runs. It is traced once, and its program is run three times. How "
        "long is the list?",
        setup=SETUP,
        program=text("""
            seen = []


            def noisy(x):
                seen.append(x)
                return x * x


            program = trace(noisy, 1)
            for number in (1.0, 2.0, 3.0):
                run(program, number)
            len(seen)
        """),
        because="Running a program runs equations, not your function. The one thing in the list is a tracer.",
    ),
    Prediction(
        id="1.p4",
        question="`sin(1.0) * 3.0` leaves no equation. Why not?",
        setup=SETUP,
        program="program = trace(lambda x: x + sin(1.0) * 3.0, 1)",
        because="It is not a simplification: no tracer was near, so Python computed it on the spot.",
        reasons=(
            (
                "The tape simplifies: whatever it can compute by itself it does.",
                "len(trace(lambda x: x * 0.0 + 2.0, 1).eqns) < 2",
            ),
            (
                "It never meets a tracer, so Python computes it before the tape hears of it.",
                "len(trace(lambda x: sin(1.0) * 3.0, 1).eqns) == 0 and len(trace(lambda x: sin(x) * 3.0, 1).eqns) == 2",
            ),
            ("Numbers cannot be operands of equations.", "not any(isinstance(x, float) for x in program.eqns[0].args)"),
        ),
    ),
    Prediction(
        id="1.p5",
        question="The program was made while `rate` was 2.0. Now `rate` is 5.0, and the program still multiplies by 2.0. Why?",
        setup=SETUP,
        program=text("""
            rate = 2.0


            def scaled(x):
                return rate * x


            program = trace(scaled, 1)
            rate = 5.0
        """),
        because="What Python reads while tracing is read once. This is the most common surprise under `jit`; chapter 4 is "
        "about what can be done.",
        reasons=(
            ("The tape looks `rate` up by its name, and finds the old one.", "'rate' in str(program)"),
            (
                "Tracing read the number that `rate` was then; the name is not in the program.",
                "program.eqns[0].args[0] == 2.0 and trace(scaled, 1).eqns[0].args[0] == 5.0",
            ),
            ("Functions keep the globals that they were defined with.", "scaled(1.0) == 2.0"),
        ),
    ),
    Prediction(
        id="1.p6",
        question="`abs_` cannot be traced. Why?",
        setup=SETUP,
        program=text("""
            def abs_(x):
                if x > 0.0:
                    return x
                return -x


            def can_be_traced(f):
                try:
                    trace(f, 1)
                except TypeError:
                    return False
                return True
        """),
        because="`x > 0.0` alone is an equation like any other. What fails is to take its result for true or false.",
        reasons=(
            ("A tracer cannot be compared with a number.", "not can_be_traced(lambda x: x > 0.0)"),
            ("A function with two `return`s has two programs.", "not can_be_traced(lambda x: x if 1.0 > 0.0 else -x)"),
            (
                "`if` asks for the truth of a value that is not there yet.",
                "can_be_traced(lambda x: x > 0.0) and not can_be_traced(lambda x: bool(x > 0.0))",
            ),
        ),
    ),
)
