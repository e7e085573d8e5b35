"""The predictions of chapter 9."""

from course.chapters.ch09_reverse_mode_in_three_stages.exercises import SETUP
from course.exercise import Prediction, text

STAGES = SETUP + text("""
    def f(x):
        return jnp.sin(x) * x


    shown = jax.show_stages(jax.grad(f))(2.0)
""")

PREDICTIONS = (
    Prediction(
        id="9.p1",
        question="`x` moves with speed 3 instead of 1. By which factor does the tangent of the result grow?",
        setup=STAGES,
        program='round(float(jax.jvp(f, (2.0,), (3.0,))[1]) / float(jax.jvp(f, (2.0,), (1.0,))[1]), 4)',
        because="In the tangents the program is linear, whatever `f` is: three times the speed, three times the move.",
    ),
    Prediction(
        id="9.p2",
        question="`cos(x)` is needed by the derivative only, and yet it stands in the known part. Why?",
        setup=STAGES,
        program=text("""
            def names(stage):
                return [eqn.primitive.name for eqn in shown[stage].eqns]
        """),
        because="Known is what does not depend on tangents, and `cos(x)` depends on `x` alone. It is computed forward, and kept.",
        reasons=(
            ("`f` itself computes it.", "'cos' in names('function')"),
            (
                "It does not depend on the tangents.",
                "'cos' in names('known') and 'cos' not in names('linear') and 'cos' not in names('function')",
            ),
            ("Everything is in the known part; the linear one is empty.", "names('linear') == []"),
        ),
    ),
    Prediction(
        id="9.p3",
        question="The linear part of the gradient of `sum(x * 2.0)` is turned around. Which primitives are in it then? A list of names.",
        setup=SETUP,
        program=text("""
            stages = jax.show_stages(jax.grad(lambda x: jnp.sum(x * 2.0)))(jnp.ones(3))
            [eqn.primitive.name for eqn in stages["transpose"].eqns]
        """),
        because="The last becomes the first: the sum is turned into its mirror image, which spreads one number over three; then the product.",
    ),
    Prediction(
        id="9.p4",
        question="A loss of a thousand weights: forward mode takes a thousand runs for the gradient, reverse mode one. Why?",
        setup=SETUP,
        program=text("""
            def calls(inputs, outputs, forward):
                def jacobian(push, pull, n, m):
                    ask, count, size = (push, n, n) if forward else (pull, m, m)
                    return [ask([float(j == i) for j in range(size)]) for i in range(count)]

                return jacobian_of([[1.0] * inputs] * outputs, jacobian)[1]
        """),
        because="A run forward answers for one input and all results, a run backward for one result and all inputs. With as many results as "
        "inputs there is no difference.",
        reasons=(
            ("Backward is a faster algorithm, whatever the function.", "calls(2, 50, forward=False) < calls(2, 50, forward=True)"),
            (
                "One run backward gives the derivatives of one result with respect to all inputs, and there is one result.",
                "calls(50, 1, forward=False) == 1 and calls(50, 1, forward=True) == 50",
            ),
            ("Forward mode cannot be used with arrays.", "jax.jvp(jnp.sum, (jnp.ones(3),), (jnp.ones(3),))[1].shape != ()"),
        ),
    ),
    Prediction(
        id="9.p5",
        question="A loop of 20 steps over an array of three numbers, each step `x = sin(x)`. Which types have the residuals that the known part "
        "hands to the linear part? A list of texts such as `f32[3]`.",
        setup=SETUP,
        program=text("""
            def loop(x):
                return jnp.sum(jax.lax.scan(lambda x, _: (jnp.sin(x), None), x, length=20)[0])


            [aval.str_short() for aval in jax.show_stages(jax.grad(loop))(jnp.ones(3))["known"].out_avals[1:]]
        """),
        because="Each step leaves its `cos(x)`, and the loop piles them up: memory grows with the length of the loop.",
    ),
    Prediction(
        id="9.p6",
        question="`where(x > 0, sqrt(x), 0.0)` has the value 0 at -1, and `grad` is NaN there. Why?",
        setup=SETUP,
        program=text("""
            def bare(x):
                return jnp.where(x > 0, jnp.sqrt(x), 0.0)


            def guarded(x):
                return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)


            def is_nan(pair):
                return pair[1] != pair[1]  # backward
        """),
        because="The cotangent of the branch not taken is 0, and it is multiplied by the slope of the root, which is NaN there. Zero does not win.",
        reasons=(
            ("`where` has no derivative.", "is_nan(value_and_slope(bare, 4.0))"),
            (
                "Both branches are differentiated, and 0 times NaN is NaN.",
                "is_nan(value_and_slope(bare, -1.0)) and not is_nan(value_and_slope(guarded, -1.0))",
            ),
            ("The value is NaN, and only printed as 0.", "value_and_slope(bare, -1.0)[0] != 0.0"),
        ),
    ),
)
