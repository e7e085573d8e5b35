"""The predictions of chapter 12."""

from course.chapters.ch12_break_the_compiler.exercises import SETUP
from course.exercise import Prediction, text

LAB = SETUP + "from course.chapters.ch12_break_the_compiler.laboratory import SUITE, XS, derives, emits, transposes\n"

PREDICTIONS = (
    Prediction(
        id="12.p1",
        question="In the compiler `sum-overwritten` the C says `=` where it should say `+=`. What does `sum(x)` give for `x = [0.5, 1.25, 2.0]`, "
        "in C?",
        setup=SETUP,
        program='float(stages(compiler("sum-overwritten"), *ROWS["sum(x)"])["emit"])',
        because="The last element overwrites all before it.",
    ),
    Prediction(
        id="12.p2",
        question="The same compiler is right for every array of one element. Why?",
        setup=LAB,
        program='faulty, f = compiler("sum-overwritten"), ROWS["sum(x)"][0]',
        because="One round of the loop cannot tell `=` from `+=`. Tests with arrays of one element test half of the loop.",
        reasons=(
            ("For one element there is no loop in the C.", "'for' not in faulty.jit(lambda x: f(faulty, x)).lower(X[:1]).as_text()"),
            (
                "What is overwritten is the zero at the beginning.",
                "emits(faulty, f, X[:1]) and not emits(faulty, f, X) and emits(faulty, f, np.array([0.0, 0.0, 2.0], np.float32))",
            ),
            ("Small arrays are not compiled, but interpreted.", "not emits(compiler('step 12'), f, X[:1])"),
        ),
    ),
    Prediction(
        id="12.p3",
        question="The law \"forward and backward are each other's transpose\" accepts the compiler with a wrong product rule. Why?",
        setup=LAB,
        program='faulty = compiler("product-rule")',
        because="Backward is made of forward by transposing. A wrong derivative is transposed as well as a right one.",
        reasons=(
            ("No product is among its cases.", "says(transposes, compiler('transpose-of-mul'), DIRECTIONS) == 'accepts'"),
            (
                "Both directions are wrong in the same way.",
                "says(transposes, faulty, DIRECTIONS) == 'accepts' and says(derives, faulty, SUITE) == 'catches'",
            ),
            ("The rule of products is used forward only.", "np.allclose(pull(faulty, *DIRECTIONS[0][:2], DIRECTIONS[0][3]), "
             "pull(compiler('step 12'), *DIRECTIONS[0][:2], DIRECTIONS[0][3]))"),
        ),
    ),
    Prediction(
        id="12.p4",
        question="The compiler `in-axes-ignored` takes examples from dimension 0 whatever `in_axes` says. Which of the five cases in `BATCHES` "
        "catch it? A list of their numbers, from 0.",
        setup=LAB,
        program=text("""
            def notices(case):
                m = compiler("in-axes-ignored")
                return not np.array_equal(at_once(m, *case), one_by_one(*case))


            [i for i, case in enumerate(BATCHES) if notices(case)]
        """),
        because="Only one has its examples along another dimension. Where everything is at its default, nothing can be mistaken for it.",
    ),
    Prediction(
        id="12.p5",
        question="`sum-over-the-batch` adds up examples instead of the elements of each. With a symmetric matrix as the batch nobody notices. Why?",
        setup=LAB,
        program=text("""
            faulty, f = compiler("sum-over-the-batch"), BATCHES[1][0]
            symmetric = XS + XS.T


            def noticed(xs):
                return not np.array_equal(at_once(faulty, f, xs, 0), one_by_one(f, xs, 0))
        """),
        because="Its rows are its columns. Sides of the same length, values that are the same, symmetric inputs: each hides a fault.",
        reasons=(
            ("Sums over rows and over columns are always the same.", "not noticed(XS)"),
            ("Its rows are its columns, so both sums are the same.", "noticed(XS) and not noticed(symmetric)"),
            ("A batch must have as many examples as elements.", "at_once(compiler('step 12'), f, XS[:2], 0).shape != (2,)"),
        ),
    ),
    Prediction(
        id="12.p6",
        question="Which laws catch `key-without-dtype`? A list, of the names `traces`, `emits`, `derives`, `transposes`, `batches`, `prints`, "
        "`remembers`.",
        setup=SETUP,
        program='caught_by("key-without-dtype")',
        because="Each call by itself is right. A cache is wrong between calls, and only a law of two calls can see it.",
    ),
)
