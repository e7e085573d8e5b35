"""The exercises of chapter 13."""

from hypothesis import strategies as st

from course.cases import template
from course.chapters.ch13_your_own_primitive.wrap import FAULTY, RIGHT
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch05_property_tests_for_programs.laws import says
from course.chapters.ch13_your_own_primitive.wrap import (
    TRIALS, array, batched, cut, elements, padded, primitive, pulled, typed, wrapped,
)
"""

# --- 13.1 --------------------------------------------------------------------------------------------------------

TYPE = text("""
    def wrap_type(x, axis, by):
        if not 0 <= axis < x.ndim or by < 0 or x.shape[axis] == 0:
            raise TypeError(f"wrap: {x.str_short()}, axis {axis}, by {by}")
        shape = list(x.shape)
        shape[axis] += by
        return x.update(shape=tuple(shape))
""")

TYPE_EXERCISE = Exercise(
    id="13.1",
    title="abstract evaluation",
    objective="You can say the type of a result before there is one.",
    needs=("primitive", "aval", "abstract evaluation"),
    out_of_scope="negative axes.",
    task="""
`wrap(x, axis, by)` makes `x` longer by `by` along `axis`, going on at its beginning. Write `wrap_type(x, axis, by)`: the type of the
result, from the type `x` (it has `ndim`, `shape`, `dtype`, `weak_type`, and `x.update(shape=...)` is the same type with another
shape). An axis that is not there, a negative `by`, or an axis of length 0, where there is nothing to go on with, is a TypeError.
""",
    setup=SETUP,
    entry="wrap_type",
    stub=text('''
        def wrap_type(x, axis, by):
            """The type of `wrap` of something of type `x`."""
            ...
    '''),
    solution=TYPE,
    wrong=(
        (
            edit(TYPE, ("    return x.update(shape=tuple(shape))", "    return type(x)(tuple(shape), np.dtype('float32'), x.weak_type)")),
            "The result of integers is integers: take the dtype from the operand.",
        ),
        (
            edit(TYPE, ("    return x.update(shape=tuple(shape))", "    return x.update(shape=tuple(shape), weak_type=False)")),
            "Moving elements about does not make a weak type strong.",
        ),
        (
            edit(TYPE, ("shape[axis] += by", "shape[-1] += by")),
            "You lengthen the last dimension, whatever the axis.",
        ),
        (
            edit(TYPE, ("not 0 <= axis < x.ndim or ", "not axis < x.ndim or ")),
            "An axis of -1 goes through here and means something else in the next rule. Refuse it, or count it from the end everywhere.",
        ),
        (
            edit(TYPE, ("or by < 0 ", "")),
            "A negative `by` would cut something off; that is another operation.",
        ),
        (
            edit(TYPE, (" or x.shape[axis] == 0", "")),
            "Of nothing, nothing can be repeated: an axis of length 0 must be refused here, or C divides by it later.",
        ),
    ),
    hints=(
        "First refuse what makes no sense, then change one side of the shape.",
        "`x.update(shape=...)` keeps dtype and weakness.",
        "`shape = list(x.shape); shape[axis] += by`",
    ),
    properties=(
        Property(
            "The type, or a TypeError.",
            template(
                "typed(wrap_type, {shape}, {dtype}, {weak}, {axis}, {by})",
                shape=st.sampled_from(["(3,)", "(2, 3)", "(2, 3, 4)", "()", "(0, 2)"]),
                dtype=st.sampled_from(['"float32"', '"int32"', '"bool"']),
                weak=st.sampled_from(["False", "True"]),
                axis=st.sampled_from(["0", "1", "-1"]),
                by=st.sampled_from(["2", "0", "5", "-1"]),
            ),
            ('typed(wrap_type, (2, 3), "float32", False, 1, 2)', 'typed(wrap_type, (3,), "int32", False, 1, 2)'),
        ),
    ),
    after="This rule runs while tracing, so its errors are the ones that point to the user's line. Say in them what, where, and what to do.",
)

# --- 13.2 --------------------------------------------------------------------------------------------------------

ELEMENT = text("""
    def wrap_element(i, read, axis, n):
        source = list(i)
        source[axis] = i[axis] % n
        return read(0, tuple(source))
""")

ELEMENT_EXERCISE = Exercise(
    id="13.2",
    title="one element, in C",
    objective="You can say in C what a primitive does.",
    needs=("primitive", "lowering"),
    out_of_scope="loops, buffers, threads: the code generator has them.",
    task="""
