"""The exercises of chapter 7."""

from hypothesis import strategies as st

from course.cases import functions, template
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import math
import tinytrace as jax
import tinytrace.numpy as jnp
from course.chapters.ch07_fusion_memory_and_the_roofline.machine import LAPTOP, Machine, nbytes
from tinytrace.core.jaxpr import Literal, Var
"""
ARRAYS = st.sampled_from(["jnp.ones(10)", "jnp.ones((2, 3))", 'jnp.ones(10, "float16")', "jnp.arange(10)"])
PROGRAMS = functions(("{} + {}", "{} * {}", "jnp.sin({})", "2 * {}", "jnp.sum({})"), inputs=2, most=4)
PROGRAMS_OF_TWO = functions(("{} + {}", "{} * {}", "jnp.sin({})", "2 * {}"), inputs=2, most=3, results=2)

# --- 7.1 ---------------------------------------------------------------------------------------------------------

TRAFFIC = text("""
    def traffic(closed):
        total = 0
        for eqn in closed.eqns:
            read = {atom for atom in eqn.invars if isinstance(atom, Var)}
            total += sum(nbytes(v) for v in read) + sum(nbytes(v) for v in eqn.outvars)
        return total
""")

TRAFFIC_EXERCISE = Exercise(
    id="7.1",
    title="one loop for each equation",
    objective="You can say how many bytes a program moves.",
    needs=("traffic", "equation", "aval"),
    out_of_scope="caches, and programs in parameters.",
    task="""
Write `traffic(closed)`: the bytes that move if each equation is a loop of its own. It reads each variable among its operands once,
also if it stands there twice, and writes its results. A literal is in the code and costs nothing. `nbytes(v)` is the size of a value.
""",
    setup=SETUP,
    entry="traffic",
    stub=text('''
        def traffic(closed):
            """The bytes that the equations of a program read and write, each on its own."""
            ...
    '''),
    solution=TRAFFIC,
    wrong=(
        (
            edit(TRAFFIC, (" if isinstance(atom, Var)", "")),
            "A literal stands in the machine code; nobody fetches it from an array.",
        ),
        (
            edit(TRAFFIC, ("{atom for atom in eqn.invars if isinstance(atom, Var)}", "[atom for atom in eqn.invars if isinstance(atom, Var)]")),
            "`x * x` reads x once: the loop has it in its hand.",
        ),
        (
            edit(TRAFFIC, (" + sum(nbytes(v) for v in eqn.outvars)", "")),
            "What is written must also travel.",
        ),
        (
            edit(TRAFFIC, ("nbytes(v)", "v.aval.size")),
            "You count elements. A float32 has four bytes, a float16 two.",
        ),
        (
            edit(TRAFFIC, ("    for eqn in closed.eqns:", "    for eqn in closed.eqns[-1:]:")),
            "You look at the last equation only; those before it move bytes, too.",
        ),
    ),
    hints=(
        "A sum over equations, and for each over what it reads and what it writes.",
        "A set of the operands that are variables reads each once.",
        "`isinstance(atom, Var)` tells variables from literals.",
    ),
    properties=(
        Property(
            "It counts what is read once and what is written.",
            template("{f}\ntraffic(jax.make_jaxpr(f)({x}, {x}))", f=PROGRAMS, x=ARRAYS),
            (
                "traffic(jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(jnp.ones(1000)))",
                "traffic(jax.make_jaxpr(lambda x, y: x * x + y)(jnp.ones(1000), jnp.ones(1000)))",
            ),
        ),
    ),
    after="This is how NumPy runs a formula. In ten operations on long arrays the processor mostly waits.",
)

# --- 7.2 ---------------------------------------------------------------------------------------------------------

FUSED = text("""
    def fused_traffic(closed):
        inputs = {*closed.jaxpr.invars, *closed.jaxpr.constvars}
        read = {atom for eqn in closed.eqns for atom in eqn.invars if isinstance(atom, Var)} & inputs
        made = {v for eqn in closed.eqns for v in eqn.outvars}
        written = {v for v in closed.jaxpr.outvars if isinstance(v, Var)} & made
        return sum(nbytes(v) for v in read | written)
""")

FUSED_EXERCISE = Exercise(
    id="7.2",
    title="one loop for all",
    objective="You can say what fusion saves.",
    needs=("traffic", "fusion"),
    out_of_scope="whether all equations can share a loop (7.3).",
    task="""
