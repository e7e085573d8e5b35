"""Step 2 of 12: every operation goes to a trace, which may compute it or write it down."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

# --- types -------------------------------------------------------------------------------------------------------

BOOL, INT, FLOAT = np.dtype("bool"), np.dtype("int32"), np.dtype("float32")
SHORT = {BOOL: "bool", INT: "i32", FLOAT: "f32"}


class ShapedArray(NamedTuple):
    """A type, JAX's *aval*: shape and dtype; `weak_type` if it comes of Python numbers alone and yields to others."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{SHORT[self.dtype]}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.dtype}[{','.join(map(str, self.shape))}]{weak})"


def aval_of(x: Any) -> ShapedArray:
    """The type of any value: of ours, of Python's numbers (which are weak), of NumPy's arrays."""
    if hasattr(x, "aval"):
        return x.aval
    value = np.asarray(x)
    dtype = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}.get(value.dtype.kind)
    if dtype is None:
        raise TypeError(f"a value of type {type(x).__name__} is not a valid JAX type: {x!r}")
    return ShapedArray(value.shape, dtype, type(x) in (int, float))


def to_numpy(x: Any) -> np.ndarray:
    """A value as NumPy has it, in one of our three dtypes."""
    return x.value if isinstance(x, Array) else np.asarray(x, aval_of(x).dtype)


# --- arrays ------------------------------------------------------------------------------------------------------


class Typed:
    """What arrays, and all that stands for arrays, can say of themselves."""

    aval: ShapedArray
    __array_priority__ = 1000  # so that NumPy's arrays leave `ndarray + ours` to us
    __hash__ = None

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)

    def __len__(self) -> int:
        return self.shape[0]


class Array(Typed):
    """Numbers that are there, and that nobody changes."""

    def __init__(self, value: Any, weak_type: bool = False) -> None:
        self.value = np.array(value)
        self.value.setflags(write=False)
        self.aval = ShapedArray(self.value.shape, self.value.dtype, weak_type)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.aval.weak_type else ""
        return f"Array({np.array2string(self.value, separator=', ', prefix='Array(')}, dtype={self.dtype}{weak})"

    def __str__(self) -> str:
        return str(self.value)

def array(x: Any) -> Array:
    """An array of numbers, or of nested lists of them."""
    return Array(to_numpy(np.asarray(x)))


def arange(*limits: float) -> Array:
    """`arange(stop)` or `arange(start, stop)`: integers if all limits are."""
    return array(np.arange(*limits))


# --- trees -------------------------------------------------------------------------------------------------------


class PyTreeDef(NamedTuple):
    """The structure of a nested container: its type, what it knows besides its children, and those. A leaf has none."""

    node: type | None
    static: Any = None
    children: tuple[PyTreeDef, ...] = ()


LEAF = PyTreeDef(None)
_flatten: dict[type, Callable] = {
    list: lambda xs: (xs, None),
    tuple: lambda xs: (xs, None),
    dict: lambda d: ([d[key] for key in sorted(d)], tuple(sorted(d))),
    type(None): lambda none: ((), None),
}
_unflatten: dict[type, Callable] = {
    list: lambda _, xs: list(xs),
    tuple: lambda _, xs: tuple(xs),
    dict: lambda keys, xs: dict(zip(keys, xs, strict=True)),
    type(None): lambda _, xs: None,
}


def register_pytree_node(node: type, flatten: Callable, unflatten: Callable) -> None:
    """Makes a class a container: `flatten(x)` is its children and the rest, `unflatten(rest, children)` is x."""
    _flatten[node], _unflatten[node] = flatten, unflatten


def tree_flatten(tree: Any) -> tuple[list, PyTreeDef]:
    """The leaves of a container, from left to right, and its structure."""
    if type(tree) not in _flatten:
        return [tree], LEAF
    children, static = _flatten[type(tree)](tree)
    parts = [tree_flatten(child) for child in children]
    structures = tuple(structure for _, structure in parts)
    return [leaf for leaves, _ in parts for leaf in leaves], PyTreeDef(type(tree), static, structures)


