"""What becomes of tracers that a function inside of a call closes over and returns: `jax.core.process_env_traces_call`.

A trace takes such results apart in its `post_process_call`, which also says, as a function of the values that come out
of the call, how they are put together again. Source: `jax.core` of JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import Tracer
from tinytrace.extend.lifting import full_lower
from tinytrace.extend.linear_util import transformation_with_aux
from tinytrace.extend.sublevels import MainTrace


@transformation_with_aux
def process_env_traces_call(primitive: Primitive, level: int, params_tuple: tuple[Any, ...], *args: Any
                            ) -> Generator[Any, Any, Any]:
    """Take results apart that belong to traces above `level`; tells apart what puts them together: `apply_todos`."""
    outs = yield args, {}
    todos = []
    while (trace := _innermost(outs, level)) is not None:
        outs, todo = trace.post_process_call(primitive, list(map(trace.full_raise, outs)), dict(params_tuple))
        todos.append(todo)
    yield outs, tuple(todos)


@transformation_with_aux
def process_env_traces_map(primitive: Any, level: int | None, params_tuple: tuple[Any, ...], *args: Any
                           ) -> Generator[Any, Any, Any]:
    """The same for a map; also tells what each trace makes of the axes of the results."""
    outs = yield args, {}
    todos, axes = [], []
    while (trace := _innermost(outs, -1 if level is None else level)) is not None:
        outs, (todo, transform) = primitive.post_process(trace, list(map(trace.full_raise, outs)), dict(params_tuple))
        todos.append(todo)
        axes.append(transform)
    yield outs, (tuple(todos), tuple(axes))


def _innermost(values: Sequence[Any], level: int) -> Any:
    """Return the trace of one's own that is furthest in; closed-over tracers of others are constants of the jaxpr."""
    mains = [x._trace.main for x in values if isinstance(x, Tracer)]
    found = [main for main in mains if isinstance(main, MainTrace) and main.level > level]
    return max(found, key=lambda main: main.level).with_cur_sublevel() if found else None


def apply_todos(todos: Sequence[Callable[[Any], Any]], outs: Sequence[Any]) -> Sequence[Any]:
    """Put the results of a call together again, the trace furthest out first.

    >>> apply_todos([lambda xs: [x + 1 for x in xs], lambda xs: [2 * x for x in xs]], [5])
    [11]
    """
    for todo in reversed(todos):
        outs = list(map(full_lower, todo(outs)))
    return outs


def transformed_axes(axes: Any, transforms: Sequence[Callable[[Any], Any]]) -> Any:
    """Return the axes of the results of a map as its traces made them, one after the other."""
    for transform in transforms:
        axes = transform(axes)
    return axes