An operation that only moves elements is lowered by saying which element of the operand is element `i` of the result. Write
`wrap_element(i, read, axis, n)`: `i` is a tuple of indices, `n` the length of the *operand* along `axis`, and `read(0, index)` reads
operand 0. The same function runs on numbers and on expressions of C: use `+ - * // %`, no `if`.
""",
    setup=SETUP,
    entry="wrap_element",
    stub=text('''
        def wrap_element(i, read, axis, n):
            """Element `i` of the result."""
            ...
    '''),
    solution=ELEMENT,
    wrong=(
        (
            edit(ELEMENT, ("i[axis] % n", "i[axis] - n * (i[axis] >= n)")),
            "You go back to the beginning once. If `by` is larger than the operand, once is not enough.",
        ),
        (
            edit(ELEMENT, ("i[axis] % n", "i[axis]")),
            "You read behind the end of the operand. C does not tell you.",
        ),
        (
            edit(ELEMENT, ("source[axis] = i[axis] % n", "source[0] = i[0] % n")),
            "Your index goes round along axis 0, whatever `axis` is.",
        ),
        (
            edit(ELEMENT, ("i[axis] % n", "min(i[axis], n - 1)")),
            "You repeat the last element. `wrap` goes on at the beginning.",
        ),
        (
            edit(ELEMENT, ("source[axis] = i[axis] % n", "source = [index % n for index in i]")),
            "All indices go round with you. Only the one along `axis` does.",
        ),
        (
            edit(ELEMENT, ("i[axis] % n", "n - 1 - i[axis] % n")),
            "You go through the operand from its end.",
        ),
    ),
    hints=(
        "All indices stay as they are, but one.",
        "Element n is element 0 again, element n + 1 is element 1: which operation says that?",
        "`i[axis] % n`",
    ),
    properties=(
        Property(
            "Every element is the right one.",
            st.sampled_from([
                "elements(wrap_element, (3,), axis=0, by=2)", "elements(wrap_element, (2, 3), axis=1, by=2)",
                "elements(wrap_element, (2, 3), axis=0, by=1)", "elements(wrap_element, (2,), axis=0, by=5)",
                "elements(wrap_element, (1, 4), axis=0, by=3)", "elements(wrap_element, (4,), axis=0, by=0)",
                "elements(wrap_element, (4, 2), axis=1, by=1)", "elements(wrap_element, (2, 4), axis=1, by=6)",
            ]),
            ("elements(wrap_element, (3,), axis=0, by=2)", "elements(wrap_element, (2, 3), axis=1, by=2)"),
        ),
    ),
    after="This is an `IndexMap`, one of a dozen kinds in `core/kinds.py`. The code generator knows kinds; it has never heard of `wrap`.",
)  # fmt: skip

# --- 13.3 --------------------------------------------------------------------------------------------------------

TRANSPOSE = text("""
    def wrap_transpose(ct, n, axis):
        size = ct.shape[axis]
        total = cut(ct, 0, n, axis)
        for start in range(n, size, n):
            total = total + padded(cut(ct, start, min(start + n, size), axis), n, axis)
        return total
""")

TRANSPOSE_EXERCISE = Exercise(
    id="13.3",
    title="its derivative",
    objective="You can write the transpose of a linear primitive.",
    needs=("cotangent", "linear", "primitive"),
    out_of_scope="forward mode: `wrap` of the tangent.",
    task="""
