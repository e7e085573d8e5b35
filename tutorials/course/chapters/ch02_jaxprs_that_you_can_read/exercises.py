"""The exercises of chapter 2."""

from hypothesis import strategies as st

from course.cases import functions, template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch02_jaxprs_that_you_can_read.language import program, rows
from tinytrace.core.jaxpr import Literal, subjaxprs
"""
OPERATIONS = ("{} + {}", "{} * {}", "jnp.sin({})", "-{}", "{} * 2.0")

# --- 2.1 ---------------------------------------------------------------------------------------------------------

PARSE = text("""
    def parse_type(text):
        dtype, sides = text.removesuffix("]").split("[")
        return dtype, tuple(int(side) for side in sides.split(",") if side)
""")

PARSE_EXERCISE = Exercise(
    id="2.1",
    title="reading a type",
    objective="You can read the type behind every colon.",
    needs=("aval",),
    out_of_scope="texts that are no types.",
    task="""
Write `parse_type(text)`: the dtype's short name and the shape, a tuple of integers, of a type such as `f32[2,3]`. A scalar has
the empty shape.
""",
    setup=SETUP,
    entry="parse_type",
    stub=text('''
        def parse_type(text):
            """`"f32[2,3]"` is `("f32", (2, 3))`."""
            ...
    '''),
    solution=PARSE,
    wrong=(
        (edit(PARSE, ("int(side)", "side")), "The sides of the shape are still texts. A shape is made of numbers."),
        (
            edit(PARSE, (" if side)", ")")),
            "A scalar's brackets are empty: splitting nothing at commas gives one empty text, and that is no side.",
        ),
        (
            text("""
                def parse_type(text):
                    dtype, sides = text.removesuffix("]").split("[")
                    return dtype, (int(sides),) if sides else ()
            """),
            "There may be several sides, with commas between them.",
        ),
        (
            text("""
                def parse_type(text):
                    dtype, sides = text.removesuffix("]").split("[")
                    return dtype, tuple(int(digit) for digit in sides if digit.isdigit())
            """),
            "A side may have more than one digit: 10 is not a 1 and a 0.",
        ),
        (
            edit(PARSE, ("return dtype,", "return dtype[0],")),
            "Half of the dtype is missing: the letter is its kind, and the digits behind it are its width in bits.",
        ),
    ),
    hints=(
        "Everything before the `[` is the dtype.",
        '`text.removesuffix("]").split("[")` gives both parts.',
        "`sides.split(\",\")` of an empty text is one empty text: leave it out.",
    ),
    properties=(
        Property(
            "It reads the type of any array.",
            st.tuples(st.sampled_from(["f32", "i32", "bool", "u8"]), st.lists(st.integers(0, 128), max_size=3)).map(
                lambda t: f'parse_type("{t[0]}[{",".join(map(str, t[1]))}]")'
            ),
            ('parse_type("f32[2,3]")', 'parse_type("bool[]")'),
        ),
    ),
    after="`jax.parse_jaxpr` reads whole programs; that what it reads prints as the same text is one of its laws.",
)

# --- 2.2 ---------------------------------------------------------------------------------------------------------

SHOW = text("""
    def show_eqn(eqn, names):
        out = eqn.outvars[0]
        operands = [names[v] for v in eqn.invars]
        return f"{names[out]}:{out.aval.str_short()} = {eqn.primitive.name} {' '.join(operands)}"
""")

SHOW_EXERCISE = Exercise(
    id="2.2",
    title="printing an equation",
    objective="You can find the parts of an equation: results, primitive, operands, types.",
    needs=("equation", "primitive", "aval"),
    out_of_scope="parameters, and equations with several results.",
    task="""
