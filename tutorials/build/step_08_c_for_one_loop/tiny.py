"""Step 8 of 12: C, one loop for each equation."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import math
import subprocess
import tempfile
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

    def __getitem__(self, index: Any) -> Array:
        return Array(self.value[index])

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.aval.weak_type else ""
        return f"Array({np.array2string(self.value, separator=', ', prefix='Array(')}, dtype={self.dtype}{weak})"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value[()], spec)

    def block_until_ready(self) -> Array:
        return self


for convert in (bool, int, float):
    setattr(Array, f"__{convert.__name__}__", lambda self, convert=convert: convert(self.value))
Array.__index__ = Array.__int__


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


def tree_map(f: Callable, tree: Any, *others: Any) -> Any:
    """The container with `f` of each leaf, or of the leaves at the same place of several containers."""
    leaves, treedef = tree_flatten(tree)
    return tree_unflatten(treedef, map(f, leaves, *(tree_flatten(other)[0] for other in others)))


# --- programs ----------------------------------------------------------------------------------------------------


class Primitive(NamedTuple):
    """An operation. What it means is in tables, one for each thing that can be done to a program."""

    name: str

    def bind(self, *args: Any, **params: Any) -> list:
        """Hands the operation to the current trace."""
        return current_trace().process(self, args, params)

    def __str__(self) -> str:
        return self.name


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


class Jaxpr:
    """A program with the values that it closed over: `consts` are those of `constvars`."""

    def __init__(self, constvars: list, invars: list, eqns: list, outvars: list, consts: Sequence = ()) -> None:
        self.constvars, self.invars, self.eqns, self.outvars = constvars, invars, eqns, outvars
        self.consts = list(consts)

    in_avals = property(lambda self: [v.aval for v in self.invars])
    out_avals = property(lambda self: [v.aval for v in self.outvars])

    def __str__(self) -> str:
        return Printer().jaxpr(self, 0)


# --- traces ------------------------------------------------------------------------------------------------------


class Trace:
    """What happens to operations. `parent` is where this trace's own operations go."""

    parent: Trace | None = None
    process: Callable[[Primitive, Sequence, dict], list]
    def __repr__(self) -> str:
        level, trace = 0, self
        while trace.parent is not None:
            level, trace = level + 1, trace.parent
        return f"{type(self).__name__}(level={level}/0)"


class EvalTrace(Trace):
    """The bottom: computes with NumPy."""

    def process(self, primitive: Primitive, args: Sequence, params: dict) -> list:
        if any(isinstance(x, Tracer) for x in args):
            raise UnexpectedTracerError("a tracer outlived the function that was traced")
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


class UnexpectedTracerError(Exception):
    """A tracer was kept and used after its function had returned."""


class TracerBoolConversionError(TypeError):
    """Python asked whether a value is true that is not there yet."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(f"Attempted boolean conversion of traced array with shape {tracer.aval}.")


class Tracer(Typed):
    """Stands for a value while a function is traced; what is done to it goes to a trace."""

    def __init__(self, trace: Trace, aval: ShapedArray) -> None:
        self.trace, self.aval = trace, aval

    def __bool__(self) -> bool:
        raise TracerBoolConversionError(self)

    def __repr__(self) -> str:
        return f"Traced<{self.aval!r}>with<{self.trace!r}>"


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


class Traced(NamedTuple):
    """A function of containers as a program of flat arrays, and the structure of what the function returns."""

    jaxpr: Jaxpr
    out_tree: PyTreeDef


def trace_function(f: Callable, args: tuple) -> Traced:
    """Traces a function of containers of arrays."""
    leaves, treedef = tree_flatten(args)
    out_trees = []

    def flat(*leaves: Any) -> list:
        out_leaves, out_tree = tree_flatten(f(*tree_unflatten(treedef, leaves)))
        out_trees.append(out_tree)
        return out_leaves

    return Traced(trace_to_jaxpr(flat, [aval_of(x) for x in leaves]), out_trees[0])


def make_jaxpr(f: Callable) -> Callable[..., Jaxpr]:
    """Of the function's arguments, the program that it is."""
    return lambda *args: trace_function(f, args).jaxpr


# --- printing ----------------------------------------------------------------------------------------------------

WIDTH = 80


