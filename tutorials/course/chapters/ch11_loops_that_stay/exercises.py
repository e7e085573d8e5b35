"""The exercises of chapter 11."""

from hypothesis import strategies as st

from course.cases import template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch11_loops_that_stay.loops import becomes, equations, primitives, ran, recomputed, rounds
from tinytrace import lax
"""

# --- 11.1 --------------------------------------------------------------------------------------------------------

SCAN = text("""
    def scan(f, init, xs):
        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, ys
""")

SCAN_EXERCISE = Exercise(
    id="11.1",
    title="what scan means",
    objective="You can write any loop over an array as a scan.",
    needs=("scan", "carry"),
    out_of_scope="arrays: lists will do.",
    task="""
Write the meaning of `scan`: `scan(f, init, xs)` calls `carry, y = f(carry, x)` for each `x` in turn, beginning with `init` as the
carry. It returns the last carry, and the list of all `y`.
""",
    setup=SETUP,
    entry="scan",
    stub=text('''
        def scan(f, init, xs):
            """The last carry, and what the steps put out."""
            ...
    '''),
    solution=SCAN,
    wrong=(
        (
            edit(SCAN, ("carry, y = f(carry, x)", "carry, y = f(init, x)")),
            "Each step begins with `init`. The carry is what one step hands to the next.",
        ),
        (
            edit(SCAN, ("return carry, ys", "return carry, y")),
            "You return the last `y` only. Every step has put one out.",
        ),
        (
            edit(SCAN, ("ys.append(y)", "ys.append(carry)")),
            "You collect the carries. What a step puts out is its second result.",
        ),
        (
            edit(SCAN, ("for x in xs:", "for x in xs[::-1]:")),
            "You begin at the end.",
        ),
        (
            edit(SCAN, ("return carry, ys", "return ys, carry")),
            "The carry comes first, in the result as in the step.",
        ),
        (
            edit(SCAN, ("carry, y = f(carry, x)", "y, carry = f(carry, x)")),
            "A step returns the carry first, then what it puts out.",
        ),
    ),
    hints=(
        "A Python loop over `xs`, with one variable that lives from step to step.",
        "`carry, y = f(carry, x)`, and `y` goes into a list.",
        "Without any `x` the carry is `init` and the list is empty.",
    ),
    properties=(
        Property(
            "It does the steps, in order.",
            template(
                'scan(lambda carry, x: ({step}), "-", "{letters}")',
                step=st.sampled_from(["carry + x, x * 2", "carry + x, carry", "x, carry + x", "carry, x"]),
                letters=st.sampled_from(["a", "", "ab", "abc"]),
            ),
            ('scan(lambda carry, x: (carry + x, x * 2), "-", "abc")',),
        ),
    ),
    after="`for i in range(n): x = f(x)` is a scan that puts nothing out; a running sum puts out its carry; `map` has no carry.",
)

# --- 11.2 --------------------------------------------------------------------------------------------------------

SETTLE = text("""
    def settle(after_step, kind):
        while after_step(kind) != kind:
            if not kind.endswith("~"):
                raise TypeError(f"{kind} became {after_step(kind)}")
            kind = after_step(kind)
        return kind
""")

SETTLE_EXERCISE = Exercise(
    id="11.2",
    title="a carry of one type",
    objective="You can say why a carry is refused.",
    needs=("carry", "weak type"),
    out_of_scope="containers of carries.",
    task="""
A loop is one program, so its carry has one type. Write `settle(after_step, kind)`: the type at which it settles. `after_step(kind)` is the
type after a step that began with `kind`. If both are equal, that is it. A weak type (`"i32~"`) yields: go on with the type after
the step, as often as needed. A strong type that changes is a TypeError. `becomes("i32~ f32~, f32~ f32")` makes such an `after_step`.
""",
    setup=SETUP,
    entry="settle",
    stub=text('''
        def settle(after_step, kind):
            """The type of the carry, before and after each step."""
            ...
    '''),
    solution=SETTLE,
    wrong=(
        (
            edit(SETTLE, ("while after_step", "if after_step")),
            "Once is not always enough: the new type may change in the next step again.",
        ),
        (
            edit(SETTLE, ('        if not kind.endswith("~"):\n            raise TypeError(f"{kind} became {after_step(kind)}")\n'.replace("        ", "        ", 1), "")),
            "You convert strong types, too. The user said int32, and would get a float without a word.",
        ),
        (
            edit(SETTLE, ('        if not kind.endswith("~"):\n            raise', "        if True:\n            raise")),
            "A Python number as the first carry is weak: it may become what the loop makes of it.",
        ),
        (
            edit(SETTLE, ("    return kind", "    return kind.rstrip(\"~\")")),
            "A type that stays weak is fine: both sides are weak.",
        ),
        (
            edit(SETTLE, ("    while after_step(kind) != kind:", "    while after_step(kind).rstrip(\"~\") != kind.rstrip(\"~\"):")),
            "Weak and strong are different types, here as in a key.",
        ),
        (
            edit(SETTLE, ("    return kind", "    return after_step")),
            "Asked for is a type, not the function that gives one.",
        ),
    ),
    hints=(
        "Compare the type before a step with the type after it.",
        "If they differ and the type before is weak, try again with the type after.",
        "If they differ and it is strong: TypeError.",
    ),
    properties=(
        Property(
            "Weak types settle, strong ones must not change.",
            template(
                'settle(becomes("{table}"), "{kind}")',
                table=st.sampled_from(["", "i32~ f32", "i32~ f32~", "i32~ f32~, f32~ f32", "i32 f32", "f32~ f32", "i32~ i32", "i32~ i32, i32 f32"]),
                kind=st.sampled_from(["i32", "i32~", "f32~", "f32"]),
            ),
            ('settle(becomes("i32~ f32"), "i32~")', 'settle(becomes("i32 f32"), "i32")'),
        ),
    ),
    after="`lax/carry_checks.py` does this, and its message names the part of the carry and both types.",
)

# --- 11.3 --------------------------------------------------------------------------------------------------------

HALVINGS = text("""
    def halvings(x):
        def goes_on(state):
            return state[0] >= 1.0

        def step(state):
            x, count = state
            return x / 2.0, count + 1

        return lax.while_loop(goes_on, step, (x, 0))[1]
