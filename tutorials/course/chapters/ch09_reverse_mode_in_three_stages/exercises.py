"""The exercises of chapter 9."""

from hypothesis import strategies as st

from course.cases import functions, template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch09_reverse_mode_in_three_stages.linear import jacobian_of, value_and_slope
from tinytrace.core.jaxpr import Literal, Var
"""

# --- 9.1 ---------------------------------------------------------------------------------------------------------

LINEAR = text("""
    def is_linear(closed):
        linear = set(closed.jaxpr.invars)
        for eqn in closed.eqns:
            moves = [isinstance(atom, Var) and atom in linear for atom in eqn.invars]
            fixed = [isinstance(atom, Literal) for atom in eqn.invars]
            name = eqn.primitive.name
            if (
                (name in ("add", "sub", "neg") and all(moves))
                or (name == "mul" and any(moves) and any(fixed))
                or (name == "div" and moves[0] and fixed[1])
            ):
                linear.update(eqn.outvars)
        return all(isinstance(v, Var) and v in linear for v in closed.jaxpr.outvars)
""")

LINEAR_EXERCISE = Exercise(
    id="9.1",
    title="is it linear?",
    objective="You can see from a program whether it is linear.",
    needs=("linear", "equation", "literal"),
    out_of_scope="other primitives than `add`, `sub`, `mul`, `div`, `neg`, `sin`; literals that are zero.",
    task="""
Write `is_linear(closed)`: whether all results of a program are linear in its inputs, as the equations show it. Sums, differences
and changes of sign of what is linear are linear; so is what is linear times a literal, or divided by one. Products of two things that
move are not, nor is a sum with a literal, nor a literal itself. An equation that no result needs changes nothing.
""",
    setup=SETUP,
    entry="is_linear",
    stub=text('''
        def is_linear(closed):
            """Whether the results are linear in the inputs."""
            ...
    '''),
    solution=LINEAR,
    wrong=(
        (
            edit(LINEAR, ('any(moves) and any(fixed)', 'any(moves)')),
            "`x * y` with both moving is not linear: move both with double speed, and it is four times as much.",
        ),
        (
            edit(LINEAR, ('"neg") and all(moves)', '"neg") and any(moves)')),
            "`x + 1.0` is a straight line, and not linear: at 0 it is not 0.",
        ),
        (
            edit(LINEAR, ("moves[0] and fixed[1]", "any(moves) and any(fixed)")),
            "`1.0 / x` is not linear: what moves must be above the line.",
        ),
        (
            edit(LINEAR, ("isinstance(v, Var) and v in linear for v in closed.jaxpr.outvars", "v in linear for v in closed.jaxpr.outvars if isinstance(v, Var)")),
            "A program that returns a constant is not linear, unless the constant is zero.",
        ),
        (
            edit(LINEAR, ("            linear.update(eqn.outvars)\n".replace("            ", "            "), "            linear.update(eqn.outvars)\n        else:\n            return False\n")),
            "You stop at the first equation that is not linear. Perhaps no result needs it.",
        ),
        (
            edit(LINEAR, ('name in ("add", "sub", "neg")', 'name in ("add", "sub")')),
            "A change of sign is linear.",
        ),
    ),
    hints=(
        "Keep a set of the variables that are linear in the inputs; at first the inputs themselves.",
        "For each equation: which operands are in the set, which are literals? From that, is its result in the set?",
        "At the end all results must be in the set.",
    ),
    properties=(
        Property(
            "It says what the rules say.",
            template("{f}\nis_linear(jax.make_jaxpr(f)(1.0, 1.0))",
                     f=functions(("{} + {}", "-{}", "2.0 * {}", "{} - {}", "{} / 3.0", "{} * {}", "{} + 1.0", "3.0 / {}", "jnp.sin({})"),
                                 inputs=2, most=3))
            | template("{f}\nis_linear(jax.make_jaxpr(f)(1.0, 1.0))",
                       f=functions(("{} + {}", "-{}", "2.0 * {}", "{} - {}", "{} / 3.0"), inputs=2, most=3))
            | st.sampled_from([
                "is_linear(jax.make_jaxpr(lambda x: 2.0)(1.0))",
                "def f(a):\n    b = jnp.sin(a)\n    return a + a\n\nis_linear(jax.make_jaxpr(f)(1.0))",
            ]),
            ("is_linear(jax.make_jaxpr(lambda x, y: 2.0 * x - y)(1.0, 1.0))", "is_linear(jax.make_jaxpr(lambda x, y: x * y)(1.0, 1.0))"),
        ),
    ),
    after="`transposed_linear` is what `linear_transpose` asks for. In the program of a jvp nobody need check: it is linear in the "
    "tangents by construction.",
)  # fmt: skip

# --- 9.2 ---------------------------------------------------------------------------------------------------------

SPLIT = text("""
    def split(eqns, known):
        known = set(known)
        now, later = [], []
        for result, operation, operands in eqns:
            if known.issuperset(operands):
                now.append(result)
                known.add(result)
            else:
                later.append((result, operands))
        read = {x for _, operands in later for x in operands}
        return now, [result for result, _ in later], sorted(read & known)