class Printer:
    """Prints a program as JAX does: on one line if it fits, else one equation per line. Letters go by first sight."""

    def __init__(self) -> None:
        letters = "abcdefghijklmnopqrstuvwxyz"
        names = ("".join(name) for n in (1, 2) for name in itertools.product(letters, repeat=n))
        self.fresh = (name for name in names if len(name) == 1 or name[0] != "a")  # ..., z, ba, bb, ...
        self.names: dict[Var, str] = {}

    def name(self, atom: Var | Literal) -> str:
        if isinstance(atom, Literal):
            return str(np.asarray(atom.val, atom.aval.dtype).item())
        if atom not in self.names:
            self.names[atom] = next(self.fresh)
        return self.names[atom]

    def typed(self, variables: Sequence[Var]) -> str:
        return " ".join(f"{self.name(v)}:{v.aval}" for v in variables)

    def jaxpr(self, jaxpr: Jaxpr, indent: int, behind: int = 0) -> str:
        """The text of a program that stands `indent` columns to the right, with `behind` more to come on its line."""
        read = {v for eqn in jaxpr.eqns for v in eqn.invars} | set(jaxpr.outvars)
        self.names.update((v, "_") for eqn in jaxpr.eqns for v in eqn.outvars if v not in read)
        constants, inputs = self.typed(jaxpr.constvars), self.typed(jaxpr.invars)
        head = f"{{ lambda {constants}; {inputs}. let"
        eqns = [self.eqn(eqn, indent + 4) for eqn in jaxpr.eqns]
        outs = [self.name(atom) for atom in jaxpr.outvars]
        tail = f"in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}"
        flat = f"{head} {'; '.join(eqns)} {tail}"
        if "\n" not in flat and indent + len(flat) + behind <= WIDTH:
            return flat
        return f"\n{' ' * indent}".join([head, *(f"    {eqn}" for eqn in eqns), f"  {tail}"])

    def eqn(self, eqn: Eqn, indent: int) -> str:
        left = f"{self.typed(eqn.outvars)} = {eqn.primitive}"
        taken = dict(self.names), itertools.tee(self.fresh)
        self.fresh = taken[1][0]
        right = " ".join(map(self.name, eqn.invars))
        params = [f"{key}={self.value(eqn.params[key], 0)}" for key in self.order(eqn)]
        flat = f"{left}[{' '.join(params)}]" if params else left
        if not params or ("\n" not in flat and indent + len(flat) <= WIDTH):
            return f"{flat} {right}"
        self.names, self.fresh = taken[0], taken[1][1]  # print it again, with its breaks
        self.typed(eqn.outvars)
        params = [f"{key}={self.value(eqn.params[key], indent + 2, len(key) + 1)}" for key in self.order(eqn)]
        right = " ".join(map(self.name, eqn.invars))
        return f"\n{' ' * indent}".join([f"{left}[", *(f"  {param}" for param in params), f"] {right}"])

    def order(self, eqn: Eqn) -> list[str]:
        """The parameters by name; the name of a called function comes first."""
        return sorted(eqn.params, key=lambda key: (key != "name", key))

    def value(self, value: Any, indent: int, before: int = 0) -> str:
        return self.jaxpr(value, indent, before) if isinstance(value, Jaxpr) else str(value)


# --- the interpreter ---------------------------------------------------------------------------------------------