Write `fused_traffic(closed)`: the bytes that move if *one* loop runs all equations. It reads each input that an equation needs once
(closed-over arrays are inputs, too) and writes each result that an equation makes once. What lies between never leaves the processor.
""",
    setup=SETUP,
    entry="fused_traffic",
    stub=text('''
        def fused_traffic(closed):
            """The bytes that a program reads and writes as one loop."""
            ...
    '''),
    solution=FUSED,
    wrong=(
        (
            edit(FUSED, (" & inputs", ""), (" & made", ""), ("sum(nbytes(v) for v in read | written)", "sum(nbytes(v) for v in read | written | made)")),
            "What one equation hands to the next stays in a register. Only the two ends of the program are in memory.",
        ),
        (
            edit(FUSED, ("read = {atom for eqn in closed.eqns for atom in eqn.invars if isinstance(atom, Var)} & inputs", "read = inputs")),
            "An input that no equation reads is not fetched.",
        ),
        (
            edit(FUSED, ("for v in read | written", "for v in read")),
            "Results must be written.",
        ),
        (
            edit(FUSED, (" & made", "")),
            "A result that is an input needs no writing: it is there.",
        ),
        (
            edit(FUSED, ("sum(nbytes(v) for v in read | written)", "sum(nbytes(v) for eqn in closed.eqns for v in eqn.invars if isinstance(v, Var) and v in read) + sum(nbytes(v) for v in written)")),
            "An input that three equations read is fetched once: they are in the same loop.",
        ),
    ),
    hints=(
        "Look at the two ends of the program; the middle is free.",
        "Inputs that any equation reads, and results that any equation makes.",
        "Two sets of variables, intersected with the program's inputs and with what its equations make.",
    ),
    properties=(
        Property(
            "It counts what goes in and what comes out.",
            template("{f}\nfused_traffic(jax.make_jaxpr(f)({x}, {x}))", f=PROGRAMS_OF_TWO, x=ARRAYS),
            (
                "fused_traffic(jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(jnp.ones(1000)))",
                "fused_traffic(jax.make_jaxpr(lambda x, y: (x * x + x, x))(jnp.ones(1000), jnp.ones(1000)))",
            ),
        ),
    ),
    after="`print(jit(f).lower(x).kernels)` shows these two figures for each kernel, and what fusion saved.",
)  # fmt: skip

# --- 7.3 ---------------------------------------------------------------------------------------------------------

GROUPS = text("""
    def groups(eqns):
        made = []
        for result, operation, operands, size in eqns:
            if made:
                unfinished = [r for r, other, _, _ in made[-1] if other == "sum"]
                if made[-1][0][3] == size and not any(x in unfinished for x in operands):
                    made[-1].append((result, operation, operands, size))
                    continue
            made.append([(result, operation, operands, size)])
        return [[result for result, *_ in group] for group in made]
""")


@st.composite
def equations(draw):
    """Up to five equations as text: result, operation, operands, how long the loop is."""
    names, rows = ["x"], []
    for name in "abcde"[: draw(st.integers(1, 5))]:
        operation = draw(st.sampled_from(["mul", "sum"]))
        operands = tuple(draw(st.sampled_from(names[::-1])) for _ in range(2 if operation == "mul" else 1))
        rows.append((name, operation, operands, draw(st.sampled_from([8, 8, 3]))))
        names.append(name)
    return f"groups({rows})"


GROUPS_EXERCISE = Exercise(
    id="7.3",
    title="who may share a loop",
    objective="You can say which equations can be fused.",
    needs=("fusion", "reduction"),
    out_of_scope="to put equations in another order.",
    task="""