""")


@st.composite
def programs(draw):
    """Up to five equations of x (known) and t (unknown), as text."""
    names, rows = ["x", "t"], []
    for name in "abcde"[: draw(st.integers(1, 5))]:
        operation = draw(st.sampled_from(["mul", "sin"]))
        operands = tuple(draw(st.sampled_from(names)) for _ in range(2 if operation == "mul" else 1))
        rows.append((name, operation, operands))
        names.append(name)
    return f'split({rows}, ["x"])'


SPLIT_EXERCISE = Exercise(
    id="9.2",
    title="what can be known now",
    objective="You can cut a program into what can run now and what must wait.",
    needs=("residuals",),
    out_of_scope="to leave out what nobody needs.",
    task="""
An equation is a tuple `(result, operation, operands)` of names. Write `split(eqns, known)`: the inputs named in `known` are there, the
others come later. Return three lists of names: the results of the equations that can run now; those of the equations that must wait;
and the residuals, sorted: what is known and is read by an equation that waits, inputs included.
""",
    setup=SETUP,
    entry="split",
    stub=text('''
        def split(eqns, known):
            """The results that are known, those that must wait, and the residuals."""
            ...
    '''),
    solution=SPLIT,
    wrong=(
        (
            edit(SPLIT, ("            known.add(result)\n", "")),
            "What an equation has computed is known, too: those that only need it can run.",
        ),
        (
            edit(SPLIT, ("known.issuperset(operands)", "known.intersection(operands)")),
            "One known operand is not enough: an equation runs when all are there.",
        ),
        (
            edit(SPLIT, ("sorted(read & known)", "sorted(known)")),
            "You hand over all that is known. Each residual is memory: keep what is read later.",
        ),
        (
            edit(SPLIT, ("sorted(read & known)", "sorted(read & set(now))")),
            "An input that is known may be read later as well; then it must be handed over like the rest.",
        ),
        (
            edit(SPLIT, ("sorted(read & known)", "sorted(read)")),
            "What the waiting equations make themselves, and the inputs that come later, are no residuals.",
        ),
        (
            edit(SPLIT, ("sorted(read & known)", "sorted(x for _, operands in later for x in operands if x in known)")),
            "A residual that is read twice is kept once.",
        ),
    ),
    hints=(
        "Go through the equations with a set of what is known; it grows.",
        "All operands known: it runs now, and its result is known. Else it waits.",
        "The residuals are an intersection: what waiting equations read, and what is known.",
    ),
    properties=(
        Property(
            "Everything that can run now does, and no more is handed over than must be.",
            programs(),
            (
                'split([("a", "sin", ("x",)), ("b", "mul", ("a", "t")), ("c", "mul", ("b", "x"))], ["x"])',
                'split([("a", "sin", ("t",)), ("b", "sin", ("x",))], ["x"])',
            ),
        ),
    ),
    after="This is *partial evaluation*. `transforms/partial_eval.py` does it while it traces, so that the known part is computed on the way.",
)

# --- 9.3 ---------------------------------------------------------------------------------------------------------

PULL = text("""
    def pull(eqns, inputs, ct):
        total = dict.fromkeys(inputs, 0.0)
        total[eqns[-1][0]] = ct
        for result, operation, operands in reversed(eqns):
            g = total.get(result, 0.0)
            if operation == "add":
                parts = [(operands[0], g), (operands[1], g)]
            elif operation == "neg":
                parts = [(operands[0], -g)]
            else:
                parts = [(operands[1], operands[0] * g)]
            for x, part in parts:
                total[x] = total.get(x, 0.0) + part
        return [total[x] for x in inputs]
""")


@st.composite
def linear_programs(draw):
    """Up to four equations of x and y, as text."""
    names, rows = ["x", "y"], []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        operation = draw(st.sampled_from(["add", "neg", "scale"]))
        x, y = (draw(st.sampled_from(names[::-1])) for _ in range(2))
        rows.append((name, operation, {"add": (x, y), "neg": (x,), "scale": (3.0, x)}[operation]))
        names.append(name)
    return f'pull({rows}, ["x", "y"], 1.0)'


PULL_EXERCISE = Exercise(
    id="9.3",
    title="backwards",
    objective="You can transpose a linear program.",
    needs=("linear", "cotangent"),
    out_of_scope="arrays, and more than one result.",
    task="""
