"""`export`: a function as a text that other machines run: `export(f)(*avals).save(path)`, there `export.load(path)`.

The text is JSON: the jaxpr as it prints, the containers and types of arguments and results, and closed-over arrays.
Nothing in it is run when it is loaded: `parse_jaxpr` reads the jaxpr, and a call compiles it.
Source: the interface of https://docs.jax.dev/en/latest/jax.export.html.
"""
from __future__ import annotations

import base64
import binascii
import html
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.concrete import as_array
from tinytrace.api.export_c import ExportError
from tinytrace.api.jit import JitFunction, jit
from tinytrace.api.stages import Traced
from tinytrace.core.array import array_from_host, storage_dtype
from tinytrace.core.avals import ShapedArray, abstract_type_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Literal, eval_jaxpr
from tinytrace.core.moving import OpaqueParam
from tinytrace.core.parser import UnknownConstant, parse_type
from tinytrace.core.tree_paths import equality_errors_pytreedef
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_structure
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.parsing import parse_jaxpr
from tinytrace.passes.simplify import simplify
from tinytrace.util import lazy

FORMAT = "tinytrace-export-1"


class Exported:
    """A function for one kind of arguments, without its Python. Call it with `.call(*args)`; it can be transformed.

    Args:
      fun_name: the name of the Python function.
      jaxpr: what it computes.
      in_tree, out_tree: the containers of `(args, kwargs)` and of the result.
      in_avals, out_avals: the types of the arrays in them.
    """

    def __init__(self, fun_name: str, jaxpr: ClosedJaxpr, in_tree: PyTreeDef, out_tree: PyTreeDef,
                 in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> None:
        self.fun_name, self.jaxpr = fun_name, jaxpr
        self.in_tree, self.out_tree = in_tree, out_tree
        self.in_avals, self.out_avals = tuple(in_avals), tuple(out_avals)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result for arguments of the exported types.

        Raises: TypeError if they differ, with each difference.
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(f"{self.fun_name} was exported for arguments in other containers:\n"
                            + "\n".join(_differences(self.in_tree, tree)))
        got = [abstract_type_of(leaf) for leaf in leaves]
        wrong = [f"  argument {i}: exported for {want.str_short()}, called with {aval.str_short()}"
                 for i, (want, aval) in enumerate(zip(self.in_avals, got, strict=True))
                 if (want.shape, want.dtype) != (aval.shape, aval.dtype)]
        if wrong:
            raise TypeError(f"{self.fun_name} was exported for arguments of other types; export it once for each:\n"
                            + "\n".join(wrong))
        return self.out_tree.unflatten(self._compiled(*leaves))

    @lazy
    def _compiled(self) -> JitFunction:
        def run(*leaves: Any) -> list[Any]:
            return eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *leaves)

        run.__name__ = run.__qualname__ = self.fun_name
        return jit(run)  # type: ignore[no-any-return]

    def to_text(self) -> str:
        """Return the function as text; `export.parse` reads it."""
        value = {
            "format": FORMAT, "function": self.fun_name,
            "in_tree": _tree_to_json(self.in_tree), "in_avals": list(map(_aval_to_text, self.in_avals)),
            "out_tree": _tree_to_json(self.out_tree), "out_avals": list(map(_aval_to_text, self.out_avals)),
            "jaxpr": str(self.jaxpr).split("\n"),
            "consts": [_array_to_text(x, v.aval) for v, x in
                       zip(self.jaxpr.jaxpr.constvars, self.jaxpr.consts, strict=True)],
        }  # fmt: skip
        return json.dumps(value, indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_text())

    def serialize(self) -> bytearray:
        """Return the text as bytes, by JAX's name."""
        return bytearray(self.to_text().encode())

    def __reduce__(self) -> tuple[Any, ...]:
        return export.parse, (self.to_text(),)

    def __str__(self) -> str:
        types = ", ".join(aval.str_short() for aval in self.in_avals)
        return f"{self.fun_name}({types}) -> {', '.join(a.str_short() for a in self.out_avals)}\n{self.jaxpr}"

    def __repr__(self) -> str:
        return f"Exported({str(self).splitlines()[0]})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class Exporter:
    """`export(f)(*avals)`, and what reads the texts again: `export.load`, `export.parse`, `export.deserialize`."""

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Exported]:
        """Return a function of arrays or avals (`ShapeDtypeStruct`) that returns `fun` for such arguments as a value.

        Raises: ExportError (a ValueError) if the program calls Python, or uses containers other than tuples, lists,
          dicts and None.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> exported = jax.export(lambda x: jnp.sin(x) * 2)(jax.ShapeDtypeStruct((3,), jnp.float32))
        >>> jax.export.parse(exported.to_text()).call(jnp.zeros(3))
        Array([0., 0., 0.], dtype=float32)
        """
        jitted = fun if isinstance(fun, JitFunction) else jit(fun)

        def exported(*args: Any, **kwargs: Any) -> Exported:
            return _exported(jitted.trace(*args, **kwargs))

        return exported

    export = __call__

    def load(self, path: str | os.PathLike[str]) -> Exported:
        """Return the function that a file holds; it is read, and nothing in it is run.

        Raises: OSError if it cannot be read, ValueError if it is no exported function.
        """
        with open(path, encoding="utf-8") as file:
            return self.parse(file.read())

    def parse(self, text: str) -> Exported:
        """Return the function that a text is.

        Raises: ValueError (JaxprSyntaxError, JaxprTypeError) if it is none.
        """
        try:
            value = json.loads(text)
            if value["format"] != FORMAT:
                raise ValueError(f"its format is {value['format']!r}, this version reads {FORMAT!r}")
            jaxpr = parse_jaxpr("\n".join(value["jaxpr"]))
            consts = [_array_of(const) for const in value["consts"]]
            in_tree, out_tree = _tree_of(value["in_tree"]), _tree_of(value["out_tree"])
            in_avals, out_avals = ([_aval_of(aval) for aval in value[name]] for name in ("in_avals", "out_avals"))
            name = str(value["function"])
            jaxpr = jaxpr.replace(outvars=[_typed(atom, aval) for atom, aval in
                                           zip(jaxpr.outvars, out_avals, strict=True)])
        except (KeyError, TypeError, RecursionError, binascii.Error) as error:
            raise ValueError(f"this is no exported function: {type(error).__name__}: {error}") from error
        check_jaxpr(jaxpr)
        shapes = [[(v.aval.shape, v.aval.dtype) for v in atoms] for atoms in
                  (jaxpr.constvars, jaxpr.invars, jaxpr.outvars)]
        told = [[(a.shape, a.dtype) for a in avals] for avals in ([c.aval for c in consts], in_avals, out_avals)]
        if shapes != told or [in_tree.num_leaves, out_tree.num_leaves] != [len(in_avals), len(out_avals)]:
            raise ValueError("this is no exported function: its signature is not that of its jaxpr")
        return Exported(name, ClosedJaxpr(jaxpr, consts), in_tree, out_tree, in_avals, out_avals)

    def deserialize(self, blob: bytes | bytearray) -> Exported:
        """Return what `serialize` has written, by JAX's name."""
        return self.parse(bytes(blob).decode())

    def __repr__(self) -> str:
        return "<tinytrace.export: export(f)(*avals), export.load(path)>"


