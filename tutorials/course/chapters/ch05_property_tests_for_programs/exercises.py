"""The exercises of chapter 5."""

from hypothesis import strategies as st

from course.cases import template
from course.chapters.ch05_property_tests_for_programs.laws import DERIVATIVES, RIGHT_NAMES, WITH_A_CACHE
from course.exercise import Exercise, Property, edit, text

SETUP = """\
import numpy as np
from course.chapters.ch05_property_tests_for_programs.laws import (
    CALLS, PAIRS, PROGRAMS, caught, compiler, failing, kind, program, run, says, times_traced,
)
"""


def judged_by(law, cases, right, faulty):
    """The two properties of a learner's law: right compilers pass, faulty ones do not."""
    judged = f'says({law}, compiler("{{}}"), {cases})'
    return (
        Property("It accepts every right compiler.", st.sampled_from([judged.format(name) for name in right]),
                 (judged.format(right[0]),)),
        Property("It catches the faulty ones.", st.sampled_from([judged.format(name) for name in faulty]),
                 (judged.format(faulty[0]),)),
    )  # fmt: skip


# --- 5.1 ---------------------------------------------------------------------------------------------------------

COMPUTES = text("""
    def obeys(m, f, x):
        return np.allclose(run(m, f, x), f(np, x), rtol=1e-4)
""")

COMPUTES_EXERCISE = Exercise(
    id="5.1",
    title="the law of tracing",
    objective="You can state what a compiler must do, as something that runs.",
    needs=("property", "planted fault"),
    out_of_scope="which functions and arrays are tried: `PROGRAMS` has them.",
    task="""
Write the law "running the program is calling the function": `obeys(m, f, x)` is true if it holds for the compiler `m`, the
function `f` and the array `x`. `run(m, f, x)` traces and runs. `f(np, x)` asks NumPy, which nobody suspects. Right compilers may
round in different ways: float32 has about seven digits.
""",
    setup=SETUP,
    entry="obeys",
    stub=text('''
        def obeys(m, f, x):
            """Whether running the traced program is calling the function."""
            ...
    '''),
    solution=COMPUTES,
    wrong=(
        (
            edit(COMPUTES, ("f(np, x)", "np.asarray(f(m, m.array(x)))")),
            "Both sides ask the compiler that is on trial. If its `tanh` is off, it is off in both; a judge must not depend on the accused.",
        ),
        (
            edit(COMPUTES, ("np.allclose(run(m, f, x), f(np, x), rtol=1e-4)", "np.shape(run(m, f, x)) == np.shape(f(np, x))")),
            "You compare types. They can be right while every number is wrong.",
        ),
        (
            edit(COMPUTES, ("np.allclose(run(m, f, x), f(np, x), rtol=1e-4)", "np.array_equal(run(m, f, x), f(np, x))")),
            "You demand every bit. A right compiler may round the last digit in another way, and your law convicts it.",
        ),
        (
            edit(COMPUTES, ("rtol=1e-4", "rtol=0.1")),
            "Your tolerance is so wide that an error of one per cent goes through it. float32 is good for about seven digits.",
        ),
        (
            edit(COMPUTES, ("np.allclose(run(m, f, x), f(np, x), rtol=1e-4)", "bool(np.all(run(m, f, x) - f(np, x) < 1e-3))")),
            "You look at errors in one direction only: what is too small passes.",
        ),
        (
            edit(COMPUTES, ("run(m, f, x), f(np, x)", "np.ravel(run(m, f, x))[0], np.ravel(f(np, x))[0]")),
            "You look at one element. Loops go wrong at their ends.",
        ),
    ),
    hints=(
        "There are two ways to the same numbers; the law says that they agree.",
        "One way is `run(m, f, x)`, the other is `f(np, x)`.",
        "`np.allclose(..., ..., rtol=1e-4)` says whether two arrays agree up to rounding.",
    ),
    properties=judged_by(
        "obeys", "PROGRAMS", RIGHT_NAMES,
        ("right-operand", "minus-forgotten", "tanh-is-off", "last-element", "sum-too-short", "constants-by-shape"),
    ),
    after="This is the first test of every compiler, and has a name: *differential testing*. `tests/testing` runs it on random programs.",
    clues=('obeys(compiler("step 12"), *PROGRAMS[0])',),
)  # fmt: skip

# --- 5.2 ---------------------------------------------------------------------------------------------------------

