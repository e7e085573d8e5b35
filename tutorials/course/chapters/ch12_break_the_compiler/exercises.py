"""The exercises of chapter 12."""

from hypothesis import strategies as st

from course.cases import template
from course.chapters.ch05_property_tests_for_programs.exercises import judged_by
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import numpy as np
from course.chapters.ch05_property_tests_for_programs.laws import X, run, says
from course.chapters.ch12_break_the_compiler.laboratory import (
    BATCHES, DIRECTIONS, OPERATIONS, ROWS, at_once, caught_by, compiler, one_by_one, pull, push, replacing, stages,
)
"""

# --- 12.1 --------------------------------------------------------------------------------------------------------

WRONG_STAGE = text("""
    def first_wrong(values):
        for stage, value in values.items():
            if isinstance(value, Exception) or np.shape(value) != np.shape(values["numpy"]):
                return stage
            if not np.allclose(value, values["numpy"], rtol=1e-4, equal_nan=True):
                return stage
        return None
""")
VALUES = ("[1.0, 2.0]", "[1.0, 2.00001]", "[1.0, 2.5]", "[1.0, np.nan]", "1.0", "ValueError()")

WRONG_STAGE_EXERCISE = Exercise(
    id="12.1",
    title="in which stage?",
    objective="You can find out where a program goes wrong.",
    needs=("differential testing",),
    out_of_scope="why it goes wrong.",
    task="""
`stages(m, f, x)` is a dictionary: what a function gives in NumPy, as it was traced, after simplifying, in C, in this order. A stage that
raised has the error as its value. Write `first_wrong(values)`: the name of the first stage that disagrees with `"numpy"`, or None.
Rounding is no disagreement, another shape is; NaN agrees with NaN.
""",
    setup=SETUP,
    entry="first_wrong",
    stub=text('''
        def first_wrong(values):
            """The name of the first stage that disagrees with NumPy, or None."""
            return "?"
    '''),
    solution=WRONG_STAGE,
    wrong=(
        (
            edit(WRONG_STAGE, ("values.items()", "reversed(values.items())")),
            "You name the last stage that is wrong. Those behind the culprit inherit what it did.",
        ),
        (
            edit(WRONG_STAGE, (' or np.shape(value) != np.shape(values["numpy"])', "")),
            "Shapes are not compared: one number agrees with a row of such numbers if NumPy may repeat it.",
        ),
        (
            edit(WRONG_STAGE, ('not np.allclose(value, values["numpy"], rtol=1e-4, equal_nan=True)', 'np.asarray(value).tolist() != np.asarray(values["numpy"]).tolist()')),
            "You demand every bit. Right stages may round in different ways.",
        ),
        (
            edit(WRONG_STAGE, (", equal_nan=True", "")),
            "Where NumPy has NaN, NaN is right. But NaN is not equal to itself.",
        ),
        (
            edit(WRONG_STAGE, ("isinstance(value, Exception) or ", "")),
            "A stage that raised has no number to compare; it is wrong, and that is the answer.",
        ),
        (
            edit(WRONG_STAGE, ("    return None", "    return stage")),
            "If all stages agree there is no culprit: None.",
        ),
    ),
    hints=(
        "Go through the stages in order and stop at the first that disagrees.",
        "An error disagrees; so does another shape; then compare numbers with a tolerance.",
        "`np.allclose(..., rtol=1e-4, equal_nan=True)`",
    ),
    properties=(
        Property(
            "The first stage that disagrees.",
            template(
                'first_wrong({{"numpy": {numpy}, "trace": {trace}, "emit": {emit}}})',
                numpy=st.sampled_from(["[1.0, 2.0]", "[1.0, np.nan]", "[1.0, 1.0]", "1.0"]),
                trace=st.sampled_from(VALUES),
                emit=st.sampled_from(VALUES),
            ),
            ('first_wrong({"numpy": [1.0, 2.0], "trace": [1.0, 2.0], "emit": [1.0, 2.5]})',),
        ),
        Property(
            "So it is for compilers.",
            st.sampled_from([
                f'first_wrong(stages(compiler("{name}"), *ROWS["{row}"]))'
                for name, row in (("sum-overwritten", "sum(x)"), ("right-operand", "2 - x"), ("step 12", "cos(x) * x"),
                                  ("live-by-first-operand", "cos(x) * x"), ("short-numbers", "x * 1.3125"))
            ]),
            ('first_wrong(stages(compiler("sum-overwritten"), *ROWS["sum(x)"]))',),
        ),
    ),
    after="`TINYTRACE_VERIFY=1` does this inside of tinytrace: after each pass the program is run in NumPy, and the first pass that changes "
    "the result is named.",
)  # fmt: skip

# --- 12.2 --------------------------------------------------------------------------------------------------------

TRANSPOSES = text("""
    def mirrors(m, f, x, t, ct):
        return abs(np.vdot(ct, push(m, f, x, t)) - np.vdot(pull(m, f, x, ct), t)) < 1e-3
