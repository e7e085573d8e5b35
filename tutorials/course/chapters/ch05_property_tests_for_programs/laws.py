"""Right and faulty compilers by name, and how a law is judged by them: `says(law, compiler("step 12"), CASES)`."""

import numpy as np

import tinytrace as jax
from course.chapters.ch04_what_is_in_a_cache_key.keys import leaf_type
from course.faults import FAULTS, RIGHT, TINY, Fault, load, tiny
from tinytrace.tree_util import tree_flatten

LAST_IS_ZERO = (
    "lambda x, y: np.where(np.arange(np.size(x * y)).reshape(np.shape(x * y)) == np.size(x * y) - 1, "
    "np.float32(0), x * y)"
)
KEY = "CallKey(tuple(kwargs), treedef, tuple(map(aval_of, leaves)),"

OWN: tuple[Fault, ...] = (
    tiny("tanh-is-off", "evaluate", "`tanh` is one per cent too small.",
         ('"tanh": np.tanh', '"tanh": lambda x: np.float32(0.99) * np.tanh(x)')),
    tiny("minus-forgotten", "evaluate", "`-x` is `x`.", ('"neg": np.negative', '"neg": np.positive')),
    tiny("last-element", "evaluate", "A product forgets its last element.", ('"mul": np.multiply', f'"mul": {LAST_IS_ZERO}')),
    tiny("sum-too-short", "evaluate", "A sum lacks its last element.",
         ("np.sum(x, axes, x.dtype)", "np.sum(x, axes, x.dtype) - np.ravel(x)[-1]")),
    tiny("letters-go-on", "print", "The second program that is printed goes on with the letters of the first.",
         ("return Printer().jaxpr(self, 0)", 'return globals().setdefault("printer", Printer()).jaxpr(self, 0)')),
    tiny("dtypes-hidden", "print", "All dtypes are printed alike.", ('return f"{SHORT[self.dtype]}[', 'return f"num[')),
    tiny("shapes-hidden", "print", "Only the number of dimensions is printed.",
         ("return f\"{SHORT[self.dtype]}[{','.join(map(str, self.shape))}]\"", 'return f"{SHORT[self.dtype]}[{len(self.shape)}]"')),
    tiny("params-hidden", "print", "Parameters are not printed.", ("for key in self.order(eqn)]", "for key in ()]")),
    tiny("key-without-weakness", "cache", "Weak and strong numbers share a program.",
         (KEY, "CallKey(tuple(kwargs), treedef, tuple(aval_of(x)[:2] for x in leaves),")),
    tiny("never-a-hit", "cache", "Every call is a miss.", ("if key in self.calls:", "if False:")),
)  # fmt: skip
"""Faults besides those of `course/faults.py`."""

OTHER_ROUNDING = tiny("other-rounding", "evaluate", "None: a right compiler whose `cos` rounds in another way.",
                      ('"cos": np.cos', '"cos": lambda x: np.cos(x) * np.float32(1 + 2**-22)'))  # fmt: skip

RIGHT_NAMES = ("step 8", "step 9", "step 10", "step 11", "step 12", "other rounding")
WITH_A_CACHE = ("step 10", "step 11", "step 12", "tinytrace")


def compiler(name):
    """A compiler: a right one by its name in RIGHT_NAMES, a faulty one by the id of its fault."""
    if name == "tinytrace":
        return jax
    if name == "other rounding":
        return load(TINY, OTHER_ROUNDING)
    if name.startswith("step "):
        return load(RIGHT[int(name.split()[1]) - 8])
    planted = {fault.id: fault for fault in (*FAULTS, *OWN)}[name]
    return load(planted.file, planted)


def says(law, compiler, cases):
    """What a law says of a compiler: "accepts" if it holds in all cases, "catches" if it is false or raises in one."""
    for case in cases:
        try:
            holds = law(compiler, *case)
        except Exception:
            holds = False
        if not holds:
            return "catches"
    return "accepts"


