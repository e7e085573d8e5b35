"""Calls of a compiled stage, `lowered.compile()`: of the types that it was compiled for, and of no others."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace._dispatch import FastCallable, call_entry, current_epoch
from tinytrace.api.concrete import as_array
from tinytrace.api.donation import Donation
from tinytrace.api.flattening import maker_of
from tinytrace.api.placed_calls import with_shardings
from tinytrace.api.program import Program
from tinytrace.api.traced_calls import reading_order
from tinytrace.core.avals import ShapedArray, aval_of, is_valid_type
from tinytrace.core.trace import Tracer
from tinytrace.core.tree_paths import equality_errors_pytreedef
from tinytrace.core.trees import PyTreeDef, tree_flatten


class CompiledCalls(FastCallable):
    """A program behind the trees of its arguments and results. Known calls are answered without Python.

    arg_names: those of the leaves, for messages.  outs: how results lie, None where nothing says so.
    """

    def __init__(self, program: Program, in_tree: PyTreeDef, out_tree: PyTreeDef, arg_names: Sequence[str],
                 donation: Donation, outs: Sequence[Any] | None) -> None:
        self._program, self._in_tree, self._out_tree = program, in_tree, out_tree
        self._arg_names, self._donation, self._outs = arg_names, donation, outs
        self._configure(CompiledCalls._missed, (), ())

    def _missed(self, *args: Any, **kwargs: Any) -> Any:
        epoch = current_epoch()
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self._in_tree:
            raise TypeError(_tree_mismatch(self._in_tree, tree))
        avals = [_aval_of(leaf) for leaf in leaves]
        self._check(avals)
        result = self._run(leaves, avals)
        if self._outs is not None:  # the hit path knows of no places
            return with_shardings(result, self._outs)
        order = {leaf: place for place, leaf in enumerate(reading_order((args, kwargs), tree))}
        if len(order) == tree.num_leaves and (entry := self._entry([order[i] for i in range(len(order))])) is not None:
            self._learn(args, kwargs, entry, epoch)
        return result

    def _entry(self, order: Sequence[int]) -> Any:
        return self._program.fast_entry((), order, maker_of(self._out_tree), None, self._donation.given)

    def _run(self, leaves: list[Any], avals: list[ShapedArray]) -> Any:
        donation = self._donation
        donation.check(leaves)
        if donation.given:
            entry = self._entry(range(len(leaves)))
            result = NotImplemented if entry is None else call_entry(entry, *leaves)
            if result is not NotImplemented:
                return result
            donation.check(leaves)
        arrays = [as_array(x, aval) for x, aval in zip(leaves, avals, strict=True)]
        results = self._program.call_separately(arrays)
        donation.delete(leaves)
        return self._out_tree.unflatten(results)

    def _check(self, avals: list[ShapedArray]) -> None:
        names = self._arg_names
        wrong = [f"Argument '{names[i] if i < len(names) else i}' compiled with "
                 f"{_type_text(want)} and called with {_type_text(got)}"
                 for i, (want, got) in enumerate(zip(self._program.in_avals, avals, strict=True))
                 if (want.shape, want.dtype) != (got.shape, got.dtype)]
        if wrong:
            raise TypeError("Argument types differ from the types for which this computation was compiled. "
                            "The mismatches are:\n" + "\n".join(wrong))


def _aval_of(leaf: Any) -> ShapedArray:
    if isinstance(leaf, Tracer):
        raise TypeError("Cannot apply JAX transformations to a function lowered and compiled for a particular "
                        f"signature. Detected argument of Tracer type {type(leaf)}.")
    if not is_valid_type(leaf):
        raise TypeError(f"Argument '{leaf}' of type '{type(leaf)}' is not a valid JAX type")
    return aval_of(leaf)


def _tree_mismatch(compiled_for: PyTreeDef, called_with: PyTreeDef) -> str:
    differences = [f"    * at {''.join(map(str, [('args', 'kwargs')[path[0].idx], *path[1:]]))}, seen {thing1} but now "
                   f"given {thing2}, so {explanation}"
                   for path, thing1, thing2, explanation in equality_errors_pytreedef(compiled_for, called_with)]
    return ("Function compiled with input pytree does not match the input pytree it was called with. There are "
            f"{len(differences)} mismatches, including:\n" + "\n".join(differences))


def _type_text(aval: ShapedArray) -> str:
    return f"{aval.dtype.name}[{','.join(map(str, aval.shape))}]"