A linear program is a list of equations `(result, operation, operands)`: `("c", "add", ("a", "b"))`, `("b", "neg", ("a",))`,
`("b", "scale", (3.0, "a"))`. Its result is that of the last equation. Write `pull(eqns, inputs, ct)`: the cotangents of the inputs, a
list, from the cotangent `ct` of the result. Go through the equations from the last to the first; each hands its cotangent to its
operands; where two contributions meet they are added.
""",
    setup=SETUP,
    entry="pull",
    stub=text('''
        def pull(eqns, inputs, ct):
            """The cotangents of the inputs."""
            ...
    '''),
    solution=PULL,
    wrong=(
        (
            edit(PULL, ("total.get(x, 0.0) + part", "part")),
            "A value that is read twice gets two contributions; you keep the last one.",
        ),
        (
            edit(PULL, ("in reversed(eqns)", "in eqns")),
            "You go forward. A cotangent is known when all who read the value have given theirs: begin at the end.",
        ),
        (
            edit(PULL, ("-g)]", "g)]")),
            "A change of sign is its own mirror image: the sign changes on the way back, too.",
        ),
        (
            edit(PULL, ("operands[0] * g)]", "g / operands[0])]")),
            "Backwards is not undone. A scale of 3 makes a move of the input count three times, so on the way back it is 3 again.",
        ),
        (
            edit(PULL, ("[(operands[0], g), (operands[1], g)]", "[(operands[0], g / 2), (operands[1], g / 2)]")),
            "A sum hands the whole cotangent to each operand: each of them moves the result as much as itself.",
        ),
        (
            edit(PULL, ("return [total[x] for x in inputs]", "return [g for x, g in total.items() if g and x in inputs]")),
            "An input that does not count has the cotangent 0. It is in the list all the same.",
        ),
    ),
    hints=(
        "A dictionary from names to cotangents; at first zero for the inputs and `ct` for the result.",
        "For each equation, backwards: its own cotangent, then what each operand gets of it.",
        "`total[x] = total.get(x, 0.0) + part`",
    ),
    properties=(
        Property(
            "It is the transpose.",
            linear_programs(),
            (
                'pull([("a", "scale", (3.0, "x")), ("b", "add", ("a", "x"))], ["x", "y"], 1.0)',
                'pull([("a", "neg", ("x",)), ("b", "add", ("a", "y"))], ["x", "y"], 2.0)',
            ),
        ),
    ),
    after="Thirty lines, and they are all of `backward`. `transforms/transpose.py` has the same loop.",
)  # fmt: skip

# --- 9.4 ---------------------------------------------------------------------------------------------------------

JACOBIAN = text("""
    def jacobian(push, pull, inputs, outputs):
        def unit(i, n):
            return [1.0 if j == i else 0.0 for j in range(n)]

        if inputs <= outputs:
            columns = [push(unit(i, inputs)) for i in range(inputs)]
            return [list(row) for row in zip(*columns)]
        return [pull(unit(i, outputs)) for i in range(outputs)]
""")

JACOBIAN_EXERCISE = Exercise(
    id="9.4",
    title="all derivatives",
    objective="You can choose between forward and backward.",
    needs=("linear", "cotangent", "tangent"),
    out_of_scope="matrices with zeros that are known.",
    task="""
