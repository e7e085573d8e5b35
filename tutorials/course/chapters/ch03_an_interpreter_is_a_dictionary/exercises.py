"""The exercises of chapter 3."""

from hypothesis import strategies as st

from course.cases import functions, numbers, template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import math
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch03_an_interpreter_is_a_dictionary.interpreting import compute, interpret, jaxpr_of
from tinytrace.core.jaxpr import Literal
"""
ARITHMETIC = ("{} + {}", "{} - {}", "{} * {}", "-{}", "{} * 2.0", "1.0 - {}")

# --- 3.1 ---------------------------------------------------------------------------------------------------------

RUN = text("""
    def run(rule, closed, *args):
        values = dict(zip(closed.jaxpr.invars, args))
        values.update(zip(closed.jaxpr.constvars, closed.consts))

        def read(atom):
            return atom.val if isinstance(atom, Literal) else values[atom]

        for eqn in closed.eqns:
            values[eqn.outvars[0]] = rule(eqn.primitive.name, *map(read, eqn.invars))
        return [read(atom) for atom in closed.jaxpr.outvars]
""")

RUN_EXERCISE = Exercise(
    id="3.1",
    title="the interpreter",
    objective="You can run a program that is given as data.",
    needs=("environment", "rule"),
    out_of_scope="equations with several results, and programs in parameters.",
    task="""
Write `run(rule, closed, *args)`: a list of the results of a jaxpr. `closed.jaxpr` has `.invars`, `.constvars` (whose values are
`closed.consts`) and `.outvars`; `closed.eqns` are its equations. A variable is looked up; a `Literal` has its number in `.val`.
What an equation gives, `rule(name, *operands)` says.
""",
    setup=SETUP,
    entry="run",
    stub=text('''
        def run(rule, closed, *args):
            """The results of the program, as a list."""
            ...
    '''),
    solution=RUN,
    wrong=(
        (
            edit(RUN, ("return atom.val if isinstance(atom, Literal) else values[atom]", "return values[atom]")),
            "Not every operand is a variable: a `Literal` is its own value.",
        ),
        (
            edit(RUN, ("    values.update(zip(closed.jaxpr.constvars, closed.consts))\n", "")),
            "Arrays and numbers that the function closed over are missing: the `constvars`.",
        ),
        (
            edit(RUN, ("return [read(atom) for atom in closed.jaxpr.outvars]", "return [values[closed.eqns[-1].outvars[0]]]")),
            "The results are what the program lists after `in`, not what its last equation makes.",
        ),
        (
            edit(RUN, ("for atom in closed.jaxpr.outvars]", "for atom in closed.jaxpr.outvars[:1]]")),
            "A program may have several results.",
        ),
        (
            edit(RUN, ("*map(read, eqn.invars)", "*map(read, reversed(eqn.invars))")),
            "The operands reach the rule the wrong way round.",
        ),
        (
            edit(RUN, ("for eqn in closed.eqns", "for eqn in reversed(closed.eqns)")),
            "Equations run from the top: only there, what they read is known.",
        ),
    ),
    hints=(
        "Keep a dictionary from variables to values. Inputs are in it from the start.",
        "Write a helper that reads an atom: the number of a literal, the value of a variable.",
        "For each equation: read its operands, ask the rule, store the answer under `eqn.outvars[0]`.",
    ),
    properties=(
        Property(
            "The program gives what the function gives.",
            template(
                "{f}\nrun(compute, jaxpr_of(f, 2), {x}, {y})",
                f=functions(ARITHMETIC, inputs=2, most=3) | functions((*ARITHMETIC, "3.0"), inputs=2, most=3, results=2),
                x=numbers(),
                y=numbers(),
            ),
            ("run(compute, jaxpr_of(lambda x, y: x * y - 1.0, 2), 3.0, 4.0)", "run(compute, jaxpr_of(lambda x: 7.0, 1), 3.0)"),
        ),
        Property(
            "What the function closes over is there.",
            template(
                "weight = jnp.array({w})\nrun(compute, jaxpr_of(lambda x: x * weight, 1), {x})", w=numbers(), x=numbers()
            ),
        ),
    ),
    after="That is `eval_jaxpr` in `core/jaxpr.py`, with `bind` in the place of the rule: so it computes under one trace, and "
    "records under another.",
)

# --- 3.2 ---------------------------------------------------------------------------------------------------------

INTERVAL = text("""
    def interval(name, *operands):
        (a, b), *rest = [x if isinstance(x, tuple) else (x, x) for x in operands]
        if name == "neg":
            return -b, -a
        [(c, d)] = rest
        if name == "add":
            return a + c, b + d
        if name == "sub":
            return a - d, b - c
        corners = [a * c, a * d, b * c, b * d]
        return min(corners), max(corners)
