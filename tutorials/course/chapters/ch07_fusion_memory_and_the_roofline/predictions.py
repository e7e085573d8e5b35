"""The predictions of chapter 7."""

from course.chapters.ch07_fusion_memory_and_the_roofline.exercises import SETUP
from course.exercise import Prediction, text

SMALL = SETUP + text("""
    from course.chapters.ch05_property_tests_for_programs.laws import X, compiler
    from course.chapters.ch07_fusion_memory_and_the_roofline.machine import loops_of

    m = compiler("step 12")
""")

MODEL = SETUP + text("""
    def bandwidth(moved, machine):
        return next(speed for size, speed in machine.levels if moved <= size)
""")

PREDICTIONS = (
    Prediction(
        id="7.p1",
        question="`a * b + c`, arrays of 1000 float32. The loop is one. How many bytes does it move?",
        setup=SETUP,
        program=text("""
            x = jnp.ones(1000)
            kernels = jax.jit(lambda a, b, c: a * b + c).lower(x, x, x).kernels
            sum(kernel.bytes_read + kernel.bytes_written for kernel in kernels)
        """),
        because="Three arrays in, one out, four bytes for each element. In two loops it would be half as much again: the product out and in.",
    ),
    Prediction(
        id="7.p2",
        question="`x / sum(exp(x))`: exp, sum, quotient. How many loops does the compiler of step 12 make?",
        setup=SMALL,
        program="loops_of(m, lambda m, x: x / m.sum(m.exp(x)), X)",
        because="One computes the exponentials and adds them up; then the sum is known, and a second one divides.",
    ),
    Prediction(
        id="7.p3",
        question="`x / sum(x)` needs two loops. Why?",
        setup=SMALL,
        program="f = lambda m, x: x / m.sum(x)",
        because="The first element of the result needs the last element of the input. Whatever reads a whole reduction waits for it.",
        reasons=(
            ("A division is too slow to share a loop.", "loops_of(m, lambda m, x: x / 2.0, X) == 2"),
            (
                "Each element of the result needs the whole sum, which is known when its loop has ended.",
                "loops_of(m, f, X) == 2 and loops_of(m, lambda m, x: m.sum(x / 2.0), X) == 1",
            ),
            ("A loop can read an array once only.", "loops_of(m, lambda m, x: x * m.sin(x), X) == 2"),
        ),
    ),
    Prediction(
        id="7.p4",
        question="On ten million numbers `exp(x)`, twenty operations each, takes as long as `x + 1.0` on this made-up machine. Why?",
        setup=MODEL,
        program=text("""
            n = 10_000_000


            def times(operations):
                return operations * n / LAPTOP.flops, 8 * n / bandwidth(8 * n, LAPTOP)
        """),
        because="Both are memory-bound: each number comes four bytes in and goes four bytes out, and that takes longer than twenty operations. "
        "In a fused loop the operations between come free.",
        reasons=(
            ("`exp` is one operation of the processor.", "times(20)[0] == times(1)[0]"),
            (
                "Both wait for memory; computing takes less time than that.",
                "times(20)[0] < times(20)[1] and max(times(20)) == max(times(1)) and max(times(200)) > max(times(1))",
            ),
            ("`x + 1.0` must convert the number 1.0 each time.", "times(1)[0] > times(20)[0]"),
        ),
    ),
    Prediction(
        id="7.p5",
        question="Operations per byte: of `x + 1.0`, and of a product of two matrices of 1000 rows and columns (2 * n * n * n operations). "
        "Two numbers, of float32.",
        setup=SETUP,
        program="[1 / 8, 2 * 1000**3 / (3 * 4 * 1000**2)]",
        because="The sum is far down the slope of the roofline, the product high up under its ceiling. It can use each number a thousand "
        "times, if it keeps it near: that is what *tiling* is for.",
    ),
    Prediction(
        id="7.p6",
        question="`x + 1.0` takes twenty times as long per element on ten million elements as on a thousand. Why?",
        setup=MODEL,
        program=text("""
            def per_element(n, operations=1):
                return max(operations * n / LAPTOP.flops, 8 * n / bandwidth(8 * n, LAPTOP)) / n
        """),
        because="A thousand numbers stay in the cache next to the processor. Measure with sizes that you care about, or you measure another memory.",
        reasons=(
            ("Each call has a fixed cost.", "per_element(1000) > per_element(10_000_000)"),
            (
                "The small array is in a fast cache, the large one only in main memory.",
                "bandwidth(8000, LAPTOP) == 20 * bandwidth(80_000_000, LAPTOP) and per_element(1000, 2000) == per_element(10_000_000, 2000)",
            ),
            ("A long loop computes more for each element.", "per_element(1000, 2000) < per_element(10_000_000, 2000)"),
        ),
    ),
)
