"""What must agree when a loop or a branch is built: carries with carries, branches with branches; and how to say it."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.flattening import long_type
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.key_paths import KeyPath, keystr
from tinytrace.core.tree_paths import equality_errors, tree_flatten_with_path
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_map, tree_unflatten


def same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Do `a` and `b` agree up to weak type?"""
    return a.shape == b.shape and a.dtype == b.dtype


def check_carry(name: str, body_fun: Callable[..., Any], in_carry: Any, out_tree: PyTreeDef,
                out_avals: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless the body's carry output has the structure and the types of its carry input."""
    leaves, in_tree = tree_flatten(in_carry)
    if in_tree == out_tree and all(same_type(aval_of(x), out) for x, out in zip(leaves, out_avals, strict=True)):
        return
    component = _namer(body_fun)
    if in_tree != out_tree:
        out_carry = tree_unflatten(out_tree, out_avals)
        differences = [f"{component(path)} is a {thing1} but the corresponding component of the carry output is a "
                       f"{thing2}, so {explanation}"
                       for path, thing1, thing2, explanation in equality_errors(in_carry, out_carry)]
        raise TypeError(
            f"{name} function carry input and carry output must have the same pytree structure, but they differ:\n\n"
            f"{_listed(differences)}\n"
            "Revise the function so that the carry output has the same pytree structure as the carry input.")
    differences = [f"{component(path)} has type {long_type(aval_of(x))} but the corresponding output carry component "
                   f"has type {long_type(out)}{_what_differs(aval_of(x), out)}"
                   for (path, x), out in zip(tree_flatten_with_path(in_carry)[0], out_avals, strict=True)
                   if not same_type(aval_of(x), out)]
    raise TypeError(
        f"{name} function carry input and carry output must have equal types (e.g. shapes and dtypes of arrays), but "
        f"they differ:\n\n{_listed(differences)}\n"
        "Revise the function so that all output types (e.g. shapes and dtypes) match the corresponding input types.")


def _namer(body_fun: Callable[..., Any]) -> Callable[[KeyPath], str]:
    try:
        parameters = list(inspect.signature(body_fun).parameters)
    except (ValueError, TypeError):
        parameters = []
    if parameters:
        return lambda path: (f"the input carry component {parameters[0]}{keystr(path)}" if path
                             else f"the input carry {parameters[0]}")
    return lambda path: f"the input carry at path {keystr(path)}" if path else "the input carry"


def _listed(differences: list[str]) -> str:
    if len(differences) == 1:
        return f"{differences[0]}.\n".capitalize()
    return "".join(f"  * {d};\n" for d in differences[:-1]) + f"  * {differences[-1]}.\n"


def _what_differs(a: ShapedArray, b: ShapedArray) -> str:
    found = [f"the {what} do not match" for what, differ in
             (("dtypes", a.dtype != b.dtype), ("shapes", a.shape != b.shape)) if differ]
    return ", so " + " and also ".join(found)


def check_same_outputs(what: str, tree1: PyTreeDef, avals1: Sequence[ShapedArray], tree2: PyTreeDef,
                       avals2: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless two branches answer with one structure and the same types."""
    if tree1 != tree2:
        raise TypeError(f"{what} must have same type structure, got {tree1} and {tree2}.")
    if not all(map(same_type, avals1, avals2)):
        difference = tree_map(lambda a, b: f"{a}" if same_type(a, b) else f"DIFFERENT {a} vs. {b}",
                              tree_unflatten(tree1, avals1), tree_unflatten(tree2, avals2))
        raise TypeError(f"{what} must have identical types, got\n{difference}.")