""")


@st.composite
def intervals(draw):
    low, high = sorted(draw(st.tuples(st.integers(-4, 4), st.integers(-4, 4))))
    return f"({low}.0, {high}.0)"


INTERVAL_EXERCISE = Exercise(
    id="3.2",
    title="intervals instead of numbers",
    objective="You can give a program another meaning, and learn something about all of its runs at once.",
    needs=("rule", "abstract interpretation"),
    out_of_scope="rounding; that `x - x` is always 0.",
    task="""
An input is known to lie between two numbers; where do the results lie? Write the rule `interval(name, *operands)` for `add`,
`sub`, `mul` and `neg`. An operand is a pair (lowest, highest), or a number, which is known exactly; the result is a pair.
""",
    setup=SETUP,
    entry="interval",
    stub=text('''
        def interval(name, *operands):
            """The pair (lowest, highest) of an operation on pairs."""
            operands = [x if isinstance(x, tuple) else (x, x) for x in operands]
            ...
    '''),
    solution=INTERVAL,
    wrong=(
        (
            edit(INTERVAL, ("return a - d, b - c", "return a - c, b - d")),
            "To make a difference as small as possible, subtract as *much* as possible.",
        ),
        (
            edit(INTERVAL, ("corners = [a * c, a * d, b * c, b * d]", "corners = [a * c, b * d]")),
            "A product is smallest or largest in a corner, but not always in these two: think of -3 times 2.",
        ),
        (
            edit(INTERVAL, ("return min(corners), max(corners)", "return a * c, b * d")),
            "With negative numbers, low times low is not the lowest.",
        ),
        (edit(INTERVAL, ("return -b, -a", "return -a, -b")), "Turning the sign turns the order: what was highest is lowest."),
        (
            edit(INTERVAL, ("x if isinstance(x, tuple) else (x, x)", "x if isinstance(x, tuple) else (-x, x)")),
            "A number is known exactly: it lies between itself and itself.",
        ),
        (
            edit(INTERVAL, ("return a + c, b + d", "return min(a, c), max(b, d)")),
            "That is the interval that holds both operands. Their sum can be larger than either.",
        ),
    ),
    hints=(
        "For each operation: with which ends of the operands is the result lowest? With which highest?",
        "A sum: both low ends. A difference: the low end of the first, the high end of the second.",
        "A product: try all four corners, and take the least and the greatest.",
    ),
    properties=(
        Property(
            "Each operation has the tightest bounds.",
            template(
                "interval({name}, {x}, {y})",
                name=st.sampled_from(['"add"', '"sub"', '"mul"']),
                x=intervals(),
                y=intervals() | numbers(),
            )
            | template('interval("neg", {x})', x=intervals()),
            ('interval("sub", (0.0, 1.0), (2.0, 5.0))', 'interval("mul", (-1.0, 2.0), 3.0)', 'interval("neg", (-1.0, 2.0))'),
        ),
        Property(
            "So has a whole program.",
            template(
                "{f}\ninterpret(interval, jaxpr_of(f, 2), {x}, {y})",
                f=functions(ARITHMETIC, inputs=2, most=3),
                x=intervals(),
                y=intervals(),
            ),
        ),
    ),
    after="One run told you about all inputs. Tinytrace's code generator proves this way that every load and store stays inside its "
    "array.",
)

# --- 3.3 ---------------------------------------------------------------------------------------------------------

DUAL = text("""
    def dual(name, *operands):
        (x, dx), *rest = [p if isinstance(p, tuple) else (p, 0.0) for p in operands]
        if name == "neg":
            return -x, -dx
        if name == "sin":
            return math.sin(x), math.cos(x) * dx
        [(y, dy)] = rest
        if name == "add":
            return x + y, dx + dy
        if name == "sub":
            return x - y, dx - dy
        return x * y, dx * y + x * dy
""")

DUAL_EXERCISE = Exercise(
    id="3.3",
    title="values with their slopes",
    objective="You can differentiate a program by interpreting it.",
    needs=("rule", "slope"),
    out_of_scope="operations other than these five.",
    task="""
