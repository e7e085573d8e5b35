"""Looking inside a transformation: its stages one after the other, and the rules that it is made of.

    show_stages(grad(f))(x)     the program, its jvp, the linear program and its residuals, its transpose, the kernels
    show_rules("jvp")           how each primitive is differentiated: the very source that runs
"""
from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.flattening import FlatFunction, select_arguments
from tinytrace.api.gradients import Differentiated
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.program import Program
from tinytrace.core.avals import aval_of
from tinytrace.core.dce import dce_closed_jaxpr
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.notebook import ShowsItself
from tinytrace.core.primitive import Primitive, Refusal, registry
from tinytrace.core.trees import tree_flatten
from tinytrace.records import NamedTuple
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import partial_eval_jaxpr
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.transpose import transpose_jaxpr

RULES = ("abstract_eval", "impl", "jvp", "transpose", "batch", "lower")


class Section(NamedTuple):
    """One part of what is shown: a title, a sentence, and the thing itself."""

    title: str
    meaning: str
    value: Any


class Shown(ShowsItself):
    """Sections to be read in a terminal or in a notebook; `shown["transpose"]` is the value of one of them."""

    def __init__(self, sections: list[Section]) -> None:
        self.sections = sections

    def __getitem__(self, title: str) -> Any:
        return next(section.value for section in self.sections if section.title == title)

    def __str__(self) -> str:
        return "\n\n".join(f"--- {section.title}: {section.meaning}\n{section.value}" for section in self.sections)

    __repr__ = __str__


# --- stages ----------------------------------------------------------------------------------------------------

def show_stages(fun: Callable[..., Any]) -> Callable[..., Shown]:
    """Return a function that shows what becomes of `fun` for given arguments, from its jaxpr to its kernels.

    If `fun` was made by `grad` or `value_and_grad`, the three stages of reverse mode are among them.

    Returns: a function of the arguments of `fun`; its result prints itself, and `result["transpose"]` is one stage.
    Source: https://arxiv.org/abs/2204.10923, whose three stages these are.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> print(jax.show_stages(jax.grad(jnp.sin))(1.)["linear"])
    { lambda ; a:f32[] b:f32[]. let c:f32[] = mul b a in (c,) }
    """

    def show(*args: Any, **kwargs: Any) -> Shown:
        sections = []
        differentiated = getattr(fun, "differentiated", None)
        if isinstance(differentiated, Differentiated):
            sections += _stages_of_reverse_mode(differentiated, args, kwargs)
        whole = make_jaxpr(fun)(*args, **kwargs)
        program = Program(whole)
        return Shown([
            *sections,
            Section("trace", "the whole function as a jaxpr, as make_jaxpr prints it", whole),
            Section("simplify", "calls inlined, dead and repeated equations removed", program.jaxpr),
            Section("fuse", "the kernels: equations that share one pass over memory", program.generated.kernels)])

    return show


def _stages_of_reverse_mode(differentiated: Differentiated, args: tuple[Any, ...],
                            kwargs: dict[str, Any]) -> list[Section]:
    selected_fun, selected = select_arguments(differentiated.fun, differentiated.argnums, args, kwargs)
    if differentiated.has_aux:
        selected_fun = _first_of(selected_fun)
    leaves, tree = tree_flatten(selected)
    primal = trace_to_closed_jaxpr(FlatFunction(selected_fun, tree), [aval_of(x) for x in leaves])
    moving = [aval.to_tangent_aval().dtype != FLOAT0 for aval in primal.in_avals]
    forward, _ = jvp_jaxpr(primal, moving, instantiate=True)
    known, linear, residuals = _split(forward, len(primal.in_avals), len(primal.out_avals))
    is_tangent = [i >= residuals for i in range(len(linear.in_avals))]
    backward, received = transpose_jaxpr(linear, is_tangent, [True] * len(linear.out_avals))
    wanted = [tangent for tangent, got in zip(is_tangent, received, strict=True) if got]
    backward, _ = dce_closed_jaxpr(backward, wanted, instantiate=True)
    return [
        Section("function", "what is differentiated", primal),
        Section("jvp", "inputs and their tangents to outputs and their tangents", forward),
        Section("known", "the part that needs no tangent; its last outputs are the residuals", known),
        Section("linear", f"the rest: {residuals} residuals, then tangents in; tangents out", linear),
        Section("transpose", "the linear part backwards: residuals, then cotangents in; cotangents out", backward)]


