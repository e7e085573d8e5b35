"""Names of axes in programs, for `jax.core`: which a program asks for, and the same program with others.

Also other names of `jax.core` that have a plain answer where sizes are numbers and each trace knows its parent.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tinytrace.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Var
from tinytrace.core.named_axes import Axis, as_names, binding, names_of_equation, names_of_jaxpr
from tinytrace.core.primitive import Primitive

Subst = Callable[[Any], Sequence[Any]]


class InconclusiveDimensionOperation(Exception):
    """Raised in JAX where sizes are symbols that cannot be compared: nothing raises it here, for sizes are numbers."""


class NameGatheringSubst:
    """A substitution that changes nothing and gathers the names that it meets in `axis_names`."""

    def __init__(self) -> None:
        self.axis_names: set[Any] = set()

    def __call__(self, axis_name: Any) -> tuple[Any, ...]:
        self.axis_names.add(axis_name)
        return (axis_name,)


def used_axis_names(primitive: Primitive, params: dict[str, Any]) -> set[Any]:
    """Return the names of the axes that an equation asks for, itself or in its programs."""
    return set(names_of_equation(primitive, params))


def used_axis_names_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> set[Any]:
    """Return the names of the axes that a program asks for.

    >>> import tinytrace as jax
    >>> used_axis_names_jaxpr(jax.make_jaxpr(lambda x: jax.lax.psum(x, "i"), axis_env=[("i", 2)])(1.0))
    {'i'}
    """
    return set(names_of_jaxpr(jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr))


def subst_axis_names(primitive: Primitive, params: dict[str, Any], subst: Subst, traverse: bool = True
                     ) -> dict[str, Any]:
    """Return the parameters of an equation with other names of axes: `subst(name)` gives those in a name's place.

    Names that the equation binds itself stay; so do those in its programs without `traverse`.
    """
    changed = dict(params)
    over = getattr(primitive, "over", None)
    if over is not None and primitive.axis_names(params):
        axes = params[over] if isinstance(params[over], (tuple, list)) else (params[over],)
        named = set(as_names(params[over]))
        changed[over] = tuple(x for axis in axes for x in (subst(axis) if axis in named else (axis,)))
    if traverse:
        bound = set(primitive.binds(params))

        def outer(name: Any) -> Sequence[Any]:
            return (name,) if name in bound else subst(name)

        for name, value in changed.items():
            changed[name] = _in_programs(value, outer)
    return changed


def _in_programs(value: Any, subst: Subst) -> Any:
    if isinstance(value, (Jaxpr, ClosedJaxpr)):
        return subst_axis_names_jaxpr(value, subst)
    if isinstance(value, tuple) and any(isinstance(x, (Jaxpr, ClosedJaxpr)) for x in value):
        return tuple(_in_programs(x, subst) for x in value)
    return value


def subst_axis_names_var(v: Var, subst: Subst, var_map: dict[Var, Var]) -> Var:
    """Return a variable, whose type has no names of axes, and note in `var_map` that it stands for itself."""
    if not isinstance(v, DropVar):
        assert v not in var_map
        var_map[v] = v
    return v


def subst_axis_names_eqn(eqn: JaxprEqn, subst: Subst, var_map: dict[Var, Var] | None = None) -> JaxprEqn:
    """Return an equation with other names of axes, and note its results in `var_map`."""
    for v in eqn.outvars:
        subst_axis_names_var(v, subst, {} if var_map is None else var_map)
    return eqn.replace(params=subst_axis_names(eqn.primitive, eqn.params, subst))


def subst_axis_names_jaxpr(jaxpr: Any, subst: Subst) -> Any:
    """Return a program, closed or not, with other names of axes.

    >>> import tinytrace as jax
    >>> program = jax.make_jaxpr(lambda x: jax.lax.psum(x, "i"), axis_env=[("i", 2)])(1.0)
    >>> subst_axis_names_jaxpr(program, lambda name: ("j", "k"))
    { lambda ; a:f32[]. let b:f32[] = psum[axes=('j', 'k') axis_index_groups=None] a in (b,) }
    """
    if isinstance(jaxpr, ClosedJaxpr):
        return ClosedJaxpr(subst_axis_names_jaxpr(jaxpr.jaxpr, subst), jaxpr.consts)
    if isinstance(subst, NameGatheringSubst):
        subst.axis_names |= used_axis_names_jaxpr(jaxpr)
        return jaxpr
    return jaxpr.replace(eqns=[subst_axis_names_eqn(eqn, subst) for eqn in jaxpr.eqns])


do_subst_axis_names_jaxpr = subst_axis_names_jaxpr


@contextlib.contextmanager
def extend_axis_env_nd(axes: Iterable[tuple[Any, int]], tag: Any = None) -> Iterator[None]:
    """Bind names, each with its size, for what is traced inside the block."""
    with contextlib.ExitStack() as stack:
        for name, size in axes:
            stack.enter_context(binding(Axis(size, name)))
        yield


def get_referent(x: Any) -> Any:
    """Return a value: a tracer stands for itself."""
    return x


def dedup_referents(values: Iterable[Any]) -> list[Any]:
    """Return the values without those that are the same object as an earlier one."""
    return list({id(x): x for x in values}.values())
