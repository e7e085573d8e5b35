"""The exercises of chapter 6."""

from hypothesis import strategies as st

from course.cases import functions, numbers, template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import math
import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
from course.c_interpreter import run_c, value_of_c
from course.chapters.ch06_from_equation_to_c.c_text import SIGNS, function, run_emitted, visits
from tinytrace.core.jaxpr import Literal
"""

# --- 6.1 ---------------------------------------------------------------------------------------------------------

EXPRESSION = text("""
    def expression(name, *operands):
        if name in SIGNS:
            return f"(({operands[0]}) {SIGNS[name]} ({operands[1]}))"
        if name == "neg":
            return f"(-({operands[0]}))"
        return f"{name}f({operands[0]})"
""")

EXPRESSION_EXERCISE = Exercise(
    id="6.1",
    title="an operation in C",
    objective="You can write an operation so that it means the same wherever it is put.",
    needs=("to emit",),
    out_of_scope="operations on anything but single floats.",
    task="""
Write `expression(name, *operands)`: the C text of one operation on floats. The operands are C texts themselves, such as `"a - b"`.
`name` is `add`, `sub`, `mul`, `div` (their signs are in `SIGNS`), `neg`, or a function of one float such as `sin`, which C calls
`sinf`: `sin` takes and gives doubles.
""",
    setup=SETUP,
    entry="expression",
    stub=text('''
        def expression(name, *operands):
            """The C text of an operation on these C texts."""
            ...
    '''),
    solution=EXPRESSION,
    wrong=(
        (
            edit(EXPRESSION, ('(({operands[0]}) {SIGNS[name]} ({operands[1]}))', '{operands[0]} {SIGNS[name]} {operands[1]}')),
            "Without brackets C binds by its own rules: `a - b * c` is not `(a - b) * c`, whoever wrote the parts.",
        ),
        (
            edit(EXPRESSION, ('(({operands[0]}) {SIGNS[name]} ({operands[1]}))', '({operands[0]} {SIGNS[name]} {operands[1]})')),
            "You put brackets around the result. But an operand may be `a - b` without any: you did not write it.",
        ),
        (
            edit(EXPRESSION, ("(-({operands[0]}))", "(-{operands[0]})")),
            "Two signs that meet are another operator: `--a` makes a smaller by one.",
        ),
        (
            edit(EXPRESSION, ('{name}f(', "{name}(")),
            "In C `sin` is for doubles: it computes twice as many digits as asked for, slowly, and gives another type.",
        ),
        (
            edit(EXPRESSION, ('(({operands[0]}) {SIGNS[name]} ({operands[1]}))', '(({operands[1]}) {SIGNS[name]} ({operands[0]}))')),
            "The operands are exchanged. Sums do not mind, differences and quotients do.",
        ),
    ),
    hints=(
        "Ask of each operand: what if it is `a - b`?",
        "Brackets around each operand, and around the result. They cost nothing in the machine code.",
        '`f"(({x}) {SIGNS[name]} ({y}))"`',
    ),
    properties=(
        Property(
            "The text has the value of the operation.",
            template(
                'value_of_c(expression("{name}", "{x}", "{y}"), a=3.0, b=5.0, c=0.5)',
                name=st.sampled_from(["add", "sub", "mul", "div"]),
                x=st.sampled_from(["a", "a - b", "a * b", "-a"]),
                y=st.sampled_from(["c", "b - c", "b / c", "-c"]),
            )
            | template(
                'value_of_c(expression("{name}", "{x}"), a=3.0, b=5.0)',
                name=st.sampled_from(["neg", "sin", "exp"]),
                x=st.sampled_from(["a", "a - b", "-a"]),
            ),
            ('value_of_c(expression("mul", "a - b", "c"), a=3.0, b=5.0, c=0.5)', 'value_of_c(expression("sin", "a"), a=3.0)'),
        ),
        Property(
            "So it has where it becomes an operand itself.",
            template(
                'value_of_c(expression("{outer}", expression("{inner}", "a", "b"), "c"), a=3.0, b=5.0, c=0.5)',
                outer=st.sampled_from(["mul", "div", "sub", "add"]),
                inner=st.sampled_from(["sub", "add", "div", "mul"]),
            ),
        ),
    ),
    after="In `tinytrace/codegen/c` the texts know how strongly they bind, so that fewer brackets are printed: for readers, not for C.",
)

# --- 6.2 ---------------------------------------------------------------------------------------------------------

LITERAL = text("""
    def literal(x):
        if isinstance(x, int):
            return f"({int(x)})"
        if math.isnan(x):
            return "NAN"
        if math.isinf(x):
            return "INFINITY" if x > 0 else "(-INFINITY)"
        return f"({x!r}f)"
