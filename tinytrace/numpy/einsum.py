"""`einsum`: sums of products by names of axes. Operands are contracted in pairs, in the cheapest order."""
from __future__ import annotations

import itertools
import math
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace import lax
from tinytrace.api.library import inline_jit, remembered
from tinytrace.core.dtypes import BOOL, DType, result_type, result_type_and_weak
from tinytrace.numpy.array_creation import zeros_like
from tinytrace.numpy.promotion import DTypeLike, Value, as_array, convert, user_dtype
from tinytrace.primitives.broadcasting import reduce_sum
from tinytrace.primitives.reduction import reduce_or
from tinytrace.records import NamedTuple

Path: TypeAlias = "list[tuple[int, ...]]"


@remembered("out", "optimize", "precision", "preferred_element_type", "_dot_general", "out_type",
            static_argnums=(0,))
def einsum(subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "optimal", precision: Any = None,
           preferred_element_type: DTypeLike = None, _dot_general: Any = lax.dot_general,
           out_type: None = None) -> Value:
    """Return the sum of products that `subscripts` names: `"ij,jk->ik"` is the product of two matrices.

    optimize: the order of contraction: "optimal" (the cheapest), False (from the left), or a list of pairs.

    >>> jnp.einsum("ij,j->i", jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
    Array([3, 7], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.einsum.html.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.einsum is not supported.")
    inputs, output, arrays = _parse(subscripts, operands)
    values = [as_array(x) for x in arrays]
    sizes = _axis_sizes(inputs, values)
    steps = _contractions(inputs, output, _path(inputs, output, sizes, optimize))
    preferred = user_dtype(preferred_element_type, "einsum")
    dtype, weak_type = result_type_and_weak(*values) if preferred is None else (preferred, False)
    return _einsum(values, tuple(steps), dtype, weak_type, precision, _dot_general)


@inline_jit("steps", "dtype", "weak_type", "precision", "dot_general")
def _einsum(operands: Sequence[Value], steps: Sequence[Contraction], dtype: DType, weak_type: bool, precision: Any,
            dot_general: Any) -> Value:
    values = list(operands)
    for step in steps:
        taken = [values.pop(i) for i in step.operands]
        values.append(_contract(step, taken, dtype, precision, dot_general))
    return convert(values[0], dtype, weak_type)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[Path, str]:
    """Return the order in which `einsum` contracts, and a text that says so.

    >>> jnp.einsum_path("ij,jk,k->i", jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4))[0]
    [(1, 2), (0, 1)]

    See https://numpy.org/doc/stable/reference/generated/numpy.einsum_path.html.
    """
    inputs, output, arrays = _parse(subscripts, operands)
    path = _path(inputs, output, _axis_sizes(inputs, [as_array(x) for x in arrays]), optimize)
    steps = [f"  {step.names_in} -> {step.names_out}" for step in _contractions(inputs, output, path)]
    return path, "\n".join([f"Contraction of {','.join(inputs)}->{output}:", *steps])


# --- the names -------------------------------------------------------------------------------------------------

def _parse(subscripts: Any, operands: Sequence[Any]) -> tuple[list[str], str, list[Any]]:
    """Return the names of each operand's axes, those of the result, and the operands."""
    if isinstance(subscripts, str):
        text, arrays = subscripts.replace(" ", ""), list(operands)
    else:
        text, arrays = _interleaved([subscripts, *operands])
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(arrays):
        raise ValueError(f"Number of einsum subscripts, {len(inputs)}, must be equal to the number of operands, "
                         f"{len(arrays)}.")
    ranks = [np.ndim(x) for x in arrays]
    dots = [max(0, rank - len(names.replace("...", ""))) if "..." in names else 0
            for names, rank in zip(inputs, ranks, strict=True)]
    spare = [c for c in string.ascii_letters if c not in text]
    broadcast = "".join(spare[:max(dots, default=0)])
    inputs = [names.replace("...", broadcast[len(broadcast) - n:]) for names, n in zip(inputs, dots, strict=True)]
    for number, (names, rank) in enumerate(zip(inputs, ranks, strict=True)):
        if len(names) != rank:
            raise ValueError(f"Einstein sum subscript '{names}' does not contain the correct number of indices for "
                             f"operand {number}.")
    if arrow:
        output = right.replace("...", broadcast)
    else:
        counts = Counter("".join(inputs))
        output = broadcast + "".join(sorted(c for c in counts if counts[c] == 1 and c not in broadcast))
    for name in output:
        if output.count(name) > 1:
            raise ValueError(f"Output character '{name}' appeared more than once in the output.")
        if not any(name in names for names in inputs):
            raise ValueError(f"Output character '{name}' did not appear in the input")
    return inputs, output, arrays


