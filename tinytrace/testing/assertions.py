"""Assertions about one function on given arguments: backends agree, texts read back, caches keep their word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.concrete import as_array
from tinytrace.api.jit import jit
from tinytrace.api.jit_cache import clear_caches
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.program import Program
from tinytrace.control_flow.bodies import stored
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0, KeyType, is_complex, is_inexact, part_dtype
from tinytrace.core.jaxpr import ClosedJaxpr, eval_jaxpr
from tinytrace.core.parser import OpaqueParam
from tinytrace.core.trace import interpreting
from tinytrace.core.trees import tree_leaves, tree_structure
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.parsing import parse_jaxpr
from tinytrace.runtime.ladder import clear_memory
from tinytrace.testing.counting import count_compiles, count_traces
from tinytrace.testing.strategies import note
from tinytrace.testing.values import Value, agree

Function = Callable[..., Any]
BACKENDS = ("jaxpr", "kernels", "C")
"""The three executable forms of a program: equations in NumPy, kernels in NumPy, machine code."""


# --- backends ------------------------------------------------------------------------------------------------------

def assert_backends_agree(fun: Function, *args: Any, results: Sequence[Value] | None = None,
                          backends: Sequence[str] = BACKENDS) -> None:
    """Check that the jaxpr, its kernels and its machine code compute the same on `args`.

    Integers, NaN, infinities and signs of zeros must be equal, other floats up to rounding: by the errors that
    `results` state (those of a random program), or by a hundred units in the last place of the largest element.

    Raises: AssertionError naming the first element that differs, and the two forms.

    >>> import tinytrace.numpy as jnp
    >>> assert_backends_agree(lambda x: jnp.tanh(x) * 2, jnp.arange(3.0))
    """
    closed = make_jaxpr(fun)(*args)
    note(closed)
    assert_forms_agree(closed, tree_leaves(args), results, backends)


def assert_forms_agree(closed: ClosedJaxpr, args: Sequence[Any], results: Sequence[Value] | None = None,
                       backends: Sequence[str] = BACKENDS) -> None:
    """Check that a program's executable forms compute the same on flat `args`; see `assert_backends_agree`."""
    outs = {backend: run_as(backend, closed, args) for backend in backends}
    first, *others = backends
    for backend in others:
        assert_same(outs[backend], outs[first], results, f"{backend} and {first} of\n{closed}\n")