Write `show_eqn(eqn, names)`: the text of an equation, as it stands in a jaxpr. `eqn` has `.outvars`, `.primitive.name` and
`.invars`; a variable has an `.aval`, whose `str_short()` is its type; `names[v]` is the text of a variable or a number.
""",
    setup=SETUP + "from tinytrace.core.printer import VarNames\n",
    entry="show_eqn",
    stub=text('''
        def show_eqn(eqn, names):
            """`c:f32[] = mul a b`"""
            ...
    '''),
    solution=SHOW,
    wrong=(
        (
            edit(SHOW, (":{out.aval.str_short()}", "")),
            "The result's type is missing. It stands where a variable is born, and only there.",
        ),
        (
            edit(SHOW, ("[names[v] for v in eqn.invars]", '[f"{names[v]}:{v.aval.str_short()}" for v in eqn.invars]')),
            "Operands are shown without a type: it was shown where they were born.",
        ),
        (
            edit(SHOW, ("in eqn.invars]", "in eqn.invars if not isinstance(v, Literal)]")),
            "Numbers are operands too; without them nobody knows what is added.",
        ),
        (
            edit(SHOW, ("out.aval.str_short()", "eqn.invars[0].aval.str_short()")),
            "That is the type of an operand. The result may have another one: a comparison gives `bool`.",
        ),
        (
            edit(SHOW, ("in eqn.invars]", "in reversed(eqn.invars)]")),
            "The operands are turned around.",
        ),
    ),
    hints=(
        "Left of the `=` stands the result with its type, right of it the primitive and its operands.",
        "The type is `out.aval.str_short()`.",
        'Join `names[v] for v in eqn.invars` with blanks.',
    ),
    properties=(
        Property(
            "Every equation of a jaxpr reads as it is printed.",
            template(
                "{f}\njaxpr = jax.make_jaxpr(f)({x}, {x}).jaxpr\nnames = VarNames()\n"
                "[names[v] for v in jaxpr.invars]\n[show_eqn(eqn, names) for eqn in jaxpr.eqns]",
                f=functions((*OPERATIONS, "{} > 0.5"), inputs=2, most=3),
                x=st.sampled_from(["1.0", "jnp.ones(3)", "jnp.ones((2, 3))"]),
            ),
            (
                "jaxpr = jax.make_jaxpr(lambda x: 2.0 - jnp.sin(x))(1.0).jaxpr\nnames = VarNames()\n"
                "[names[v] for v in jaxpr.invars]\n[show_eqn(eqn, names) for eqn in jaxpr.eqns]",
            ),
        ),
    ),
    after="`tinytrace/core/printer.py` is this and the line breaks. What it prints agrees with JAX 0.4.35 character for character.",
)

# --- 2.3 ---------------------------------------------------------------------------------------------------------

PRIMITIVES = text("""
    def primitives(jaxpr):
        found = []
        for eqn in jaxpr.eqns:
            found.append(eqn.primitive.name)
            for inner in subjaxprs(eqn.params):
                found += primitives(inner)
        return found
""")

PRIMITIVES_EXERCISE = Exercise(
    id="2.3",
    title="programs in programs",
    objective="You can walk through a jaxpr with everything that is inside it.",
    needs=("equation", "primitive", "parameters"),
    out_of_scope="programs that are shared: each is listed where it is called.",
    task="""
Write `primitives(jaxpr)`: the names of all primitives, from the top, each followed by those of the programs in its parameters.
`subjaxprs(eqn.params)` gives the programs of an equation.
""",
    setup=SETUP,
    entry="primitives",
    stub=text('''
        def primitives(jaxpr):
            """The names of all primitives, the inner ones too."""
            ...
    '''),
    solution=PRIMITIVES,
    wrong=(
        (
            text("""
                def primitives(jaxpr):
                    return [eqn.primitive.name for eqn in jaxpr.eqns]
            """),
            "Only the outermost program is read: what stands in a `pjit` or a `cond` counts as well.",
        ),
        (
            edit(PRIMITIVES, ("found += primitives(inner)", "found += [e.primitive.name for e in inner.eqns]")),
            "One level is read, and no deeper. A program in a program may hold another one.",
        ),
        (
            edit(
                PRIMITIVES,
                ("            found.append(eqn.primitive.name)\n".replace("            ", "        "), ""),
                ("                found += primitives(inner)\n".replace("                ", "            "),
                 "            found += primitives(inner)\n        found.append(eqn.primitive.name)\n"),
            ),
            "What is inside comes first. Somebody who reads from the top meets the equation before what it holds.",
        ),
        (
            edit(PRIMITIVES, ("return found", "return list(dict.fromkeys(found))")),
            "Each name is listed once, however often it occurs.",
        ),
        (
            edit(
                PRIMITIVES,
                ("for inner in subjaxprs(eqn.params):", 'for inner in [eqn.params["jaxpr"].jaxpr] if "jaxpr" in eqn.params else []:'),
            ),
            "Programs are not always in a parameter called `jaxpr`: a `cond` has several, in `branches`.",
        ),
    ),
    hints=(
        "For each equation: its own name, then whatever is inside.",
        "What is inside a program is found by the function that you are writing.",
        "`found += primitives(inner)` for each `inner` of `subjaxprs(eqn.params)`.",
    ),
    properties=(
        Property(
            "All primitives are listed in the order of the text.",
            template(
                "{f}\nprimitives(jax.make_jaxpr(f)(1.0).jaxpr)",
                f=functions(
                    (
                        "-{}",
                        "jnp.where({} > 0.0, {}, 1.0)",
                        "jax.jit(jnp.sin)({})",
                        "jax.jit(lambda x: jnp.where(x > 1.0, x, 0.0))({})",
                        "jax.lax.cond({} > 0.0, jnp.sin, jnp.cos, {})",
                    ),
                    most=3,
                ),
            ),
            ("primitives(jax.make_jaxpr(lambda x: jnp.where(x > 0.0, -x, 1.0))(1.0).jaxpr)",),
        ),
    ),
    after="Ten lines that walk are the pattern of every analysis: counting, searching, colouring. Passes walk the same way and build.",
)

# --- 2.4 ---------------------------------------------------------------------------------------------------------

SCOPE = text("""
    def first_problem(program):
        defined = set(program.inputs)
        for eqn in program.eqns:
            for x in eqn.args:
                if x not in defined:
                    return f"{x} is not defined"
            if eqn.out in defined:
                return f"{eqn.out} is defined twice"
            defined.add(eqn.out)
        return None if program.result in defined else f"{program.result} is not defined"