""")

LITERAL_EXERCISE = Exercise(
    id="6.2",
    title="a number in C",
    objective="You can write any number so that C reads the same one.",
    needs=("to emit",),
    out_of_scope="complex numbers, and integers of more than 32 bits.",
    task="""
Write `literal(x)`: a number of a program as C text. A Python float becomes a `float` (with an `f` behind it), an integer an `int`,
`True` is 1. Infinities and NaN have names in C: `INFINITY`, `NAN`. The text must be good anywhere in an expression, also directly
behind a minus sign.
""",
    setup=SETUP,
    entry="literal",
    stub=text('''
        def literal(x):
            """The C text of a number."""
            ...
    '''),
    solution=LITERAL,
    wrong=(
        (
            edit(LITERAL, ("({x!r}f)", "({x!r})")),
            "Without `f` it is a double, and everything that it meets becomes one.",
        ),
        (
            edit(LITERAL, ("({x!r}f)", "({x:.2f}f)")),
            "Two decimals are not the number. `repr` writes as many digits as it takes to read the same one.",
        ),
        (
            edit(LITERAL, ('    if math.isnan(x):\n        return "NAN"\n    if math.isinf(x):\n        return "INFINITY" if x > 0 else "(-INFINITY)"\n', "")),
            "Python prints `inf` and `nan`; C has never heard of them.",
        ),
        (
            edit(LITERAL, ("({x!r}f)", "{x!r}f"), ("({int(x)})", "{int(x)}"), ("(-INFINITY)", "-INFINITY")),
            "Behind a minus sign a negative number makes `--`, which is another operator.",
        ),
        (
            edit(LITERAL, ("({int(x)})", "({x})")),
            "`True` and `False` are Python's words.",
        ),
        (
            edit(LITERAL, ('return f"({int(x)})"', 'return f"({float(x)!r}f)"')),
            "Integers have become floats: `7 / 2` is 3 for one kind and 3.5 for the other.",
        ),
    ),
    hints=(
        "Sort the cases first: integers and booleans, NaN, infinities, the rest.",
        "`repr` of a float has a point or an exponent, so an `f` may follow.",
        "Put brackets around whatever can begin with a minus sign.",
    ),
    properties=(
        Property(
            "C reads the number that was written, in its type.",
            template(
                'value_of_c({before} + literal({x}) + {behind}, a=1.0)',
                x=st.sampled_from(["2.0", "3", "0.1", "-1.5", "-7", "1e30", "1e-30", "math.inf", "-math.inf", "math.nan", "True",
                                   "False", "0.0", "16777217", "1.2345678"]),
                before=st.sampled_from(['""', '"a-"']),
                behind=st.sampled_from(['""', '" / 2"']),
            ),
            ('value_of_c(literal(2.0))', 'value_of_c("a-" + literal(-1.5), a=1.0)'),
        ),
    ),
    after="`%a`, the hexadecimal form, is exact by design: `0x1.99999ap-4f`. It is not made for readers, so tinytrace prints decimals "
    "and a law asks that they read back.",
)  # fmt: skip

# --- 6.3 ---------------------------------------------------------------------------------------------------------

OFFSET = text("""
    def offset(shape, indices):
        terms = []
        for k, (index, side) in enumerate(zip(indices, shape)):
            if side != 1:
                terms.append(f"{index} * {math.prod(shape[k + 1:])}")
        return " + ".join(terms) or "0"
""")

OFFSET_EXERCISE = Exercise(
    id="6.3",
    title="where an element lies",
    objective="You can say where in memory an element of an array is.",
    needs=("row-major", "stride"),
    out_of_scope="arrays that are turned or cut.",
    task="""
