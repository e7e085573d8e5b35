"""The predictions of chapter 6."""

from course.chapters.ch06_from_equation_to_c.exercises import SETUP
from course.exercise import Prediction, text

PREDICTIONS = (
    Prediction(
        id="6.p1",
        question="Three divisions in C. Their values, as a list.",
        setup=SETUP,
        program='[float(value_of_c(text)) for text in ("5 / 2", "-5 / 2", "5 / 2.0f")]',
        because="Integers divide as integers, cut off towards zero (Python's `//` goes down, to -3). One float is enough to make both floats.",
    ),
    Prediction(
        id="6.p2",
        question="`x * 0.1` in C, where x is a `float`: the machine code converts twice. Why?",
        setup=SETUP,
        program='product = value_of_c("x * 0.1", x=1.0)',
        because="The literal is a double, so x becomes one, and so does the product; storing it converts back. `0.1f` does neither.",
        reasons=(
            ("0.1 has no finite binary form, so it is computed anew each time.", "value_of_c('x * 0.5', x=1.0).dtype == np.float32"),
            (
                "A number without `f` is a double, and what it meets becomes a double.",
                "product.dtype == np.float64 and value_of_c('x * 0.1f', x=1.0).dtype == np.float32",
            ),
            ("Products of floats are always doubles in C.", "value_of_c('x * x', x=1.0).dtype == np.float64"),
        ),
    ),
    Prediction(
        id="6.p3",
        question="An array of shape (2, 3) is walked through with the loop over columns outside: for each column, both rows. "
        "The positions in memory that are read, one after the other, as a list.",
        setup=SETUP,
        program="[i * 3 + j for j in range(3) for i in range(2)]",
        because="Row-major: neighbours in a row are neighbours in memory. This loop jumps, and memory hates that.",
    ),
    Prediction(
        id="6.p4",
        question="`sin(x) * 2.0 + x` for three numbers: how many loops has the C of step 8 of the twelve steps, in which each equation is "
        "on its own, and how many that of step 9? A list of two numbers.",
        setup=SETUP + "from course.chapters.ch05_property_tests_for_programs.laws import X, compiler\n",
        program=text("""
            def loops(m):
                return m.jit(lambda x: m.sin(x) * 2.0 + x).lower(X).as_text().count("for (")


            [loops(compiler("step 8")), loops(compiler("step 9"))]
        """),
        because="Three equations, three loops; fused, one. Between the loops the values go to memory and come back: chapter 7.",
    ),
    Prediction(
        id="6.p5",
        question="A function closes over an array. The array's numbers are not in the C text. Why?",
        setup=SETUP,
        program=text("""
            def text_with(numbers):
                weights = jnp.array(numbers)
                return jax.jit(lambda x: x * weights).lower(jnp.ones(2)).as_text()
        """),
        because="It is one more argument of the C function. So new weights are no new program, and a text stays as long as its equations are.",
        reasons=(
            ("Only short arrays are written into the text.", "text_with([1.5, 2.5]) != text_with([3.5, 4.5])"),
            (
                "It is an argument of the C function: the text is the same whatever the numbers are.",
                "text_with([1.5, 2.5]) == text_with([3.5, 4.5])",
            ),
            ("The C reads it from a file when it runs.", "'fopen' in text_with([1.5, 2.5])"),
        ),
    ),
    Prediction(
        id="6.p6",
        question="The C has comments with names out of your Python. They are escaped first. Why is that needed?",
        setup=SETUP,
        program=text("""
            def result_with(comment):
                y = np.zeros(1, np.float32)
                run_c("void entry(float *y) { y[0] = 1.0f; /* " + comment + " */ }", y)
                return float(y[0])
        """),
        because="Text from outside that is put into a program is a program. The same mistake in other languages has famous names.",
        reasons=(
            ("A C compiler takes comments into account.", "result_with('y[0] = 2.0f;') != 1.0"),
            (
                "A name that holds `*/` ends the comment, and what follows is code.",
                "result_with('*/ y[0] = 7.0f; /*') == 7.0 and result_with('y[0] = 7.0f;') == 1.0",
            ),
            ("Comments must be in English.", "result_with('dépôt') != 1.0"),
        ),
    ),
)
