"""The user's functions and rules of trees as the flat functions that traces call, with every check on their results."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.flattening import long_type
from tinytrace.config import config
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0, is_float
from tinytrace.core.key_paths import keystr
from tinytrace.core.tangents import SymbolicZero, Zero, to_symbolic_zero
from tinytrace.core.tree_paths import tree_flatten_with_path
from tinytrace.core.tree_prefixes import spread_prefix
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_structure, tree_unflatten
from tinytrace.records import dataclass

Function = Callable[..., Any]


@dataclass
class CustomVJPPrimal:
    """What a forward rule with `symbolic_zeros` gets in the place of each array: it, and whether it is perturbed."""

    value: Any
    perturbed: bool


class FlatPrimal:
    """The function itself. Once called, it knows the structure and the types of its result."""

    def __init__(self, fun: Function, in_tree: PyTreeDef) -> None:
        self.fun, self.in_tree = fun, in_tree
        self.out_tree: Any = None
        self.out_avals: list[ShapedArray] = []

    def __call__(self, *leaves: Any) -> list[Any]:
        outs, self.out_tree = tree_flatten(self.fun(*tree_unflatten(self.in_tree, leaves)))
        self.out_avals = [aval_of(x) for x in outs]
        return outs


class FlatJvp:
    """A forward-mode rule: leaves of primals and tangents in, leaves of the result and of its tangent out."""

    def __init__(self, jvp: Function, in_tree: PyTreeDef, primal: FlatPrimal, name: str, rule_name: str) -> None:
        self.jvp, self.in_tree, self.primal = jvp, in_tree, primal
        self.rule = f"Custom JVP rule {rule_name} for function {name}"
        self.name = name
        self.out_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        half = len(leaves) // 2
        pair = self.jvp(tree_unflatten(self.in_tree, leaves[:half]), tree_unflatten(self.in_tree, leaves[half:]))
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"{self.rule} must produce a pair (list or tuple of length two) representing primal and "
                            f"tangent outputs, but got {pair}.")
        outs, out_tree = tree_flatten(pair[0])
        tangents, tangent_tree = tree_flatten(pair[1])
        tangents = [to_symbolic_zero(t) for t in tangents]
        if out_tree != tangent_tree:
            raise TypeError(f"{self.rule} must produce primal and tangent outputs with equal container (pytree) "
                            f"structures, but got {out_tree} and {tangent_tree} respectively.")
        _check_primal_out(
            outs, out_tree, self.primal, self.name, f"{self.rule} must produce a pair (list or tuple of length two) "
            "where the first element represents the primal output (equal in value to the output of the "
            f"custom_jvp-decorated function {self.name}, and in particular ",
            ("of the same container/pytree structure), but instead the JVP rule output's first element had ",
             "with leaves of the same shape/dtype), but instead the JVP rule output's first element had "))
        _check_tangents(outs, tangents)
        self.out_tree = out_tree
        return [*outs, *tangents]


class FlatFwd:
    """A forward rule: leaves, each followed by whether it moves, in; leaves of the residuals and of the result out."""

    def __init__(self, fwd: Function, in_tree: PyTreeDef, primal: FlatPrimal, name: str, rule_name: str,
                 symbolic_zeros: bool) -> None:
        self.fwd, self.in_tree, self.primal, self.symbolic_zeros = fwd, in_tree, primal, symbolic_zeros
        self.name, self.rule_name = name, rule_name
        self.out_tree: Any = None
        self.res_tree: Any = None

    def out_trees(self) -> tuple[PyTreeDef, PyTreeDef]:
        """Return the structures of the result and of the residuals, known after the rule has run."""
        return self.out_tree, self.res_tree

    def __call__(self, *leaves_and_moves: Any) -> list[Any]:
        leaves, moves = leaves_and_moves[::2], leaves_and_moves[1::2]
        if self.symbolic_zeros:
            leaves = tuple(map(CustomVJPPrimal, leaves, moves))
        pair = self.fwd(*tree_unflatten(self.in_tree, leaves))
        rule = f"Custom VJP fwd rule {self.rule_name} for function {self.name}"
        meaning = ("second element represents residuals (i.e. values stored from the forward pass for use on the "
                   "backward pass), but instead ")
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"{rule} must produce a pair (list or tuple of length two) where the first element "
                            "represents the primal output (equal to those of the custom_vjp-decorated function "
                            f"{self.name}) and the {meaning}of a pair the fwd rule {self.rule_name} produced {pair}.")
        outs, out_tree = tree_flatten(pair[0])
        residuals, self.res_tree = tree_flatten(pair[1])
        wanted = (f"{rule} must produce a pair (list or tuple of length two) where the first element represents the "
                  f"primal output (equal to the output of the custom_vjp-decorated function {self.name}) and the "
                  f"{meaning}the fwd rule output's first element had ")
        _check_primal_out(outs, out_tree, self.primal, self.name, wanted, ("", ""))
        self.out_tree = out_tree
        return [*residuals, *outs]


class FlatBwd:
    """A backward rule: leaves of the residuals and of the result's cotangent in, one cotangent per argument out."""

    def __init__(self, bwd: Function, in_tree: PyTreeDef, in_avals: Sequence[ShapedArray], fwd: FlatFwd) -> None:
        self.bwd, self.in_tree, self.in_avals, self.fwd = bwd, in_tree, in_avals, fwd

    def __call__(self, *leaves: Any) -> list[Any]:
        out_tree, res_tree = self.fwd.out_trees()
        cts = self.bwd(tree_unflatten(res_tree, leaves[:res_tree.num_leaves]),
                       tree_unflatten(out_tree, leaves[res_tree.num_leaves:]))
        if isinstance(cts, list) and len(cts) == len(self.in_tree.children()):
            cts = tuple(cts)
        return [self._checked(ct, aval, i)
                for i, (ct, aval) in enumerate(zip(self._spread(cts), self.in_avals, strict=True))]

    def _spread(self, cts: Any) -> list[Any]:
        """Return one cotangent per leaf; a None stands for zeros in all of an argument."""
        try:
            if not isinstance(cts, tuple):
                raise ValueError("not one cotangent per argument")
            return spread_prefix(*tree_flatten(cts, is_leaf=lambda x: x is None), self.in_tree)
        except ValueError:
            raise TypeError("Custom VJP bwd rule must produce an output with the same container (pytree) structure as "
                            "the args tuple of the primal function, and in particular must produce a tuple of length "
                            "equal to the number of arguments to the primal function, but got bwd output structure "
                            f"{tree_structure(cts)} for primal input structure {self.in_tree}.") from None

    def _place(self, number: int) -> str:
        """Return the path of an argument's leaf, as messages show it."""
        return keystr(tree_flatten_with_path(tree_unflatten(self.in_tree, [0] * self.in_tree.num_leaves))[0][number][0])

    def _checked(self, ct: Any, aval: ShapedArray, number: int) -> Any:
        wanted = aval.to_tangent_aval()
        if ct is None or wanted.dtype == FLOAT0:
            return SymbolicZero(wanted)
        got = ct.aval if isinstance(ct, SymbolicZero) else aval_of(ct)
        if got.shape == wanted.shape and (got.dtype == wanted.dtype or is_float(wanted.dtype)):
            return ct
        place = self._place(number)
        if config.custom_vjp_disable_shape_check and not isinstance(ct, SymbolicZero):
            return ct
        if isinstance(ct, SymbolicZero):
            raise ValueError("Custom VJP bwd rule produced a SymbolicZero with a shape/dtype that does not match the "
                             f"corresponding input tangent shape/dtype: at output{place} the SymbolicZero had "
                             f"shape/dtype {long_type(got)} while the corresponding input had shape/dtype "
                             f"{long_type(aval)}. Consider just returning a None here instead of a SymbolicZero "
                             "object.")
        raise ValueError("Custom VJP bwd rule must produce an output with the same shape/dtypes as the args tuple of "
                         f"the primal function, but at output{place} the bwd rule produced an output of shape/dtype "
                         f"{long_type(got)} corresponding to an input of shape/dtype {long_type(aval)}.")