TEXTS = text("""
    def texts_tell(m, f, x, g, y, same):
        return (str(program(m, f, x)) == str(program(m, g, y))) == same
""")

TEXTS_EXERCISE = Exercise(
    id="5.2",
    title="the law of texts",
    objective="You can test that a text says all, and nothing by chance.",
    needs=("property", "planted fault"),
    out_of_scope="how the text looks.",
    task="""
A jaxpr's text is a contract: two programs have equal texts *if and only if* they are the same program. Write that law:
`texts_tell(m, f, x, g, y, same)`, where `program(m, f, x)` and `program(m, g, y)` are the programs, and `same` says whether they are
the same.
""",
    setup=SETUP,
    entry="texts_tell",
    stub=text('''
        def texts_tell(m, f, x, g, y, same):
            """Whether the texts are equal if and only if the programs are the same."""
            ...
    '''),
    solution=TEXTS,
    wrong=(
        (
            edit(TEXTS, ("(str(program(m, f, x)) == str(program(m, g, y))) == same", "not same or str(program(m, f, x)) == str(program(m, g, y))")),
            "That is one half: the same program has the same text. A printer that hides the shapes obeys it.",
        ),
        (
            edit(TEXTS, ("(str(program(m, f, x)) == str(program(m, g, y))) == same", "same or str(program(m, f, x)) != str(program(m, g, y))")),
            "That is one half: different programs have different texts. A printer that never prints the same twice obeys it.",
        ),
        (
            edit(TEXTS, ("str(program(m, f, x)) == str(program(m, g, y))", "program(m, f, x) is program(m, g, y)")),
            "Two programs are two objects, even if they are alike. It is their texts that you want to compare.",
        ),
        (
            edit(TEXTS, ("(str(program(m, f, x)) == str(program(m, g, y))) == same", "not same or len(program(m, f, x).eqns) == len(program(m, g, y).eqns)")),
            "You count equations. No text was looked at.",
        ),
        (
            edit(TEXTS, ("str(program(m, f, x)) == str(program(m, g, y))", 'str(program(m, f, x)).split("let")[0] == str(program(m, g, y)).split("let")[0]')),
            "You compare the line with the inputs. What is computed stands below it.",
        ),
    ),
    hints=(
        "\"If and only if\" is one comparison of two truths.",
        "The first truth: the texts are equal. The second: `same`.",
        "`(text == other_text) == same`",
    ),
    properties=judged_by(
        "texts_tell", "PAIRS", RIGHT_NAMES,
        ("numbers-rounded", "letters-go-on", "dtypes-hidden", "shapes-hidden", "params-hidden"),
    ),
    after="`parse(print(j)) == j` is the same law said shorter: whoever can read the program back has lost nothing.",
    clues=('texts_tell(compiler("step 12"), *PAIRS[0])', 'texts_tell(compiler("step 12"), *PAIRS[1])'),
)  # fmt: skip

# --- 5.3 ---------------------------------------------------------------------------------------------------------

SHARES = text("""
    def remembers(m, x, y):
        return times_traced(m, x, y) == (1 if kind(x) == kind(y) else 2)
""")