Memory has one dimension. Write `offset(shape, indices)`: the C text of the position of an element, from the array's shape and the
names of the loop variables. Row-major: the last index moves by one. A side of length 1 is read at its only place, whatever its index
is: that is how an operand is repeated along a side.
""",
    setup=SETUP,
    entry="offset",
    stub=text('''
        def offset(shape, indices):
            """The C text of where the element with these indices lies."""
            ...
    '''),
    solution=OFFSET,
    wrong=(
        (
            edit(OFFSET, ("shape[k + 1:]", "shape[:k]")),
            "In your array the first index moves by one: that is column-major, Fortran's way.",
        ),
        (
            edit(OFFSET, ("math.prod(shape[k + 1:])", "(shape[k + 1] if k + 1 < len(shape) else 1)")),
            "A step of the first of three indices passes over a whole plane: the stride is the product of *all* sides behind it.",
        ),
        (
            edit(OFFSET, ("if side != 1:", "if True:")),
            "A side of length 1 has one place only. Its index runs on with the others, and your text runs out of the array.",
        ),
        (
            edit(OFFSET, (' or "0"', "")),
            "A single number lies at 0. Your text is empty, and `x[]` is no C.",
        ),
        (
            edit(OFFSET, ("shape[k + 1:]", "shape[k:]")),
            "The stride of an index does not hold its own side: one step passes over what is *behind* it.",
        ),
    ),
    hints=(
        "Each index is multiplied by its stride, and the products are added.",
        "The stride of index k is the product of the sides behind it: `math.prod(shape[k + 1:])`.",
        "Leave out sides of length 1; if nothing is left, the text is `0`.",
    ),
    properties=(
        Property(
            "Every element has its place.",
            template(
                'value_of_c(offset({shape}, {names}), i={i}, j={j}, k={k})',
                shape=st.sampled_from(["(4, 5)", "(4, 1)", "(1, 5)"]),
                names=st.just('("i", "j")'),
                i=st.integers(0, 2).map(str), j=st.integers(0, 2).map(str), k=st.just("0"),
            )
            | template(
                'value_of_c(offset({shape}, ("i", "j", "k")), i={i}, j={j}, k={k})',
                shape=st.sampled_from(["(4, 5, 6)", "(4, 1, 6)", "(1, 5, 6)"]),
                i=st.integers(0, 2).map(str), j=st.integers(0, 2).map(str), k=st.integers(0, 2).map(str),
            )
            | st.sampled_from(["value_of_c(offset((), ()))", 'value_of_c(offset((7,), ("i",)), i=4)', 'value_of_c(offset((1,), ("i",)), i=4)']),
            ('value_of_c(offset((4, 5), ("i", "j")), i=2, j=1)', 'value_of_c(offset((1, 5), ("i", "j")), i=2, j=1)'),
        ),
    ),
    after="`x.strides` in NumPy are these numbers in bytes. A transposed view is the same memory with its strides exchanged.",
)  # fmt: skip

# --- 6.4 ---------------------------------------------------------------------------------------------------------

NEST = text("""
    def nest(shape, body):
        lines = list(body)
        for k in reversed(range(len(shape))):
            head = f"for (int64_t i{k} = 0; i{k} < {shape[k]}; i{k}++) {{"
            lines = [head, *lines, "}"]
        return lines
""")

NEST_EXERCISE = Exercise(
    id="6.4",
    title="a loop nest",
    objective="You can write loops around anything.",
    needs=("loop nest",),
    out_of_scope="indentation.",
    task="""
Write `nest(shape, body)`: a list of lines of C, in which the lines `body` stand inside one loop for each side of the shape. The
variables are `i0`, `i1`, ... (`int64_t`), from 0, the first the outermost. An array without sides needs no loop.
""",
    setup=SETUP,
    entry="nest",
    stub=text('''
        def nest(shape, body):
            """Lines of C: the body inside one loop for each side."""
            ...
    '''),
    solution=NEST,
    wrong=(
        (
            edit(NEST, ("i{k} < {shape[k]}", "i{k} <= {shape[k]}")),
            "From 0 to n *inclusive* is one too many, and the last one lies outside of the array.",
        ),
        (
            edit(NEST, ("reversed(range(len(shape)))", "range(len(shape))")),
            "Your outermost loop is that of the last side: memory is walked through in columns.",
        ),
        (
            edit(NEST, (" {{", ""), ('[head, *lines, "}"]', "[head, *lines]")),
            "Without braces only the first line stands inside of the loop.",
        ),
        (
            edit(NEST, ("= 0; i{k} <", "= 1; i{k} <")),
            "C counts from 0; the first element is left out.",
        ),
        (
            edit(NEST, ("for k in reversed(range(len(shape))):", "if not shape:\n        return []\n    for k in reversed(range(len(shape))):")),
            "Without sides there is still one element: the body is run once.",
        ),
        (
            edit(NEST, ("int64_t i{k} = 0; i{k} < {shape[k]}; i{k}++", "int64_t i = 0; i < {shape[k]}; i++")),
            "All your loops have one variable: the inner one hides the outer one.",
        ),
    ),
    hints=(
        "Begin inside: the body, then the loop of the last side around it, and so on.",
        "One loop is its head, the lines, and a closing brace.",
        'The head: `f"for (int64_t i{k} = 0; i{k} < {shape[k]}; i{k}++) {{"`.',
    ),
    properties=(
        Property(
            "All indices, each once, in the order of memory.",
            st.lists(st.integers(1, 4), max_size=3).map(lambda shape: f"visits(nest, {tuple(shape)})"),
            ("visits(nest, (2, 3))", "visits(nest, ())"),
        ),
    ),
    after="`jit(f).lower(x).kernels` prints one such nest for each kernel, before anything is done to it.",
)

# --- 6.5 ---------------------------------------------------------------------------------------------------------

EMIT = text("""
    def emit(closed):
        names = {v: f"in{k}[i]" for k, v in enumerate(closed.jaxpr.invars)}

        def operand(atom):
            return f"({atom.val!r}f)" if isinstance(atom, Literal) else names[atom]

        lines = []
        for k, eqn in enumerate(closed.eqns):
            operands = [operand(atom) for atom in eqn.invars]
            lines.append(f"float t{k} = {expression(eqn.primitive.name, *operands)};")
            names[eqn.outvars[0]] = f"t{k}"
        for k, atom in enumerate(closed.jaxpr.outvars):
            lines.append(f"out{k}[i] = {operand(atom)};")
        size = closed.in_avals[0].shape[0]
        loop = [f"for (int64_t i = 0; i < {size}; i++) {{", *lines, "}"]
        return function(len(closed.jaxpr.invars), len(closed.jaxpr.outvars), loop)