Every value is now a pair (value, *slope*): how fast it changes when the input moves. Write the rule `dual(name, *operands)` for
`add`, `sub`, `mul`, `neg` and `sin`. A number in the program does not move.
""",
    setup=SETUP,
    entry="dual",
    stub=text('''
        def dual(name, *operands):
            """The pair (value, slope) of an operation on pairs."""
            operands = [p if isinstance(p, tuple) else (p, 0.0) for p in operands]
            ...
    '''),
    solution=DUAL,
    wrong=(
        (
            edit(DUAL, ("dx * y + x * dy", "dx * dy")),
            "The slope of a product is not the product of the slopes: think of `x * x` at 1.",
        ),
        (edit(DUAL, ("dx * y + x * dy", "dx * y")), "Both factors move. One half of the product rule is missing."),
        (edit(DUAL, ("math.cos(x) * dx", "math.cos(x)")), "How fast `x` itself moves is lost: the chain rule."),
        (edit(DUAL, ("math.cos(x) * dx", "math.cos(dx)")), "The slope of `sin` is taken at the *value*, then times the slope."),
        (edit(DUAL, ("(p, 0.0)", "(p, 1.0)")), "A number in the program stands still: its slope is 0."),
        (edit(DUAL, ("x - y, dx - dy", "x - y, dx + dy")), "What is subtracted pulls down as it grows."),
    ),
    hints=(
        "Sums are easy: slopes add as values do.",
        "The product rule: each factor's slope times the other factor, added.",
        "`sin`: `math.cos(x) * dx`.",
    ),
    properties=(
        Property(
            "Each operation has the right slope.",
            template(
                "dual({name}, ({x}, {dx}), ({y}, {dy}))",
                name=st.sampled_from(['"add"', '"sub"', '"mul"']),
                x=numbers(),
                y=numbers(),
                dx=numbers(),
                dy=numbers(),
            )
            | template("dual({name}, ({x}, {dx}))", name=st.sampled_from(['"neg"', '"sin"']), x=numbers(), dx=numbers())
            | template('dual("mul", ({x}, {dx}), {y})', x=numbers(), dx=numbers(), y=numbers()),
            ('dual("mul", (3.0, 1.0), (4.0, 2.0))', 'dual("sin", (0.0, 5.0))'),
        ),
        Property(
            "So has a whole program.",
            template(
                "{f}\ninterpret(dual, jaxpr_of(f, 1), ({x}, 1.0))",
                f=functions((*ARITHMETIC, "jnp.sin({})"), inputs=1, most=3),
                x=numbers(-2, 2),
            ),
        ),
    ),
    after="This is forward-mode differentiation, `jax.jvp`. In `transforms/jvp.py` the pairs are tracers, so it needs no jaxpr; the "
    "rules are the same.",
)

# --- 3.4 ---------------------------------------------------------------------------------------------------------

CULPRIT = text("""
    def first_nan(closed, *args):
        found = []

        def rule(name, *operands):
            result = compute(name, *operands)
            if math.isnan(result) and not found:
                found.append(name)
            return result

        interpret(rule, closed, *args)
        return found[0] if found else None
""")

CULPRIT_EXERCISE = Exercise(
    id="3.4",
    title="who made the NaN?",
    objective="You can look into a run with an interpreter of your own.",
    needs=("rule",),
    out_of_scope="infinities: they are numbers here.",
    task="""
A NaN comes out; where did it come in? Write `first_nan(closed, *args)`: the name of the first primitive whose result is NaN, or
None. `interpret(rule, closed, *args)` runs a program, and `compute` is the rule of ordinary numbers.
""",
    setup=SETUP,
    entry="first_nan",
    stub=text('''
        def first_nan(closed, *args):
            """The name of the first primitive that makes a NaN, or None."""
            ...
    '''),
    solution=CULPRIT,
    wrong=(
        (
            edit(CULPRIT, (" and not found", ""), ("found[0]", "found[-1]")),
            "That is the last one. A NaN spreads to whoever reads it; the culprit is the first.",
        ),
        (
            edit(CULPRIT, ("math.isnan(result)", "not math.isfinite(result)")),
            "An infinity is not a NaN: `1 / 0` is a number that one can go on with.",
        ),
        (
            edit(CULPRIT, ("math.isnan(result)", "any(map(math.isnan, operands))")),
            "Whoever reads a NaN is its victim. Look at what an equation *makes*.",
        ),
        (
            edit(CULPRIT, ("        interpret(rule, closed, *args)\n        return found[0] if found else None".replace("        ", "    "),
                           "    result = interpret(rule, closed, *args)\n    return found[0] if math.isnan(result[0]) else None")),
            "A NaN may be made and not reach the result. It was made all the same.",
        ),
        (
            edit(CULPRIT, ("found.append(name)", "found.append(len(found))")),
            "A number does not say who it was: return the primitive's name.",
        ),
    ),
    hints=(
        "Wrap `compute` in a rule that looks at each result before handing it on.",
        "Remember the first name in a list that the rule can see.",
        "`math.isnan(result) and not found` says that this is the first.",
    ),
    properties=(
        Property(
            "It names the first primitive that makes a NaN.",
            template(
                "{f}\nfirst_nan(jaxpr_of(f, 2), {x}, {y})",
                f=functions(("{} / {}", "jnp.log({})", "{} * 0.0", "{} - {}", "jnp.sin({})"), inputs=2, most=4)
                | functions(("jnp.log({})", "{} / {}"), inputs=2, most=2).map(
                    lambda f: f.replace("    return ", "    d = ") + "    return a\n"
                ),
                x=st.sampled_from(["0.0", "-1.0", "2.0"]),
                y=st.sampled_from(["0.0", "1.0"]),
            ),
            (
                "first_nan(jaxpr_of(lambda x: jnp.sin(jnp.log(x)) * 2.0, 1), -1.0)",
                "first_nan(jaxpr_of(lambda x: x / 0.0, 1), 1.0)",
                "first_nan(jaxpr_of(lambda x: x / 0.0, 1), 0.0)",
            ),
        ),
    ),
    after="`jax.config.update('jax_debug_nans', True)` does this for you. An interpreter is also a debugger, a profiler, a logger: "
    "whatever can be said of one equation.",
)

# --- 3.5 ---------------------------------------------------------------------------------------------------------

COST = text("""
    def flops(closed):
        total = 0
        for eqn in closed.eqns:
            if eqn.primitive.name == "reduce_sum":
                total += eqn.invars[0].aval.size
            elif eqn.primitive.name in ("add", "sub", "mul", "div", "neg", "sin"):
                total += eqn.outvars[0].aval.size
        return total