SHARES_EXERCISE = Exercise(
    id="5.3",
    title="the law of caches",
    objective="You can test a cache without looking into it.",
    needs=("hit", "miss", "key", "property", "planted fault"),
    out_of_scope="what the program computes, and static arguments.",
    task="""
A cache makes two mistakes: it forgets what it should know, and it mistakes one call for another. Write `remembers(m, x, y)`: true if
the compiler `m` treats a call with `x` followed by one with `y` as it should. `times_traced(m, x, y)` counts how often the function
was traced for the two; `kind(x)` is structure and types of an argument.
""",
    setup=SETUP,
    entry="remembers",
    stub=text('''
        def remembers(m, x, y):
            """Whether a call with `y` after one with `x` is traced if and only if it must be."""
            ...
    '''),
    solution=SHARES,
    wrong=(
        (
            edit(SHARES, ("== (1 if kind(x) == kind(y) else 2)", "<= 2")),
            "Two calls are traced twice at most, whatever the cache does.",
        ),
        (
            edit(SHARES, ("return times_traced", "return kind(x) != kind(y) or times_traced"), ("(1 if kind(x) == kind(y) else 2)", "1")),
            "You test for hits. A cache that gives everybody the same program has the most hits of all.",
        ),
        (
            edit(SHARES, ("return times_traced", "return kind(x) == kind(y) or times_traced"), ("(1 if kind(x) == kind(y) else 2)", "2")),
            "You test for misses. A cache that never hits passes.",
        ),
        (
            edit(SHARES, ("kind(x) == kind(y)", "np.array_equal(x, y)")),
            "Values decide nothing: 1.0 and 2.5 share a program, and your law calls that a mistake.",
        ),
        (
            edit(SHARES, ("kind(x) == kind(y)", "type(x) is type(y)")),
            "Arrays of all shapes have the same Python class, and need different programs.",
        ),
        (
            edit(SHARES, ("kind(x) == kind(y)", 'repr(kind(x)).replace("~", "") == repr(kind(y)).replace("~", "")')),
            "Weak and strong types are different kinds: `1.0` and `np.float32(1.0)` need two programs.",
        ),
    ),
    hints=(
        "How many traces are right? That depends on the two arguments.",
        "One if they are of the same kind, else two.",
        "`times_traced(m, x, y) == (1 if ... else 2)`",
    ),
    properties=judged_by(
        "remembers", "CALLS", WITH_A_CACHE,
        ("key-without-dtype", "key-without-shape", "key-without-structure", "key-without-weakness", "key-with-values", "never-a-hit"),
    ),
    after="A law with two sides again. Most bugs of caches in the world are of the first kind: the key forgot something.",
    clues=tuple(f'remembers(compiler("step 12"), *CALLS[{i}])' for i in (0, 3, 5)),
)  # fmt: skip

# --- 5.4 ---------------------------------------------------------------------------------------------------------

SUITE = text("""
    def suite():
        return [
            lambda m, x: x * m.cos(x),
            lambda m, x: (1.0 - x) / (2.0 + x),
            lambda m, x: m.tanh(x),
        ]
""")

SUITE_EXERCISE = Exercise(
    id="5.4",
    title="cases that can fail",
    objective="You can choose cases such that no fault has a place to hide.",
    needs=("property", "planted fault"),
    out_of_scope="to find the smallest list.",
    task="""
A law is as good as the cases that it is tried on. The law of derivatives is given: at x = 0.75, forward and backward agree with
differences. Write `suite()`: a list of functions `lambda m, x: ...` of a number, such that every faulty compiler is caught by
one of them and no right one is. Eight rules were broken: those of `cos`, `tanh`, products, quotients and differences, and, backwards,
of a change of sign, of a product, and of a value that is read twice.
""",
    setup=SETUP,
    entry="suite",
    stub=text('''
        def suite():
            """Functions of a compiler and a number, on which derivatives are tried."""
            ...
    '''),
    solution=SUITE,
    wrong=(
        (
            edit(SUITE, ("x * m.cos(x)", "x * x + m.cos(x)")),
            "In `x * x` both factors are the same, so a rule that confuses them is right. Multiply two different things that both move.",
        ),
        (
            edit(SUITE, ("/ (2.0 + x)", "/ 2.0")),
            "You divide by something that stands still. The rule has a second half, for a divisor that moves.",
        ),
        (
            edit(SUITE, ("(1.0 - x)", "(x - 1.0)")),
            "In each difference of yours `x` is on the left. What happens on the right side of a minus sign?",
        ),
        (
            edit(SUITE, ("x * m.cos(x)", "3.0 * m.cos(x)"), ("(1.0 - x) / (2.0 + x)", "(1.0 - 2.0 / x)")),
            "No value is read twice. Backwards, that is where two contributions meet.",
        ),
        (
            edit(SUITE, ("lambda m, x: m.tanh(x),", "lambda m, x: m.tanh(x),\n        lambda m, x: m.log(x - 5.0),")),
            "One of your functions has no value at 0.75. There is nothing to compare there, and right compilers are refused.",
        ),
        (
            edit(SUITE, ("            lambda m, x: m.tanh(x),\n".replace("            ", "        "), "")),
            "No function of yours has a `tanh`: nothing can be seen of a rule that is not used.",
        ),
        (
            edit(SUITE, ("x * m.cos(x)", "x * m.exp(x)")),
            "No function of yours has a `cos`: nothing can be seen of a rule that is not used.",
        ),
    ),
    hints=(
        "Each broken rule must be used once, and in a place where the broken one differs.",
        "Let both operands of each operation move, and be different from each other.",
        "`x * m.cos(x)` takes care of three rules, a quotient with an `x` above and below of two more.",
    ),
    properties=(
        Property(
            "No right compiler is refused.",
            st.sampled_from([f'caught(suite(), "{name}")' for name in RIGHT_NAMES]),
            ('caught(suite(), "step 12")',),
        ),
        Property(
            "Every faulty compiler is caught.",
            st.sampled_from([f'caught(suite(), "{name}")' for name in DERIVATIVES]),
            ('caught(suite(), "product-rule")',),
        ),
    ),
    after="Testers call these faults *mutants*, and a suite that catches them all *adequate*. `make mutants` does this to tinytrace itself.",
)

