"""Expressions of the index: guards that are decided already."""

import itertools

import pytest

from tinytrace.core.kinds import Expr, all_of, as_expr


@pytest.mark.parametrize("values", list(itertools.product([0, 1, None], repeat=3)))
def test_a_conjunction_holds_if_all_guards_do(values):
    """None is a guard that is not decided."""
    guards = [Expr("index", (k,)) < 3 if value is None else as_expr(value) for k, value in enumerate(values)]
    result = all_of(guards)
    if 0 in values:
        assert (result.op, result.args) == ("const", (0,)) or _decided(result) == 0
    else:
        assert (result.op == "const") == (None not in values)
        assert _decided(result) == 1


def _decided(guard):
    """What a conjunction is if all guards that are not decided hold."""
    if guard.op == "and":
        return int(all(_decided(arg) for arg in guard.args))
    return guard.args[0] if guard.op == "const" else 1
