"""What all devices of a mesh share: a program is rewritten so that each value that is to vary is said to.

    program, shared = rewritten(closed, mesh, shared_of_operands)

Of each value the axes of the mesh are known along which it is the same: of a constant all of them. An operation whose
operands differ in that gets them all as the least shared one (`pbroadcast`), and a sum over an axis shares its result
(`psum2`). So the transpose of a sum needs no sum. Source: JAX 0.4.35, jax/experimental/shard_map.py.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tinytrace.control_flow.shard_map import binding_axes
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal
from tinytrace.core.named_axes import as_names
from tinytrace.core.source_info import replayed_source
from tinytrace.primitives.replication import psum2_p, varying
from tinytrace.transforms.staging import hoist_consts, trace_to_closed_jaxpr

Shared: TypeAlias = frozenset[Any]
Rule: TypeAlias = Callable[..., Any]


def rewritten(closed: ClosedJaxpr, mesh: Any, shared: Sequence[Shared], wanted: Sequence[Shared] | None = None
              ) -> tuple[ClosedJaxpr, list[Shared]]:
    """Return the program, and along which axes its results are shared: less of that where less is `wanted`.

    Raises: NotImplementedError for branches and loops that have no rule, as JAX does.
    """
    found: list[Shared] = []

    def flat(*args: Any) -> list[Any]:
        outs, out_shared = _run(closed, mesh, args, shared)
        found.extend(out_shared)
        return outs if wanted is None else [
            _as_shared(mesh, x, source, target) for x, source, target in zip(outs, out_shared, wanted, strict=True)]

    with binding_axes(mesh):
        return trace_to_closed_jaxpr(flat, closed.in_avals), found


def _run(closed: ClosedJaxpr, mesh: Any, args: Sequence[Any], shared: Sequence[Shared]
         ) -> tuple[list[Any], list[Shared]]:
    everywhere = frozenset(mesh.axis_names)
    env: dict[Atom, tuple[Any, Shared]] = {v: (x, everywhere) for v, x in
                                           zip(closed.jaxpr.constvars, closed.consts, strict=True)}
    env.update(zip(closed.jaxpr.invars, zip(args, shared, strict=True), strict=True))

    def read(atom: Atom) -> tuple[Any, Shared]:
        return (atom.val, everywhere) if isinstance(atom, Literal) else env[atom]

    with replayed_source() as replay:
        for eqn in closed.jaxpr.eqns:
            replay.source = eqn.source
            pairs = [read(atom) for atom in eqn.invars]
            rule: Rule = RULES.get(eqn.primitive.name, _least_shared)
            outs, out_shared = rule(mesh, eqn, [x for x, _ in pairs], [s for _, s in pairs])
            env.update(zip(eqn.outvars, zip(outs, out_shared, strict=True), strict=True))
    results = [read(atom) for atom in closed.jaxpr.outvars]
    return [x for x, _ in results], [s for _, s in results]


def _as_shared(mesh: Any, x: Any, source: Shared, target: Shared) -> Any:
    return varying(x, [name for name in mesh.axis_names if name in source - target])


def _bound(eqn: JaxprEqn, args: Sequence[Any], **params: Any) -> list[Any]:
    outs = eqn.primitive.bind(*args, **{**eqn.params, **params})
    return list(outs) if eqn.primitive.multiple_results else [outs]


# --- rules -------------------------------------------------------------------------------------------------------

def _least_shared(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    target: Shared = frozenset(mesh.axis_names).intersection(*shared)
    outs = _bound(eqn, [_as_shared(mesh, x, s, target) for x, s in zip(args, shared, strict=True)])
    return outs, [target] * len(outs)


def _psum(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    if eqn.params["axis_index_groups"] is not None:
        raise NotImplementedError
    axes = frozenset(as_names(eqn.params["axes"]))
    outs = psum2_p.bind(*(_as_shared(mesh, x, s, s - axes) for x, s in zip(args, shared, strict=True)), **eqn.params)
    return list(outs), [s | axes for s in shared]


def _reduction(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    axes = frozenset(as_names(eqn.params["axes"]))
    outs = _bound(eqn, [_as_shared(mesh, x, s, s - axes) for x, s in zip(args, shared, strict=True)])
    return outs, [s | axes for s in shared]


def _move(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    axes = as_names(eqn.params["axis_name"])
    operands = [_as_shared(mesh, x, s, s - frozenset(axes)) for x, s in zip(args, shared, strict=True)]
    outs = _bound(eqn, operands, axis_name=tuple(axes))
    return outs, [s - frozenset(axes) for s in shared]


def _axis_index(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    return _bound(eqn, args), [frozenset(mesh.axis_names) - frozenset(as_names(eqn.params["axis_name"]))]


def _as_it_is(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    outs = _bound(eqn, args)
    return outs, [shared[k] if eqn.primitive.name == "device_put" else frozenset() for k in range(len(outs))]


def _program(name: str, mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    program, out_shared = rewritten(eqn.params[name], mesh, shared)
    if program.consts:
        program, args = ClosedJaxpr(hoist_consts(program.jaxpr), ()), [*program.consts, *args]
    return _bound(eqn, args, **{name: program}), out_shared


def _scan(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    consts, carry = eqn.params["num_consts"], eqn.params["num_carry"]
    inside = list(shared)
    while True:  # what is carried is shared no more than after a turn
        _, out_shared = rewritten(eqn.params["jaxpr"], mesh, inside)
        kept = [a & b for a, b in zip(inside[consts:consts + carry], out_shared, strict=False)]
        if kept == inside[consts:consts + carry]:
            break
        inside[consts:consts + carry] = kept
    out_shared[:carry] = kept
    program, _ = rewritten(eqn.params["jaxpr"], mesh, inside, out_shared)
    operands = [_as_shared(mesh, x, s, t) for x, s, t in zip(args, shared, inside, strict=True)]
    return _bound(eqn, operands, jaxpr=program), out_shared


def _missing(mesh: Any, eqn: JaxprEqn, args: Sequence[Any], shared: Sequence[Shared]) -> Any:
    raise NotImplementedError(f"No replication rule for {eqn.primitive}. As a workaround, pass the `check_rep=False` "
                              "argument to `shard_map`. To get this fixed, open an issue at "
                              "https://github.com/jax-ml/jax/issues")


def _of_program(name: str) -> Rule:
    return lambda *args: _program(name, *args)


RULES: dict[str, Rule] = {
    "psum": _psum, "pmax": _reduction, "pmin": _reduction, "axis_index": _axis_index,
    **dict.fromkeys(("all_gather", "all_to_all", "ppermute", "reduce_scatter"), _move),
    **dict.fromkeys(("debug_callback", "pure_callback", "io_callback", "device_put"), _as_it_is),
    **dict.fromkeys(("pjit", "remat2"), _of_program("jaxpr")),
    **dict.fromkeys(("closed_call", "custom_jvp_call"), _of_program("call_jaxpr")),
    "custom_vjp_call_jaxpr": _of_program("fun_jaxpr"), "scan": _scan, "cond": _missing, "while": _missing,
}
"""By the name of a primitive; others give what is shared least among their operands."""
