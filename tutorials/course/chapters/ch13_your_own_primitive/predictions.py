"""The predictions of chapter 13."""

from course.chapters.ch13_your_own_primitive.exercises import SETUP
from course.exercise import Prediction, text

PREDICTIONS = (
    Prediction(
        id="13.p1",
        question="`wrap` of `[1, 2, 3]` by 4. The elements, as a list.",
        setup=SETUP,
        program="wrapped(np.array([1, 2, 3]), 0, 4).tolist()",
        because="It goes on at the beginning as often as needed: element i is element i modulo 3.",
    ),
    Prediction(
        id="13.p2",
        question="`nonzero(x)` cannot be traced, unless `size=` is given. Why?",
        setup=SETUP,
        program=text("""
            def traces(f):
                try:
                    jax.make_jaxpr(f)(jnp.ones(3))
                    return True
                except jax.errors.ConcretizationTypeError:
                    return False
        """),
        because="Abstract evaluation gets types and must give types. How many elements are not zero is a question about values.",
        reasons=(
            ("Comparisons cannot be traced.", "not traces(lambda x: x != 0)"),
            (
                "The shape of the result depends on values, and while tracing there are only types.",
                "not traces(jnp.nonzero) and traces(lambda x: jnp.nonzero(x, size=2)) and traces(lambda x: jnp.where(x != 0, x, 1.0))",
            ),
            ("Its result is of integers.", "not traces(lambda x: jnp.nonzero(x, size=2)[0])"),
        ),
    ),
    Prediction(
        id="13.p3",
        question="The cotangent of the result is `[1, 1, 1, 1, 1]`, and the operand had two elements. What comes back to them? A list.",
        setup=SETUP,
        program=text("""
            back = np.zeros(2)
            for i, ct in enumerate([1.0, 1.0, 1.0, 1.0, 1.0]):
                back[i % 2] += ct
            back.tolist()
        """),
        because="The first element was copied to 0, 2 and 4, the second one to 1 and 3. Each copy pulls.",
    ),
    Prediction(
        id="13.p4",
        question="The tangent rule of `wrap` is `wrap` itself. Why?",
        setup=SETUP,
        program=text("""
            x, y = array(3), array(3)[::-1]


            def linear(f):
                return np.allclose(f(2 * x + y), 2 * f(x) + f(y))
        """),
        because="What is linear does to moves what it does to values. All that moves elements about is linear, and so are sums.",
        reasons=(
            ("Its derivative is 1.", "np.array_equal(wrapped(x, 0, 2), x)"),
            (
                "It is linear: it moves elements and computes nothing.",
                "linear(lambda x: wrapped(x, 0, 2)) and not linear(lambda x: wrapped(x, 0, 2) ** 2)",
            ),
            ("Every function whose result has another shape is its own tangent rule.", "linear(lambda x: wrapped(x, 0, 2) + 1.0)"),
        ),
    ),
    Prediction(
        id="13.p5",
        question="Examples along dimension 0, to be wrapped along axis 0 of each. Along which axis of the batch? A number.",
        setup=SETUP,
        program=text("""
            one, batch = array(3), np.stack([array(3), array(3)])
            wrapped_one_by_one = np.stack([wrapped(example, 0, 2) for example in batch])
            next(axis for axis in (0, 1) if np.array_equal(wrapped(batch, axis, 2), wrapped_one_by_one))
        """),
        because="The examples stand in front of what was axis 0; it is axis 1 now.",
    ),
    Prediction(
        id="13.p6",
        question="A test of the way back with a cotangent of ones accepts a rule that adds copies at the wrong end. Why?",
        setup=SETUP,
        program=text("""
            def accepted(name, ct, x):
                back = primitive(name).pull(ct, 3, 0)
                return bool(np.allclose(np.vdot(ct, wrapped(x, 0, 2)), np.vdot(back, x)))


            ones, x = np.ones(5, np.float32), array(3)
        """),
        because="With ones everywhere, or with elements that are all alike, nobody can see where something went. Draw cotangents at random.",
        reasons=(
            ("A rule that adds at the wrong end is right.", "accepted('adds at the wrong end', array(5), x)"),
            (
                "If all elements of the operand are the same as well, only the sum is compared.",
                "accepted('adds at the wrong end', ones, np.ones(3, np.float32)) and not accepted('adds at the wrong end', array(5), x)",
            ),
            ("Products with ones are zero.", "np.vdot(ones, ones) == 0"),
        ),
    ),
)
