"""A jaxpr as a Python file that runs, one line per equation: any debugger and any editor can step through it.

    @program("f32[3]", "f32[]")
    def main(x):
        y = op.sin(x)                                    # f32[3]
        a = op.reduce_sum(y, axes=(0,))                  # f32[]
        return [a]

A program inside an equation is a function of its own, given by name: `op.scan(..., jaxpr=body)` calls `body` once for
each iteration. What an equation computes is what it computes un-jitted.
"""
from __future__ import annotations

import base64
import enum
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import evaluation, stored
from tinytrace.core.array import array_from_numpy
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0, KeyType, short_name
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.parser import UnknownConstant, parse_type
from tinytrace.core.primitive import param_types, registry
from tinytrace.core.printer import letters
from tinytrace.core.storage import storage_type
from tinytrace.core.trace import eval_context
from tinytrace.core.user_names import user_names
from tinytrace.inspection.recording import as_array

HEAD = '''"""{title}, one line for each equation.

Run this file, or step through it with a debugger; `main(*args)` computes what the jaxpr computes.
"""
import numpy as np

from tinytrace.inspection.python_file import array, op, opaque, param_types, program
'''


# --- writing -------------------------------------------------------------------------------------------------------

def as_python(jaxpr: Jaxpr | ClosedJaxpr, consts: Sequence[Any] | None = None) -> str:
    """Return the text of a Python file whose `main` computes what `jaxpr` computes.

    Args: consts: the constants of an open jaxpr; without them they are the first arguments of `main`.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> print(jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0).as_python().split("\\n\\n\\n")[1].strip())
    @program("f32[]", "f32[]")
    def main(x):
        a = op.sin(x)                                    # f32[]  <lambda>:1
        b = op.mul(a, array(2.0, "f32"))                 # f32[]  <lambda>:1
        return [b]
    """
    if isinstance(jaxpr, ClosedJaxpr):
        consts, jaxpr = jaxpr.consts, jaxpr.jaxpr
    writer = _Writer(user_names(jaxpr))
    writer.function(jaxpr, consts, "main")
    where = f" of {jaxpr.debug_info.function}" if jaxpr.debug_info is not None else ""
    parts = [HEAD.format(title=f"The jaxpr{where}".replace("\\", "/").replace('"""', "'''"))]
    if writer.constants:
        parts.append("\n".join(writer.constants) + "\n")
    return "\n\n".join([*parts[:1], *parts[1:], *writer.functions])


class _Writer:
    """The file so far: constants and functions, inner ones first."""

    def __init__(self, names: dict[Var, str]) -> None:
        self.names: dict[Var, str] = {}
        self.taken = {"np", "array", "op", "opaque", "param_types", "program", "main"}
        self.call(names)
        self.fresh = (name for name in map(letters, range(10**9)) if not keyword.iskeyword(name))
        self.constants: list[str] = []
        self.functions: list[str] = []
        self.written: dict[int, str] = {}

    def call(self, names: dict[Var, str]) -> None:
        """Give variables the user's names; one that the file or Python needs is followed by `_`."""
        reserved = set(self.taken) - set(self.names.values())
        for var, name in names.items():
            if var not in self.names:
                text = _identifier(name)
                self.names[var] = f"{text}_" if text in reserved else text
        self.taken.update(self.names.values())

    def function(self, jaxpr: Jaxpr, consts: Sequence[Any] | None, name: str) -> None:
        """Write a function for `jaxpr`; constants that are known become names of the file."""
        binders = list(jaxpr.invars)
        if consts is None:
            binders = [*jaxpr.constvars, *binders]
        else:
            for var, value in zip(jaxpr.constvars, consts, strict=True):
                self.constants.append(f"{self.name(var)} = {self.value(value)}")
        types = " ".join(v.aval.str_short() for v in binders), " ".join(v.aval.str_short() for v in jaxpr.outvars)
        lines = [f'@program("{types[0]}", "{types[1]}")', f"def {name}({', '.join(map(self.name, binders))}):"]
        lines += [line for eqn in jaxpr.eqns for line in self.equation(eqn)]
        lines.append(f"    return [{', '.join(map(self.atom, jaxpr.outvars))}]")
        self.functions.append("\n".join(lines) + "\n")

    def equation(self, eqn: JaxprEqn) -> list[str]:
        name = eqn.primitive.name
        params = [f"{key}={self.param(value, eqn.params.get('name', key))}" for key, value in eqn.params.items()]
        call = f"op.{name}" if name.isidentifier() and not keyword.iskeyword(name) else f"op[{name!r}]"
        left = ", ".join("_" if isinstance(v, DropVar) else self.name(v) for v in eqn.outvars)
        if eqn.primitive.multiple_results:
            left = f"[{left}]"
        text = f"    {left + ' = ' if eqn.outvars else ''}{call}({', '.join([*map(self.atom, eqn.invars), *params])})"
        types = " ".join(v.aval.str_short() for v in eqn.outvars)
        place = f"  {eqn.source.function}:{eqn.source.line}" if eqn.source is not None else ""
        return [f"{text:<52} # {types}{place}".rstrip().rstrip("#").rstrip()]

    def atom(self, atom: Atom) -> str:
        return self.value(atom.val, atom.aval) if isinstance(atom, Literal) else self.name(atom)

    def name(self, var: Var) -> str:
        if var not in self.names:
            self.names[var] = next(name for name in self.fresh if name not in self.taken)
            self.taken.add(self.names[var])
        return self.names[var]

    def value(self, value: Any, aval: ShapedArray | None = None) -> str:
        """Return an expression for an array: its numbers, or its bytes where they are many or numbers lose some."""
        aval = aval_of(value) if aval is None else aval
        if isinstance(value, UnknownConstant):
            return f"opaque('a constant of type {aval.str_short()} whose value is not known')"
        kind = short_name(aval.dtype)
        if aval.dtype == FLOAT0:
            return f"array(None, {kind!r}, {aval.shape})"
        plain = stored(value) if not isinstance(value, (int, float, complex)) else np.asarray(value, aval.dtype)
        is_key = isinstance(aval.dtype, KeyType)
        if not is_key and plain.size <= 16 and plain.dtype.kind in "biuf" and np.isfinite(plain).all():
            numbers = repr(plain.tolist()).replace("'", '"')
            if plain.size:
                return f'array({numbers}, "{kind}")'
        return f'array("{base64.b64encode(np.ascontiguousarray(plain).tobytes()).decode()}", "{kind}", {aval.shape})'

    def param(self, value: Any, name: Any) -> str:
        """Return an expression for a parameter; a program becomes a function of the file, and is given by name."""
        if isinstance(value, ClosedJaxpr):
            return self.inner(value.jaxpr, value.consts, name)
        if isinstance(value, Jaxpr):
            return self.inner(value, None, name)
        if isinstance(value, enum.Enum) and type(value).__name__ in param_types:
            return f'param_types["{type(value).__name__}"].{value.name}'
        if type(value).__name__ in param_types:
            fields = [f"{key}={self.param(item, key)}" for key, item in zip(value._fields, value, strict=True)]
            return f'param_types["{type(value).__name__}"]({", ".join(fields)})'
        if type(value) in (tuple, list):
            items = [self.param(item, name) for item in value]
            inside = ", ".join(items) + ("," if len(items) == 1 and type(value) is tuple else "")
            return f"({inside})" if type(value) is tuple else f"[{inside}]"
        if isinstance(value, np.dtype):
            return f"np.dtype({value.name!r})"
        if isinstance(value, (np.generic, np.ndarray)):
            return self.value(value)
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return repr(value) if not isinstance(value, float) or np.isfinite(value) else f'float("{value}")'
        return f"opaque({str(value)!r})"

    def inner(self, jaxpr: Jaxpr, consts: Sequence[Any] | None, name: Any) -> str:
        if id(jaxpr) not in self.written:
            base = _identifier(str(name))
            numbered = (f"{base}_{n}" if n else base for n in range(10**9))
            chosen = next(text for text in numbered if text not in self.taken)
            self.taken.add(chosen)
            self.written[id(jaxpr)] = chosen
            self.call(user_names(jaxpr))
            self.function(jaxpr, consts, chosen)
        return self.written[id(jaxpr)]