# --- 5.5 ---------------------------------------------------------------------------------------------------------

SMALLER = text("""
    def smaller(fails, lines):
        lines = list(lines)
        i = 0
        while i < len(lines):
            less = lines[:i] + lines[i + 1 :]
            if fails(less):
                lines, i = less, 0
            else:
                i += 1
        return lines
""")

SMALLER_EXERCISE = Exercise(
    id="5.5",
    title="a small program that fails",
    objective="You can make a failing program small.",
    needs=("counter-example", "to shrink"),
    out_of_scope="speed.",
    task="""
A program of forty lines fails, and three of them would do. Write `smaller(fails, lines)`: of the list `lines`, for which
`fails(lines)` is true, drop lines one at a time, as long as what is left still fails; return the rest, in order. At the end no
single line can be dropped. `failing("d", "ab bc")` makes such a `fails` for the exercise: what matters is line `d`, and line b
reads what a makes, c what b makes: a program without `a` but with `b` does not run, so it does not fail either.
""",
    setup=SETUP,
    entry="smaller",
    stub=text('''
        def smaller(fails, lines):
            """The lines that are left when no single one can be dropped."""
            ...
    '''),
    solution=SMALLER,
    wrong=(
        (
            text("""
                def smaller(fails, lines):
                    kept = list(lines)
                    for line in lines:
                        less = [other for other in kept if other != line]
                        if fails(less):
                            kept = less
                    return kept
            """),
            "You go through the lines once. A line that nobody could spare may be spared when its reader is gone: begin again.",
        ),
        (
            edit(SMALLER, ("lines, i = less, 0", "return less")),
            "You stop after the first line that can be dropped.",
        ),
        (
            text("""
                def smaller(fails, lines):
                    return [line for line in lines if fails([line])]
            """),
            "You ask of each line whether it fails alone. Often it takes two.",
        ),
        (
            text("""
                def smaller(fails, lines):
                    lines = list(lines)
                    while lines and fails(lines[:-1]):
                        lines = lines[:-1]
                    return lines
            """),
            "You only cut at the end. What is not needed may stand before what is.",
        ),
        (
            edit(SMALLER, ("    lines = list(lines)\n", ""), ("lines, i = less, 0", "del lines[i]\n                i = 0".replace("                ", "            "))),
            "You change the caller's list. He may want to see the whole program again.",
        ),
        (
            edit(SMALLER, ("return lines", "return lines[::-1]")),
            "The lines are in another order: a program is not a set.",
        ),
    ),
    hints=(
        "Try to drop line i: `less = lines[:i] + lines[i + 1:]`.",
        "If `fails(less)`, go on with `less`; what could not be dropped before may now be dropped.",
        "Set `i` back to 0 after each success, and go to the next line after each failure.",
    ),
    properties=(
        Property(
            "Nothing can be dropped from what is left, it still fails, and the list given is as it was.",
            template(
                'lines = list("abcd")\n[smaller(failing("{needed}", "{readers}"), lines), lines]',
                needed=st.sampled_from(["d", "a", "b", "bd", "ac", "abcd", "c"]),
                readers=st.sampled_from(["", "ab", "ab bc", "cd", "ac"]),
            ),
            ('smaller(failing("d"), list("abcd"))', 'smaller(failing("d", "ab bc"), list("abcd"))'),
        ),
    ),
    after="`jax.shrink` does this to jaxprs, and Hypothesis to what it draws: each counter-example of this course was made small like this.",
)

EXERCISES = (COMPUTES_EXERCISE, TEXTS_EXERCISE, SHARES_EXERCISE, SUITE_EXERCISE, SMALLER_EXERCISE)
