"""The invariants of tracing and caching: each a sentence, cases, and a function that raises for what breaks it.

    for invariant in INVARIANTS.values():
        invariant.check(max_examples=100)

`counter_example` looks for a case that breaks one, and `tinytrace.testing.faults` plants what each of them must catch.
The page docs/invariants.md shows this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from tinytrace import numpy
from tinytrace.api.jit import jit
from tinytrace.api.jit_cache import clear_caches
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.program import Program
from tinytrace.config import config, override
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, eval_jaxpr
from tinytrace.core.structure import structure_of
from tinytrace.core.trace import interpreting
from tinytrace.core.trees import tree_flatten, tree_structure
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.numpy import asarray
from tinytrace.passes.simplify import OF_BODIES, PASSES
from tinytrace.records import dataclass
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.testing.assertions import assert_cache_invariants, assert_forms_agree, assert_roundtrip, assert_same
from tinytrace.testing.counting import count_traces
from tinytrace.testing.pairs import CallPair, call_pairs, reveal, signature
from tinytrace.testing.random_programs import Case
from tinytrace.testing.steps import (
    ALGEBRA_STEPS,
    CORE_STEPS,
    KERNEL_STEPS,
    MOVING_STEPS,
    NUMBER_STEPS,
    SMOOTH_STEPS,
    STORING_STEPS,
    elementwise,
)
from tinytrace.testing.strategies import cases, jaxprs, keys, pytrees
from tinytrace.testing.transform_laws import assert_batching, assert_derivatives


@dataclass(frozen=True)
class Invariant:
    """Something that holds for every program, call or key.

    Args:
      name: short, as in `INVARIANTS["hits"]`.
      sentence: what holds.
      cases: draws what it is tried on.
      holds: raises, AssertionError in most cases, for what breaks it.
    """

    name: str
    sentence: str
    cases: Callable[[], st.SearchStrategy[Any]]
    holds: Callable[[Any], None]

    def check(self, max_examples: int = 100) -> None:
        """Try it, and raise what Hypothesis raises: the smallest case that breaks it.

        >>> INVARIANTS["trees"].check(max_examples=5)
        """
        _settings(max_examples)(given(self.cases())(self.holds))()

    def counter_example(self, max_examples: int = 500) -> Exception | None:
        """Return how the first case that breaks it does so, None if none is found; nothing is made smaller."""
        found: list[Exception] = []

        def holds(case: Any) -> None:
            try:
                self.holds(case)
            except HypothesisException:
                raise
            except Exception as error:
                found.append(error)
                raise

        try:
            _settings(max_examples, phases=(Phase.generate,))(given(self.cases())(holds))()
        except Exception:
            if not found:
                raise
        return found[0] if found else None


def _settings(max_examples: int, **options: Any) -> settings:
    return settings(max_examples=max_examples, deadline=None, database=None, derandomize=True,
                    suppress_health_check=list(HealthCheck), **options)


# --- tracing -------------------------------------------------------------------------------------------------------

def _small() -> st.SearchStrategy[Case]:
    return cases(2, 4, False, CORE_STEPS)


def _moving() -> st.SearchStrategy[Case]:
    return cases(2, 3, False, MOVING_STEPS)


def _simplified() -> st.SearchStrategy[Case]:
    return st.one_of(*[cases(2, 8, False, steps) for steps in (NUMBER_STEPS, ALGEBRA_STEPS, ALGEBRA_STEPS)])


def _lowered() -> st.SearchStrategy[Case]:
    """Numbers in the text are drawn often: a compiler is started for each case until one shows that they are wrong."""
    numbers = [*NUMBER_STEPS, *[elementwise.with_number] * 2]
    return st.one_of(*[cases(2, 7, True, steps) for steps in (numbers, MOVING_STEPS, KERNEL_STEPS)])


def _smooth() -> st.SearchStrategy[Case]:
    return cases(2, 7, True, SMOOTH_STEPS, tame=True)


def _evaluation(case: Case) -> None:
    function, arguments = case.program.function(), case.arguments
    closed = make_jaxpr(function)(*arguments)
    with interpreting():
        expected = function(*arguments)
        got = eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
    assert_same(got, expected, case.program.results, f"{closed}\n")


def _types(case: Case) -> None:
    function, arguments = case.program.function(), case.arguments
    closed = make_jaxpr(function)(*arguments)
    check_jaxpr(closed.jaxpr)
    with interpreting():
        found = [aval_of(x) for x in function(*arguments)]
    assert closed.out_avals == found, f"the jaxpr says {closed.out_avals}, the function returns {found}"
    stated = [(v.shape, v.dtype) for v in case.program.results]
    assert [(aval.shape, aval.dtype) for aval in found] == stated, f"{found} instead of {stated}"


_OPERATORS = ("x + y", "x - y", "x * y", "-x", "jnp.maximum(x, y)", "jnp.where(x > 0, x, y)")


def _promotions() -> st.SearchStrategy[Any]:
    number = st.sampled_from([2, 0.5])
    return st.tuples(st.sampled_from(_OPERATORS), number, number, st.sampled_from([None, "float32", "float16"]))


def _weak_types(case: tuple[str, Any, Any, str | None]) -> None:
    text, x, y, dtype = case
    other = y if dtype is None else asarray(y, dtype)
    (aval,) = make_jaxpr(lambda x, y: eval(text, {"x": x, "y": y, "jnp": numpy}))(x, other).out_avals
    is_float = isinstance(x, float) or (isinstance(y, float) and "y" in text)
    expected = dtype if dtype and "y" in text else "float32" if is_float else "int32"
    weak = dtype is None or "y" not in text
    assert (aval.dtype.name, aval.weak_type) == (expected, weak), f"{text} of {x!r} and {other!r} is {aval!r}"


def _texts(case: Case) -> None:
    one, other = (case.program.function() for _ in range(2))
    first, second = make_jaxpr(one)(*case.arguments), make_jaxpr(other)(*case.arguments)
    assert str(first) == str(second), f"{first}\n{second}"
    texts = [jit(f).lower(*case.arguments).as_text() for f in (one, other)]
    assert texts[0] == texts[1], "\n".join(texts)


def _round_trip(closed: ClosedJaxpr) -> None:
    assert_roundtrip(closed)


def _passes(case: Case) -> None:
    closed = make_jaxpr(case.program.function())(*case.arguments)
    with interpreting():
        expected = eval_jaxpr(closed.jaxpr, closed.consts, *case.arguments)
        for run in (*PASSES, *OF_BODIES):
            closed = run(closed)
            check_jaxpr(closed.jaxpr)
            got = eval_jaxpr(closed.jaxpr, closed.consts, *case.arguments)
            assert_same(got, expected, case.program.results, f"after {run.__name__}: ")


def _kernels(case: Case) -> None:
    closed = make_jaxpr(case.program.function())(*case.arguments)
    assert_forms_agree(closed, case.arguments, case.program.results, ("jaxpr", "kernels"))


def _memory(case: Case) -> None:
    program = Program(make_jaxpr(case.program.function())(*case.arguments))
    kernels, inputs = program.generated.kernels, program.kernel_inputs(case.arguments)
    for own, shared in zip(kernels.run_in(None, *inputs), kernels.run(*inputs), strict=True):
        np.testing.assert_array_equal(shared, own)


def _machine_code(case: Case) -> None:
    closed = make_jaxpr(case.program.function())(*case.arguments)
    assert_forms_agree(closed, case.arguments, case.program.results, ("jaxpr", "C"))


def _derivatives(case: Case) -> None:
    arrays = map(np.asarray, case.arguments)
    away_from_kinks = [x + x.dtype.type(0.0117) if x.dtype.kind == "f" else x for x in arrays]
    assert_derivatives(case.program.function(), away_from_kinks)


def _batches(case: Case) -> None:
    assert_batching(case.program.function(), case.arguments, case.program.results)


# --- caching -------------------------------------------------------------------------------------------------------

def _hits(case: Case) -> None:
    assert_cache_invariants(case.program.function(), *case.arguments)


def _keys_of_calls(pair: CallPair) -> None:
    revealing = jit(lambda tree, option: reveal(tree, option), static_argnums=1)
    with count_traces() as traces:
        for tree, option in (pair.first, pair.second):
            doubled, number = revealing(tree, option)
            leaves, structure = tree_flatten(tree)
            expected = signature(structure, leaves, option)
            assert int(number) == expected, f"the program of another call answered one that differs in {pair.change}"
            for got, x in zip(doubled, (x for x in leaves if aval_of(x).dtype != bool), strict=True):
                with np.errstate(all="ignore"):
                    np.testing.assert_array_equal(np.asarray(got), np.asarray(x) + np.asarray(x))
                assert aval_of(got) == aval_of(x), f"{aval_of(got)} instead of {aval_of(x)}"
    assert traces() == (1 if pair.is_hit else 2), f"calls that differ in {pair.change} traced {traces()} times"


def _settings_in_keys(choice: tuple[str, bool]) -> None:
    name, first = choice
    values = {"enable_x64": (False, True), "numpy_dtype_promotion": ("standard", "strict")}[name]
    seen = jit(lambda x: (x, np.int32(values.index(_setting(name)))))
    for value in values if first else values[::-1]:
        with override(name, value):
            number = int(seen(1.5)[1])
            assert values[number] == value, f"a call with {name}={value} ran the program of {values[number]}"


def _setting(name: str) -> Any:
    return config.read(name)


def _forgetting(number: int) -> None:
    scale = [number]
    scaled = jit(lambda x: x * scale[0])
    assert int(scaled(2)) == 2 * number
    scale[0] = number + 1
    assert int(scaled(2)) == 2 * number, "a captured number is part of the trace: the call is a hit"
    scaled.clear_cache()
    assert int(scaled(2)) == 2 * number + 2, "a call after clear_cache() ran the program of before"
    scale[0] = number + 2
    clear_caches()
    assert int(scaled(2)) == 2 * number + 4, "a call after clear_caches() ran the program of before"


_NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, 0, 1, True, False])


def _equal_programs(numbers: tuple[Any, Any]) -> None:
    one, other = (structure_of(_returning(x).jaxpr) for x in numbers)
    bits = [(type(x), np.asarray(x).tobytes()) for x in numbers]
    assert (one == other) == (bits[0] == bits[1]), f"the programs that return {numbers[0]!r} and {numbers[1]!r}"


def _returning(number: Any) -> ClosedJaxpr:
    aval = ShapedArray((), aval_of(number).dtype, True)
    return ClosedJaxpr(Jaxpr([], [Var(aval)], [Literal(number, aval)], []), [])


def _artifact_keys(pair: tuple[ArtifactKey, ArtifactKey]) -> None:
    one, other = pair
    assert ArtifactKey.from_json(one.to_json()) == one
    assert (one == other) == (not one.diff(other)), f"equal keys differ, or others do not: {one.diff(other)}"
    assert (one == other) == (one.digest == other.digest), f"{one} and {other} have the digest {one.digest}"


def _trees(tree: Any) -> None:
    leaves, structure = tree_flatten(tree)
    rebuilt = structure.unflatten(leaves)
    assert tree_structure(rebuilt) == structure
    assert repr(rebuilt) == repr(tree_structure(tree).unflatten(leaves)), f"{rebuilt} instead of {tree}"
    assert _shape_of(rebuilt) == _shape_of(tree), f"{rebuilt} instead of {tree}"


def _shape_of(tree: Any) -> Any:
    """Return a tree's containers, its leaves as dots."""
    if isinstance(tree, dict):
        return {name: _shape_of(tree[name]) for name in sorted(tree)}
    if isinstance(tree, (list, tuple)):
        return type(tree), [_shape_of(item) for item in tree]
    return tree if tree is None else "."


