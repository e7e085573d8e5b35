"""`export_c`: a function as C for programs without Python: `export_c(f)(*avals).save(folder)`, then `make` there."""
from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any

import numpy as np

from tinytrace._dispatch import CONSTANT, FROM_KERNEL
from tinytrace.api.build_files import cmakelists, makefile
from tinytrace.api.jit import JitFunction, jit
from tinytrace.api.program import Program
from tinytrace.api.stages import Traced
from tinytrace.codegen.c.standalone import Computed, Constant, Parameter, Passed, Standalone
from tinytrace.codegen.plan.reserved import is_reserved
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.key_paths import keystr
from tinytrace.core.tree_paths import tree_flatten_with_path
from tinytrace.csources import standalone_host
from tinytrace.transforms.staging import hoist_consts

LARGEST_CONSTANT = 1 << 24
"""Bytes of an array that is written as numbers into the C; a larger one is to be an argument."""


class ExportError(ValueError):
    """A function cannot be exported; the text says why and what to do."""


class ExportedC:
    """A function as C files.

    Args:
      name: of the C function.
      files: the text of each file by its name: NAME.h, NAME.c, tt_host.c if the program needs a host, example.c,
        Makefile and CMakeLists.txt.
    """

    def __init__(self, name: str, files: dict[str, str]) -> None:
        self.name = name
        self.files = files

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write the files into `folder`, which is made if it is missing; return their paths."""
        os.makedirs(folder, exist_ok=True)
        paths = [os.path.join(os.fspath(folder), name) for name in self.files]
        for path, text in zip(paths, self.files.values(), strict=True):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return paths

    def __str__(self) -> str:
        """The header: how the function is called."""
        return self.files[f"{self.name}.h"]

    def __repr__(self) -> str:
        return f"ExportedC({self.name}: {', '.join(self.files)})"

    def _repr_html_(self) -> str:
        return "".join(f"<details><summary>{html.escape(name)}</summary><pre>{html.escape(text)}</pre></details>"
                       for name, text in self.files.items())


def export_c(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., ExportedC]:
    """Return a function of arrays or avals (`ShapeDtypeStruct`) that returns `fun` for such arguments as C files.

    The files build with any C compiler that knows C11 and need no Python. Built with the flags of the Makefile by the
    compiler that tinytrace uses here, the C function gives what the jitted one gives, to the bit.

    name: of the C function; that of `fun` otherwise.
    Raises: ExportError (a ValueError) if the program calls Python, closes over very large arrays, or `name` is no
      identifier of C.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> exported = jax.export_c(lambda x, y: jnp.tanh(x) * y, name="gate")(jnp.zeros(3), 2.0)
    >>> [line for line in str(exported).splitlines() if line.startswith("int ")]
    ['int gate(const float *x, float y, float *out);']
    """
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    if name is not None and c_name(name, ()) != name:
        raise ExportError(f"export_c: {name!r} cannot be the name of a C function: take letters, digits and _, and no "
                          "word of C or its library")

    def exported(*args: Any, **kwargs: Any) -> ExportedC:
        traced = jitted.trace(*args, **kwargs)
        return _exported(traced, name or c_name(traced.fun_name, ()))

    return exported


def _exported(traced: Traced, name: str) -> ExportedC:
    # As `jit` does it: arrays that the function closes over are the first inputs.
    program = Program(ClosedJaxpr(hoist_consts(traced.jaxpr.jaxpr), []), share_numbers=False)
    standalone = _standalone(program, traced, name)
    heading = f"{name}: made by tinytrace from {traced.fun_name}; the Makefile says how it is built."
    files = {f"{name}.h": standalone.header(heading), f"{name}.c": standalone.program(heading)}
    if standalone.needs_host:
        files["tt_host.c"] = standalone_host()
    files["example.c"] = standalone.example()
    files["Makefile"] = makefile(standalone)
    files["CMakeLists.txt"] = cmakelists(standalone)
    return ExportedC(name, files)


def _standalone(program: Program, traced: Traced, name: str) -> Standalone:
    closed_over = traced.jaxpr.consts
    n, numbers = len(closed_over), count()
    computes = bool(program.kernel_jaxpr.jaxpr.eqns)
    if computes:
        _require_no_python(program, name)

    def constant(value: Any, aval: ShapedArray) -> Constant:
        if aval.nbytes > LARGEST_CONSTANT:
            raise ExportError(f"export_c: {name} closes over an array {aval.str_short()}, which is too large to be "
                              "numbers in C: make it an argument")
        return Constant(f"constant_{next(numbers)}", aval, _stored(value))

    consts = [constant(value, aval) for value, aval in zip(closed_over, program.in_avals, strict=False)]

    def operand(i: int) -> Passed | Constant:
        return consts[i] if i < n else Passed(i - n)

    entry_inputs: list[Passed | Constant] = []
    if computes:
        entry_inputs += [constant(x, x.aval) for x in program.consts]
        entry_inputs += [operand(i) for i in program.kept]
        entry_inputs += [constant(x, aval_of(x)) for x in program.generated.constants]
    results: list[Computed | Passed | Constant] = []
    for (source, index, value), aval in zip(program.outputs, program.out_avals, strict=True):
        results.append(Computed(index) if source == FROM_KERNEL else
                       constant(value, aval) if source == CONSTANT else operand(index))
    inputs, outputs = _parameters(program, traced, n, {name})
    return Standalone(name, inputs, outputs, program.source if computes else None, entry_inputs, results)


def _parameters(program: Program, traced: Traced, n: int, taken: set[str]
                ) -> tuple[list[Parameter], list[Parameter]]:
    """Return the parameters of the C function: their names are the user's as far as C allows."""
    in_paths = traced.arg_names or [f"arg{i}" for i in range(len(program.in_avals) - n)]
    numbered = traced.out_tree.unflatten(range(traced.out_tree.num_leaves))
    out_paths = [f"out{keystr(path)}" for path, _ in tree_flatten_with_path(numbered)[0]]

    def named(paths: Iterable[str], avals: Sequence[ShapedArray]) -> Iterator[Parameter]:
        for path, aval in zip(paths, avals, strict=True):
            name = c_name(path, taken)
            taken.add(name)
            yield Parameter(name, aval, path)

    return list(named(in_paths, program.in_avals[n:])), list(named(out_paths, program.out_avals))


def c_name(text: str, taken: Iterable[str]) -> str:
    """Return a name of C for a user's name that is no word of C and none of `taken`.

    >>> c_name("params['W'][0]", ()), c_name("<lambda>", ()), c_name("int", ()), c_name("x", {"x"})
    ('params_W_0', 'lambda', 'int_', 'x_2')
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "f"
    name = f"f{name}" if name[0].isdigit() else name
    name = f"{name}_" if is_reserved(name) else name
    return next(each for each in chain([name], (f"{name}_{k}" for k in count(2))) if each not in taken)


def _require_no_python(program: Program, name: str) -> None:
    callbacks = program.generated.callbacks
    if callbacks:
        functions = ", ".join(sorted({getattr(c.function, "__qualname__", type(c.function).__name__)
                                      for c in callbacks}))
        raise ExportError(f"export_c: {name} calls Python ({functions}), which C programs do not have. Take out "
                          "debug.print and callbacks, and export the parts "
                          "around them")


def _stored(value: Any) -> np.ndarray[Any, Any]:
    """Return the elements of a constant as they lie in memory."""
    return np.asarray(value._value if isinstance(value, Array) else value)