""")


@st.composite
def scopes(draw):
    """Programs of sums over few letters, so that many of them are wrong."""
    letters = st.sampled_from("abcd")
    eqns = [f"{draw(letters)} = {draw(letters)} {draw(letters)}" for _ in range(draw(st.integers(0, 3)))]
    return f'first_problem(program("a: {"; ".join(eqns)} -> {draw(letters)}"))'


SCOPE_EXERCISE = Exercise(
    id="2.4",
    title="a checker of scopes",
    objective="You can check that a program is well formed.",
    needs=("program", "single assignment"),
    out_of_scope="types; numbers as operands.",
    task="""
The programs of chapter 1 again: `.inputs`, `.eqns` (each with `.out` and `.args`), `.result`, all of them letters. Write
`first_problem(program)`: `"x is not defined"` for the first variable that is read before it is there, `"x is defined twice"` for
the first that is defined again, whichever comes first; None if all is well. An equation reads before it writes.
""",
    setup=SETUP,
    entry="first_problem",
    stub=text('''
        def first_problem(program):
            """None, or what is wrong first."""
            ...
    '''),
    solution=SCOPE,
    wrong=(
        (
            edit(
                SCOPE,
                ("    defined = set(program.inputs)\n", "    defined = set(program.inputs) | {eqn.out for eqn in program.eqns}\n"),
                ('        if eqn.out in defined:\n            return f"{eqn.out} is defined twice"\n        defined.add(eqn.out)\n', ""),
            ),
            "Somewhere is not enough: a variable must be defined *above* the line that reads it.",
        ),
        (
            edit(SCOPE, ('        if eqn.out in defined:\n            return f"{eqn.out} is defined twice"\n', "")),
            "A second definition goes unnoticed. Then one name has two values, and the order of reading matters.",
        ),
        (
            edit(SCOPE, ('return None if program.result in defined else f"{program.result} is not defined"', "return None")),
            "The result is a variable that is read, too.",
        ),
        (
            edit(SCOPE, ("defined = set(program.inputs)", "defined = set()")),
            "Inputs are defined from the start.",
        ),
        (
            text("""
                def first_problem(program):
                    defined = set(program.inputs)
                    for eqn in program.eqns:
                        if eqn.out in defined:
                            return f"{eqn.out} is defined twice"
                        defined.add(eqn.out)
                        for x in eqn.args:
                            if x not in defined:
                                return f"{x} is not defined"
                    return None if program.result in defined else f"{program.result} is not defined"
            """),
            "An equation reads before it writes: `b = b a` reads a `b` that is not there yet.",
        ),
    ),
    hints=(
        "Go from the top with a set of what is defined so far.",
        "For each equation: are its operands in the set? Is its result not yet in it? Then put it in.",
        "At the end, look at the result as at an operand.",
    ),
    properties=(
        Property(
            "It finds the first problem, if there is one.",
            scopes(),
            ('first_problem(program("a b: c = a b; d = c e -> d"))', 'first_problem(program("a: b = a a; b = b a -> b"))'),
        ),
    ),
    after="`tinytrace.core.typecheck.check_jaxpr` does this and derives every type again. The tests run it after every pass.",
)

# --- 2.5 ---------------------------------------------------------------------------------------------------------

SAME = text("""
    def same_program(p, q):
        if len(p.inputs) != len(q.inputs) or len(p.eqns) != len(q.eqns):
            return False
        name = dict(zip(p.inputs, q.inputs))
        for one, other in zip(p.eqns, q.eqns):
            if [name[x] for x in one.args] != list(other.args):
                return False
            name[one.out] = other.out
        return name[p.result] == q.result