# --- tracing and running ---

X = np.array([0.5, 1.25, 2.0], np.float32)
M = np.arange(9, dtype=np.float32).reshape(3, 3)
Y, Z = np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)

PROGRAMS = (
    (lambda m, x: 2.0 - x, X),
    (lambda m, x: m.tanh(x) * x, X),
    (lambda m, x: -x + m.cos(x), X),
    (lambda m, x: x / m.sum(x), X),
    (lambda m, x: x * Y - Z, X),
)
"""Functions of a compiler and an array, each with an array. The compiler may be NumPy."""


def run(m, f, x):
    """Traces `f` with the compiler `m` and runs the program."""
    return np.asarray(m.eval_jaxpr(m.make_jaxpr(lambda x: f(m, x))(x), x)[0])


def program(m, f, x):
    """The program of `f`, traced with the compiler `m`."""
    return m.make_jaxpr(lambda x: f(m, x))(x)


def computes(m, f, x):
    """The first law: running the program is calling the function."""
    return np.allclose(run(m, f, x), f(np, x), rtol=1e-4)


PAIRS = (
    (lambda m, x: x * 2.0, 1.0, lambda m, y: y * 2.0, 3.5, True),
    (lambda m, x: x * 1.25, 1.0, lambda m, x: x * 1.2, 1.0, False),
    (lambda m, x: x + x, 1.0, lambda m, x: x + x, 1, False),
    (lambda m, x: x + x, X, lambda m, x: x + x, X[:2], False),
    (lambda m, x: m.sum(x, axis=0), M, lambda m, x: m.sum(x, axis=1), M, False),
)
"""Two functions, each with an argument, and whether they are the same program."""

# --- caching ---

CALLS = ((1.0, 2.5), (X, 2 * X), (1.0, 1), (X, X[:2]), ([1.0], (1.0,)), (1.0, np.float32(1.0)))
"""Pairs of arguments of two calls."""


def times_traced(m, *arguments):
    """How often a jitted function is traced when it is prepared for calls with these arguments, one after the other."""
    traced = []

    def f(x):
        traced.append(x)
        return 1.0

    jitted = m.jit(f)
    for x in arguments:
        (jitted.trace if m is jax else jitted.lower)(x)
    return len(traced)


def kind(x):
    """Structure and types of an argument: what its key is made of (exercise 4.1)."""
    leaves, structure = tree_flatten(x)
    return structure, tuple(map(leaf_type, leaves))


# --- differentiating ---

DERIVATIVES = ("slope-of-cos", "product-rule", "quotient-rule", "slope-of-tanh", "slope-of-what-is-subtracted",
               "cotangents-overwritten", "transpose-of-neg", "transpose-of-mul")  # fmt: skip
PLACE = 0.75


def differentiates(m, f):
    """The law of derivatives, at one place: forward and backward are what differences tend to."""
    with np.errstate(all="ignore"):
        slope = (f(np, PLACE + 1e-5) - f(np, PLACE - 1e-5)) / 2e-5
    forward = m.jvp(lambda x: f(m, x), (PLACE,), (1.0,))[1]
    (backward,) = m.vjp(lambda x: f(m, x), PLACE)[1](np.float32(1))
    return abs(float(forward) - slope) < 1e-3 and abs(float(backward) - slope) < 1e-3


def caught(suite, name):
    """Whether the law of derivatives, with these functions, catches a compiler."""
    return says(differentiates, compiler(name), [(f,) for f in suite]) == "catches"


# --- making failures small ---


def failing(needed, readers=""):
    """Whether a program fails that still has the lines `needed`; in `"ab bc"`, line b reads what a makes, and c what b makes.

    A program in which a line reads what no line makes is no program, and does not fail.
    """

    def fails(lines):
        runs = all(maker in lines or reader not in lines for maker, reader in readers.split())
        return runs and set(needed) <= set(lines)

    return fails