def eval_jaxpr(jaxpr: Jaxpr, *args: Any, inline: bool = False) -> list:
    """Runs a program, equation by equation, under the current trace. This is what a program means.

    With `inline`, the programs that it calls are run in place: what is traced then has no calls.
    """
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*jaxpr.consts, *args], strict=True))

    def read(atom: Var | Literal) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    for eqn in jaxpr.eqns:
        args = map(read, eqn.invars)
        if inline and eqn.primitive.name == "pjit":
            results = eval_jaxpr(eqn.params["jaxpr"], *args, inline=True)
        else:
            results = eqn.primitive.bind(*args, **eqn.params)
        known.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def inlined(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the programs that it calls in their places."""
    return trace_to_jaxpr(lambda *xs: eval_jaxpr(jaxpr, *xs, inline=True), jaxpr.in_avals)


def live(jaxpr: Jaxpr) -> Jaxpr:
    """The program without the equations that nobody needs."""
    needed, kept = set(jaxpr.outvars), []
    for eqn in reversed(jaxpr.eqns):
        if needed.intersection(eqn.outvars):
            needed.update(eqn.invars)
            kept.append(eqn)
    return Jaxpr(jaxpr.constvars, jaxpr.invars, kept[::-1], jaxpr.outvars, jaxpr.consts)


# --- the operations: types and meanings --------------------------------------------------------------------------

type_rules: dict[str, Callable[..., list[ShapedArray]]] = {}
impl_rules: dict[str, Callable[..., list]] = {}

ELEMENTWISE: dict[str, Callable] = {
    "neg": np.negative, "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "select_n": lambda which, x, y: np.where(which, y, x),
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


RANKS = [(BOOL, False), (INT, True), (INT, False), (FLOAT, True), (FLOAT, False)]
"""The dtypes, and whether they are weak; where two meet, the later one is that of the result."""


def common_type(*avals: ShapedArray) -> tuple[np.dtype, bool]:
    """The dtype of a result, and whether it is weak."""
    return RANKS[max(RANKS.index(aval[1:]) for aval in avals)]


def elementwise_type(name: str, *avals: ShapedArray) -> list[ShapedArray]:
    """One shape for all; scalars, and sides of length 1, are repeated."""
    try:
        shape = np.broadcast_shapes(*[aval.shape for aval in avals])
    except ValueError:
        raise TypeError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, avals))}.") from None
    dtype, weak = (BOOL, False) if name in COMPARISONS else common_type(*avals)
    return [ShapedArray(shape, dtype, weak)]


def operation(name: str) -> Callable:
    """The function that binds a primitive with one result."""
    return lambda *args, **params: Primitive(name).bind(*args, **params)[0]


for name, function in ELEMENTWISE.items():
    type_rules[name] = functools.partial(elementwise_type, name)
    impl_rules[name] = lambda *xs, function=function: [function(*xs)]
neg_p, sin_p, cos_p, exp_p, log_p, tanh_p, add_p, sub_p, mul_p, div_p, *_ = map(operation, ELEMENTWISE)
select_n_p = operation("select_n")
convert_p, broadcast_p, reduce_sum_p = map(operation, ("convert_element_type", "broadcast_in_dim", "reduce_sum"))

type_rules["convert_element_type"] = lambda x, new_dtype, weak_type: [ShapedArray(x.shape, new_dtype, weak_type)]
impl_rules["convert_element_type"] = lambda x, new_dtype, weak_type: [x.astype(new_dtype)]

type_rules["broadcast_in_dim"] = lambda x, shape, broadcast_dimensions: [x._replace(shape=shape)]
impl_rules["broadcast_in_dim"] = lambda x, shape, broadcast_dimensions: [np.broadcast_to(
    np.expand_dims(x, [i for i in range(len(shape)) if i not in broadcast_dimensions]), shape)]

type_rules["reduce_sum"] = lambda x, axes: [x._replace(shape=tuple(np.delete(x.shape, axes).tolist()))]
impl_rules["reduce_sum"] = lambda x, axes: [np.sum(x, axes, x.dtype)]
transpose_p = operation("transpose")
type_rules["transpose"] = lambda x, permutation: [x._replace(shape=tuple(x.shape[i] for i in permutation))]
impl_rules["transpose"] = lambda x, permutation: [np.transpose(x, permutation)]

# --- what users call ---------------------------------------------------------------------------------------------


def promote(*xs: Any, least: np.dtype = BOOL) -> list:
    """The operands, converted to the type that they have in common."""
    dtype, weak = common_type(*map(aval_of, xs), ShapedArray((), least, least != BOOL))
    return [convert(x, dtype, weak) for x in xs]


def convert(x: Any, dtype: np.dtype, weak: bool) -> Any:
    """The value in another type; a Python number just becomes another number."""
    if type(x) in (bool, int, float):
        return {BOOL: bool, INT: int, FLOAT: float}[dtype](x)
    return x if aval_of(x)[1:] == (dtype, weak) else convert_p(x, new_dtype=dtype, weak_type=weak)


def function_of(name: str, least: np.dtype = BOOL) -> Callable:
    """The function that users call: its operands are converted to one type, `least` or more, and to one rank."""

    def function(*xs: Any) -> Any:
        rank = max(map(np.ndim, xs))
        return operation(name)(*[expand(x, rank) for x in promote(*xs, least=least)])

    return function


def expand(x: Any, rank: int) -> Any:
    """`x` with `rank` dimensions, new ones of length 1 in front; a scalar needs none."""
    if np.ndim(x) in (0, rank):
        return x
    new = rank - np.ndim(x)
    return broadcast_p(x, shape=(1,) * new + x.shape, broadcast_dimensions=tuple(range(new, rank)))


sin, cos, exp, log, tanh = (function_of(name, FLOAT) for name in ("sin", "cos", "exp", "log", "tanh"))
add, subtract, multiply, divide = map(function_of, ("add", "sub", "mul", "div"), (BOOL, BOOL, BOOL, FLOAT))
OPERATORS = {"add": add, "sub": subtract, "mul": multiply, "truediv": divide}
OPERATORS |= {name: function_of(name) for name in COMPARISONS}
for name, function in OPERATORS.items():
    setattr(Typed, f"__{name}__", lambda x, y, function=function: function(x, y))
    if name not in COMPARISONS:
        setattr(Typed, f"__r{name}__", lambda x, y, function=function: function(y, x))
Typed.__neg__ = lambda x: neg_p(x)


def sum(x: Any, axis: int | None = None) -> Any:
    """The sum of all elements, or along one axis."""
    return reduce_sum_p(x, axes=tuple(range(x.ndim)) if axis is None else (axis % x.ndim,))


def full(shape: Any, value: Any) -> Any:
    """An array of one number."""
    return broadcast_p(value, shape=(shape,) if isinstance(shape, int) else tuple(shape), broadcast_dimensions=())


def ones(shape: Any) -> Any:
    """An array of ones; a shape may be one number."""
    return full(shape, np.float32(1))


def zeros(shape: Any) -> Any:
    """An array of zeros."""
    return full(shape, np.float32(0))


# --- jit ---------------------------------------------------------------------------------------------------------

type_rules["pjit"] = lambda *avals, jaxpr, name: jaxpr.out_avals
impl_rules["pjit"] = lambda *xs, jaxpr, name: program_of(jaxpr)(*xs)


def close(jaxpr: Jaxpr) -> Jaxpr:
    """The program with what it closed over as its first inputs: what a call's equation holds."""
    return Jaxpr([], jaxpr.constvars + jaxpr.invars, jaxpr.eqns, jaxpr.outvars)


class jit:
    """`f`, as one equation that holds its program."""

    def __init__(self, f: Callable) -> None:
        self.f = f
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *args: Any) -> Any:
        jaxpr, out_tree = trace_function(self.f, args)
        name = getattr(self.f, "__name__", "fn")
        outs = Primitive("pjit").bind(*jaxpr.consts, *tree_flatten(args)[0], jaxpr=close(jaxpr), name=name)
        return tree_unflatten(out_tree, outs)

    def lower(self, *args: Any) -> Lowered:
        """What the function becomes on its way to machine code."""
        return lower(close(trace_function(self.f, args).jaxpr))