An equation is a tuple `(result, operation, operands, size)`; `size` is the length of its loop. Write `groups(eqns)`: a list of lists
of results, in order. An equation joins the group of the one before it, unless its loop has another size, or it reads a `"sum"` that
this group computes: a sum is known when its loop has ended, not earlier.
""",
    setup=SETUP,
    entry="groups",
    stub=text('''
        def groups(eqns):
            """The results of the equations, one list for each loop."""
            ...
    '''),
    solution=GROUPS,
    wrong=(
        (
            edit(GROUPS, (" and not any(x in unfinished for x in operands)", "")),
            "An equation reads a sum in the loop that computes it: it sees a part of the sum.",
        ),
        (
            edit(GROUPS, ("if made:", "if False:")),
            "Each equation has a loop of its own. That is right, and slow.",
        ),
        (
            edit(GROUPS, ("made[-1][0][3] == size and ", "")),
            "A loop of 8 rounds cannot do the work of one of 3.",
        ),
        (
            edit(GROUPS, ("for r, other, _, _ in made[-1] if", "for r, other, _, _ in made[-1][-1:] if")),
            "You look at the last equation of the group. The sum may stand further up.",
        ),
        (
            edit(GROUPS, ("not any(x in unfinished for x in operands)", "not unfinished")),
            "Behind a sum you always begin a new loop. Who does not read the sum may stay.",
        ),
        (
            edit(GROUPS, ('if other == "sum"]', "]")),
            "Products of the same loop may be read at once, element by element. Only sums must be waited for.",
        ),
    ),
    hints=(
        "Go through the equations with a list of groups; look at the last group only.",
        "Which results of the last group are sums? Does the new equation read one of them?",
        "If the sizes agree and it reads none of them: append it to the last group, else begin a new one.",
    ),
    properties=(
        Property(
            "Nobody reads a sum that is not finished, and nobody has a loop alone who need not.",
            equations(),
            (
                'groups([("a", "mul", ("x", "x"), 8), ("b", "sum", ("a",), 8), ("c", "mul", ("x", "b"), 8)])',
                'groups([("a", "sum", ("x",), 8), ("b", "mul", ("x", "x"), 8), ("c", "mul", ("b", "b"), 3)])',
            ),
        ),
    ),
    after="`plan/partition.py` decides this in tinytrace, also for equations that are not neighbours. A softmax needs three loops: "
    "maximum, sum, quotient.",
)

# --- 7.4 ---------------------------------------------------------------------------------------------------------

SECONDS = text("""
    def seconds(flops, moved, machine):
        for size, bandwidth in machine.levels:
            if moved <= size:
                break
        return max(flops / machine.flops, moved / bandwidth)
""")

SECONDS_EXERCISE = Exercise(
    id="7.4",
    title="the roofline",
    objective="You can predict how long a loop takes.",
    needs=("roofline", "bandwidth", "memory-bound"),
    out_of_scope="that the second run finds its data in the cache; threads.",
    task="""
Write `seconds(flops, moved, machine)`: at least how long a loop takes that does `flops` operations and moves `moved` bytes. Computing
and moving go on at the same time, so the slower of both decides. `machine.flops` are operations per second. `machine.levels` are
pairs (size, bytes per second), the smallest first: the bytes move at the speed of the first memory in which all of them fit.
""",
    setup=SETUP,
    entry="seconds",
    stub=text('''
        def seconds(flops, moved, machine):
            """The time that a loop takes at least."""
            ...
    '''),
    solution=SECONDS,
    wrong=(
        (
            edit(SECONDS, ("max(flops / machine.flops, moved / bandwidth)", "flops / machine.flops + moved / bandwidth")),
            "A processor fetches the next numbers while it computes with these. The two times overlap.",
        ),
        (
            edit(SECONDS, ("max(", "min(")),
            "The slower of both decides: nobody can compute with numbers that are not there.",
        ),
        (
            edit(SECONDS, ("if moved <= size:", "if size == math.inf:")),
            "Everything comes from the main memory with you. What is small comes from a cache, ten times as fast.",
        ),
        (
            edit(SECONDS, ("if moved <= size:", "if True:")),
            "Everything comes from the smallest cache with you. It has 32 kB.",
        ),
        (
            edit(SECONDS, ("max(flops / machine.flops, moved / bandwidth)", "moved / bandwidth")),
            "If there is much to compute for each number, computing decides.",
        ),
        (
            edit(SECONDS, ("max(flops / machine.flops, moved / bandwidth)", "flops / machine.flops")),
            "Operations are cheap; most loops wait for memory.",
        ),
    ),
    hints=(
        "Two times: one for computing, one for moving. Which of them counts?",
        "For the second, look for the first level whose size is at least `moved`.",
        "`max(flops / machine.flops, moved / bandwidth)`",
    ),
    properties=(
        Property(
            "The slower of computing and moving.",
            template(
                "seconds({flops}, {moved}, {machine})",
                flops=st.sampled_from(["1e3", "1e6", "1e9", "0", "1e12"]),
                moved=st.sampled_from(["8e3", "8e5", "8e6", "32e3", "8e9", "1e6"]),
                machine=st.sampled_from(["LAPTOP", "Machine(1e9, ((1e4, 1e10), (math.inf, 1e9)))"]),
            ),
            ("seconds(1e6, 8e6, LAPTOP)", "seconds(1e9, 8e3, LAPTOP)"),
        ),
    ),
    after="Drawn over operations per byte this is a slope and a ceiling: the *roofline* of Williams, Waterman and Patterson (2009). "
    "`docs/kernels.md` says how far six of tinytrace's programs are from it.",
)

# --- 7.5 ---------------------------------------------------------------------------------------------------------

PEAK = text("""
    def peak(closed):
        last = {}
        for i, eqn in enumerate(closed.eqns):
            last |= {atom: i for atom in eqn.invars if isinstance(atom, Var)}
        last |= {v: len(closed.eqns) for v in closed.jaxpr.outvars if isinstance(v, Var)}
        alive, most = [], 0
        for i, eqn in enumerate(closed.eqns):
            alive += eqn.outvars
            most = max(most, sum(nbytes(v) for v in alive))
            alive = [v for v in alive if last.get(v, i) > i]
        return most