# --- checks ----------------------------------------------------------------------------------------------------

def _check_primal_out(outs: Sequence[Any], out_tree: PyTreeDef, primal: FlatPrimal, name: str, wanted: str,
                      differences: tuple[str, str]) -> None:
    """Raise TypeError when a rule's primal output is not of the type of the function's own, if that has run already."""
    if primal.out_tree is None:
        return
    avals = [aval_of(x) for x in outs]
    ours = _type_tree(out_tree, avals)
    theirs = _type_tree(primal.out_tree, primal.out_avals)
    if out_tree != primal.out_tree:
        raise TypeError(f"{wanted}{differences[0]}container/pytree structure:\n    {ours}\nwhile the custom_"
                        f"{'jvp' if differences[0] else 'vjp'}-decorated function {name} had output container/pytree "
                        f"structure:\n    {theirs}.")
    if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(avals, primal.out_avals, strict=True)):
        raise TypeError(f"{wanted}{differences[1]}shapes/dtypes of:\n    {ours}\nwhile the custom_"
                        f"{'jvp' if differences[0] else 'vjp'}-decorated function {name} had output shapes/dtypes of:\n"
                        f"    {theirs}")


def _type_tree(tree: PyTreeDef, avals: Sequence[ShapedArray]) -> str:
    return str(tree_unflatten(tree, [long_type(a) for a in avals])).replace("'", "")


def _check_tangents(outs: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Raise TypeError unless each output tangent has the type that belongs to its output."""
    avals = [aval_of(x).strip_weak_type() for x in outs]
    wanted = [a.to_tangent_aval() for a in avals]
    got = [(t.aval if isinstance(t, (SymbolicZero, Zero)) else aval_of(t)).strip_weak_type() for t in tangents]
    if wanted == got:
        return
    if len(outs) == 1:
        raise TypeError("Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. "
                        f"Expected {long_type(wanted[0])} (tangent type of {long_type(avals[0])}) but got "
                        f"{long_type(got[0])}.")
    lines = [f"  primal {long_type(a)} with tangent {long_type(g)}, expecting tangent {w}"
             for a, w, g in zip(avals, wanted, got, strict=True) if w != g]
    raise TypeError("Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes, but "
                    "got:\n" + "\n".join(lines))
