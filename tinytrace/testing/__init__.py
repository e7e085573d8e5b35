"""What tests of tracing programs are made of: strategies, assertions, counters, invariants, and faults to plant.

    from hypothesis import given
    from tinytrace.testing import assert_backends_agree, cases

    @given(cases())
    def test_mine(case):
        program, arguments = case
        assert_backends_agree(my_transformation(program.function()), *arguments)

`pip install 'tinytrace[testing]'` installs Hypothesis and pytest, which these need; nothing else of tinytrace does.
Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinytrace.util import lazy_names

if TYPE_CHECKING:
    from tinytrace.testing.assertions import assert_backends_agree as assert_backends_agree
    from tinytrace.testing.assertions import assert_cache_invariants as assert_cache_invariants
    from tinytrace.testing.assertions import assert_roundtrip as assert_roundtrip
    from tinytrace.testing.counting import count_compiles as count_compiles
    from tinytrace.testing.counting import count_traces as count_traces
    from tinytrace.testing.counting import expect as expect
    from tinytrace.testing.gradient_checks import check_grads as check_grads
    from tinytrace.testing.transform_laws import assert_primitive_complete as assert_primitive_complete
    from tinytrace.testing.transform_laws import assert_transform_laws as assert_transform_laws

_STRATEGIES = ("dtypes", "shapes", "avals", "arrays", "elements", "random_keys", "pytrees", "static_values", "keys",
               "transformations", "programs", "cases", "programs_with_arguments", "jaxprs")  # fmt: skip
_HOMES = {
    **dict.fromkeys(_STRATEGIES, "strategies"),
    **dict.fromkeys(("call_pairs", "CallPair"), "pairs"),
    **dict.fromkeys(("Program", "Case"), "random_programs"),
    **dict.fromkeys(("assert_backends_agree", "assert_roundtrip", "assert_cache_invariants"), "assertions"),
    **dict.fromkeys(("assert_transform_laws", "assert_primitive_complete"), "transform_laws"),
    **dict.fromkeys(("count_traces", "count_compiles", "expect"), "counting"),
    **dict.fromkeys(("CacheMachine", "state_machine"), "machine"),
    **dict.fromkeys(("INVARIANTS", "Invariant"), "invariants"),
    **dict.fromkeys(("FAULTS", "Fault"), "faults"),
    "check_grads": "gradient_checks",
}
__all__ = sorted(_HOMES)

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