def tree_unflatten(treedef: PyTreeDef, leaves: Any) -> Any:
    """The container with this structure and these leaves."""
    leaves = iter(leaves)

    def build(treedef: PyTreeDef) -> Any:
        if treedef == LEAF:
            return next(leaves)
        children = [build(child) for child in treedef.children]
        return _unflatten[treedef.node](treedef.static, children)

    return build(treedef)


# --- programs ----------------------------------------------------------------------------------------------------


class Primitive(NamedTuple):
    """An operation. What it means is in tables, one for each thing that can be done to a program."""

    name: str

    def bind(self, *args: Any, **params: Any) -> list:
        """Hands the operation to the current trace."""
        return current_trace().process(self, args, params)


class Var:
    """A variable: an identity and a type. It gets a letter when it is printed."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval


class Literal:
    """A number that stands in the program."""

    def __init__(self, val: Any) -> None:
        self.val, self.aval = val, aval_of(val)


class Eqn(NamedTuple):
    """`outvars = primitive[params] invars`."""

    primitive: Primitive
    invars: list[Var | Literal]
    params: dict[str, Any]
    outvars: list[Var]


class Jaxpr(NamedTuple):
    """A program with the values that it closed over: `consts` are those of `constvars`."""

    constvars: list[Var]
    invars: list[Var]
    eqns: list[Eqn]
    outvars: list[Var | Literal]
    consts: list


# --- traces ------------------------------------------------------------------------------------------------------


class Trace:
    """What happens to operations. `parent` is where this trace's own operations go."""

    parent: Trace | None = None
    process: Callable[[Primitive, Sequence, dict], list]


class EvalTrace(Trace):
    """The bottom: computes with NumPy."""

    def process(self, primitive: Primitive, args: Sequence, params: dict) -> list:
        avals = type_rules[primitive.name](*map(aval_of, args), **params)
        with np.errstate(all="ignore"):
            values = impl_rules[primitive.name](*map(to_numpy, args), **params)
        return [Array(np.asarray(x, aval.dtype), aval.weak_type) for x, aval in zip(values, avals, strict=True)]


traces: list[Trace] = [EvalTrace()]


def current_trace() -> Trace:
    """The trace that operations go to."""
    return traces[-1]


@contextlib.contextmanager
def set_trace(trace: Trace) -> Iterator[None]:
    """Sends the operations inside the block to `trace`."""
    traces.append(trace)
    try:
        yield
    finally:
        traces.pop()


class Tracer(Typed):
    """Stands for a value while a function is traced; what is done to it goes to a trace."""

    def __init__(self, trace: Trace, aval: ShapedArray) -> None:
        self.trace, self.aval = trace, aval


class DynamicJaxprTrace(Trace):
    """Writes down every operation as an equation, also those that touch no tracer."""

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.eqns: list[Eqn] = []
        self.consts: dict[int, tuple[Var, Any]] = {}

    def process(self, primitive: Primitive, args: Sequence, params: dict) -> list:
        invars = [self.atom(x) for x in args]
        outvars = [Var(aval) for aval in type_rules[primitive.name](*[v.aval for v in invars], **params)]
        self.eqns.append(Eqn(primitive, invars, params, outvars))
        return [JaxprTracer(self, var) for var in outvars]

    def atom(self, x: Any) -> Var | Literal:
        """What stands in an equation: our tracers by their variable, numbers as they are, all else as a constant."""
        if isinstance(x, JaxprTracer) and x.trace is self:
            return x.var
        if not hasattr(x, "aval") and np.shape(x) == ():
            return Literal(x)
        return self.consts.setdefault(id(x), (Var(aval_of(x)), x))[0]  # holding x keeps its id from being used again


