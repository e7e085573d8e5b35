"""The language: a jaxpr is a typed, pure, first-order program in single-assignment form.

    jaxpr ::= { lambda constvars ; invars . let eqn* in (atom*) }
    eqn   ::= outvars = primitive[params] atom*
    atom  ::= Var | Literal

The whole data model is on this page. Source: JAX, "Understanding jaxprs" (docs/jaxpr.md).
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from tinytrace.core import views
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import SHORT_NAMES, KeyType, short_name, to_numpy_dtype
from tinytrace.core.moving import Carried
from tinytrace.core.notebook import ShowsItself
from tinytrace.core.primitive import Primitive
from tinytrace.core.source_info import SourceInfo, replayed_source
from tinytrace.records import NamedTuple


class Var:
    """A variable: an identity and a type. Its letter is chosen when it is printed."""

    __slots__ = ("aval",)
    suffix = ""

    def __init__(self, aval: ShapedArray, of_suffixed: ShapedArray | None = None) -> None:
        # JAX 0.4.35 has a suffix first, which is empty but for what its `gensym` makes; later ones have none.
        self.aval = aval if of_suffixed is None else of_suffixed

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_long()}"


class UnusedVar(Var):
    """An input that makes two branches take the same operands, and that nobody reads: its letter is followed by `_`."""

    __slots__ = ()
    suffix = "_"


class SuffixedVar(Var):
    """A variable whose letter is followed by a suffix of one's own."""

    __slots__ = ("suffix",)

    def __init__(self, suffix: str, aval: ShapedArray) -> None:
        super().__init__(aval)
        self.suffix = suffix


class DropVar(Var):
    """The result that nobody reads, printed `_`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant that stands in the text of the program."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval

    def __repr__(self) -> str:
        return str(self.val.item()) if hasattr(self.val, "item") else str(self.val)


Atom: TypeAlias = Var | Literal


class DebugInfo(NamedTuple):
    """What error messages say of a traced function."""

    function: str
    """`f at file.py:3`"""
    traced_for: str
    """`jit`, `scan`, ..."""
    arg_names: tuple[str | None, ...] = ()
    """One path per flat input: `x`, `params['W']`."""


_ids = itertools.count()
"""Numbers for equations, in the order in which they are made in this process."""


class JaxprEqn(ShowsItself):
    """One equation: `outvars = primitive[params] invars`."""

    __slots__ = ("effects", "ids", "invars", "outvars", "params", "primitive", "source")

    def __init__(self, invars: Sequence[Atom], outvars: Sequence[Var], primitive: Primitive, params: dict[str, Any],
                 effects: frozenset[Any] = frozenset(), source: SourceInfo | None = None,
                 ids: tuple[int, ...] = ()) -> None:
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source = source
        self.ids = ids or (next(_ids),)
        """The equations of the user's program that this one stands for: itself, or those of which a pass made it."""

    def replace(self, **fields: Any) -> JaxprEqn:
        """Return this equation with some fields replaced."""
        new = JaxprEqn(self.invars, self.outvars, self.primitive, self.params, self.effects, self.source, self.ids)
        for name, value in fields.items():
            setattr(new, name, list(value) if name in ("invars", "outvars") else value)
        return new

    @property
    def source_info(self) -> Any:
        """Where it was written, in JAX's form: `traceback` and `name_stack`, see `jax.extend.source_info_util`."""
        return views.source_info.of_source(self.source)

    @source_info.setter
    def source_info(self, info: Any) -> None:
        self.source = views.source_info.as_source(info)

    def __reduce__(self) -> tuple[Any, ...]:
        params = {name: Carried(value) if callable(value) else value for name, value in self.params.items()}
        return JaxprEqn, (self.invars, self.outvars, self.primitive, params, self.effects, self.source)

    def __copy__(self) -> JaxprEqn:
        return self.replace()

    def __repr__(self) -> str:
        return _printers.eqn(self)