def run_as(backend: str, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Return what one form of a program gives: `jaxpr`, `kernels` or `C`."""
    arrays = [as_array(x, aval) for x, aval in zip(args, closed.in_avals, strict=True)]
    if backend == "jaxpr":
        with interpreting():
            return eval_jaxpr(closed.jaxpr, closed.consts, *arrays)
    program = Program(closed)
    return program.run_kernels(arrays) if backend == "kernels" else program(arrays)


def assert_same(got: Sequence[Any], expected: Sequence[Any], results: Sequence[Value] | None, title: str) -> None:
    """Check that two lists of results agree as far as rounding lets them."""
    assert len(got) == len(expected), f"{title}: {len(got)} and {len(expected)} results"
    for k, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        if aval_of(theirs).dtype == FLOAT0:
            continue
        x, y = stored(ours), stored(theirs)
        complaint = agree(x, y, results[k] if results is not None else _value(f"result {k}", y))
        assert not complaint, f"{title}{complaint}"


def _value(name: str, array: Any) -> Value:
    """Return what is known of a result whose program is unknown: its type, and the rounding of its largest element."""
    if not is_inexact(array.dtype) or not array.size:
        return Value(name, array.shape, array.dtype)
    numbers = np.abs(array if is_complex(array.dtype) else array.astype(np.float64))
    largest = float(np.max(numbers, initial=0.0, where=np.isfinite(numbers)))
    part = part_dtype(array.dtype)
    unit = {1: 2**-2, 2: 2**-7 if part.kind != "f" else 2**-10, 4: 2**-23, 8: 2**-52}[part.itemsize]
    return Value(name, array.shape, array.dtype, largest, 100 * unit * max(largest, 1.0))


# --- texts ---------------------------------------------------------------------------------------------------------

def assert_roundtrip(fun: Function | ClosedJaxpr, *args: Any) -> None:
    """Check that a function's jaxpr (or a jaxpr) is well typed, and that its text reads back as the same program.

    Raises: AssertionError where the text differs, JaxprTypeError where the jaxpr is no program.

    >>> import tinytrace.numpy as jnp
    >>> assert_roundtrip(lambda x: jnp.where(x > 0, x, 0.0), 1.5)
    """
    closed = fun if isinstance(fun, ClosedJaxpr) else make_jaxpr(fun)(*args)
    check_jaxpr(closed.jaxpr)
    text = str(closed)
    parsed = parse_jaxpr(text)
    assert str(parsed) == text, f"the text reads back as another program:\n{text}\n{parsed}"
    if not any(isinstance(x, OpaqueParam) for eqn in parsed.walk() for x in eqn.params.values()):
        check_jaxpr(parsed)
    assert not closed.diff(parsed), f"the text reads back as another program:\n{closed.diff(parsed)}"


# --- caches --------------------------------------------------------------------------------------------------------

def assert_cache_invariants(fun: Function, *args: Any) -> None:
    """Check that calls of `jit(fun)` are hits when they should be, and that hits compute with their own values.

    A second call traces and compiles nothing, whatever the values; a fresh function of the same program compiles
    nothing; a call after `clear_caches()` traces again; results are those of `fun` un-jitted, in its tree, with its
    types; arguments are left as they are, and what is written into them afterwards shows nowhere.

    Raises: AssertionError naming what does not hold.

    >>> import tinytrace.numpy as jnp
    >>> assert_cache_invariants(lambda x: {"y": x + 1}, jnp.arange(3.0))
    """
    fresh = lambda *args: fun(*args)  # noqa: E731  (an object of its own: nothing is known of it)
    jitted = jit(fresh)
    with interpreting():
        expected, other = fun(*args), fun(*(other_args := _with_other_values(args)))
    with count_traces(fresh) as traces:
        first = jitted(*args)
        assert traces() == 1, f"the first call traced {traces()} times"
        with count_compiles() as compiles:
            second, third, again = jitted(*args), jitted(*other_args), jitted(*args)
            same_program = jit(lambda *args: fun(*args))(*args)
        assert traces() == 1, f"later calls of one type traced {traces() - 1} times"
        assert compiles() == 0, f"later calls of one type compiled {compiles()} programs"
        for what, got, wanted in [("the first call", first, expected), ("the second call", second, expected),
                                  ("a call with other values", third, other), ("a later call", again, expected),
                                  ("a fresh function of the same program", same_program, expected)]:
            _assert_same_tree(got, wanted, what)
        clear_caches()
        _assert_same_tree(jitted(*args), expected, "a call after clear_caches()")
        assert traces() == 2, f"the call after clear_caches() traced {traces() - 1} times"
    _assert_owns(jitted, args)
    clear_memory()


def _assert_same_tree(got: Any, expected: Any, what: str) -> None:
    ours, theirs = tree_structure(got), tree_structure(expected)
    assert ours == theirs, f"{what} returned {ours} instead of {theirs}"
    types = [[aval_of(x) for x in tree_leaves(tree)] for tree in (got, expected)]
    assert types[0] == types[1], f"{what} returned {types[0]} instead of {types[1]}"
    assert_same(tree_leaves(got), tree_leaves(expected), None, f"{what}: ")


def _with_other_values(args: Any) -> tuple[Any, ...]:
    """Return arguments of the same types, with their elements in the opposite order."""
    leaves = tree_leaves(args)
    turned = [x if _is_opaque(aval_of(x)) else as_array(stored(x).reshape(-1)[::-1].reshape(np.shape(x)), aval_of(x))
              for x in leaves]
    out: tuple[Any, ...] = tree_structure(args).unflatten(turned)
    return out


def _assert_owns(jitted: Function, args: tuple[Any, ...]) -> None:
    """Check that a call neither changes NumPy arguments nor shares memory with them."""
    mine = [x if _is_opaque(aval_of(x)) else np.array(stored(x)) for x in tree_leaves(args)]
    before = [x.copy() for x in mine if isinstance(x, np.ndarray)]
    outs = tree_leaves(jitted(*tree_structure(args).unflatten(mine)))
    arrays = [x for x in mine if isinstance(x, np.ndarray)]
    assert all(x.tobytes() == y.tobytes() for x, y in zip(arrays, before, strict=True)), "the call changed an argument"
    values = [stored(out).tobytes() for out in outs]
    for x in arrays:
        x[...] = np.zeros((), x.dtype) if x.any() else np.ones((), x.dtype)
    assert [stored(out).tobytes() for out in outs] == values, "a result shares memory with an argument"


def _is_opaque(aval: ShapedArray) -> bool:
    return isinstance(aval.dtype, KeyType) or aval.dtype == FLOAT0