class JaxprTracer(Tracer):
    """Stands for a variable of the program that is being written."""

    def __init__(self, trace: DynamicJaxprTrace, var: Var | Literal) -> None:
        super().__init__(trace, var.aval)
        self.var = var

def trace_to_jaxpr(f: Callable, avals: Sequence[ShapedArray]) -> Jaxpr:
    """The program of `f`, a function of flat arguments to a flat list. `f` is called once, with tracers."""
    trace = DynamicJaxprTrace(current_trace())
    invars = [Var(aval) for aval in avals]
    with set_trace(trace):
        outs = f(*[JaxprTracer(trace, var) for var in invars])
    outvars = [trace.atom(x) for x in outs]
    constvars, consts = [var for var, _ in trace.consts.values()], [x for _, x in trace.consts.values()]
    return Jaxpr(constvars, invars, trace.eqns, outvars, consts)


def make_jaxpr(f: Callable) -> Callable[..., Jaxpr]:
    """Of the function's arguments, the program that it is."""

    def make(*args: Any) -> Jaxpr:
        leaves, treedef = tree_flatten(args)
        flat = lambda *leaves: tree_flatten(f(*tree_unflatten(treedef, leaves)))[0]
        return trace_to_jaxpr(flat, [aval_of(x) for x in leaves])

    return make


# --- the operations: types and meanings --------------------------------------------------------------------------

type_rules: dict[str, Callable[..., list[ShapedArray]]] = {}
impl_rules: dict[str, Callable[..., list]] = {}

ELEMENTWISE: dict[str, Callable] = {
    "neg": np.negative, "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


RANKS = [(BOOL, False), (INT, True), (INT, False), (FLOAT, True), (FLOAT, False)]
"""The dtypes, and whether they are weak; where two meet, the later one is that of the result."""


def common_type(*avals: ShapedArray) -> tuple[np.dtype, bool]:
    """The dtype of a result, and whether it is weak."""
    return RANKS[max(RANKS.index(aval[1:]) for aval in avals)]


def elementwise_type(name: str, *avals: ShapedArray) -> list[ShapedArray]:
    """One shape for all; scalars, and sides of length 1, are repeated."""
    shape = np.broadcast_shapes(*[aval.shape for aval in avals])
    dtype, weak = (BOOL, False) if name in COMPARISONS else common_type(*avals)
    return [ShapedArray(shape, dtype, weak)]


def operation(name: str) -> Callable:
    """The function that binds a primitive with one result."""
    return lambda *args, **params: Primitive(name).bind(*args, **params)[0]


for name, function in ELEMENTWISE.items():
    type_rules[name] = functools.partial(elementwise_type, name)
    impl_rules[name] = lambda *xs, function=function: [function(*xs)]
neg_p, sin_p, cos_p, exp_p, log_p, tanh_p, add_p, sub_p, mul_p, div_p, *_ = map(operation, ELEMENTWISE)

# --- what users call ---------------------------------------------------------------------------------------------

def function_of(name: str, least: np.dtype = BOOL) -> Callable:
    """The function that users call: its operands may be anything that has a type."""
    return operation(name)


sin, cos, exp, log, tanh = (function_of(name, FLOAT) for name in ("sin", "cos", "exp", "log", "tanh"))
add, subtract, multiply, divide = map(function_of, ("add", "sub", "mul", "div"), (BOOL, BOOL, BOOL, FLOAT))
OPERATORS = {"add": add, "sub": subtract, "mul": multiply, "truediv": divide}
OPERATORS |= {name: function_of(name) for name in COMPARISONS}
for name, function in OPERATORS.items():
    setattr(Typed, f"__{name}__", lambda x, y, function=function: function(x, y))
    if name not in COMPARISONS:
        setattr(Typed, f"__r{name}__", lambda x, y, function=function: function(y, x))
Typed.__neg__ = lambda x: neg_p(x)