""")

PEAK_EXERCISE = Exercise(
    id="7.5",
    title="how much memory",
    objective="You can say how much memory a program needs.",
    needs=("lifetime", "equation"),
    out_of_scope="the inputs, which the caller owns; a result in the place of an operand.",
    task="""
Run one equation after the other. A value is there from the equation that makes it until the last equation that reads it has run;
results stay to the end. Write `peak(closed)`: the most bytes that are there at one time, inputs not counted. While an equation runs,
its operands and its results are both there.
""",
    setup=SETUP,
    entry="peak",
    stub=text('''
        def peak(closed):
            """The most bytes of intermediate values and results that are alive at one time."""
            ...
    '''),
    solution=PEAK,
    wrong=(
        (
            edit(PEAK, ("            alive = [v for v in alive if last.get(v, i) > i]\n".replace("            ", "        "), "")),
            "Nothing is ever freed. What nobody will read again can go.",
        ),
        (
            edit(PEAK, ("        last |= {v: len(closed.eqns) for v in closed.jaxpr.outvars if isinstance(v, Var)}\n".replace("        ", "    "), "")),
            "A result is needed by the caller: it stays to the end, also if no equation reads it.",
        ),
        (
            edit(PEAK, ("            most = max(most, sum(nbytes(v) for v in alive))\n            alive = [v for v in alive if last.get(v, i) > i]".replace("            ", "        "),
                        "        alive = [v for v in alive if last.get(v, i) > i]\n        most = max(most, sum(nbytes(v) for v in alive))")),
            "You free the operands before the equation has run. While it reads them, both they and its result are there.",
        ),
        (
            edit(PEAK, ("alive, most = [], 0", "alive, most = list(closed.jaxpr.invars), 0")),
            "The inputs belong to the caller, and are there anyway.",
        ),
        (
            edit(PEAK, ("max(most, sum(nbytes(v) for v in alive))", "max(most, *(nbytes(v) for v in alive))")),
            "You look for the largest value. What counts is the sum of those that are there together.",
        ),
    ),
    hints=(
        "First find out, for each variable, which equation reads it last.",
        "Then run through the equations with a list of what is alive: add, measure, drop.",
        "Give the results a last reader behind the end.",
    ),
    properties=(
        Property(
            "The largest sum of what is alive together.",
            template("{f}\npeak(jax.make_jaxpr(f)({x}, {x}))", f=PROGRAMS_OF_TWO | PROGRAMS, x=st.sampled_from(["jnp.ones(10)", "jnp.ones((2, 3))"])),
            ("peak(jax.make_jaxpr(lambda x: jnp.sin(jnp.sin(jnp.sin(x))))(jnp.ones(1000)))",
             "peak(jax.make_jaxpr(lambda x: x * 2.0 + x * 3.0)(jnp.ones(1000)))"),
        ),
    ),
    after="`codegen/memory.py` gives values of disjoint lifetimes the same bytes. How to order equations for the least peak is a hard "
    "problem, and a solved one only for trees.",
)  # fmt: skip

EXERCISES = (TRAFFIC_EXERCISE, FUSED_EXERCISE, GROUPS_EXERCISE, SECONDS_EXERCISE, PEAK_EXERCISE)