""")

TRANSPOSES_EXERCISE = Exercise(
    id="12.2",
    title="a law without a reference",
    objective="You can test something without knowing the right answer.",
    needs=("cotangent", "tangent", "property"),
    out_of_scope="whether the derivative itself is right.",
    task="""
Forward and backward are each other's transpose: for any tangent `t` and cotangent `ct`, `ct` times what `t` becomes forward is `t`
times what `ct` becomes backward. Write that law, `mirrors(m, f, x, t, ct)`, with `push(m, f, x, t)` and `pull(m, f, x, ct)`.
`np.vdot(a, b)` is the sum of all products. The numbers are float32.
""",
    setup=SETUP,
    entry="mirrors",
    stub=text('''
        def mirrors(m, f, x, t, ct):
            """Whether forward and backward are each other's transpose."""
            ...
    '''),
    solution=TRANSPOSES,
    wrong=(
        (
            edit(TRANSPOSES, ("abs(np.vdot(ct, push(m, f, x, t)) - np.vdot(pull(m, f, x, ct), t)) < 1e-3", "np.allclose(push(m, f, x, t), pull(m, f, x, ct))")),
            "What comes out forward is a move of the result, backward a weight of the input. Only their products with the other side agree.",
        ),
        (
            edit(TRANSPOSES, ("np.vdot(ct, push(m, f, x, t)) - np.vdot(pull(m, f, x, ct), t)", "np.vdot(0 * ct, push(m, f, x, t)) - np.vdot(pull(m, f, x, 0 * ct), t)")),
            "With a cotangent of zero both sides are zero, whatever the rules.",
        ),
        (
            edit(TRANSPOSES, ("abs(np.vdot(ct, push(m, f, x, t)) - np.vdot(pull(m, f, x, ct), t)) < 1e-3", "np.vdot(ct, push(m, f, x, t)) == np.vdot(pull(m, f, x, ct), t)")),
            "Both sides are sums of rounded numbers, added in different orders: they agree to a few digits.",
        ),
        (
            edit(TRANSPOSES, ("< 1e-3", "< 100.0")),
            "Your tolerance is larger than the numbers that you compare.",
        ),
        (
            edit(TRANSPOSES, ("np.vdot(pull(m, f, x, ct), t)", "np.vdot(pull(m, f, x, ct), x)")),
            "On the right side the tangent is missing: you multiply by the input itself.",
        ),
    ),
    hints=(
        "Two numbers that must agree: one from forward, one from backward.",
        "`np.vdot(ct, push(m, f, x, t))` is the one.",
        "`np.vdot(pull(m, f, x, ct), t)` is the other; compare with a tolerance.",
    ),
    properties=judged_by(
        "mirrors", "DIRECTIONS", ("step 12", "step 9", "step 11", "other rounding"),
        ("transpose-of-neg", "transpose-of-mul", "transpose-of-div", "cotangents-overwritten"),
    ),
    after="A law that relates two runs is called *metamorphic*. This one accepts a wrong product rule: it is wrong in both directions alike. "
    "Laws look at one thing each; you need several.",
    clues=(
        'mirrors(compiler("step 12"), *DIRECTIONS[1])',
        'mirrors(compiler("step 12"), DIRECTIONS[1][0], X, X + 1, X + 1)',
        'mirrors(compiler("transpose-of-neg"), DIRECTIONS[1][0], X, 1000 * X, X)',
    ),
)  # fmt: skip

# --- 12.3 --------------------------------------------------------------------------------------------------------

STACKS = text("""
    def stacks(m, f, xs, axis):
        batch, rows = at_once(m, f, xs, axis), one_by_one(f, xs, axis)
        return batch.shape == rows.shape and np.allclose(batch, rows, rtol=1e-4)
""")

STACKS_EXERCISE = Exercise(
    id="12.3",
    title="the law of batches",
    objective="You can test `vmap`.",
    needs=("batch dimension", "property", "planted fault"),
    out_of_scope="speed.",
    task="""
A batch is the stack of single calls. Write that law, `stacks(m, f, xs, axis)`: `at_once(m, f, xs, axis)` is what the compiler's `vmap`
gives, `one_by_one(f, xs, axis)` what NumPy gives for one example after the other. Shapes count.
""",
    setup=SETUP,
    entry="stacks",
    stub=text('''
        def stacks(m, f, xs, axis):
            """Whether a batch is the stack of single calls."""
            ...
    '''),
    solution=STACKS,
    wrong=(
        (
            edit(STACKS, ("batch.shape == rows.shape and np.allclose(batch, rows, rtol=1e-4)", "batch.shape == rows.shape")),
            "You compare shapes. The examples may have been mixed up.",
        ),
        (
            edit(STACKS, ("batch.shape == rows.shape and np.allclose(batch, rows, rtol=1e-4)", "batch.ndim == rows.ndim")),
            "You compare how many dimensions there are. Nearly everything passes.",
        ),
        (
            edit(STACKS, ("batch.shape == rows.shape and ", "")),
            "Without the shapes NumPy repeats what is too short: one row agrees with a batch of such rows.",
        ),
        (
            edit(STACKS, ("batch.shape == rows.shape and np.allclose(batch, rows, rtol=1e-4)", "np.allclose(batch[0], rows[0], rtol=1e-4)")),
            "You look at the first example.",
        ),
        (
            edit(STACKS, ("np.allclose(batch, rows, rtol=1e-4)", "np.allclose(batch.sum(), rows.sum(), rtol=1e-4)")),
            "The sum over all examples stays the same when they are mixed up.",
        ),
        (
            edit(STACKS, ("one_by_one(f, xs, axis)", "one_by_one(f, xs, 0)")),
            "The examples are along `axis`, also for whoever does them one by one.",
        ),
        (
            edit(STACKS, ("one_by_one(f, xs, axis)", "at_once(m, f, np.moveaxis(xs, axis, 0), 0)")),
            "You compare `vmap` with `vmap`. What it does wrong it does wrong on both sides.",
        ),
    ),
    hints=(
        "Two arrays that must agree.",
        "First their shapes, then their numbers.",
        "`batch.shape == rows.shape and np.allclose(batch, rows)`",
    ),
    properties=judged_by(
        "stacks", "BATCHES", ("step 12", "step 10", "other rounding"),
        ("sum-over-the-batch", "in-axes-ignored", "rows-meet-examples", "only-the-first", "last-element"),
    ),
    after="tinytrace holds every primitive of its registry to this law, along every dimension.",
    clues=('stacks(compiler("step 12"), *BATCHES[0])', 'stacks(compiler("step 12"), *BATCHES[3])'),
)  # fmt: skip

# --- 12.4 --------------------------------------------------------------------------------------------------------

BISECT = text("""
    def first_bad(passes, program, good):
        for i, rewrite in enumerate(passes):
            program = rewrite(program)
            if not good(program):
                return i
        return None
""")

BISECT_EXERCISE = Exercise(
    id="12.4",
    title="which pass?",
    objective="You can name the pass that breaks a program.",
    needs=("pass",),
    out_of_scope="many passes: then one would halve the list.",
    task="""
A compiler rewrites a program in many passes. Write `first_bad(passes, program, good)`: the number (from 0) of the first pass after which
`good(program)` is false, or None. Each pass is a function from programs to programs, and gets what the one before it made. In the
cases programs are texts, and `replacing("a>b b>c")` makes passes that replace letters.
""",
    setup=SETUP,
    entry="first_bad",
    stub=text('''
        def first_bad(passes, program, good):
            """The number of the first pass that breaks the program, or None."""
            return -1
    '''),
    solution=BISECT,
    wrong=(
        (
            edit(BISECT, ("            program = rewrite(program)\n            if not good(program):".replace("            ", "        "), "        if not good(rewrite(program)):")),
            "Each pass gets the program as it was at first. In the compiler it gets what the one before it made.",
        ),
        (
            edit(BISECT, ("        program = rewrite(program)\n        if not good(program):\n            return i", "        if not good(program):\n            return i\n        program = rewrite(program)")),
            "You look before the pass has run: you name the one behind the culprit, and never the last.",
        ),
        (
            edit(BISECT, ("    for i", "    bad = None\n    for i"), ("return i", "bad = i"), ("return None", "return bad")),
            "You name the last pass after which it is bad, that is, mostly the last of all.",
        ),
        (
            edit(BISECT, ("return i\n", "return i + 1\n")),
            "Passes are counted from 0.",
        ),
        (
            edit(BISECT, ("    return None", "    return len(passes)")),
            "If no pass breaks it, the answer is None.",
        ),
    ),
    hints=(
        "Run the passes one after the other, each on what the one before made.",
        "After each: is the program still good?",
        "`enumerate(passes)` counts them.",
    ),
    properties=(
        Property(
            "The first pass after which it is bad.",
            template(
                'first_bad(replacing("{passes}"), "{program}", lambda p: "x" not in p)',
                passes=st.sampled_from(["a>b b>x", "a>x", "a>b", "b>x a>b", "a>x x>a", "b>c a>x c>d", "a>b c>d", ""]),
                program=st.sampled_from(["a", "b", "ab", "c"]),
            ),
            ('first_bad(replacing("a>b b>x"), "a", lambda p: "x" not in p)', 'first_bad(replacing("a>b"), "a", lambda p: "x" not in p)'),
        ),
    ),
    after="`jit(f).lower(x).passes` shows what each pass changed. With twenty passes and slow checks one halves: `git bisect` does it for commits.",
)  # fmt: skip

# --- 12.5 --------------------------------------------------------------------------------------------------------

GUILTY = text("""
    def guilty(m):
        found = []
        for name, f in OPERATIONS.items():
            if not np.allclose(run(m, f, X), f(np, X), rtol=1e-4):
                found.append(name)
        return found
""")

GUILTY_EXERCISE = Exercise(
    id="12.5",
    title="who did it?",
    objective="You can name the operation that a compiler has wrong.",
    needs=("planted fault", "differential testing"),
    out_of_scope="faults that show in other inputs than `X`.",
    task="""
Write `guilty(m)`: the list of the names of all operations that the compiler `m` has wrong. `OPERATIONS` has, for each name, a program
with this operation alone; `run(m, f, X)` traces and runs it; NumPy is always right.
""",
    setup=SETUP,
    entry="guilty",
    stub=text('''
        def guilty(m):
            """The names of the operations that are wrong."""
            ...
    '''),
    solution=GUILTY,
    wrong=(
        (
            edit(GUILTY, ("found.append(name)", "return [name]")),
            "You stop at the first. There may be two.",
        ),
        (
            edit(GUILTY, ("rtol=1e-4", "rtol=0.1")),
            "An error of one per cent goes through.",
        ),
        (
            edit(GUILTY, ("if not np.allclose(run(m, f, X), f(np, X), rtol=1e-4)", "if not np.array_equal(run(m, f, X), f(np, X))")),
            "You accuse an operation that rounds in another way. That is allowed.",
        ),
        (
            edit(GUILTY, ("run(m, f, X), f(np, X)", "np.ravel(run(m, f, X))[0], np.ravel(f(np, X))[0]")),
            "You look at the first element. The last one is where loops go wrong.",
        ),
        (
            edit(GUILTY, ("f(np, X)", "np.asarray(f(m, m.array(X)))")),
            "You ask the accused compiler twice, and it says the same twice.",
        ),
        (
            edit(GUILTY, ("if not np.allclose", "if np.allclose")),
            "That is the list of the innocent.",
        ),
    ),
    hints=(
        "For each operation: does its program give what NumPy gives?",
        "Collect the names of those that do not.",
        "`np.allclose(run(m, f, X), f(np, X), rtol=1e-4)`",
    ),
    properties=(
        Property(
            "All that are wrong, and no others.",
            st.sampled_from([
                f'guilty(compiler("{name}"))'
                for name in ("step 12", "minus-forgotten", "tanh-is-off", "last-element", "sum-too-short", "right-operand", "two-at-once",
                             "other rounding", "step 9")
            ]),
            ('guilty(compiler("minus-forgotten"))', 'guilty(compiler("step 12"))'),
        ),
    ),
    after="From a report of a user to one operation: differential testing, shrinking, bisection. The rest is reading.",
)  # fmt: skip

EXERCISES = (WRONG_STAGE_EXERCISE, TRANSPOSES_EXERCISE, STACKS_EXERCISE, BISECT_EXERCISE, GUILTY_EXERCISE)