class Jaxpr(ShowsItself):
    """An open program: `constvars` stand for closed-over arrays and are given beside the inputs."""

    __slots__ = ("__weakref__", "constvars", "debug_info", "effects", "eqns", "invars", "outvars")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Atom],
                 eqns: Sequence[JaxprEqn], effects: frozenset[Any] | None = None,
                 debug_info: DebugInfo | None = None) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = join_effects(eqns) if effects is None else effects
        self.debug_info = debug_info

    def replace(self, **fields: Any) -> Jaxpr:
        """Return this jaxpr with some fields replaced (effects follow the equations)."""
        old = {name: getattr(self, name) for name in ("constvars", "invars", "outvars", "eqns", "debug_info")}
        return Jaxpr(**{**old, **fields})

    def where(self, primitive: str | None = None, line: int | None = None, dtype: Any = None,
              shape: tuple[int, ...] | None = None) -> list[JaxprEqn]:
        """Return the equations, those of programs inside too, for which all that is given holds.

        Args:
          primitive: its name.
          line: the user's line.
          dtype, shape: those of one of its results; a dtype by NumPy's name or as jaxprs write it, `float32` or `f32`.

        Raises: TypeError for a name that is no dtype's.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> jax.make_jaxpr(lambda x: jnp.sin(x) + jnp.sin(2 * x))(1.0).jaxpr.where(primitive="mul")
        [a:f32[] = mul 2.0 b]
        """
        short = isinstance(dtype, str) and (dtype in SHORT_NAMES or dtype.startswith("key<"))
        wanted = dtype if short or dtype is None or isinstance(dtype, KeyType) else to_numpy_dtype(dtype)

        def fits(aval: ShapedArray) -> bool:
            found = short_name(aval.dtype) if short else aval.dtype
            return (dtype is None or found == wanted) and (shape is None or aval.shape == tuple(shape))

        return [eqn for eqn in self.walk()
                if primitive in (None, eqn.primitive.name)
                and (line is None or (eqn.source is not None and eqn.source.line == line))
                and (dtype is shape is None or any(fits(v.aval) for v in eqn.outvars))]

    def users(self, var: Var) -> list[JaxprEqn]:
        """Return the equations that read `var`."""
        return [eqn for eqn in self.walk() if any(atom is var for atom in eqn.invars)]

    def producers(self, var: Var) -> list[JaxprEqn]:
        """Return the equations that compute `var`: none for an input or constant, and one otherwise, unless programs
        that were made from each other share it."""
        return [eqn for eqn in self.walk() if any(v is var for v in eqn.outvars)]

    def walk(self) -> Iterator[JaxprEqn]:
        """Yield every equation in the order of the text, each before those of the programs inside it."""
        for eqn in self.eqns:
            yield eqn
            for inner in subjaxprs(eqn.params):
                yield from inner.walk()

    def diff(self, other: Jaxpr | ClosedJaxpr) -> Any:
        """Return what differs from `other`, whatever the variables are called: a `core.jaxpr_diff.JaxprDiff`."""
        return views.jaxpr_diff.diff(self, other)

    def graph(self) -> Any:
        """Return the program as a graph that shows itself as SVG and has `to_svg`, `to_dot` and `to_mermaid`."""
        return views.graph.graph(self)

    def as_python(self) -> str:
        """Return a Python file that computes what the program computes, one line for each equation: a text.

        Constants are its first arguments; those of a `ClosedJaxpr` stand in the file.
        """
        text: str = views.python_file.as_python(self)
        return text

    def pretty_print(self, **options: Any) -> str:
        """Return the text of the program, printed as `options` say: see `core.printer.PrintOptions`.

        >>> import tinytrace as jax, tinytrace.numpy as jnp
        >>> print(jax.make_jaxpr(jnp.sin)(1.0).pretty_print(names="user"))
        { lambda ; x:f32[]. let a:f32[] = sin x in (a,) }
        """
        return _printers.pretty(self, **options)

    def __repr__(self) -> str:
        return _printers.program(self)

    __str__ = __repr__


