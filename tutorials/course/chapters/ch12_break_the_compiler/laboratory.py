"""The laboratory of chapter 12: compilers with and without faults, looked at stage by stage. Nothing needs a C compiler."""

import numpy as np

from course.c_interpreter import run_c
from course.chapters.ch05_property_tests_for_programs import laws
from course.chapters.ch05_property_tests_for_programs.laws import X, says
from course.faults import FAULTS, TINY, Fault, load, tiny

OWN: tuple[Fault, ...] = (
    tiny("transpose-of-div", "transpose", "Backwards, a divisor is forgotten.",
         ('"div": lambda ct, x, y: [div_p(ct, y), None]', '"div": lambda ct, x, y: [ct, None]')),
    tiny("in-axes-ignored", "batch", "Examples are taken from the first dimension, whatever was asked for.",
         ("else BatchTracer(trace, moveaxis(x, axis, 0))", "else BatchTracer(trace, x)")),
    tiny("rows-meet-examples", "batch", "A number of each example is added to the wrong elements of its row.",
         ("aligned = [align(x, rank) if b else expand(x, rank + 1) for", "aligned = [x if b else expand(x, rank + 1) for")),
    tiny("only-the-first", "batch", "What is the same for all examples is not repeated.",
         ("return broadcast_p(x, shape=(trace.batch_size, *shape),", "return broadcast_p(x, shape=(1, *shape),")),
    tiny("two-at-once", "evaluate", "`tanh` is off, and `-x` is `x`.",
         ('"tanh": np.tanh', '"tanh": lambda x: np.float32(0.99) * np.tanh(x)'), ('"neg": np.negative', '"neg": np.positive')),
)  # fmt: skip


def compiler(name):
    """A compiler by the name of its fault, or a right one, as in chapter 5."""
    planted = {fault.id: fault for fault in OWN}.get(name)
    return load(TINY, planted) if planted else laws.compiler(name)


def emitted(m, f, x):
    """Runs the C that a compiler writes for a function, by the interpreter of C."""
    jaxpr = m.live(m.inlined(m.make_jaxpr(lambda x: f(m, x))(x)))
    text = m.CText(jaxpr)
    places = {v: np.zeros(v.aval.shape, v.aval.dtype) for v in text.buffers}
    places[jaxpr.invars[0]][...] = x
    run_c(text.text, [place.reshape(-1) for place in places.values()])
    return places[jaxpr.outvars[0]]


def stages(m, f, x):
    """What a function gives: in NumPy, as it was traced, simplified, and in C. A stage that raises gives the error."""
    traced = m.make_jaxpr(lambda x: f(m, x))

    def tried(run):
        try:
            return np.asarray(run())
        except Exception as error:
            return error

    return {
        "numpy": f(np, x),
        "trace": tried(lambda: m.eval_jaxpr(m.inlined(traced(x)), x)[0]),
        "simplify": tried(lambda: m.eval_jaxpr(m.live(m.inlined(traced(x))), x)[0]),
        "emit": tried(lambda: emitted(m, f, x)),
    }


M = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
ROWS = {
    "2 - x": (lambda m, x: 2.0 - x, X),
    "sum(x)": (lambda m, x: m.sum(x), X),
    "x / sum(x)": (lambda m, x: x / m.sum(x), X),
    "sum over rows": (lambda m, x: m.sum(x * x, axis=0), M),
    "x * 1.3125": (lambda m, x: x * 1.3125, X),
    "cos(x) * x": (lambda m, x: m.cos(x) * x, X),
}
"""Programs, each with an input."""

# --- transposing ---

T, CT = np.array([1.0, -2.0, 0.5], np.float32), np.array([3.0, 1.0, -1.0], np.float32)
DIRECTIONS = (
    (lambda m, x: x * m.cos(x), X, T, CT),
    (lambda m, x: 2.0 - x, X, T, CT),
    (lambda m, x: (x - 2.0 * m.sin(x)) / (1.0 + x * x), X, T, CT),
    (lambda m, x: -x * x, X, T, CT),
    (lambda m, x: m.sum(m.tanh(x)), X, T, np.float32(2)),
)
"""Functions, each with an input, a tangent of the input and a cotangent of the result."""