@jit
def _where(condition: Any, x: Any, y: Any) -> Any:
    x, y = promote(x, y)
    shape = np.broadcast_shapes(np.shape(condition), np.shape(x), np.shape(y))
    x, y = (z if np.shape(z) == shape else full(shape, z) for z in (x, y))
    return select_n_p(condition, y, x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, else `y`."""
    return _where(condition, x, y)


# --- jvp ---------------------------------------------------------------------------------------------------------

jvp_rules: dict[str, Callable[..., tuple[list, list]]] = {}
"""`rule(primals, tangents, **params)` gives results and their tangents; None is the tangent of what does not move."""

DERIVATIVES: dict[str, list[Callable]] = {
    "neg": [lambda g, out, x: neg_p(g)],
    "sin": [lambda g, out, x: mul_p(g, cos_p(x))],
    "cos": [lambda g, out, x: neg_p(mul_p(g, sin_p(x)))],
    "exp": [lambda g, out, x: mul_p(g, out)],
    "log": [lambda g, out, x: div_p(g, x)],
    "tanh": [lambda g, out, x: mul_p(g, sub_p(1.0, mul_p(out, out)))],
    "add": [lambda g, out, x, y: g, lambda g, out, x, y: g],
    "sub": [lambda g, out, x, y: g, lambda g, out, x, y: neg_p(g)],
    "mul": [lambda g, out, x, y: mul_p(g, y), lambda g, out, x, y: mul_p(x, g)],
    "div": [lambda g, out, x, y: div_p(g, y), lambda g, out, x, y: neg_p(mul_p(g, div_p(out, y)))],
    "select_n": [None, lambda g, out, c, x, y: select_n_p(c, g, zeros(np.shape(g))),
                 lambda g, out, c, x, y: select_n_p(c, zeros(np.shape(g)), g)],
}
"""For each operand, the part of the result's tangent that its tangent `g` makes."""


def jvp_elementwise(name: str, primals: Sequence, tangents: Sequence) -> tuple[list, list]:
    """The sum of what each operand's tangent contributes; a comparison jumps or stands still, and has no tangent."""
    out = operation(name)(*primals)
    if name in COMPARISONS:
        return [out], [None]
    tangents = [g if g is None else broadcast_to(g, np.shape(out)) for g in tangents]
    parts = [rule(g, out, *primals) for rule, g in zip(DERIVATIVES[name], tangents, strict=True) if g is not None]
    return [out], [functools.reduce(add_p, parts)]


def jvp_linear(name: str, primals: Sequence, tangents: Sequence, **params: Any) -> tuple[list, list]:
    """What is linear does to tangents what it does to values."""
    return Primitive(name).bind(*primals, **params), Primitive(name).bind(*tangents, **params)


def jvp_convert(primals: Sequence, tangents: Sequence, new_dtype: np.dtype, weak_type: bool) -> tuple[list, list]:
    out = convert_p(primals[0], new_dtype=new_dtype, weak_type=weak_type)
    return [out], [tangents[0] if new_dtype == FLOAT else None]


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` repeated to a shape, as elementwise operations repeat it."""
    if np.shape(x) == shape:
        return x
    return broadcast_p(x, shape=shape, broadcast_dimensions=tuple(range(len(shape)))[len(shape) - np.ndim(x) :])


for name in ELEMENTWISE:
    jvp_rules[name] = functools.partial(jvp_elementwise, name)
for name in ("broadcast_in_dim", "reduce_sum", "transpose"):
    jvp_rules[name] = functools.partial(jvp_linear, name)
jvp_rules["convert_element_type"] = jvp_convert


class JVPTracer(Tracer):
    """A value and its tangent."""

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        super().__init__(trace, aval_of(primal))
        self.primal, self.tangent = primal, tangent

    def __bool__(self) -> bool:
        return bool(self.primal)


class JVPTrace(Trace):
    """Does to values what the parent does, and moves tangents along."""

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def process(self, primitive: Primitive, args: Sequence, params: dict) -> list:
        if primitive.name == "pjit":
            return eval_jaxpr(params["jaxpr"], *args)
        primals, tangents = zip(*[self.split(x) for x in args], strict=True)
        with set_trace(self.parent):
            if all(g is None for g in tangents):
                return primitive.bind(*primals, **params)
            outs, out_tangents = jvp_rules[primitive.name](primals, tangents, **params)
        return [x if g is None else JVPTracer(self, x, g) for x, g in zip(outs, out_tangents, strict=True)]

    def split(self, x: Any) -> tuple[Any, Any]:
        """A value of this trace as value and tangent; for any other value, no tangent."""
        return (x.primal, x.tangent) if isinstance(x, JVPTracer) and x.trace is self else (x, None)


def jvp(f: Callable, primals: tuple, tangents: tuple) -> tuple[Any, Any]:
    """`f(*primals)`, and how fast it moves if the inputs move with speed `tangents`."""
    trace = JVPTrace(current_trace())

    def start(x: Any, g: Any) -> Any:
        return JVPTracer(trace, x, g) if aval_of(x).dtype == FLOAT else x

    def stop(x: Any) -> tuple[Any, Any]:
        x, g = trace.split(x)
        return x, zeros(np.shape(x)) if g is None else g

    with set_trace(trace):
        out = f(*tree_map(start, primals, tangents))
    leaves, treedef = tree_flatten(out)
    outs, out_tangents = zip(*map(stop, leaves), strict=True)
    return tree_unflatten(treedef, outs), tree_unflatten(treedef, out_tangents)


# --- vmap --------------------------------------------------------------------------------------------------------

batch_rules: dict[str, Callable[..., list]] = {}
"""`rule(size, args, batched, **params)`: results with a batch dimension in front, as those args have it."""


def batch_elementwise(name: str, size: int, args: Sequence, batched: Sequence[bool]) -> list:
    """Operands get one rank, behind the batch dimension; what has none is repeated over it."""
    rank = max(np.ndim(x) - b for x, b in zip(args, batched, strict=True))
    aligned = [align(x, rank) if b else expand(x, rank + 1) for x, b in zip(args, batched, strict=True)]
    return Primitive(name).bind(*aligned)


def align(x: Any, rank: int) -> Any:
    """A batch of values of which each has, or gets, `rank` dimensions."""
    if np.ndim(x) == rank + 1:
        return x
    inner = (1,) * (rank + 1 - np.ndim(x)) + x.shape[1:]
    behind = tuple(range(len(inner) + 2 - np.ndim(x), len(inner) + 1))
    return broadcast_p(x, shape=(x.shape[0], *inner), broadcast_dimensions=(0, *behind))


for name in ELEMENTWISE:
    batch_rules[name] = functools.partial(batch_elementwise, name)
batch_rules["convert_element_type"] = lambda size, args, batched, **params: [convert_p(*args, **params)]
batch_rules["broadcast_in_dim"] = lambda size, args, batched, shape, broadcast_dimensions: [
    broadcast_p(*args, shape=(size, *shape), broadcast_dimensions=(0, *(i + 1 for i in broadcast_dimensions)))]
batch_rules["reduce_sum"] = lambda size, args, batched, axes: [reduce_sum_p(*args, axes=tuple(i + 1 for i in axes))]
batch_rules["transpose"] = lambda size, args, batched, permutation: [
    transpose_p(*args, permutation=(0, *(i + 1 for i in permutation)))]


class BatchTracer(Tracer):
    """One value of many: `value` holds all of them, along its first dimension."""

    def __init__(self, trace: Trace, value: Any) -> None:
        aval = aval_of(value)
        super().__init__(trace, aval._replace(shape=aval.shape[1:]))
        self.value = value


class BatchTrace(Trace):
    """Does to all values at once what the function does to one."""

    def __init__(self, parent: Trace, size: int) -> None:
        self.parent, self.batch_size = parent, size

    def process(self, primitive: Primitive, args: Sequence, params: dict) -> list:
        if primitive.name == "pjit":
            return eval_jaxpr(params["jaxpr"], *args)
        batched = [isinstance(x, BatchTracer) and x.trace is self for x in args]
        values = [x.value if b else x for x, b in zip(args, batched, strict=True)]
        with set_trace(self.parent):
            if not any(batched):
                return primitive.bind(*values, **params)
            outs = batch_rules[primitive.name](self.batch_size, values, batched, **params)
        return [BatchTracer(self, x) for x in outs]


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """`x` with one dimension at another place."""
    order = [i for i in range(x.ndim) if i != source]
    order.insert(destination, source)
    return x if order == list(range(x.ndim)) else transpose_p(x, permutation=tuple(order))


def vmap(f: Callable, in_axes: Any = 0) -> Callable:
    """`f` for many inputs at once, along dimension `in_axes` of each argument (None: the same for all)."""

    def mapped(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        pairs = [(axis, leaf) for axis, arg in zip(axes, args, strict=True) for leaf in tree_flatten(arg)[0]]
        sizes = {leaf.shape[axis] for axis, leaf in pairs if axis is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap got inconsistent sizes for array axes to be mapped: {sorted(sizes)}")
        trace = BatchTrace(current_trace(), *sizes)
        inputs = [x if axis is None else BatchTracer(trace, moveaxis(x, axis, 0)) for axis, x in pairs]
        with set_trace(trace):
            out = f(*tree_unflatten(tree_flatten(args)[1], inputs))
        return tree_map(lambda x: batch_of(trace, x), out)

    return mapped


def batch_of(trace: BatchTrace, x: Any) -> Any:
    """All values of a result; one that does not depend on the batch is repeated."""
    if isinstance(x, BatchTracer) and x.trace is trace:
        return x.value
    shape = np.shape(x)
    return broadcast_p(x, shape=(trace.batch_size, *shape), broadcast_dimensions=tuple(range(1, len(shape) + 1)))


# --- reverse mode: linearize, transpose --------------------------------------------------------------------------


def partial_eval(jaxpr: Jaxpr, known_inputs: Sequence) -> tuple[list, Jaxpr]:
    """Runs the equations that need only the first inputs, those that are given.

    Returns what is known of the results (None for the others), and the rest as a program of the other inputs. What it
    needs of the known part, the *residuals*, are its constants.
    """
    known = dict(zip(jaxpr.constvars + jaxpr.invars, [*jaxpr.consts, *known_inputs], strict=False))
    rest = []
    for eqn in jaxpr.eqns:
        if all(isinstance(v, Literal) or v in known for v in eqn.invars):
            values = [v.val if isinstance(v, Literal) else known[v] for v in eqn.invars]
            known.update(zip(eqn.outvars, eqn.primitive.bind(*values, **eqn.params), strict=True))
        else:
            rest.append(eqn)
    read = [v for eqn in rest for v in eqn.invars] + jaxpr.outvars
    residuals = [v for v in dict.fromkeys(read) if v in known]
    outs = [v.val if isinstance(v, Literal) else known.get(v) for v in jaxpr.outvars]
    unknown = jaxpr.invars[len(known_inputs) :]
    return outs, Jaxpr(residuals, unknown, rest, jaxpr.outvars, [known[v] for v in residuals])


def linearize_flat(f: Callable, primals: tuple) -> tuple[list, PyTreeDef, Jaxpr]:
    """The results of `f`, their structure, and the linear program from tangents to tangents."""
    traced = trace_function(lambda *both: jvp(f, *both), (primals, primals))
    leaves, _ = tree_flatten(primals)
    outs, linear = partial_eval(traced.jaxpr, leaves)
    count = len(outs) // 2
    linear.outvars = linear.outvars[count:]
    return outs[:count], traced.out_tree.children[0], live(linear)


def linearize(f: Callable, *primals: Any) -> tuple[Any, Callable]:
    """`f(*primals)`, and the function from tangents of the inputs to tangents of the results."""
    outs, out_tree, linear = linearize_flat(f, primals)
    push = lambda *tangents: tree_unflatten(out_tree, eval_jaxpr(linear, *tree_flatten(tangents)[0]))
    return tree_unflatten(out_tree, outs), push


class Linear(NamedTuple):
    """In the place of an operand in which an equation is linear: its type is all that is known of it."""

    aval: ShapedArray


def transpose_jaxpr(jaxpr: Jaxpr, cotangents: Sequence) -> list:
    """Reads a linear program from its results to its inputs; where a value was read twice, two parts are added."""
    known = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    total: dict[Var, Any] = {}

    def give(v: Var | Literal, ct: Any) -> None:
        if isinstance(v, Var) and v not in known and ct is not None:
            ct = sum_to(ct, v.aval.shape)
            total[v] = add_p(total[v], ct) if v in total else ct

    for v, ct in zip(jaxpr.outvars, cotangents, strict=True):
        give(v, ct)
    for eqn in reversed(jaxpr.eqns):
        if eqn.outvars[0] in total:
            operands = [v.val if isinstance(v, Literal) else known.get(v, Linear(v.aval)) for v in eqn.invars]
            cts = transpose_rules[eqn.primitive.name](total.pop(eqn.outvars[0]), *operands, **eqn.params)
            for v, ct in zip(eqn.invars, cts, strict=True):
                give(v, ct)
    return [total[v] if v in total else zeros(v.aval.shape) for v in jaxpr.invars]


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of repeating a value from `shape`: the sum over all its repetitions."""
    if np.shape(x) == shape:
        return x
    new = x.ndim - len(shape)
    axes = tuple(i for i in range(x.ndim) if i < new or shape[i - new] != x.shape[i])
    kept = tuple(i - new for i in range(x.ndim) if i not in axes)
    x = reduce_sum_p(x, axes=axes)
    return x if x.shape == shape else broadcast_p(x, shape=shape, broadcast_dimensions=kept)


transpose_rules: dict[str, Callable[..., list]] = {
    "neg": lambda ct, x: [neg_p(ct)],
    "add": lambda ct, x, y: [ct, ct],
    "sub": lambda ct, x, y: [ct, neg_p(ct)],
    "mul": lambda ct, x, y: [mul_p(ct, y), None] if isinstance(x, Linear) else [None, mul_p(x, ct)],
    "div": lambda ct, x, y: [div_p(ct, y), None],
    "select_n": lambda ct, c, x, y: [None, select_n_p(c, ct, zeros(ct.shape)), select_n_p(c, zeros(ct.shape), ct)],
    "convert_element_type": lambda ct, x, **params: [ct],
    "reduce_sum": lambda ct, x, axes: [broadcast_p(
        ct, shape=x.aval.shape, broadcast_dimensions=tuple(i for i in range(len(x.aval.shape)) if i not in axes))],
    "broadcast_in_dim": lambda ct, x, shape, broadcast_dimensions: [sum_to(
        reduce_sum_p(ct, axes=tuple(i for i in range(len(shape)) if i not in broadcast_dimensions)), x.aval.shape)],
    "transpose": lambda ct, x, permutation: [transpose_p(ct, permutation=tuple(np.argsort(permutation).tolist()))],
}


def vjp(f: Callable, *primals: Any) -> tuple[Any, Callable]:
    """`f(*primals)`, and the function from cotangents of the results to those of the inputs."""
    outs, out_tree, linear = linearize_flat(f, primals)
    _, in_tree = tree_flatten(primals)
    pull = lambda ct: tree_unflatten(in_tree, transpose_jaxpr(linear, tree_flatten(ct)[0]))
    return tree_unflatten(out_tree, outs), pull


def value_and_grad(f: Callable) -> Callable:
    """The function that returns a number and how it depends on the first argument."""

    def both(x: Any, *others: Any) -> tuple[Any, Any]:
        out, pull = vjp(lambda x: f(x, *others), x)
        if np.shape(out) != ():
            raise TypeError(f"Gradient only defined for scalar-output functions. Output had shape: {np.shape(out)}.")
        return out, pull(np.float32(1))[0]

    return both


def grad(f: Callable) -> Callable:
    """The function that returns how a number depends on the first argument."""
    return lambda *args: value_and_grad(f)(*args)[1]


# --- C -----------------------------------------------------------------------------------------------------------

C_TYPES = {BOOL: "uint8_t", INT: "int32_t", FLOAT: "float"}
C_TEXTS = {
    "neg": "-{0}", "sin": "sinf({0})", "cos": "cosf({0})", "exp": "expf({0})", "log": "logf({0})", "tanh": "tanhf({0})",
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "eq": "{0} == {1}", "ne": "{0} != {1}", "lt": "{0} < {1}", "le": "{0} <= {1}",
    "gt": "{0} > {1}", "ge": "{0} >= {1}",
    "select_n": "{0} ? {2} : {1}",
}


def c_expression(eqn: Eqn, operands: Sequence[str]) -> str:
    """An element of an equation's result, in C."""
    if eqn.primitive.name == "convert_element_type":
        dtype = eqn.params["new_dtype"]
        return f"{operands[0]} != 0" if dtype == BOOL else f"({C_TYPES[dtype]}){operands[0]}"
    return C_TEXTS[eqn.primitive.name].format(*operands) if eqn.primitive.name in C_TEXTS else operands[0]


def c_number(x: Any, dtype: np.dtype) -> str:
    """A literal in C."""
    value = np.asarray(x, dtype).item()
    if dtype != FLOAT:
        return str(int(value))
    return f"{value!r}f" if math.isfinite(value) else "NAN" if math.isnan(value) else f"{'-' * (value < 0)}INFINITY"


def loop_shape(eqn: Eqn) -> tuple[int, ...]:
    """Over what an equation loops: over its result, or over what it sums."""
    return (eqn.invars if eqn.primitive.name == "reduce_sum" else eqn.outvars)[0].aval.shape


def reading_order(eqn: Eqn, v: Var | Literal) -> Sequence[int]:
    """For each dimension of an operand, which of the loops runs through it."""
    if eqn.primitive.name == "broadcast_in_dim":
        return eqn.params["broadcast_dimensions"]
    return eqn.params["permutation"] if eqn.primitive.name == "transpose" else range(len(v.aval.shape))


def writing_order(eqn: Eqn) -> Sequence[int]:
    """For each dimension of the result, which of the loops runs through it."""
    loops = range(len(loop_shape(eqn)))
    return [i for i in loops if i not in eqn.params["axes"]] if eqn.primitive.name == "reduce_sum" else loops


def position(aval: ShapedArray, order: Sequence[int]) -> str:
    """Where an element lies, in C: the sum of index times stride; sides of length 1 have no index."""
    strides = [math.prod(aval.shape[k + 1 :]) for k in range(len(aval.shape))]
    terms = [f"i{i} * {stride}" for i, stride, n in zip(order, strides, aval.shape, strict=True) if n != 1]
    return " + ".join(terms).replace(" * 1", "") or "0"


def loops(shape: Sequence[int], body: list[str]) -> list[str]:
    """Lines of C inside one loop for each dimension."""
    for i, n in reversed([*enumerate(shape)]):
        body = [f"for (int64_t i{i} = 0; i{i} < {n}; i{i}++) {{", *indented(body), "}"]
    return body


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class CText:
    """The C of a program: a function of pointers to `buffers`, first its inputs, then whatever it stores."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.letters, self.buffers = Printer(), list(jaxpr.invars)
        body = self.block(jaxpr)
        types = [C_TYPES[v.aval.dtype] for v in self.buffers]
        pointers = [f"{types[i]} *const {self.name(v)} = buffers[{i}];" for i, v in enumerate(self.buffers)]
        head = ["#include <math.h>", "#include <stdint.h>", "#include <string.h>", ""]
        self.text = "\n".join([*head, "void tiny_entry(void *const *buffers) {", *indented(pointers + body), "}", ""])

    def name(self, v: Var) -> str:
        return f"v_{self.letters.name(v)}"

    def block(self, jaxpr: Jaxpr) -> list[str]:
        """One loop for each equation."""
        return [line for eqn in jaxpr.eqns for line in self.loop(eqn)]

    def loop(self, eqn: Eqn) -> list[str]:
        """One equation, in a loop of its own."""
        out, is_sum = eqn.outvars[0], eqn.primitive.name == "reduce_sum"
        self.buffers.append(out)
        value = c_expression(eqn, [self.element(v, reading_order(eqn, v)) for v in eqn.invars])
        statement = f"{self.element(out, writing_order(eqn))} {'+=' if is_sum else '='} {value};"
        start = [f"memset({self.name(out)}, 0, {4 * out.aval.size});"] if is_sum else []
        return [f"/* {self.letters.eqn(eqn, 0)} */", *start, *loops(loop_shape(eqn), [statement])]

    def element(self, v: Var | Literal, order: Sequence[int]) -> str:
        """The element of `v` at the loops' position."""
        if isinstance(v, Literal):
            return c_number(v.val, v.aval.dtype)
        return f"{self.name(v)}[{position(v.aval, order)}]"


class Lowered(NamedTuple):
    """A program on its way: without calls, then as C."""

    jaxpr: Jaxpr

    def as_text(self) -> str:
        return CText(self.jaxpr).text

    def compile(self) -> Program:
        return Program(self.jaxpr)


def lower(jaxpr: Jaxpr) -> Lowered:
    """The program as it is compiled: no calls, and nothing that nobody needs."""
    return Lowered(live(inlined(jaxpr)))


class Program:
    """A program that was compiled and loaded; called with NumPy arrays."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        c = CText(jaxpr)
        self.jaxpr, self.buffers = jaxpr, c.buffers[len(jaxpr.invars) :]
        self.entry = ctypes.CDLL(compile_c(c.text)).tiny_entry

    def __call__(self, *xs: np.ndarray) -> list[np.ndarray]:
        places = dict(zip(self.jaxpr.invars, map(np.ascontiguousarray, xs), strict=True))
        places |= {v: np.empty(v.aval.shape, v.aval.dtype) for v in self.buffers}
        self.entry((ctypes.c_void_p * len(places))(*[x.ctypes.data for x in places.values()]))
        return [np.asarray(v.val) if isinstance(v, Literal) else places[v] for v in self.jaxpr.outvars]


COMPILER = ["cc", "-O2", "-march=native", "-fwrapv", "-shared", "-fPIC"]


def compile_c(text: str) -> str:
    """Compiles a C text, and returns the path of the shared object."""
    folder = tempfile.mkdtemp(prefix="tiny-")
    source, shared_object = f"{folder}/program.c", f"{folder}/program.so"
    with open(source, "w") as file:
        file.write(text)
    subprocess.run([*COMPILER, source, "-o", shared_object, "-lm"], check=True)
    return shared_object


def program_of(jaxpr: Jaxpr) -> Program:
    """The compiled program."""
    return lower(jaxpr).compile()