`push(tangents)` says how the results move if the inputs move so; `pull(cotangents)` says how the results hang on the inputs. Both take
and give lists of numbers, and each call costs about as much as the function. Write `jacobian(push, pull, inputs, outputs)`: the matrix
of all derivatives, one list for each result, with as few calls as possible; if both ways take the same number, go forward.
""",
    setup=SETUP,
    entry="jacobian",
    stub=text('''
        def jacobian(push, pull, inputs, outputs):
            """The matrix of derivatives: a list of rows, one for each result."""
            ...
    '''),
    solution=JACOBIAN,
    wrong=(
        (
            edit(JACOBIAN, ("if inputs <= outputs:", "if True:")),
            "You always go forward: one call for each input. A loss has a million inputs and one result.",
        ),
        (
            edit(JACOBIAN, ("if inputs <= outputs:", "if False:")),
            "You always go backward: one call for each result, also where there are more results than inputs.",
        ),
        (
            edit(JACOBIAN, ("[list(row) for row in zip(*columns)]", "columns")),
            "Forward, a call gives a *column*: how all results move with one input. Rows were asked for.",
        ),
        (
            edit(JACOBIAN, ("[push(unit(i, inputs)) for i in range(inputs)]", "[push([1.0] * inputs)]")),
            "You move all inputs at once. What comes out is the sum of the columns.",
        ),
        (
            edit(JACOBIAN, ("inputs <= outputs", "inputs >= outputs")),
            "You take the more expensive way: forward costs one call per input, backward one per result.",
        ),
    ),
    hints=(
        "Move one input with speed 1 and leave the others: that is a column. Pull at one result: that is a row.",
        "Count the calls of both ways: `inputs` forward, `outputs` backward.",
        "Forward, put the columns side by side: `zip(*columns)` gives the rows.",
    ),
    properties=(
        Property(
            "The matrix, and how often you asked.",
            st.sampled_from([
                "jacobian_of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], jacobian)",
                "jacobian_of([[1.0, 2.0, 3.0]], jacobian)",
                "jacobian_of([[1.0], [2.0], [3.0]], jacobian)",
                "jacobian_of([[1.0, 2.0], [3.0, 4.0]], jacobian)",
                "jacobian_of([[2.0]], jacobian)",
                "jacobian_of([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], jacobian)",
            ]),
            ("jacobian_of([[1.0, 2.0, 3.0]], jacobian)", "jacobian_of([[1.0], [2.0]], jacobian)"),
        ),
    ),
    after="`jax.jacfwd` and `jax.jacrev`, with `vmap` in place of the loop. A Hessian is one of the other: `jacfwd(jacrev(f))`.",
)  # fmt: skip

# --- 9.5 ---------------------------------------------------------------------------------------------------------

ROOT = text("""
    def root(x):
        inside = jnp.where(x > 0, x, 1.0)
        return jnp.where(x > 0, jnp.sqrt(inside), 0.0)
""")

ROOT_EXERCISE = Exercise(
    id="9.5",
    title="a slope that is no NaN",
    objective="You can keep NaN out of a gradient.",
    needs=("tangent",),
    out_of_scope="what the slope at 0 should be: 0 will do.",
    task="""
Write `root(x)`: the square root of positive numbers, and 0 for all others. Its derivative must be that of the root, and 0 where the
value is 0, backward (`grad`) and forward (`jvp`), never NaN or infinite. It must be traceable: no Python `if` on `x`.
`value_and_slope(f, x)` shows the value and both slopes.
""",
    setup=SETUP,
    entry="root",
    stub=text('''
        def root(x):
            """The square root of positive numbers, else 0."""
            ...
    '''),
    solution=ROOT,
    wrong=(
        (
            "def root(x):\n    return jnp.where(x > 0, jnp.sqrt(x), 0.0)\n",
            "The values are right, the slope backward is NaN: the branch that is not taken is differentiated too, and zero times NaN is NaN.",
        ),
        (
            "def root(x):\n    return jnp.sqrt(jnp.where(x > 0, x, 0.0))\n",
            "Backward it is right; forward, a tangent of 0 meets the infinite slope of the root at 0. The root must see something harmless.",
        ),
        (
            "def root(x):\n    return jnp.sqrt(jnp.maximum(x, 0.0))\n",
            "Below zero it is the root of 0, whose slope is infinite; and at 0 the maximum lets half of that through.",
        ),
        (
            "def root(x):\n    return jnp.sqrt(jnp.abs(x))\n",
            "Of negative numbers the value should be 0.",
        ),
        (
            "def root(x):\n    return jnp.sqrt(x) if x > 0 else 0.0 * x\n",
            "A traced value cannot be asked whether it is positive.",
        ),
        (
            "def root(x):\n    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0) + 1e-3), 0.0)\n",
            "A small number is added under the root: no NaN, but the value is off.",
        ),
    ),
    hints=(
        "`jnp.where` computes both branches, and differentiates both.",
        "So the root must never see a number at which its slope is bad.",
        "Two `where`: one around the argument, one around the result.",
    ),
    properties=(
        Property(
            "Value and slope are finite and right.",
            st.sampled_from(["4.0", "1.0", "0.25", "-1.0", "0.0", "-4.0"]).map("value_and_slope(root, {})".format),
            ("value_and_slope(root, 4.0)", "value_and_slope(root, -1.0)"),
        ),
        Property(
            "It can be traced.",
            st.just("jax.make_jaxpr(root)(1.0).out_avals[0].str_short()"),
        ),
    ),
    after="This is the *double where*. `jax.debug_nans` and exercise 3.4 find the place where it is missing.",
)

EXERCISES = (LINEAR_EXERCISE, SPLIT_EXERCISE, PULL_EXERCISE, JACOBIAN_EXERCISE, ROOT_EXERCISE)