def push(m, f, x, t):
    """How the result moves if the input moves so: forward mode."""
    return np.asarray(m.jvp(lambda x: f(m, x), (m.array(x),), (m.array(t),))[1])


def pull(m, f, x, ct):
    """How the result hangs on the input: reverse mode."""
    return np.asarray(m.vjp(lambda x: f(m, x), m.array(x))[1](m.array(ct))[0])


# --- batching ---

XS = np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0], [2.0, 2.5, 1.5]], np.float32)
BATCHES = (
    (lambda m, x: x * 2.0, XS, 0),
    (lambda m, x: m.sum(x), XS, 0),
    (lambda m, x: x * m.sum(x), XS, 0),
    (lambda m, x: m.sum(x), XS, 1),
    (lambda m, x: m.ones(2), XS, 0),
)
"""Functions of one example, each with a batch and the dimension along which the examples are."""


def at_once(m, f, xs, axis):
    """All examples at once, by the compiler's `vmap`."""
    return np.asarray(m.vmap(lambda x: f(m, x), in_axes=axis)(m.array(xs)))


def one_by_one(f, xs, axis):
    """All examples one after the other, by NumPy, stacked."""
    return np.stack([f(np, x).astype(np.float32) for x in np.moveaxis(xs, axis, 0)])


# --- passes ---


def replacing(pairs):
    """Passes over a text: each replaces a letter by another, `"a>b b>c"`."""
    return [lambda program, pair=pair: program.replace(*pair.split(">")) for pair in pairs.split()]


# --- operations ---

OPERATIONS = {
    "add": lambda m, x: x + 3.0,
    "cos": lambda m, x: m.cos(x),
    "mul": lambda m, x: x * x,
    "neg": lambda m, x: -x,
    "sub": lambda m, x: 2.0 - x,
    "sum": lambda m, x: m.sum(x),
    "tanh": lambda m, x: m.tanh(x),
}
"""One program for each operation."""

# --- the whole table ---


def traces(m, f, x):
    """The law of tracing."""
    return np.allclose(stages(m, f, x)["trace"], f(np, x), rtol=1e-4)


def emits(m, f, x):
    """The law of C."""
    return np.allclose(emitted(m, f, x), f(np, x), rtol=1e-4)


def transposes(m, f, x, t, ct):
    """The law of transposing."""
    return abs(np.vdot(ct, push(m, f, x, t)) - np.vdot(pull(m, f, x, ct), t)) < 1e-3


def batches(m, f, xs, axis):
    """The law of batching."""
    return np.array_equal(at_once(m, f, xs, axis), one_by_one(f, xs, axis))


def derives(m, f):
    """The law of derivatives."""
    return laws.differentiates(m, f)


def prints(m, f, x, g, y, same):
    """The law of texts."""
    return (str(laws.program(m, f, x)) == str(laws.program(m, g, y))) == same


def remembers(m, x, y):
    """The law of caches."""
    return laws.times_traced(m, x, y) == (1 if laws.kind(x) == laws.kind(y) else 2)


SUITE = ((lambda m, x: x * m.cos(x),), (lambda m, x: (1.0 - x) / (2.0 + x),), (lambda m, x: m.tanh(x),))
LAWS = {
    "traces": (traces, laws.PROGRAMS),
    "emits": (emits, tuple(ROWS.values())),
    "derives": (derives, SUITE),
    "transposes": (transposes, DIRECTIONS),
    "batches": (batches, BATCHES),
    "prints": (prints, laws.PAIRS),
    "remembers": (remembers, laws.CALLS),
}
"""Seven laws, each with its cases."""


def faults():
    """The names of all faults of the small compiler in the laboratory."""
    return [fault.id for fault in FAULTS + laws.OWN + OWN if fault.file == TINY]


def caught_by(name):
    """The laws that catch a compiler."""
    return [law for law, (holds, cases) in LAWS.items() if says(holds, compiler(name), cases) == "catches"]