""")


@st.composite
def pairs_of_programs(draw):
    """Two programs of the same letters in another order, often the same program."""
    count = draw(st.integers(1, 3))
    shapes = [[draw(st.integers(0, 1 + i)) for _ in range(2)] for i in range(count)]
    other = [list(shape) for shape in shapes]
    results = [draw(st.integers(0, count + 1))] * 2
    differs = draw(st.sampled_from(["nowhere", "operand", "order", "result"]))
    i = draw(st.integers(0, count - 1))
    if differs == "operand":
        other[i][draw(st.integers(0, 1))] = draw(st.integers(0, 1 + i))
    elif differs == "order":
        other[i].reverse()
    elif differs == "result":
        results[1] = draw(st.integers(0, count + 1))
    texts = []
    for args, result, letters in ((shapes, results[0], "abcde"), (other, results[1], draw(st.permutations("abcde")))):
        eqns = [f"{letters[i + 2]} = {letters[x]} {letters[y]}" for i, (x, y) in enumerate(args)]
        texts.append(f'program("{letters[0]} {letters[1]}: {"; ".join(eqns)} -> {letters[result]}")')
    return f"p = {texts[0]}\nq = {texts[1]}\nsame_program(p, q)"


SAME_EXERCISE = Exercise(
    id="2.5",
    title="the same program in other letters",
    objective="You can say when two programs are the same.",
    needs=("program", "single assignment"),
    out_of_scope="programs with numbers or different operations; equations in another order.",
    task="""
Letters mean nothing: they are given when a program is printed. Write `same_program(p, q)`: whether two programs (of sums of two
variables) are the same but for their letters, equation by equation.
""",
    setup=SETUP,
    entry="same_program",
    stub=text('''
        def same_program(p, q):
            """Whether p becomes q if its letters are renamed."""
            ...
    '''),
    solution=SAME,
    wrong=(
        (
            text("""
                def same_program(p, q):
                    return p == q
            """),
            "This compares letters. `c = a b` and `z = x y` are the same equation if `a` is `x` and `b` is `y`.",
        ),
        (
            text("""
                def same_program(p, q):
                    return [eqn.op for eqn in p.eqns] == [eqn.op for eqn in q.eqns]
            """),
            "The same operations in the same order are not yet the same program: what do they read?",
        ),
        (
            edit(SAME, ("return name[p.result] == q.result", "return True")),
            "The equations agree, but each program returns something; is it the same?",
        ),
        (
            edit(SAME, ("[name[x] for x in one.args] != list(other.args)", "{name[x] for x in one.args} != set(other.args)")),
            "Operands have an order, and one may occur twice: compare them as lists.",
        ),
        (
            edit(
                SAME,
                ("[name[x] for x in one.args] != list(other.args)", "name[one.args[0]] != other.args[0]"),
            ),
            "Only the first operands are compared.",
        ),
    ),
    hints=(
        "Walk through both at once, and keep a dictionary from the letters of one to those of the other.",
        "The dictionary begins with the inputs; each pair of equations adds its results.",
        "The operands of one, sent through the dictionary, must be the operands of the other.",
    ),
    properties=(
        Property(
            "It tells same from different.",
            pairs_of_programs(),
            (
                'p = program("a b: c = a b; d = c a -> d")\nq = program("x y: z = x y; w = z x -> w")\nsame_program(p, q)',
                'p = program("a b: c = a b -> c")\nq = program("x y: z = y x -> z")\nsame_program(p, q)',
            ),
        ),
    ),
    after="The name for this is *alpha equivalence*. Tinytrace needs no such function to find compiled programs again: the C text "
    "gets its letters by first sight, so equal programs have equal text.",
)

EXERCISES = (PARSE_EXERCISE, SHOW_EXERCISE, PRIMITIVES_EXERCISE, SCOPE_EXERCISE, SAME_EXERCISE)