`wrap` copies elements, so on the way back the copies are added. Write `wrap_transpose(ct, n, axis)`: the cotangent of the operand, which
has length `n` along `axis`, from the cotangent `ct` of the result. It is traced: use `cut(x, start, stop, axis)`,
`padded(x, n, axis)` (zeros behind, up to length `n`) and sums.
""",
    setup=SETUP,
    entry="wrap_transpose",
    stub=text('''
        def wrap_transpose(ct, n, axis):
            """The cotangent of the operand."""
            ...
    '''),
    solution=TRANSPOSE,
    wrong=(
        (
            edit(TRANSPOSE, ("        total = total + padded(cut(ct, start, min(start + n, size), axis), n, axis)", "        pass")),
            "You cut off what was repeated. These elements came from the operand, too, and pull at it.",
        ),
        (
            edit(TRANSPOSE, ("range(n, size, n)", "[n] if size > n else []")),
            "You fold once. A short operand is in the result many times.",
        ),
        (
            edit(TRANSPOSE, ("padded(cut(ct, start, min(start + n, size), axis), n, axis)", "jnp.flip(padded(jnp.flip(cut(ct, start, min(start + n, size), axis), axis), n, axis), axis)")),
            "The last piece is shorter, and belongs to the beginning of the operand, not to its end.",
        ),
        (
            edit(TRANSPOSE, ("total = cut(ct, 0, n, axis)", "axis, total = 0, cut(ct, 0, n, 0)"), ("size = ct.shape[axis]", "size = ct.shape[0]")),
            "You fold along axis 0, whatever the axis.",
        ),
        (
            edit(TRANSPOSE, ("    return total", "    return total * (n / size)")),
            "You take the mean of the copies. Each of them counts in full.",
        ),
        (
            edit(TRANSPOSE, ("total = total + padded", "total = padded")),
            "You keep the last copy. Where several contributions come back they are added.",
        ),
    ),
    hints=(
        "Element 0 of the operand is in the result at 0, n, 2n, ...: all these are added.",
        "Cut the cotangent into pieces of length n; the last may be shorter.",
        "`padded` makes the last piece as long as the others, then add them all.",
    ),
    properties=(
        Property(
            "All copies are added.",
            st.sampled_from([
                "pulled(wrap_transpose, (5,), 3, 0)", "pulled(wrap_transpose, (2, 5), 3, 1)", "pulled(wrap_transpose, (7,), 2, 0)",
                "pulled(wrap_transpose, (3, 3), 2, 0)", "pulled(wrap_transpose, (4,), 4, 0)", "pulled(wrap_transpose, (5,), 1, 0)",
                "pulled(wrap_transpose, (2, 7), 3, 1)",
            ]),
            ("pulled(wrap_transpose, (5,), 3, 0)", "pulled(wrap_transpose, (7,), 2, 0)"),
        ),
    ),
    after="A primitive and its transpose belong together: `slice` and `pad`, `broadcast_in_dim` and `reduce_sum`, `gather` and "
    "`scatter_add`.",
)  # fmt: skip

# --- 13.4 --------------------------------------------------------------------------------------------------------

BATCH = text("""
    def wrap_batch(dim, axis):
        return axis + (axis >= dim), dim
""")

BATCH_EXERCISE = Exercise(
    id="13.4",
    title="its batching rule",
    objective="You can batch what has an axis.",
    needs=("batching rule", "batch dimension", "primitive"),
    out_of_scope="the call itself: the rule binds `wrap` again, with what you return.",
    task="""
An operand holds many examples along `dim`; each is to be wrapped along `axis`, which counts the dimensions of one example. One `wrap` of
the whole does it. Write `wrap_batch(dim, axis)`: along which axis, and along which dimension the examples are in the result.
""",
    setup=SETUP,
    entry="wrap_batch",
    stub=text('''
        def wrap_batch(dim, axis):
            """The axis in the batch, and the dimension of the examples in the result."""
            return axis, dim
    '''),
    solution=BATCH,
    wrong=(
        (
            edit(BATCH, ("(axis >= dim)", "1")),
            "That is right if the examples are in front. Behind the axis they do not move it.",
        ),
        (
            edit(BATCH, ("axis >= dim", "axis > dim")),
            "If both have the same number, it is the examples that stand there; the axis is one further on.",
        ),
        (
            edit(BATCH, (", dim\n", ", 0\n")),
            "`wrap` leaves all dimensions where they are, that of the examples, too.",
        ),
        (
            edit(BATCH, ("return axis + (axis >= dim), dim", "return dim, axis")),
            "You exchange the two: the examples are wrapped.",
        ),
        (
            edit(BATCH, ("axis + (axis >= dim)", "axis - (axis >= dim)")),
            "There is one dimension more in the batch, not one less.",
        ),
    ),
    hints=(
        "Draw the dimensions of one example, then insert that of the examples at `dim`.",
        "Axes in front of `dim` keep their number, all others get one more.",
        "`axis + (axis >= dim)`; and the examples stay where they are.",
    ),
    properties=(
        Property(
            "Each example is wrapped.",
            st.sampled_from([
                f"batched(wrap_batch, (2, 3, 4), dim={dim}, axis={axis}, by={by})" for dim in (0, 1, 2) for axis in (0, 1) for by in (1, 3)
            ]),
            ("batched(wrap_batch, (2, 3), dim=0, axis=0, by=1)", "batched(wrap_batch, (2, 3), dim=1, axis=0, by=1)"),
        ),
    ),
    after="`inserted` in `primitives/checks.py` does this for all parameters that have one entry for each dimension.",
)

# --- 13.5 --------------------------------------------------------------------------------------------------------

LAW = text("""
    def obeys(p, x, axis, by, ct):
        result = p.wrap(x, axis, by)
        right = np.array_equal(result, wrapped(x, axis, by))
        typed = p.shape(x.shape, axis, by) == wrapped(x, axis, by).shape
        back = p.pull(ct, x.shape[axis], axis)
        mirrored = np.allclose(np.vdot(ct, wrapped(x, axis, by)), np.vdot(back, x), rtol=1e-4)
        return right and typed and mirrored
