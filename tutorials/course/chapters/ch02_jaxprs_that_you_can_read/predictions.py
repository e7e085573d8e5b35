"""The predictions of chapter 2."""

from course.chapters.ch02_jaxprs_that_you_can_read.exercises import SETUP
from course.exercise import Prediction, text

PREDICTIONS = (
    Prediction(
        id="2.p1",
        question="What is the type of the result? Write it as it stands in a jaxpr: `\"f32[3]\"`.",
        setup=SETUP,
        program="jax.make_jaxpr(lambda x: x > 1)(jnp.arange(4)).out_avals[0].str_short()",
        because="A comparison has the shape of its operands, and the dtype `bool`.",
    ),
    Prediction(
        id="2.p2",
        question="Integers and a float: what is the type of the result?",
        setup=SETUP,
        program="jax.make_jaxpr(lambda x: x + 1.0)(jnp.arange(4)).out_avals[0].str_short()",
        because="A Python number has a weak type: it yields within its kind, but a float stays a float.",
    ),
    Prediction(
        id="2.p3",
        question="`1.67 * x` prints as `mul 1.6699999570846558 a`. Why?",
        setup=SETUP + "import numpy as np\n",
        program=text("""
            def literal(number, x):
                return jax.make_jaxpr(lambda x: number * x)(x).eqns[0].invars[0].val
        """),
        because="Twenty-four bits hold seven decimal digits. What is printed is the number that is really multiplied.",
        reasons=(
            ("The printer rounds badly.", "float(repr(float(np.float32(1.67)))) != float(np.float32(1.67))"),
            (
                "No 32-bit float is 1.67; this is the nearest.",
                "float(np.float32(1.67)) == 1.6699999570846558 and abs(np.float32(1.67) - 1.67) < 2**-24",
            ),
            ("Tracing multiplies the number with something first.", "float(literal(1.5, 1.0)) != 1.5"),
        ),
    ),
    Prediction(
        id="2.p4",
        question="One variable is printed as `_`. Why?",
        setup=SETUP,
        program=text("""
            def f(x):
                y = jnp.sin(x)
                return x * 2.0


            shown = str(jax.make_jaxpr(f)(1.0))
        """),
        because="Tracing notes whatever touches a tracer; whether somebody reads the result is known only at the end.",
        reasons=(
            ("Its value is not a number.", "'nan' in shown"),
            (
                "Nothing reads it.",
                "'_:f32[] = sin' in shown and '_' not in str(jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(1.0))",
            ),
            ("Its Python name `y` occurs once.", "'_' in str(jax.make_jaxpr(lambda y: jnp.sin(y))(1.0))"),
        ),
    ),
    Prediction(
        id="2.p5",
        question="How many equations has this program at its top level?",
        setup=SETUP,
        program="len(jax.make_jaxpr(lambda x: jnp.where(x > 0.0, x, 0.0))(jnp.ones(3)).eqns)",
        because="The comparison, and one call: `jnp.where` is a jitted function, so its own equations stand inside `pjit`.",
    ),
    Prediction(
        id="2.p6",
        question="The function has an `if`, and its jaxpr has none. Why?",
        setup=SETUP,
        program=text("""
            def f(x):
                if x.shape[0] > 2:
                    return jnp.sin(x)
                return jnp.cos(x)


            def operations(x):
                return [eqn.primitive.name for eqn in jax.make_jaxpr(f)(x).eqns]
        """),
        because="A shape is known while tracing, so Python chose. Another shape is another program.",
        reasons=(
            (
                "The condition asks for a shape, which tracing knows, so Python took a branch.",
                "operations(jnp.ones(3)) == ['sin'] and operations(jnp.ones(2)) == ['cos']",
            ),
            ("Both branches are traced, and one is removed later.", "'cos' in operations(jnp.ones(3))"),
            ("Conditions are never allowed in traced functions, and are ignored.", "operations(jnp.ones(2)) == ['sin']"),
        ),
    ),
    Prediction(
        id="2.p7",
        question="An array that the function closes over stands before the `;`, a number does not. Why?",
        setup=SETUP,
        program=text("""
            weights = jnp.arange(3.0)


            def head(value):
                return str(jax.make_jaxpr(lambda x: value * x)(1.0)).partition(";")[0]
        """),
        because="So the text, and with it what is compiled, does not depend on the values of weights: new weights need no new program.",
        reasons=(
            ("Arrays are inputs that the caller must pass.", "len(jax.make_jaxpr(lambda x: weights * x)(1.0).in_avals) == 2"),
            (
                "An array is handed over beside the text, as a constant; a number is part of the text.",
                "':f32[3]' in head(weights) and ':' not in head(2.0) and len(jax.make_jaxpr(lambda x: weights * x)(1.0).consts) == 1",
            ),
            ("Only values that change between calls stand there.", "':' in head(2.0) or ':' not in head(weights)"),
        ),
    ),
)
