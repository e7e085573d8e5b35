"""The exercises of chapter 1."""

import re

from hypothesis import strategies as st

from course.cases import functions, numbers, template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
from course.chapters.ch01_a_tracer_in_60_lines.meaning import run
from course.chapters.ch01_a_tracer_in_60_lines.tracer import Eqn, Program, Tape, Tracer, atom, sin, trace, where
"""
OPERATIONS = ("{} + {}", "{} * {}", "{} - {}", "sin({})", "-{}", "{} - 1.0", "2.0 * {}")

# --- 1.1 ---------------------------------------------------------------------------------------------------------

APPLY = text("""
    def apply(tape, op, *operands):
        out = tape.new()
        tape.eqns.append(Eqn(out.name, op, tuple(atom(x) for x in operands)))
        return out
""")


@st.composite
def applications(draw):
    """Calls of `apply` on what was made before, and on numbers."""
    names, lines = ["a", "b"], ["tape = Tape()", "a, b = tape.new(), tape.new()"]
    for name in "cdef"[: draw(st.integers(1, 4))]:
        operands = [draw(st.sampled_from([*names[::-1], "2.0"])) for _ in range(2)]
        lines.append(f'{name} = apply(tape, "{draw(st.sampled_from(["sub", "mul"]))}", {", ".join(operands)})')
        names.append(name)
    return "\n".join([*lines, f"[{names[-1]}.name, tape.eqns]"])


APPLY_EXERCISE = Exercise(
    id="1.1",
    title="what an operation on a tracer does",
    objective="You can say what happens when a function touches a tracer.",
    needs=("tracer", "equation", "tape"),
    out_of_scope="whether the operation exists, and how many operands it takes.",
    task="""
Write `apply(tape, op, *operands)`, what every operator of a tracer calls. It takes a new tracer from the tape, notes the
equation, and returns the new tracer: the function that is being traced goes on computing with it.
""",
    setup=SETUP,
    entry="apply",
    stub=text('''
        def apply(tape, op, *operands):
            """Note `out = op operands` on the tape, and return `out`."""
            ...
    '''),
    solution=APPLY,
    wrong=(
        (
            edit(APPLY, ("tuple(atom(x) for x in operands)", "operands")),
            "The equations hold tracers. An equation is data that outlives the tracing: put the *names* there (`atom`).",
        ),
        (
            edit(APPLY, ("return out", "return tape.eqns[-1]")),
            "You return the equation. The traced function needs something that it can compute with: the new tracer.",
        ),
        (
            edit(APPLY, ("    tape.eqns.append(Eqn(out.name, op, tuple(atom(x) for x in operands)))\n", "")),
            "The function goes on as if all were well, but nothing is noted: the tape stays empty.",
        ),
        (
            edit(APPLY, ("in operands", "in reversed(operands)")),
            "The operands are turned around. For `mul` nobody would notice; `a - b` is not `b - a`.",
        ),
        (
            edit(APPLY, ("atom(x) for", "x.name if isinstance(x, Tracer) else tape.new().name for")),
            "A number got a variable of its own, and no equation defines it. Numbers stand in equations as they are.",
        ),
        (
            edit(APPLY, ("append(", "insert(0, ")),
            "The newest equation comes first. Read from the top, a variable would be used before it is defined.",
        ),
    ),
    hints=(
        "Three things must happen, and each is one line: a new variable, an equation, an answer.",
        "`tape.new()` is a tracer with a name that is still free; `atom(x)` is how an operand stands in an equation.",
        "`tape.eqns.append(Eqn(out.name, op, ...))`, with a tuple of the operands' atoms at the end.",
    ),
    properties=(
        Property(
            "Each call notes one equation and returns its variable.",
            applications(),
            (
                'tape = Tape()\na, b = tape.new(), tape.new()\nc = apply(tape, "sub", a, b)\n'
                'd = apply(tape, "mul", c, 2.0)\n[d.name, tape.eqns]',
            ),
        ),
    ),
    after="That is the whole trick. `Tape.record` in `tracer.py` is the same three lines; in tinytrace it is "
    "`DynamicJaxprTrace.process_primitive` in `transforms/staging.py`.",
)

# --- 1.2 ---------------------------------------------------------------------------------------------------------

TRACE = text("""
    def trace_it(f, n):
        tape = Tape()
        tracers = [tape.new() for _ in range(n)]
        result = f(*tracers)
        return Program([tracer.name for tracer in tracers], tape.eqns, atom(result))