""")

COST_EXERCISE = Exercise(
    id="3.5",
    title="what will it cost?",
    objective="You can say something about a run without running.",
    needs=("aval", "abstract interpretation"),
    out_of_scope="that a sine costs more than a sum; programs in parameters.",
    task="""
Types are enough to count. Write `flops(closed)`: how many arithmetic operations on single numbers a program does. `add`, `sub`,
`mul`, `div`, `neg` and `sin` do one for each element of their *result*; `reduce_sum` one for each element that it *reads*; all
other primitives only move numbers. `v.aval.size` is how many elements an array has.
""",
    setup=SETUP,
    entry="flops",
    stub=text('''
        def flops(closed):
            """The number of arithmetic operations."""
            ...
    '''),
    solution=COST,
    wrong=(
        (edit(COST, ("eqn.outvars[0].aval.size", "1")), "An equation on arrays does one operation for each element."),
        (
            edit(COST, ('if eqn.primitive.name == "reduce_sum":\n            total += eqn.invars[0].aval.size\n        elif', "if"),
                 ('"sin")', '"sin", "reduce_sum")')),
            "A sum of a thousand numbers has one result and is a thousand operations: count what it reads.",
        ),
        (
            edit(COST, ('elif eqn.primitive.name in ("add", "sub", "mul", "div", "neg", "sin"):', "else:")),
            "Broadcasting, reshaping, converting move numbers about: no arithmetic.",
        ),
        (
            edit(COST, ("total += eqn.outvars[0].aval.size", "total += eqn.invars[0].aval.size")),
            "An operand may be a scalar beside an array: the result tells how many operations there are.",
        ),
        (
            edit(COST, ('"neg", "sin"', '"sin"')),
            "A change of sign is an operation, too.",
        ),
    ),
    hints=(
        "No values are needed: walk through the equations and add.",
        "Sort the primitives in three kinds: those that count their result, the one that counts its operand, the rest.",
        "`eqn.outvars[0].aval.size`, and for `reduce_sum` `eqn.invars[0].aval.size`.",
    ),
    properties=(
        Property(
            "It counts as the rules say.",
            template(
                "{f}\nflops(jax.make_jaxpr(f)({x}, {y}))",
                f=functions((*ARITHMETIC, "jnp.sin({})", "jnp.sum({})", "{} + jnp.ones(3)"), inputs=2, most=3),
                x=st.sampled_from(["1.0", "jnp.ones(3)", "jnp.ones((2, 3))"]),
                y=st.sampled_from(["jnp.ones(3)", "1.0"]),
            ),
            (
                "flops(jax.make_jaxpr(lambda x: jnp.sum(x * x))(jnp.ones(1000)))",
                "flops(jax.make_jaxpr(lambda x: 2.0 * x + 1.0)(jnp.ones((10, 10))))",
            ),
        ),
    ),
    after="`print(jit(f).lower(x).kernels)` shows flops, bytes read and bytes written of each loop: chapter 7 predicts times from them.",
)

EXERCISES = (RUN_EXERCISE, INTERVAL_EXERCISE, DUAL_EXERCISE, CULPRIT_EXERCISE, COST_EXERCISE)