def _split(forward: ClosedJaxpr, num_primals: int, num_outs: int) -> tuple[ClosedJaxpr, ClosedJaxpr, int]:
    """Split a jvp jaxpr by what depends on tangents; returns the parts and the number of residuals."""
    unknown = [i >= num_primals for i in range(len(forward.in_avals))]
    wanted = [i >= num_outs for i in range(len(forward.out_avals))]
    known, linear, _, residual_avals = partial_eval_jaxpr(forward, unknown, wanted)
    return known, linear, len(residual_avals)


def _first_of(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: fun(*args)[0]


# --- rules -----------------------------------------------------------------------------------------------------

def show_rules(rule: str, family: str | None = None) -> Shown:
    """Show one rule of every primitive, with the source that runs; `rule` is one of abstract_eval, impl, jvp,
    transpose, batch, lower.

    `family` restricts this to the primitives of one file of `tinytrace/primitives` or `tinytrace/control_flow`.

    Raises: ValueError for an unknown rule or family.

    >>> import tinytrace as jax
    >>> print(jax.show_rules("transpose", family="shaping")["rev"])
        def transpose(self, ct: Any, x: Any, *, dimensions: Sequence[int]) -> Sequence[Any]:
            return [rev(ct, dimensions)]
    """
    if rule not in RULES:
        raise ValueError(f"there is no rule {rule!r}; a primitive has {', '.join(RULES)}")
    families = _definitions()
    known = sorted({definition.family for definition in families.values()})
    if family is not None and family not in known:
        raise ValueError(f"there is no family {family!r}; there are {', '.join(known)}")
    return Shown([_rule_section(registry[name], rule, definition) for name, definition in families.items()
                  if family in (None, definition.family)])


class _Definition(NamedTuple):
    """Where a primitive is defined: its file's name, and the statement that makes it."""

    family: str
    statement: str


def _definitions() -> dict[str, _Definition]:
    """Find for each primitive the statement of a module that makes it: `name_p = Class(...)`."""
    found = {name: _Definition(type(p).__module__.rsplit(".", 1)[1], "") for name, p in registry.items()}
    package = __name__.split(".")[0] + "."
    for name, module in sorted(sys.modules.items()):
        if name.startswith(package) and any(isinstance(value, Primitive) for value in vars(module).values()):
            source = inspect.getsource(module)
            lines = source.splitlines()
            for statement in _statements(source):
                primitive = _made_by(statement, vars(module))
                if primitive is not None:
                    text = "\n".join(lines[statement.lineno - 1:statement.end_lineno])
                    found[primitive.name] = _Definition(name.rsplit(".", 1)[1], text)
    return found


@functools.cache
def _statements(source: str) -> list[ast.stmt]:
    """Return the statements of a module; to parse all of them takes a quarter of a second."""
    return ast.parse(source).body


def _made_by(statement: ast.stmt, namespace: dict[str, Any]) -> Primitive | None:
    """Return the primitive that an assignment of a module's makes."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
        for target in statement.targets:
            value = namespace.get(target.id) if isinstance(target, ast.Name) else None
            if isinstance(value, Primitive) and registry.get(value.name) is value:
                return value
    return None


def _rule_section(primitive: Primitive, rule: str, definition: _Definition) -> Section:
    method = getattr(primitive, rule)
    if isinstance(method, Refusal):
        return Section(primitive.name, f"{definition.family}, refused", method.reason)
    owner = next(cls for cls in type(primitive).__mro__ if rule in vars(cls))
    if owner is Primitive:
        return Section(primitive.name, f"{definition.family}, missing", f"{rule} is not implemented")
    if inspect.ismethod(method) and sum(owner in type(other).__mro__ for other in registry.values()) == 1:
        return Section(primitive.name, definition.family, inspect.getsource(method).rstrip())
    helpers = [inspect.getsource(function).rstrip() for function in _named_functions(primitive, rule)]
    return Section(primitive.name, f"{definition.family}, by the rule of the family {owner.__name__}",
                   "\n\n".join([definition.statement or repr(method), *helpers]))


def _named_functions(primitive: Primitive, rule: str) -> list[Callable[..., Any]]:
    """Return the functions with a name of their own that a family's statement gives for `rule`."""
    given = getattr(primitive, {"jvp": "tangents", "impl": "numpy", "lower": "c"}.get(rule, ""), ())
    functions = given if isinstance(given, Sequence) else (given,)
    inner = [inspect.unwrap(f) for f in functions if inspect.isfunction(f)]
    return [f for f in inner if inspect.isfunction(f) and f.__name__ != "<lambda>"]

