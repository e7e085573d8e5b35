"""The predictions of chapter 10."""

from course.chapters.ch10_vmap_and_pytrees.exercises import SETUP
from course.exercise import Prediction, text

NAMES = SETUP + text("""
    def primitives(f, *args):
        return [eqn.primitive.name for eqn in jax.make_jaxpr(f)(*args).eqns]
""")

PREDICTIONS = (
    Prediction(
        id="10.p1",
        question="The leaves of this tree, in order, as a list.",
        setup=SETUP,
        program='tree_leaves({"b": 1, "a": [2, None, (3, "x")]})',
        because="Keys are sorted, so that equal dictionaries have equal leaves; `None` is a container with nothing in it; a text is a leaf.",
    ),
    Prediction(
        id="10.p2",
        question="The shape of the result, as a tuple: examples along dimension 1.",
        setup=SETUP,
        program="jax.make_jaxpr(jax.vmap(lambda x: x * 2.0, in_axes=1))(jnp.ones((2, 3))).out_avals[0].shape",
        because="Three examples of two numbers. Results have their examples in front, unless `out_axes` says otherwise.",
    ),
    Prediction(
        id="10.p3",
        question="The program of `vmap(sum)` sums over axis 1, while `sum` of one example sums over axis 0. Why?",
        setup=NAMES,
        program=text("""
            def axes(f, x):
                return [eqn.params["axes"] for eqn in jax.make_jaxpr(f)(x).eqns if eqn.primitive.name == "reduce_sum"]
        """),
        because="The rule of sums moved it. Nothing else is left of `vmap` in the program: it is gone when tracing ends.",
        reasons=(
            ("`vmap` sums over the examples as well.", "axes(jax.vmap(jnp.sum), jnp.ones((4, 3))) == [(0, 1)]"),
            (
                "The examples take dimension 0, so the axis of an example is one further on.",
                "axes(jnp.sum, jnp.ones(3)) == [(0,)] and axes(jax.vmap(jnp.sum), jnp.ones((4, 3))) == [(1,)] "
                "and axes(jax.vmap(jnp.sum, in_axes=1), jnp.ones((3, 4))) == [(0,)]",
            ),
            ("Sums are done along the longer axis.", "axes(jax.vmap(jnp.sum), jnp.ones((3, 4))) == [(0,)]"),
        ),
    ),
    Prediction(
        id="10.p4",
        question="How many equations has `vmap(f)` for ten examples, and for ten thousand? A list of two numbers; `f` has two equations.",
        setup=NAMES,
        program='[len(primitives(jax.vmap(lambda x: jnp.sin(x) * 2.0), jnp.ones(n))) for n in (10, 10_000)]',
        because="There is no loop over examples. Each operation does all of them, and the number only stands in the shapes.",
    ),
    Prediction(
        id="10.p5",
        question="`x + v`, where one example of `x` is a number and one of `v` a row: the mapped program has a `broadcast_in_dim`. Why?",
        setup=NAMES,
        program=text("""
            def add(x, v):
                return x + v
        """),
        because="A batch of numbers is a row, and NumPy would add it to the rows of the other: example 1 to element 1. The new dimension keeps "
        "examples apart.",
        reasons=(
            ("`vmap` always inserts one.", "'broadcast_in_dim' in primitives(jax.vmap(add), jnp.ones(4), jnp.ones(4))"),
            (
                "The numbers need a dimension of length 1 behind that of the examples, or they meet the wrong elements.",
                "'broadcast_in_dim' in primitives(jax.vmap(add), jnp.ones(4), jnp.ones((4, 3))) and "
                "'broadcast_in_dim' not in primitives(jax.vmap(add), jnp.ones((4, 3)), jnp.ones((4, 3)))",
            ),
            ("A number and a row cannot be added otherwise.", "'broadcast_in_dim' not in primitives(jax.vmap(add), jnp.ones(4), jnp.ones((4, 3)))"),
        ),
    ),
    Prediction(
        id="10.p6",
        question="Under `vmap` a `cond` whose condition differs between examples computes both branches. Why?",
        setup=NAMES,
        program=text("""
            def f(x, flag):
                return jax.lax.cond(flag, jnp.sin, jnp.cos, x)


            xs, flags = jnp.ones(3), jnp.array([True, False, True])
        """),
        because="There is one program for all examples, and it cannot go two ways. So each way is gone by all, and `select_n` picks. A condition "
        "that is the same for all stays a `cond`.",
        reasons=(
            ("`cond` always computes both branches.", "'cond' not in primitives(f, 1.0, True)"),
            (
                "One program runs for all examples: it computes both and picks for each.",
                "'select_n' in primitives(jax.vmap(f), xs, flags) and 'cond' in primitives(jax.vmap(f, in_axes=(0, None)), xs, True)",
            ),
            ("Booleans cannot be mapped.", "primitives(jax.vmap(jnp.logical_not), flags) != ['not']"),
        ),
    ),
)