""")

TRACE_EXERCISE = Exercise(
    id="1.2",
    title="tracing a function",
    objective="You can turn a function into its program.",
    needs=("tracer", "tape", "program"),
    out_of_scope="functions that return several values.",
    task="""
Write `trace_it(f, n)`: the program of a function of `n` numbers. Call `f` once, with a tracer for each input, all of one
tape; then everything that you need is on the tape.
""",
    setup=SETUP,
    entry="trace_it",
    stub=text('''
        def trace_it(f, n):
            """Return `Program(names of the inputs, equations, result)`."""
            ...
    '''),
    solution=TRACE,
    wrong=(
        (
            edit(TRACE, ("atom(result)", "result.name")),
            "A function may also return a number. It has no name: `atom` leaves it as it is.",
        ),
        (
            edit(TRACE, ("atom(result)", "tape.eqns[-1].out")),
            "The result is what the function *returns*, and that need not be the last equation, or any equation.",
        ),
        (
            edit(TRACE, ("tracers = [tape.new() for _ in range(n)]", "tracers = [tape.new()] * n")),
            "All inputs are one and the same tracer, so `f(a, b)` is recorded as `f(a, a)`.",
        ),
        (
            edit(TRACE, ("result = f(*tracers)", "f(*tracers)\n    result = f(*tracers)")),
            "`f` is called twice, and everything is noted twice. Once is enough, and all that a user expects.",
        ),
        (
            edit(TRACE, ("[tracer.name for tracer in tracers]", "[x for e in tape.eqns for x in e.args if x in 'abc']")),
            "The inputs are read off the equations. One that is used twice, or not at all, is an input just once, too.",
        ),
        (
            edit(TRACE, ("tracers = [tape.new() for _ in range(n)]", "tracers = [Tape().new() for _ in range(n)]")),
            "Each input has a tape of its own: letters repeat, and the tape that you return has no equations.",
        ),
    ),
    hints=(
        "The tracers must exist before `f` is called, and the equations exist only after it.",
        "`tracers = [tape.new() for _ in range(n)]`, then `result = f(*tracers)`.",
        "A program is `Program(names of the tracers, tape.eqns, atom(result))`.",
    ),
    properties=(
        Property(
            "The program has the function's inputs, equations and result.",
            template(
                "{f}\nstr(trace_it(f, 2))",
                f=functions(OPERATIONS, inputs=2, most=4)
                | numbers().map(lambda x: f"def f(a, b):\n    c = a * b\n    return {x}\n")
                | st.sampled_from("ab").map(lambda x: f"def f(a, b):\n    c = a * b\n    return {x}\n"),
            ),
            ("def f(a, b):\n    return sin(a) * b\n\nstr(trace_it(f, 2))",),
        ),
    ),
    after="`jax.make_jaxpr` does this, with types, nested containers and constants besides. Compare "
    "`trace_to_jaxpr` in `transforms/staging.py`: tracers in, call, read what was written.",
)

# --- 1.3 ---------------------------------------------------------------------------------------------------------

POWER = text("""
    def power(x, n):
        result = None
        while n:
            if n % 2:
                result = x if result is None else result * x
            n = n // 2
            if n:
                x = x * x
        return result
""")

POWER_EXERCISE = Exercise(
    id="1.3",
    title="a loop leaves no trace",
    objective="You can tell what runs while tracing from what is recorded.",
    needs=("tracer", "equation"),
    out_of_scope="powers below 1.",
    task="""
