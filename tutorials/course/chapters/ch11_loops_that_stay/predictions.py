"""The predictions of chapter 11."""

from course.chapters.ch11_loops_that_stay.exercises import SETUP
from course.exercise import Prediction, text

PREDICTIONS = (
    Prediction(
        id="11.p1",
        question="A hundred rounds of `x * 0.5`: how many equations has the program with Python's `for`, and how many with `scan`, its "
        "body included? A list of two numbers.",
        setup=SETUP,
        program=text("""
            def unrolled(x):
                for _ in range(100):
                    x = x * 0.5
                return x


            def looped(x):
                return lax.scan(lambda x, _: (x * 0.5, None), x, length=100)[0]


            [equations(unrolled, 1.0), equations(looped, 1.0)]
        """),
        because="Python's loop runs while tracing, and leaves what it did. A scan is one equation, with one step as its parameter.",
    ),
    Prediction(
        id="11.p2",
        question="A `scan` of a thousand steps is traced. How often does Python call the body?",
        setup=SETUP,
        program=text("""
            calls = []


            def body(carry, x):
                calls.append(1)
                return carry + x, None


            jax.make_jaxpr(lambda xs: lax.scan(body, 0.0, xs)[0])(jnp.ones(1000))
            len(calls)
        """),
        because="One step is traced, with tracers for carry and row. That is why a carry must have one type, and why nothing in the body can "
        "depend on which step it is, but by values.",
    ),
    Prediction(
        id="11.p3",
        question="`scan(step, jnp.int32(0), xs)` with `carry + x` and float rows is refused; `scan(step, 0, xs)` is not. Why?",
        setup=SETUP,
        program=text("""
            def accepted(init):
                try:
                    jax.make_jaxpr(lambda xs: lax.scan(lambda carry, x: (carry + x, None), init, xs)[0])(jnp.ones(3))
                    return True
                except TypeError:
                    return False
        """),
        because="A Python number is weak, and becomes what the loop makes of it. `int32` was somebody's decision.",
        reasons=(
            ("Zero as an int32 is not exactly zero as a float32.", "not accepted(jnp.float32(0))"),
            ("A weak type yields, a strong one must stay.", "accepted(0) and not accepted(jnp.int32(0)) and accepted(jnp.float32(0))"),
            ("A carry must be a Python number.", "not accepted(jnp.float32(0)) and accepted(0)"),
        ),
    ),
    Prediction(
        id="11.p4",
        question="Five steps; each puts out an array of two numbers. The type of what `scan` puts out, as a text such as `f32[3]`.",
        setup=SETUP,
        program=text("""
            def f(xs):
                return lax.scan(lambda carry, x: (carry, jnp.stack([x, carry])), 0.0, xs)[1]


            jax.make_jaxpr(f)(jnp.ones(5)).out_avals[0].str_short()
        """),
        because="One row for each step: the length of the loop becomes the first dimension.",
    ),
    Prediction(
        id="11.p5",
        question="`grad` of a `while_loop` is refused; forward mode is not. Why?",
        setup=SETUP,
        program=text("""
            def until_large(x):
                return lax.while_loop(lambda x: x < 100.0, lambda x: x * x, x)


            def three_steps(x):
                return lax.scan(lambda x, _: (x * x, None), x, length=3)[0]


            def works(transformed, *args):
                try:
                    jax.make_jaxpr(transformed)(*args)
                    return True
                except ValueError:
                    return False


            def forward(f):
                return lambda x: jax.jvp(f, (x,), (1.0,))[1]
        """),
        because="On the way back each step needs what it had on the way there, and an array for an unknown number of steps cannot be made. "
        "Forward, tangents go along with the values and nothing is kept.",
        reasons=(
            ("`while_loop` has no derivative at all.", "not works(forward(until_large), 2.0)"),
            (
                "Backward needs a record of each step, and the number of steps is not known.",
                "not works(jax.grad(until_large), 2.0) and works(forward(until_large), 2.0) and works(jax.grad(three_steps), 2.0)",
            ),
            ("The predicate is not differentiable.", "not works(jax.grad(lambda x: jnp.where(x < 100.0, x, 0.0)), 2.0)"),
        ),
    ),
    Prediction(
        id="11.p6",
        question="Joining texts can be done in few rounds (exercise 11.5), and `carry = 0.5 * carry + x` looks as if it could not, and can. Why?",
        setup=SETUP,
        program=text("""
            def then(first, second):
                \"\"\"The step `carry -> a * carry + b` after another one, as one step.\"\"\"
                (a, b), (c, d) = first, second
                return a * c, c * b + d


            one, two, three = (0.5, 1.0), (0.5, 2.0), (0.5, 3.0)
        """),
        because="Two steps in a row are again a step of that kind, and taking steps together is associative. `carry = sin(carry)` has no such form.",
        reasons=(
            ("Addition of floats can be done in any order.", "0.1 + (0.2 + 0.3) == (0.1 + 0.2) + 0.3"),
            (
                "Two such steps make one such step, and taking them together is associative.",
                "then(then(one, two), three) == then(one, then(two, three)) and then(one, two)[0] == 0.25",
            ),
            ("Taking steps together is commutative.", "then(one, two) == then(two, one)"),
        ),
    ),
)