""")

HALVINGS_EXERCISE = Exercise(
    id="11.3",
    title="a loop of unknown length",
    objective="You can write a loop whose length depends on values.",
    needs=("carry", "predicate"),
    out_of_scope="negative and infinite numbers.",
    task="""
Write `halvings(x)`: how often `x` must be halved until it is below 1. It must be traceable: the loop stays a loop in the program, with
`lax.while_loop(predicate, step, state)`, which calls `state = step(state)` as long as `predicate(state)` holds. The state has two parts.
""",
    setup=SETUP,
    entry="halvings",
    stub=text('''
        def halvings(x):
            """How often x must be halved until it is below 1."""
            return 0
    '''),
    solution=HALVINGS,
    wrong=(
        (
            "def halvings(x):\n    count = 0\n    while x >= 1.0:\n        x, count = x / 2.0, count + 1\n    return count\n",
            "Python's `while` asks for a truth value while there are only tracers.",
        ),
        (
            "def halvings(x):\n    count = 0\n    for _ in range(8):\n        count = count + (x >= 1.0)\n        x = x / 2.0\n    return count\n",
            "Python's `for` is unrolled: eight steps are in the program, whatever `x` is.",
        ),
        (
            edit(HALVINGS, (">= 1.0", "> 1.0")),
            "At 1 itself it is not yet below 1.",
        ),
        (
            edit(HALVINGS, ("(x, 0))[1]", "(x, 0))[0]")),
            "You return what is left of x. Asked for was the count.",
        ),
        (
            edit(HALVINGS, ("state[0] >= 1.0", "state[1] < 3")),
            "Your loop has a fixed length. The predicate must look at what is left of x.",
        ),
        (
            edit(HALVINGS, ("(x, 0))[1]", "(x, 1))[1]")),
            "You begin to count at one.",
        ),
    ),
    hints=(
        "The state: what is left of x, and how many halvings there were.",
        "Go on while the first part is at least 1.",
        "`lax.while_loop(goes_on, step, (x, 0))` gives the last state; its second part is the answer.",
    ),
    properties=(
        Property(
            "It counts.",
            st.sampled_from(["0.5", "1.0", "3.0", "8.0", "1000.0", "0.0", "300.0"]).map("ran(halvings, {})".format),
            ("ran(halvings, 8.0)", "ran(halvings, 0.5)"),
        ),
        Property(
            "The loop is one equation of the program.",
            st.just("primitives(halvings, 8.0)"),
            ("primitives(halvings, 8.0)",),
        ),
    ),
    after="In C it is a `while`. Nothing goes back to Python in between, and no length is compiled in.",
)

# --- 11.4 --------------------------------------------------------------------------------------------------------

BEFORE = text("""
    def carry_before(i, kept, step, xs, every):
        carry = kept[i // every]
        for k in range(i // every * every, i):
            carry = step(carry, xs[k])
        return carry
""")

BEFORE_EXERCISE = Exercise(
    id="11.4",
    title="memory for time",
    objective="You can compute again what was not kept.",
    needs=("carry", "checkpoint"),
    out_of_scope="how to choose `every`.",
    task="""
On the way back each step needs its carry, last step first. Of a long loop only every so-many-th carry was kept: `kept[j]` is the carry
before step `j * every`. Write `carry_before(i, kept, step, xs, every)`: the carry before step `i`, with as few calls of
`step(carry, x)` as possible; step `k` reads `xs[k]`.
""",
    setup=SETUP,
    entry="carry_before",
    stub=text('''
        def carry_before(i, kept, step, xs, every):
            """The carry before step i."""
            ...
    '''),
    solution=BEFORE,
    wrong=(
        (
            edit(BEFORE, ("kept[i // every]", "kept[0]"), ("range(i // every * every, i)", "range(i)")),
            "You begin at the start each time. For the whole way back that is a square number of steps.",
        ),
        (
            edit(BEFORE, ("range(i // every * every, i)", "range(i // every * every, i + 1)")),
            "You do step `i` as well. Asked for was what it begins with.",
        ),
        (
            edit(BEFORE, ("range(i // every * every, i)", "range(i % every)")),
            "You count the steps right and read the wrong rows: those from the beginning.",
        ),
        (
            edit(BEFORE, ("    for k in range(i // every * every, i):\n        carry = step(carry, xs[k])\n", "")),
            "That is the nearest carry that was kept. Between it and step `i` there are steps to do.",
        ),
        (
            edit(BEFORE, ("kept[i // every]", "kept[-1]")),
            "You take the last carry that was kept. It belongs to another step.",
        ),
    ),
    hints=(
        "Which kept carry is the last before step i?",
        "`kept[i // every]` is the carry before step `i // every * every`.",
        "From there, do the steps up to and without `i`.",
    ),
    properties=(
        Property(
            "The carry, and how many steps it took.",
            st.integers(1, 4).flatmap(
                lambda every: st.integers(0, 7).map(lambda i: f"recomputed(carry_before, 8, {every}, {i})")
            ),
            ("recomputed(carry_before, 8, 3, 7)", "recomputed(carry_before, 8, 4, 4)"),
        ),
    ),
    after="With `every` near the square root of the length, memory is two roots and time is doubled. `jax.checkpoint` around the body of "
    "a scan of scans does this.",
)

# --- 11.5 --------------------------------------------------------------------------------------------------------

PREFIX = text("""
    def prefix(join, xs):
        shift = 1
        while shift < len(xs):
            xs = xs[:shift] + join(xs[:-shift], xs[shift:])
            shift *= 2
        return xs
""")

PREFIX_EXERCISE = Exercise(
    id="11.5",
    title="a loop that is not one",
    objective="You can run a chain of steps in few rounds.",
    needs=("associative",),
    out_of_scope="to save work: rounds are what counts.",
    task="""
All beginnings of a list, joined: of `a b c` they are `a`, `ab`, `abc`. If joining is associative there is a way in few rounds.
`join(left, right)` joins two lists of the same length, element by element, in one round. Write `prefix(join, xs)` with at most two
rounds for each doubling of the length. In the first round join each element with the one before it; then with what stands two places
before, then four.
""",
    setup=SETUP,
    entry="prefix",
    stub=text('''
        def prefix(join, xs):
            """All beginnings of a list, each joined."""
            ...
    '''),
    solution=PREFIX,
    wrong=(
        (
            "def prefix(join, xs):\n    for i in range(1, len(xs)):\n        xs = xs[:i] + join(xs[i - 1 : i], xs[i : i + 1]) + xs[i + 1 :]\n    return xs\n",
            "That is the chain: one round for each element.",
        ),
        (
            edit(PREFIX, ("join(xs[:-shift], xs[shift:])", "join(xs[shift:], xs[:-shift])")),
            "You exchange left and right. Joining is associative; nobody said that it is commutative.",
        ),
        (
            edit(PREFIX, ("xs[:shift] + join(", "xs[:1] + join("), ("    return xs", "    return xs")),
            "Those in front have nobody that far before them: they are done, and stay as they are.",
        ),
        (
            edit(PREFIX, ("shift *= 2", "shift += 1")),
            "After the first round each element holds two. The next to join is two places away, then four: the distance doubles.",
        ),
        (
            edit(PREFIX, ("    while shift", "    if shift")),
            "One round joins pairs. Go on until the distance is as long as the list.",
        ),
        (
            edit(PREFIX, ("    return xs", "    return xs[-1:]")),
            "All beginnings were asked for, not only the whole.",
        ),
    ),
    hints=(
        "After the first round: `a`, `ab`, `bc`, `cd`. What must be joined to `cd`?",
        "In each round everybody joins with whoever stands `shift` places before; then `shift` doubles.",
        "`xs[:shift] + join(xs[:-shift], xs[shift:])`",
    ),
    properties=(
        Property(
            "All beginnings, in few rounds.",
            st.sampled_from(["a", "ab", "abc", "abcd", "abcdefg", "abcdefghijklm", "abcdefghijklmnopqrstuvwxyz"]).map(
                lambda letters: f'rounds(prefix, "{letters}")'
            ),
            ('rounds(prefix, "abcd")',),
        ),
    ),
    after="`lax.associative_scan`, of Hillis and Steele (1986), and with less work of Blelloch (1990). Sums, products of matrices and "
    "linear recurrences are associative; most steps are not.",
)

EXERCISES = (SCAN_EXERCISE, SETTLE_EXERCISE, HALVINGS_EXERCISE, BEFORE_EXERCISE, PREFIX_EXERCISE)