def _identifier(name: str) -> str:
    """Return a Python identifier like `name`."""
    text = re.sub(r"\W", "_", name).strip("_") or "program"
    return f"_{text}" if text[0].isdigit() or keyword.iskeyword(text) else text


# --- running -------------------------------------------------------------------------------------------------------

class PythonProgram:
    """A function of a written file, with the types that the program has: it stands where a jaxpr stood."""

    def __init__(self, function: Callable[..., list[Any]], in_avals: list[ShapedArray], out_avals: list[ShapedArray]
                 ) -> None:
        self.function = function
        self.in_avals = in_avals
        self.out_avals = out_avals
        self.__name__ = function.__name__

    def __call__(self, *args: Any) -> list[Any]:
        return self.function(*[as_array(x, aval) for x, aval in zip(args, self.in_avals, strict=True)])

    def __repr__(self) -> str:
        return f"<program {self.__name__}>"


def program(in_types: str, out_types: str) -> Callable[[Callable[..., list[Any]]], PythonProgram]:
    """Return a decorator that gives a function of a written file its types."""
    def typed(function: Callable[..., list[Any]]) -> PythonProgram:
        avals = [list(map(parse_type, types.split())) for types in (in_types, out_types)]
        return PythonProgram(function, *avals)
    return typed


def array(data: Any, dtype: str, shape: tuple[int, ...] | None = None) -> Any:
    """Return the array that a written file names: by its numbers, or by its bytes in base 64 and its shape."""
    if shape is None:
        numbers = np.asarray(data)
        aval = parse_type(f"{dtype}[{','.join(map(str, numbers.shape))}]")
        return array_from_numpy(numbers.astype(aval.dtype), aval)
    aval = parse_type(f"{dtype}[{','.join(map(str, shape))}]")
    if aval.dtype == FLOAT0:
        return np.zeros(shape, FLOAT0)
    elements = np.frombuffer(base64.b64decode(data), storage_type(aval.dtype))
    return array_from_numpy(elements.reshape(shape).copy(), aval)


class Opaque:
    """What has no text, such as a function, or a constant whose value is not known; what needs it cannot run."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.text} is a Python object of the program that the file was written from: "
                        "put the function itself in the place of `opaque(...)`.")


opaque = Opaque


class _Operations:
    """`op.sin(x)` runs the primitive `sin` on arrays; `op["name"]` where the name is no Python name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in registry:
            raise AttributeError(f"there is no primitive {name!r}")
        return lambda *args, **params: _run(name, args, params)

    __getitem__ = __getattr__


op = _Operations()


def _run(name: str, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Run one equation; programs among its parameters are Python functions, which are called."""
    primitive = registry[name]
    if not any(isinstance(item, PythonProgram) for value in params.values()
               for item in (value if isinstance(value, tuple) else (value,))):
        with eval_context():
            return primitive.bind(*args, **params)
    with evaluation.by(lambda function, arrays: function(*arrays)):
        outs = primitive.impl(*map(stored, args), **params)
    avals = primitive.abstract_eval(*map(aval_of, args), **params)
    return [as_array(x, aval) for x, aval in zip(outs, avals, strict=True)] if primitive.multiple_results \
        else as_array(outs, avals)