def _interleaved(items: list[Any]) -> tuple[str, list[Any]]:
    """Turn `x, [0, 1], y, [1, 2], [0, 2]` into subscripts and operands."""
    arrays = items[0:len(items) - 1:2]
    lists = items[1::2]
    output = items[-1] if len(items) % 2 else None
    letters: dict[Any, str] = {}

    def names(axes: Any) -> str:
        return "".join("..." if axis is Ellipsis else letters[axis] for axis in axes)

    for axis in sorted({axis for axes in [*lists, output or []] for axis in axes if axis is not Ellipsis}):
        letters[axis] = string.ascii_letters[len(letters)]
    text = ",".join(map(names, lists)) + ("" if output is None else "->" + names(output))
    return text, arrays


def _axis_sizes(inputs: Sequence[str], arrays: Sequence[Value]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for number, (names, x) in enumerate(zip(inputs, arrays, strict=True)):
        for name, size in zip(names, x.shape, strict=True):
            known = sizes.get(name, 1)
            if known != size and 1 not in (known, size):
                raise ValueError(f"Size of label '{name}' for operand {number} ({known}) does not match previous terms "
                                 f"({size}).")
            sizes[name] = size if known == 1 else known
    return sizes


# --- the order -------------------------------------------------------------------------------------------------

class Contraction(NamedTuple):
    """One step: which operands are taken, the names of their axes, which are summed, the names of the result."""

    operands: tuple[int, ...]
    names_in: tuple[str, ...]
    summed: frozenset[str]
    names_out: str


def _path(inputs: Sequence[str], output: str, sizes: dict[str, int], optimize: Any) -> Path:
    if len(inputs) <= 2:
        return [tuple(range(len(inputs)))]
    if isinstance(optimize, (list, tuple)):
        return [tuple(pair) for pair in optimize if not isinstance(pair, str)]
    if optimize is False:
        return [(0, 1)] * (len(inputs) - 1)
    return _cheapest_path(inputs, output, sizes)


def _cheapest_path(inputs: Sequence[str], output: str, sizes: dict[str, int]) -> Path:
    """Try every order of pairs and return the first of those with the fewest operations."""
    best: tuple[float, Path] = (math.inf, [])

    def search(terms: list[tuple[int, frozenset[str]]], cost: float, path: list[tuple[int, int]], fresh: int) -> None:
        nonlocal best
        if len(terms) == 1:
            best = cost, list(path)
            return
        for (i, a), (j, b) in itertools.combinations(terms, 2):
            others = [term for term in terms if term[0] not in (i, j)]
            keep = frozenset(output).union(*[names for _, names in others])
            step = math.prod(sizes[name] for name in a | b) * (2 if (a & b) - keep else 1)
            if cost + step < best[0]:
                search([*others, (fresh, (a | b) & keep)], cost + step, [*path, (i, j)], fresh + 1)

    search([(i, frozenset(names)) for i, names in enumerate(inputs)], 0, [], len(inputs))
    return list(_as_positions(best[1], len(inputs)))


def _as_positions(pairs: Sequence[tuple[int, ...]], n: int) -> Iterator[tuple[int, ...]]:
    """Turn pairs of term numbers (results are numbered on from n) into pairs of positions in a list that shrinks."""
    terms = list(range(n))
    for fresh, pair in enumerate(pairs, n):
        positions = tuple(sorted(terms.index(i) for i in pair))
        for i in reversed(positions):
            terms.pop(i)
        terms.append(fresh)
        yield positions


def _contractions(inputs: Sequence[str], output: str, path: Path) -> list[Contraction]:
    terms = list(inputs)
    steps = []
    for number, positions in enumerate(path):
        positions = tuple(sorted(positions, reverse=True))
        taken = tuple(terms.pop(i) for i in positions)
        names = "".join(taken)
        keep = set(output).union(*terms)
        kept = {name for name in names if name in keep}
        last = number == len(path) - 1
        result = output if last else "".join(sorted(kept, key=names.find))
        steps.append(Contraction(positions, taken, frozenset(names) - kept, result))
        terms.append(result)
    return steps


# --- the work --------------------------------------------------------------------------------------------------

def _contract(step: Contraction, operands: list[Value], dtype: DType, precision: Any, dot_general: Any) -> Value:
    summed = sorted(step.summed)
    if len(operands) == 1:
        x, names = operands[0], step.names_in[0]
        counts = Counter(names)
        x, names = _sum_named(x, names, [c for c in summed if counts[c] == 1], dtype)
        x, names = _take_diagonals(x, names, counts, step.names_out, dtype)
    elif len(operands) == 2:
        x, names = _contract_pair(step, operands[0], operands[1], summed, dtype, precision, dot_general)
    else:
        raise NotImplementedError("einsum contracts one or two operands at a time")
    return x if names == step.names_out else lax.transpose(x, [names.index(c) for c in step.names_out])


def _contract_pair(step: Contraction, lhs: Value, rhs: Value, summed: list[str], dtype: DType, precision: Any,
                   dot_general: Any) -> tuple[Value, str]:
    lhs_names, rhs_names = step.names_in
    lhs, lhs_names = _without_singletons(lhs, lhs_names, rhs.shape, rhs_names)
    rhs, rhs_names = _without_singletons(rhs, rhs_names, lhs.shape, lhs_names)
    lhs_counts, rhs_counts = Counter(lhs_names), Counter(rhs_names)
    lhs, lhs_names = _sum_named(lhs, lhs_names, [c for c in summed if lhs_counts[c] == 1 and not rhs_counts[c]], dtype)
    rhs, rhs_names = _sum_named(rhs, rhs_names, [c for c in summed if rhs_counts[c] == 1 and not lhs_counts[c]], dtype)
    lhs, lhs_names = _take_diagonals(lhs, lhs_names, lhs_counts, step.names_out + rhs_names, dtype)
    rhs, rhs_names = _take_diagonals(rhs, rhs_names, rhs_counts, step.names_out + lhs_names, dtype)
    contracted = [c for c in summed if c in lhs_names or c in rhs_names]
    batch = [c for c in step.names_out if c in lhs_names and c in rhs_names]
    lhs_alone = "".join(c for c in lhs_names if c not in batch and c not in contracted)
    rhs_alone = "".join(c for c in rhs_names if c not in batch and c not in contracted)
    lhs_axes = [lhs_names.index(c) for c in contracted], [lhs_names.index(c) for c in batch]
    rhs_axes = [rhs_names.index(c) for c in contracted], [rhs_names.index(c) for c in batch]
    names = "".join(batch) + rhs_alone + lhs_alone
    if names == step.names_out:  # no transposition is needed this way round
        return dot_general(rhs, lhs, _numbers(rhs_axes, lhs_axes), precision, preferred_element_type=dtype), names
    names = "".join(batch) + lhs_alone + rhs_alone
    return dot_general(lhs, rhs, _numbers(lhs_axes, rhs_axes), precision, preferred_element_type=dtype), names


def _numbers(first: tuple[list[int], list[int]], second: tuple[list[int], list[int]]) -> Any:
    return (first[0], second[0]), (first[1], second[1])


def _without_singletons(x: Value, names: str, other_shape: tuple[int, ...], other: str) -> tuple[Value, str]:
    """Drop axes of size 1 that the other operand has in another size: they broadcast."""
    drop = [i for i, (size, c) in enumerate(zip(x.shape, names, strict=True))
            if size == 1 and c in other and other_shape[other.find(c)] != 1]
    return lax.squeeze(x, drop), "".join(c for i, c in enumerate(names) if i not in drop)


def _sum_named(x: Value, names: str, summed: Sequence[str], dtype: DType) -> tuple[Value, str]:
    if not summed:
        return x, names
    return _sum(x, [names.index(c) for c in summed], dtype), "".join(c for c in names if c not in summed)


def _take_diagonals(x: Value, names: str, counts: Counter[str], keep: str, dtype: DType) -> tuple[Value, str]:
    """Sum over the axes that have one name, where their indices agree; keep one of them if it is in `keep`."""
    for name, count in counts.items():
        if count < 2:
            continue
        axes = [i for i, c in enumerate(names) if c == name]
        x = lax.select(_on_diagonal(x.shape, axes), x, zeros_like(x))
        dropped = axes[:-1] if name in keep else axes
        x = _sum(x, dropped, dtype)
        names = "".join(c for i, c in enumerate(names) if i not in dropped)
    return x, names


def _on_diagonal(shape: tuple[int, ...], axes: Sequence[int]) -> Value:
    """Return bool of `shape`: do the indices along `axes` agree?"""
    sizes = tuple(shape[axis] for axis in axes)
    counts = [lax.broadcasted_iota(np.uint32, sizes, i) for i in range(len(axes))]
    equal = [lax.eq(a, b) for a, b in itertools.pairwise(counts)]
    mask = equal[0]
    for other in equal[1:]:
        mask = lax.bitwise_and(mask, other)
    return lax.broadcast_in_dim(mask, shape, axes)


def _sum(x: Value, axes: Sequence[int], dtype: DType) -> Value:
    if result_type(x, dtype) != x.dtype:
        x = x.astype(dtype)
    return reduce_or(x, axes) if x.dtype == BOOL else reduce_sum(x, axes)

