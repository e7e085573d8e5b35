"""The predictions of chapter 5."""

from course.chapters.ch05_property_tests_for_programs.exercises import SETUP
from course.exercise import Prediction, text

LAWS = SETUP + text("""
    from course.chapters.ch05_property_tests_for_programs.laws import DERIVATIVES, computes


    def remembers(m, x, y):
        return times_traced(m, x, y) == (1 if kind(x) == kind(y) else 2)
""")

PREDICTIONS = (
    Prediction(
        id="5.p1",
        question="Hypothesis looks for a number whose square is above 200. Many of those up to 1000 are. Which one does it show?",
        setup="from hypothesis import find, settings, strategies as st\n",
        program=text("""
            find(st.integers(0, 1000), lambda n: n * n > 200, settings=settings(database=None, derandomize=True))
        """),
        because="It shrinks what it finds, and shows the simplest that still fails. Of numbers that is the one nearest to zero.",
    ),
    Prediction(
        id="5.p2",
        question="In the faulty compiler `tanh` is one per cent too small. A law that compares `run(m, f, x)` with `f(m, x)` accepts it. Why?",
        setup=LAWS,
        program=text("""
            faulty = compiler("tanh-is-off")


            def agrees_with_itself(m, f, x):
                return np.allclose(run(m, f, x), np.asarray(f(m, m.array(x))))


            f, x = PROGRAMS[1]
        """),
        because="Both sides use the same rule for `tanh`. A law needs a second opinion: another implementation, or mathematics.",
        reasons=(
            ("One per cent is within the tolerance.", "np.allclose(run(faulty, f, x), f(np, x))"),
            (
                "Both sides are computed by the same faulty rule.",
                "agrees_with_itself(faulty, f, x) and not computes(faulty, f, x)",
            ),
            ("None of the programs uses `tanh`.", "says(computes, faulty, PROGRAMS) == 'accepts'"),
        ),
    ),
    Prediction(
        id="5.p3",
        question="Is `0.1 + 0.2 == 0.3`? In Python's numbers of 64 bits, and in those of 32 bits? A list of two booleans.",
        setup=SETUP,
        program="[0.1 + 0.2 == 0.3, bool(np.float32(0.1) + np.float32(0.2) == np.float32(0.3))]",
        because="Rounding may hit or miss. A law that asks for equal bits tests the rounding, not the compiler.",
    ),
    Prediction(
        id="5.p4",
        question="The law of caches, tried on `1.0` and `2.0` only, accepts the compiler whose key lacks the dtype. Why?",
        setup=LAWS,
        program='faulty = compiler("key-without-dtype")',
        because="A law says what must hold; cases decide whether anybody looks. Two calls that differ in one thing at a time are a good start.",
        reasons=(
            ("The law is wrong.", "says(remembers, compiler('step 12'), CALLS) == 'catches'"),
            (
                "No case has two dtypes.",
                "says(remembers, faulty, [(1.0, 2.0)]) == 'accepts' and says(remembers, faulty, [(1.0, 1)]) == 'catches'",
            ),
            ("This compiler takes arrays only.", "times_traced(faulty, 1.0) != 1"),
        ),
    ),
    Prediction(
        id="5.p5",
        question="A suite has one function, `2.0 * m.cos(x)`. Which of the eight faulty compilers does it catch? A list of their names, "
        "which are in `DERIVATIVES`.",
        setup=LAWS,
        program="[name for name in DERIVATIVES if caught([lambda m, x: 2.0 * m.cos(x)], name)]",
        because="The rule of `cos`, the minus sign in it on the way back, and the product with a known first factor. In all else it cannot fail.",
    ),
    Prediction(
        id="5.p6",
        question="`x * x` does not catch the compiler with the wrong product rule, and `x * cos(x)` does. Why?",
        setup=LAWS,
        program=text("""
            square, product = (lambda m, x: x * x), (lambda m, x: x * m.cos(x))
        """),
        because="The broken rule takes `y` for `x`. As long as both are the same value, nobody can tell. Symmetric cases hide such faults.",
        reasons=(
            ("The rule of products is only used if a `cos` is there.", "not caught([lambda m, x: x * m.tanh(x)], 'product-rule')"),
            (
                "Both factors of the square are equal, so a rule that exchanges them is right.",
                "not caught([square], 'product-rule') and caught([lambda m, x: x * (x + 1.0)], 'product-rule')",
            ),
            ("The slope of the square is zero at that place.", "abs((0.75 + 1e-5) ** 2 - (0.75 - 1e-5) ** 2) < 1e-9"),
        ),
    ),
)