class ClosedJaxpr(ShowsItself):
    """A program with its constants: what `make_jaxpr` returns and what every pass maps to another."""

    __slots__ = ("__weakref__", "consts", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        assert len(consts) == len(jaxpr.constvars)
        self.jaxpr = jaxpr
        self.consts = list(consts)

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def literals(self) -> list[Any]:
        """The constants, by JAX's older name."""
        return self.consts

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset[Any]:
        return self.jaxpr.effects

    def map_jaxpr(self, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
        """Return what `f` makes of the program, with the same constants."""
        return ClosedJaxpr(f(self.jaxpr), self.consts)

    def where(self, **wanted: Any) -> list[JaxprEqn]:
        """Return the equations for which all that is given holds; see `Jaxpr.where`."""
        return self.jaxpr.where(**wanted)

    def users(self, var: Var) -> list[JaxprEqn]:
        """Return the equations that read `var`."""
        return self.jaxpr.users(var)

    def producers(self, var: Var) -> list[JaxprEqn]:
        """Return the equations that compute `var`."""
        return self.jaxpr.producers(var)

    def diff(self, other: Jaxpr | ClosedJaxpr) -> Any:
        """Return what differs from `other`, whatever the variables are called; see `Jaxpr.diff`."""
        return views.jaxpr_diff.diff(self, other)

    def graph(self) -> Any:
        """Return the program as a graph that shows itself as SVG and has `to_svg`, `to_dot` and `to_mermaid`."""
        return views.graph.graph(self)

    def as_python(self) -> str:
        """Return a Python file that computes what the program computes, one line for each equation: a text."""
        text: str = views.python_file.as_python(self)
        return text

    def replace(self, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None) -> ClosedJaxpr:
        return ClosedJaxpr(self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts)

    def pretty_print(self, **options: Any) -> str:
        """Return the text of the program; see `Jaxpr.pretty_print`."""
        return _printers.pretty(self, **options)

    def __repr__(self) -> str:
        return _printers.program(self)

    __str__ = __repr__


def join_effects(eqns: Sequence[JaxprEqn]) -> frozenset[Any]:
    """Return the union of the equations' effects."""
    found = [eqn.effects for eqn in eqns if eqn.effects]
    return frozenset().union(*found) if found else frozenset()


def subjaxprs(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """Yield the jaxprs among an equation's parameters (scan's body, cond's branches, ...)."""
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item.jaxpr
            elif isinstance(item, Jaxpr):
                yield item


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, keep_lines: bool = True) -> list[Any]:
    """Run `jaxpr` equation by equation on `args` under the current trace; the definition of what a jaxpr means.

    Returns one value per output. Tracers are fine: this is also how jaxprs are inlined and transformed. The equations
    that are written then have the user's line of those in `jaxpr`, or without `keep_lines` the line of the caller.
    """
    env: dict[Var, Any] = {}

    def read(atom: Atom) -> Any:
        return atom.val if isinstance(atom, Literal) else env[atom]

    env.update(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    with replayed_source() as replay:
        around = replay.scopes
        for eqn in jaxpr.eqns:
            if keep_lines:
                replay.source = eqn.source
            replay.scopes = scopes_inside(around, eqn)
            result = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, result, strict=True))
            else:
                env[eqn.outvars[0]] = result
    return [read(atom) for atom in jaxpr.outvars]


def scopes_inside(around: tuple[str, ...], eqn: JaxprEqn) -> tuple[str, ...]:
    """Return the scopes of what an equation leads to that is run again inside other scopes."""
    own = eqn.source.scopes if eqn.source is not None else ()
    return around + own if own else around


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """Return the Python function of flat arguments that evaluates `closed`."""
    return lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args)


class _Printers:
    """What `core.printer`, which stands above this file and reads it, says of programs and equations."""

    program: Callable[[Jaxpr | ClosedJaxpr], str]
    pretty: Callable[..., str]
    eqn: Callable[[JaxprEqn], str]


_printers = _Printers()


def install_printer(**printers: Callable[..., str]) -> None:
    """Let `str` of programs and equations be what `printers` say: `program`, `pretty` (with options) and `eqn`."""
    vars(_printers).update(printers)
