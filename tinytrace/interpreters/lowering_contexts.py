"""What lowering rules are told, for `jax.interpreters.mlir`: plain data, and functions of the values of a rule.

A value of a rule is a tracer here, so what JAX does to values by building operations is done by running equations.
Source: `jax.interpreters.mlir` of JAX 0.4.35.
"""
from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from tinytrace.api.callbacks import io_callback, pure_callback
from tinytrace.control_flow.effects import lowerable_effects as lowerable_effects
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.extend.backend import get_backend
from tinytrace.lax.tokens import create_token
from tinytrace.records import NamedTuple, dataclass, replace
from tinytrace.sharding import AbstractMesh
from tinytrace.sharding import Mesh as Mesh

MeshAxisName: TypeAlias = Any
Value: TypeAlias = Any
Token: TypeAlias = Any
DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3
LoweringRule = Callable[..., Any]


class ConstantHandler(Protocol):
    """What makes values of a constant."""

    def __call__(self, val: Any) -> Sequence[Value]: ...


# --- where a program runs ------------------------------------------------------------------------------------------

class AxisEnv(NamedTuple):
    """Names of axes of devices, their sizes, and how many devices there are."""

    nreps: int
    names: tuple[Any, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class ReplicaAxisContext:
    """A program is the same on each device: `pmap`."""

    axis_env: AxisEnv


@dataclass(frozen=True)
class SPMDAxisContext:
    """A program is cut up over the axes of a mesh, but for those that the user cuts."""

    mesh: Mesh
    manual_axes: frozenset[MeshAxisName] = frozenset()

    @property
    def axis_env(self) -> AxisEnv:
        """The axes of the mesh.

        >>> SPMDAxisContext(jax.make_mesh((1,), ("i",))).axis_env
        AxisEnv(nreps=1, names=('i',), sizes=(1,))
        """
        return AxisEnv(self.mesh.size, self.mesh.axis_names, tuple(self.mesh.shape.values()))

    unsafe_axis_env = axis_env

    def extend_manual(self, axes: frozenset[MeshAxisName]) -> SPMDAxisContext:
        """Return this with more axes that the user cuts."""
        return SPMDAxisContext(self.mesh, self.manual_axes | axes)


@dataclass(frozen=True)
class ShardingContext:
    """A program is cut up as the shardings of its arrays say."""

    num_devices: int
    device_assignment: tuple[Any, ...] | None = None
    abstract_mesh: AbstractMesh | None = None

    def __post_init__(self) -> None:
        if self.device_assignment is not None:
            assert isinstance(self.device_assignment, tuple)
            assert self.num_devices == len(self.device_assignment)

    @property
    def axis_env(self) -> AxisEnv:
        """No axis has a name."""
        return AxisEnv(1, (), ())


AxisContext = SPMDAxisContext | ReplicaAxisContext | ShardingContext


# --- what belongs to a program -------------------------------------------------------------------------------------

class TokenSet:
    """Tokens by effect: what orders the equations that have it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._tokens: collections.OrderedDict[Any, Token] = collections.OrderedDict(*args, **kwargs)

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, effect: Any) -> Token:
        """Return the token of an effect; raises KeyError where it has none."""
        return self._tokens[effect]

    @classmethod
    def create(cls, effects: Sequence[Any]) -> TokenSet:
        """Return new tokens for effects."""
        return TokenSet([(effect, create_token()) for effect in effects])

    def items(self) -> tuple[tuple[Any, Token], ...]:
        """Return effects with their tokens."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Any]:
        """Return the effects."""
        return set(self._tokens)

    def subset(self, effects: Sequence[Any]) -> TokenSet:
        """Return the tokens of some effects."""
        return TokenSet((effect, self._tokens[effect]) for effect in effects)

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """Return the tokens of these effects, those of `tokens` where it has them."""
        return TokenSet((effect, tokens._tokens.get(effect, token)) for effect, token in self._tokens.items())


class ShapePolyLoweringState:
    """The names of sizes that are variables, of which there are none here."""

    def __init__(self, dim_vars: tuple[str, ...], lowering_platforms: tuple[str, ...] | None) -> None:
        self.has_platform_index_argument = lowering_platforms is not None and len(lowering_platforms) > 1
        self.dim_vars = ("_platform_index",) * self.has_platform_index_argument + tuple(dim_vars)
        self.uses_dim_vars = bool(self.dim_vars)


@dataclass(frozen=True)
class LoweringParameters:
    """What may be asked of a lowering."""

    override_lowering_rules: tuple[tuple[Primitive, LoweringRule]] | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False


class LoweringResult(NamedTuple):
    """What a lowering gives: a program, and what must live as long."""

    module: Any
    keepalive: Any
    host_callbacks: list[Any]
    shape_poly_state: ShapePolyLoweringState


class ModuleContext:
    """What is the same for all rules of a program, but what builds it: `context`, `module`, `ip`, `symbol_table`."""

    def __init__(self, *, backend_or_name: Any, platforms: Sequence[str], axis_context: AxisContext,
                 keepalives: list[Any], channel_iterator: Iterator[int], host_callbacks: list[Any],
                 lowering_parameters: LoweringParameters, shape_poly_state: ShapePolyLoweringState | None = None,
                 all_default_mem_kind: bool = True) -> None:
        self.backend_or_name, self.platforms, self.axis_context = backend_or_name, platforms, axis_context
        self.keepalives, self.channel_iterator, self.host_callbacks = keepalives, channel_iterator, host_callbacks
        self.lowering_parameters, self.all_default_mem_kind = lowering_parameters, all_default_mem_kind
        self.shape_poly_state = shape_poly_state or ShapePolyLoweringState((), tuple(platforms))

    @property
    def axis_env(self) -> AxisEnv:
        """The axes of devices."""
        return self.axis_context.axis_env

    @property
    def backend(self) -> Any:
        """The backend that compiles."""
        given = self.backend_or_name
        return get_backend(given) if given is None or isinstance(given, str) else given

    def new_channel(self) -> int:
        """Return the number of a channel that nobody uses."""
        return next(self.channel_iterator)

    def add_host_callback(self, host_callback: Any) -> None:
        """Note a function that the program calls."""
        self.host_callbacks.append(host_callback)

    def add_keepalive(self, keepalive: Any) -> None:
        """Note what must live as long as the program."""
        self.keepalives.append(keepalive)


def module_context() -> ModuleContext:
    """Return what a rule is told of its program: compiled for the one CPU."""
    return ModuleContext(
        backend_or_name=None, platforms=("cpu",), axis_context=ShardingContext(1), keepalives=[],
        channel_iterator=itertools.count(1), host_callbacks=[], lowering_parameters=LoweringParameters())


@dataclass(frozen=True)
class LoweringRuleContext:
    """What a lowering rule is told besides its operands."""

    primitive: Primitive
    avals_in: Sequence[ShapedArray]
    avals_out: Sequence[ShapedArray]
    module_context: Any = None
    platforms: tuple[str, ...] = ("cpu",)

    def replace(self, **fields: Any) -> LoweringRuleContext:
        """Return this context with some fields replaced."""
        return replace(self, **fields)

    def is_forward_compat(self) -> bool:
        """Is the program to run with older versions, too?"""
        parameters = self.module_context.lowering_parameters
        return bool(parameters.for_export and not parameters.export_ignore_forward_compatibility)


# --- functions of values -------------------------------------------------------------------------------------------

def flatten_ir_values(xs: Iterable[Any]) -> list[Value]:
    """Return values and sequences of values as one list.

    >>> flatten_ir_values([1, (2, 3), []])
    [1, 2, 3]
    """
    return [value for x in xs for value in (x if isinstance(x, (tuple, list)) else [x])]


flatten_lowering_ir_args = flatten_ir_types = flatten_ir_values


def unflatten_ir_values_like_types(xs: Iterable[Value], ys: Sequence[Any]) -> list[Any]:
    """Return values as `flatten_ir_values` got them, where `ys` are their types, with tuples for sequences.

    >>> unflatten_ir_values_like_types([1, 2, 3], ["i", ("j", "k")])
    [1, (2, 3)]
    """
    values = iter(xs)
    shaped = [tuple(next(values) for _ in y) if isinstance(y, (tuple, list)) else next(values) for y in ys]
    assert next(values, None) is None
    return shaped


def core_call_lowering(ctx: LoweringRuleContext, *args: Value, name: str | None, call_jaxpr: Jaxpr | ClosedJaxpr,
                       backend: Any = None) -> list[Value]:
    """The rule of a call: compute its program."""
    closed = call_jaxpr if isinstance(call_jaxpr, ClosedJaxpr) else ClosedJaxpr(call_jaxpr, ())
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


def jaxpr_subcomp(ctx: ModuleContext, jaxpr: Jaxpr, name_stack: Any, tokens: TokenSet, consts: Sequence[Value],
                  *args: Value, dim_var_values: Sequence[Value] = ()) -> tuple[list[Value], TokenSet]:
    """Compute a program inside of a rule; returns its results, and the tokens."""
    return eval_jaxpr(jaxpr, consts, *args), tokens


def emit_python_callback(ctx: LoweringRuleContext, callback: Callable[..., Sequence[Any]], token: Token | None,
                         operands: Sequence[Value], operand_avals: Sequence[ShapedArray],
                         result_avals: Sequence[ShapedArray], *, has_side_effect: bool, **options: Any
                         ) -> tuple[list[Value], Token | None, Any]:
    """Call a function of Python, which answers with a sequence of arrays, in the place of a primitive.

    Returns: the results; the token; and what must live as long, which is nothing.
    """
    call = io_callback if has_side_effect else pure_callback
    results = call(lambda *arrays: tuple(callback(*arrays)), tuple(result_avals), *operands)
    return list(results), token, None