INVARIANTS: dict[str, Invariant] = {invariant.name: invariant for invariant in [
    Invariant("evaluation", "The jaxpr of a function computes what the function computes.", _small, _evaluation),
    Invariant("types", "A jaxpr is well typed, and says the types of its results, weak types included.",
              _small, _types),
    Invariant("weak types", "What is computed from Python's numbers alone is weakly typed, and takes the type of an "
              "array that it meets.", _promotions, _weak_types),
    Invariant("texts", "A function traced twice has the same jaxpr and the same C, to the letter.", _small, _texts),
    Invariant("round trip", "The text of a jaxpr reads back as the same program.", jaxprs, _round_trip),
    Invariant("passes", "Every pass over jaxprs keeps type and meaning.", _simplified, _passes),
    Invariant("kernels", "The kernels of a program compute what its equations compute.", _lowered,
              _kernels),
    Invariant("memory", "Temporary arrays that share bytes compute what arrays with bytes of their own compute.",
              lambda: cases(2, 10, True, STORING_STEPS), _memory),
    Invariant("machine code", "The machine code of a program computes what its equations compute.",
              _lowered, _machine_code),
    Invariant("derivatives", "Tangents are the limits of differences, whichever way they are computed, and cotangents "
              "are the transpose of tangents.", _smooth, _derivatives),
    Invariant("batches", "A function mapped over a batch gives the stack of its results.", _moving, _batches),
    Invariant("hits", "A call of a known kind traces and compiles nothing, computes with its own values, and owns what "
              "it returns.", _small, _hits),
    Invariant("kinds of calls", "Tree, types, weak types and static values decide which program answers a call, and "
              "nothing else does.", call_pairs, _keys_of_calls),
    Invariant("settings", "A setting that a trace can see is part of what decides which program answers.",
              lambda: st.tuples(st.sampled_from(["enable_x64", "numpy_dtype_promotion"]), st.booleans()),
              _settings_in_keys),
    Invariant("forgetting", "A function whose cache was cleared is traced again.", lambda: st.integers(-5, 5),
              _forgetting),
    Invariant("equal programs", "Two programs share machine code only if they are equal to the bit of every number.",
              lambda: st.tuples(_NUMBERS, _NUMBERS), _equal_programs),
    Invariant("artifact keys", "Two keys of compiled programs are equal if and only if their digests are.",
              lambda: st.tuples(keys(), keys()), _artifact_keys),
    Invariant("trees", "A container that is flattened and rebuilt is the container that it was.", pytrees, _trees),
]}  # fmt: skip
"""Every invariant by its name, those of tracing first."""