""")


def says(name):
    return f'says(obeys, primitive("{name}"), TRIALS)'


LAW_EXERCISE = Exercise(
    id="13.5",
    title="its tests",
    objective="You can write the tests that a primitive of yours must pass.",
    needs=("primitive", "cotangent", "property", "planted fault"),
    out_of_scope="dtypes, and inputs that must be refused.",
    task="""
Somebody hands in a primitive: `p.wrap(x, axis, by)`, `p.shape(shape, axis, by)` and `p.pull(ct, n, axis)`. Write
`obeys(p, x, axis, by, ct)`: whether all three rules hold for this operand and this cotangent of the result. `wrapped(x, axis, by)` is
the meaning, in NumPy. For the way back: `ct` times the result is what comes back times `x`, up to rounding.
""",
    setup=SETUP,
    entry="obeys",
    stub=text('''
        def obeys(p, x, axis, by, ct):
            """Whether the rules of the primitive `p` hold here."""
            ...
    '''),
    solution=LAW,
    wrong=(
        (
            edit(LAW, ("return right and typed and mirrored", "return len(p.shape(x.shape, axis, by)) == result.ndim")),
            "You compare how many dimensions there are. Every primitive in this exercise passes.",
        ),
        (
            edit(LAW, ("return right and typed and mirrored", "return right and typed")),
            "Nothing is said of the way back.",
        ),
        (
            edit(LAW, ("return right and typed and mirrored", "return typed and mirrored")),
            "The result itself is not looked at.",
        ),
        (
            edit(LAW, ("return right and typed and mirrored", "return right and mirrored")),
            "What the primitive says of its shape is not compared with the shape that it has.",
        ),
        (
            edit(LAW, ("mirrored = np.allclose(np.vdot(ct, wrapped(x, axis, by)), np.vdot(back, x), rtol=1e-4)", "mirrored = np.allclose(back.sum(), ct.sum(), rtol=1e-4)")),
            "You compare sums. What comes back at the wrong element has the same sum.",
        ),
        (
            edit(LAW, ("np.allclose(np.vdot(ct, wrapped(x, axis, by)), np.vdot(back, x), rtol=1e-4)", "float(np.vdot(ct, wrapped(x, axis, by))) == float(np.vdot(back, x))")),
            "You demand every bit on the way back; sums may be rounded in different ways.",
        ),
        (
            edit(LAW, ("right = np.array_equal(result, wrapped(x, axis, by))", "right = np.array_equal(result[:1], wrapped(x, axis, by)[:1])")),
            "You look at the first row. What is new stands at the end.",
        ),
    ),
    hints=(
        "Three truths, and all of them must hold.",
        "The result equals `wrapped(x, axis, by)`; the shape that is promised is the shape of that.",
        "`np.vdot(ct, wrapped(...))` and `np.vdot(p.pull(ct, n, axis), x)` agree up to rounding.",
    ),
    properties=(
        Property("It accepts every right primitive.", st.sampled_from([says(name) for name in RIGHT]), (says("right"),)),
        Property("It catches the faulty ones.", st.sampled_from([says(name) for name in FAULTY]), (says("cuts off"),)),
    ),
    after="In the project these are not yours to write: the tests over the registry find each primitive, and hold it to these laws and to "
    "six more.",
    clues=('obeys(primitive("right"), *TRIALS[0])',),
)  # fmt: skip

EXERCISES = (TYPE_EXERCISE, ELEMENT_EXERCISE, TRANSPOSE_EXERCISE, BATCH_EXERCISE, LAW_EXERCISE)