export = Exporter()


def _exported(traced: Traced) -> Exported:
    closed = simplify(traced.jaxpr)
    name = traced.fun_name
    for eqn in closed.jaxpr.walk():
        if any(callable(value) or isinstance(value, OpaqueParam) for value in eqn.params.values()):
            raise ExportError(f"export: {name} calls Python ({eqn.primitive}), which a text does not hold: take out "
                              "debug.print and callbacks, and export the parts around them")
    for tree in (traced.in_tree, traced.out_tree):
        _tree_to_json(tree)
    exported = Exported(name, closed, traced.in_tree, traced.out_tree, traced.jaxpr.in_avals, traced.jaxpr.out_avals)
    for eqn in parse_jaxpr(str(closed)).walk():
        inner = [x for value in eqn.params.values() if isinstance(value, ClosedJaxpr) for x in value.consts]
        if any(isinstance(x, UnknownConstant) for x in inner):
            raise ExportError(f"export: the body of a {eqn.primitive} in {name} closes over an array, which its text "
                              "does not hold: pass it through the loop as an argument")
    return exported


def _differences(want: PyTreeDef, got: PyTreeDef) -> list[str]:
    return [f"  at {''.join(map(str, [('args', 'kwargs')[path[0].idx], *path[1:]]))}: exported with {a}, called with "
            f"{b}, so {why}" for path, a, b, why in equality_errors_pytreedef(want, got)]


# --- values as JSON ----------------------------------------------------------------------------------------------


def _tree_to_json(tree: PyTreeDef) -> Any:
    """Return containers as JSON: leaves by number, the others as `[kind, children]`."""

    def written(x: Any) -> Any:
        if type(x) is int or x is None:
            return x
        if type(x) in (tuple, list):
            return [type(x).__name__, [written(child) for child in x]]
        if type(x) is dict and all(type(key) in (str, int) for key in x):
            return ["dict", [[key, written(child)] for key, child in x.items()]]
        raise ExportError(f"export: containers are tuples, lists, dicts with keys of text or int, and None; not "
                          f"{type(x).__name__}: turn it into one of these")

    return written(tree.unflatten(range(tree.num_leaves)))


def _tree_of(value: Any) -> PyTreeDef:
    def read(x: Any) -> Any:
        if type(x) is int or x is None:
            return x
        kind, children = x
        if kind == "dict":
            return {key: read(child) for key, child in children}
        return {"tuple": tuple, "list": list}[kind](read(child) for child in children)

    return tree_structure(read(value))


def _typed(atom: Atom, aval: ShapedArray) -> Atom:
    """Return a result; of a constant that is one the text does not tell the type."""
    if not isinstance(atom, Literal) or aval.shape:
        return atom
    return Literal(np.asarray(atom.val, storage_dtype(aval)), aval)


def _aval_to_text(aval: ShapedArray) -> str:
    return aval.str_short() + ("~" if aval.weak_type else "")


def _aval_of(text: str) -> ShapedArray:
    aval = parse_type(text.removesuffix("~"))
    return aval.update(weak_type=text.endswith("~"))


def _array_to_text(x: Any, aval: ShapedArray) -> dict[str, str]:
    data = np.array(as_array(x, aval)._value).tobytes()
    return {"type": _aval_to_text(aval), "data": base64.b64encode(data).decode()}


def _array_of(value: dict[str, str]) -> Any:
    aval = _aval_of(value["type"])
    data = base64.b64decode(value["data"], validate=True)
    if len(data) != aval.nbytes:
        raise ValueError(f"a constant {aval.str_short()} has {len(data)} bytes")
    return array_from_host(np.frombuffer(data, storage_dtype(aval)).reshape(aval.shape), aval)
