"""The predictions of chapter 3."""

from course.chapters.ch03_an_interpreter_is_a_dictionary.exercises import SETUP
from course.exercise import Prediction, text

BOUNDS = "from course.chapters.ch03_an_interpreter_is_a_dictionary.interpreting import bounds, slopes\n"

PREDICTIONS = (
    Prediction(
        id="3.p1",
        question="The dictionary begins with the inputs. How many variables are in it at the end?",
        setup=SETUP,
        program=text("""
            closed = jaxpr_of(lambda x, y: jnp.sin(x) * y + 2.0, 2)
            len(closed.jaxpr.invars) + sum(len(eqn.outvars) for eqn in closed.eqns)
        """),
        because="Two inputs and one for each of three equations; the 2.0 is a literal, and stands in no dictionary.",
    ),
    Prediction(
        id="3.p2",
        question="A rule that always gives 1. What does the program give?",
        setup=SETUP,
        program=text("""
            def one(name, *operands):
                return 1


            interpret(one, jaxpr_of(lambda x, y: (x * y, x), 2), 5, 6)
        """),
        because="The rule speaks for equations. The second result is an input, and no equation made it.",
    ),
    Prediction(
        id="3.p3",
        question="`eval_jaxpr` is run while another function is traced. The outer program has the inner one's equations. Why?",
        setup=SETUP + "from tinytrace.core import eval_jaxpr\n",
        program=text("""
            inner = jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(1.0)
            outer = jax.make_jaxpr(lambda y: eval_jaxpr(inner.jaxpr, inner.consts, y)[0] + 1.0)(3.0)
        """),
        because="It calls `bind` for each equation, and what `bind` does is up to the current trace. So the interpreter is also the "
        "inliner: nobody had to write one.",
        reasons=(
            ("The text of the inner program is copied into the outer one.", "len(outer.eqns) == 1"),
            (
                "The interpreter binds each primitive again, on tracers, and they record it.",
                "[eqn.primitive.name for eqn in outer.eqns] == ['sin', 'mul', 'add'] and "
                "float(eval_jaxpr(inner.jaxpr, inner.consts, 0.0)[0]) == 0.0",
            ),
            ("A jaxpr is computed before it is used: the outer one holds its value.", "'sin' not in str(outer)"),
        ),
    ),
    Prediction(
        id="3.p4",
        question="A thousand rounds of a Python loop, interpreted, take about a hundred times as long as ten. Why?",
        setup=SETUP,
        program=text("""
            def rounds(n):
                def f(x):
                    for _ in range(n):
                        x = x * 0.5
                    return x

                return jaxpr_of(f, 1)


            def asked(closed):
                calls = []
                interpret(lambda name, *operands: calls.append(name) or 0.0, closed, 1.0)
                return len(calls)
        """),
        because="The loop ran while tracing and left one equation for each round. `lax.scan` keeps it a loop: chapter 11.",
        reasons=(
            ("The interpreter runs the Python loop each time.", "'for' in str(rounds(10)) or 'while' in str(rounds(10))"),
            (
                "The program has one equation per round, and the rule is asked once for each.",
                "asked(rounds(1000)) == 100 * asked(rounds(10)) and len(rounds(10).eqns) == 10",
            ),
            ("A larger dictionary is slower to look up.", "asked(rounds(1000)) == asked(rounds(10))"),
        ),
    ),
    Prediction(
        id="3.p5",
        question="`x` lies between -1 and 1. What does the interval rule say of `x - x`?",
        setup=SETUP + BOUNDS,
        program="interpret(bounds, jaxpr_of(lambda x: x - x, 1), (-1.0, 1.0))[0]",
        because="The rule sees two intervals, and not that they are the same variable. It is right, and not as tight as could be: "
        "such is the price of abstract interpretation.",
    ),
    Prediction(
        id="3.p6",
        question="The rule for slopes needs no rule for `x ** 3` written as `x * x * x`. Why not?",
        setup=SETUP + BOUNDS,
        program=text("""
            def cube(x):
                return x * x * x


            def slope(f, x):
                return interpret(slopes, jaxpr_of(f, 1), (x, 1.0))[0][1]
        """),
        because="Programs are compositions of few primitives, and the chain rule composes. That is why a few dozen rules "
        "differentiate everything.",
        reasons=(
            ("The slope of a power is computed by differences.", "abs(slope(cube, 2.0) - 12.0) > 1e-9"),
            (
                "It is made of products, and what holds of each equation composes to the whole.",
                "slope(cube, 2.0) == 12.0 and {eqn.primitive.name for eqn in jaxpr_of(cube, 1).eqns} == {'mul'}",
            ),
            ("Cubes have a rule of their own in the primitive `mul`.", "slopes('mul', (2.0, 1.0), (2.0, 1.0))[1] == 12.0"),
        ),
    ),
)