Python's loops and conditions on *numbers* run while the function is traced; only what touches a tracer is noted. Write
`power(x, n)`, the product of `n` factors `x`, so that tracing it notes as few equations as repeated squaring needs:
4 for `n=9` or `n=10`.
""",
    setup=SETUP,
    entry="power",
    stub=text('''
        def power(x, n):
            """x * x * ... * x, with n factors, by repeated squaring."""
            ...
    '''),
    solution=POWER,
    wrong=(
        (
            text("""
                def power(x, n):
                    result = x
                    for _ in range(n - 1):
                        result = result * x
                    return result
            """),
            "Right, but `n - 1` equations long: the loop is gone, its rounds are not. Square instead.",
        ),
        (
            edit(POWER, ("result = None", "result = 1.0"), ("x if result is None else result * x", "result * x")),
            "The first product is `1.0 * x`, an equation that does nothing. Begin with the first factor itself.",
        ),
        (
            edit(POWER, ("        if n:\n            x = x * x", "        x = x * x")),
            "One squaring too many: after the last factor, nobody reads it. A tracer notes it all the same.",
        ),
        (
            text("""
                def power(x, n):
                    if n == 1:
                        return x
                    half = power(x, n // 2) * power(x, n // 2)
                    return half * x if n % 2 else half
            """),
            "The same half is computed twice. A tracer does not see that two calls do the same: give the half a name.",
        ),
        (
            text("""
                def power(x, n):
                    while n > 1:
                        x = x * x
                        n = n // 2
                    return x
            """),
            "Right for powers of two. For an odd `n` a factor is lost when it is halved.",
        ),
    ),
    hints=(
        "x^10 is (x^5)^2, and x^5 is x * (x^2)^2: look at the binary digits of n.",
        "Walk through n from its last binary digit: square x for each, and multiply it into the result where it is 1.",
        "Start with `result = None`, so that the first factor is taken as it is; and do not square after the last digit.",
    ),
    properties=(
        Property(
            "The value is x to the n.",
            template("power({x}, {n})", x=numbers(-2, 2), n=st.integers(1, 20).map(str)),
            ("power(2.0, 10)",),
        ),
        Property(
            "Tracing notes no more equations than repeated squaring needs.",
            template("len(trace(lambda x: power(x, {n}), 1).eqns)", n=st.integers(1, 40).map(str)),
            ("len(trace(lambda x: power(x, 10), 1).eqns)",),
        ),
    ),
    after="The `while`, the `if`, the halving of `n`: all of it ran, none of it is in the program. `print(trace(lambda x: "
    "power(x, 10), 1))` shows what is left. `jnp`'s `x ** 10` writes one equation, `integer_pow`.",
    clues=("str(trace(lambda x: power(x, 5), 1))",),
)

# --- 1.4 ---------------------------------------------------------------------------------------------------------

CLIP = text("""
    def clip(x, low, high):
        x = where(x < low, low, x)
        return where(x > high, high, x)
""")
CLIP_WITH_IF = text("""
    def clip(x, low, high):
        if x < low:
            return low
        if x > high:
            return high
        return x
""")

CLIP_EXERCISE = Exercise(
    id="1.4",
    title="a condition on a value",
    objective="You can rewrite a condition on a value so that it can be traced.",
    needs=("tracer", "program"),
    out_of_scope="bounds that are the wrong way round.",
    task="""
`clip` below works on numbers and cannot be traced: an `if` wants a truth value *now*. Rewrite it with `where(condition, x,
y)`, which notes the choice as an operation.
""",
    setup=SETUP,
    entry="clip",
    stub=CLIP_WITH_IF,
    solution=CLIP,
    wrong=(
        (
            text("""
                def clip(x, low, high):
                    return where(x < low, low, x)
            """),
            "What is too high stays too high: only the lower bound is applied.",
        ),
        (
            text("""
                def clip(x, low, high):
                    return where(x > high, high, x)
            """),
            "What is too low stays too low. The second choice must go on with the result of the first.",
        ),
        (
            edit(CLIP, ("low, low, x", "low, x, low")),
            "The branches are exchanged: `where(c, x, y)` is `x` where `c` holds.",
        ),
        (
            edit(CLIP_WITH_IF, ("    if x < low", "    if isinstance(x, Tracer):\n        return x\n    if x < low")),
            "It traces now, as another function: the program does not clip. Tracer or number, the meaning must be the same.",
        ),
        (
            edit(CLIP, ("x < low, low, x", "x < low, high, x")),
            "A value that is too low jumps to the upper bound.",
        ),
    ),
    hints=(
        "Each `if` becomes one `where`, and both branches are computed.",
        "Rename as you go: `x = where(..., ..., x)` gives the next line the better `x`.",
        "`x = where(x < low, low, x)`, and the same for `high`.",
    ),
    properties=(
        Property(
            "Numbers are clipped.",
            template("clip({x}, -1.0, 2.0)", x=numbers()),
            ("[clip(x, 0.0, 1.0) for x in (-3.0, 0.5, 3.0)]",),
        ),
        Property(
            "The traced program clips as well.",
            template("run(trace(lambda x: clip(x, -1.0, 2.0), 1), {x})", x=numbers()),
            (),
        ),
    ),
    after="`jnp.where` and `jnp.clip` are this; `lax.cond` computes only one branch. What `if` raises under tinytrace: "
    "`help(jax.errors.TracerBoolConversionError)`.",
)

# --- 1.5 ---------------------------------------------------------------------------------------------------------

LIVE = text("""
    def live(program):
        needed, kept = {program.result}, []
        for eqn in reversed(program.eqns):
            if eqn.out in needed:
                needed.update(eqn.args)
                kept.append(eqn)
        return Program(program.inputs, kept[::-1], program.result)
""")



def returning_a(function):
    """The function with its first input as result, so that all of its lines are dead."""
    return re.sub(r"return \w+", "return a", function)


LIVE_EXERCISE = Exercise(
    id="1.5",
    title="what nobody reads",
    objective="You can write a pass: a function from programs to programs that keeps the meaning.",
    needs=("program", "equation"),
    out_of_scope="equations that compute the same thing twice.",
    task="""
A tracer notes everything, also what nobody reads. Write `live(program)`: the same program without the equations that the
result does not depend on. The inputs stay, used or not: they are the function's signature.
""",
    setup=SETUP,
    entry="live",
    stub=text('''
        def live(program):
            """The program without the equations that do not matter."""
            ...
    '''),
    solution=LIVE,
    wrong=(
        (
            text("""
                def live(program):
                    read = {program.result} | {x for eqn in program.eqns for x in eqn.args}
                    return program._replace(eqns=[eqn for eqn in program.eqns if eqn.out in read])
            """),
            "What only a dead equation reads is dead as well: one look at who is read by anybody is not enough.",
        ),
        (
            edit(LIVE, ("reversed(program.eqns)", "program.eqns"), ("kept[::-1]", "kept")),
            "You go from the top, where it is not known yet what will be needed. Go from the result backwards.",
        ),
        (
            edit(LIVE, ("kept[::-1]", "kept")),
            "The right equations in the wrong order: you collected them backwards.",
        ),
        (
            edit(LIVE, ("eqn.args", "eqn.args[:1]")),
            "Only the first operand of each equation is followed.",
        ),
        (
            edit(LIVE, ("program.inputs", "[name for name in program.inputs if name in needed]")),
            "An unused input went missing. Whoever calls the program with two numbers can no longer do so.",
        ),
    ),
    hints=(
        "Which equation certainly matters? The one that defines the result. Which others? Those that it reads.",
        "Go through the equations from the last to the first, with a set of the names that are needed so far.",
        "`if eqn.out in needed: needed.update(eqn.args)`, and keep the equation; turn the list round in the end.",
    ),
    properties=(
        Property(
            "Equations stay if and only if the result depends on them.",
            template(
                "{f}\nprogram = trace(f, 2)\nstr(live(program))",
                f=functions(OPERATIONS, inputs=2, most=4) | functions(OPERATIONS, inputs=2, most=4).map(returning_a),
            ),
            ("def f(a, b):\n    c = a * b\n    d = sin(c)\n    return c - a\n\nstr(live(trace(f, 2)))",),
        ),
    ),
    after="Compilers call it dead code elimination. Tinytrace's is `core/dce.py`; `passes/dce.py` applies it. It is the first "
    "of a handful of passes between `.trace()` and `.lower()`.",
)

EXERCISES = (APPLY_EXERCISE, TRACE_EXERCISE, POWER_EXERCISE, CLIP_EXERCISE, LIVE_EXERCISE)