""")

EMIT_EXERCISE = Exercise(
    id="6.5",
    title="a whole program in C",
    objective="You can compile a jaxpr.",
    needs=("to emit", "loop nest", "jaxpr", "equation"),
    out_of_scope="anything but elementwise operations on `f32[n]`; literals are finite floats.",
    task="""
Write `emit(closed)`: the C function of a jaxpr whose inputs and results are all `f32[n]` and whose operations are elementwise. One
loop; in it each equation becomes one line, `float t0 = ...;`, and then the results are stored. `function(inputs, outputs, lines)`
writes the frame: the arrays are called `in0`, `in1`, ... and `out0`, `out1`, ... `expression` is that of exercise 6.1.
""",
    setup=SETUP + "from course.chapters.ch06_from_equation_to_c.c_text import expression\n",
    entry="emit",
    stub=text('''
        def emit(closed):
            """The C text of a program of elementwise operations."""
            lines = []
            return function(len(closed.jaxpr.invars), len(closed.jaxpr.outvars), lines)
    '''),
    solution=EMIT,
    wrong=(
        (
            edit(EMIT, ("= {operand(atom)};", "= t{len(closed.eqns) - 1};")),
            "You store the last equation's result everywhere. A program may return several things, and its inputs.",
        ),
        (
            edit(EMIT, ('f"float t{k} =', 'f"float t_{eqn.primitive.name} ='), ('names[eqn.outvars[0]] = f"t{k}"', 'names[eqn.outvars[0]] = f"t_{eqn.primitive.name}"')),
            "Two equations with the same operation share a name in your C; the second overwrites the first.",
        ),
        (
            edit(EMIT, ("i < {size}", "i < {size} - 1")),
            "The last element is never computed.",
        ),
        (
            edit(EMIT, ("out{k}[i]", "out{k}[0]")),
            "All elements are stored in the same place.",
        ),
        (
            edit(EMIT, ("for atom in eqn.invars]", "for atom in eqn.invars[::-1]]")),
            "The operands are exchanged.",
        ),
        (
            edit(EMIT, ('"in{k}[i]"', '"in0[i]"')),
            "All inputs are read from the first array.",
        ),
    ),
    hints=(
        "Keep a dictionary from variables to their C texts; at first the inputs: `in0[i]`.",
        "For each equation: the texts of its operands, a line `float t3 = ...;`, a new entry in the dictionary.",
        "At the end one line `out0[i] = ...;` for each result, and the loop around all of it.",
    ),
    properties=(
        Property(
            "The C computes what the function computes.",
            template(
                "{f}\nrun_emitted(emit, f, [1.0, {x}], [{y}, -0.5])",
                f=functions(("{} + {}", "{} * {}", "2.0 - {}", "jnp.sin({})", "-{}"), inputs=2, most=3, results=2),
                x=numbers(-2, 2),
                y=numbers(-2, 2),
            ),
            ("run_emitted(emit, lambda x: 2.0 * x + 1.0, [1.0, 2.0, 3.0])", "run_emitted(emit, lambda x, y: (x - y, x), [1.0, 2.0], [3.0, 5.0])"),
        ),
    ),
    after="You have a compiler. Step 8 of `tutorials/build` does the same with types and shapes; chapter 7 asks what the loop costs.",
)

EXERCISES = (EXPRESSION_EXERCISE, LITERAL_EXERCISE, OFFSET_EXERCISE, NEST_EXERCISE, EMIT_EXERCISE)
