"""Each rule of the verifier, against a kernel that breaks it."""

import numpy as np
import pytest

from tests.codegen.ir.solver import counterexample
from tinytrace.codegen.ir.arithmetic import compare, floordiv, index_of, linear, mod, where
from tinytrace.codegen.ir.claims import Meeting
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.ir.inserted_operations import add
from tinytrace.codegen.ir.kernel import Nest
from tinytrace.codegen.ir.nodes import apply, axis, fresh_nodes, literal, load, local, number
from tinytrace.codegen.ir.procedures import PREFETCH
from tinytrace.codegen.ir.statements import Buffer, Call, Combine, Declare, For, Row, Store, When
from tinytrace.codegen.ir.verifier import verify

F32, F64, I32 = map(np.dtype, (np.float32, np.float64, np.int32))


@pytest.fixture(autouse=True)
def nodes():
    with fresh_nodes():
        yield


def x(size=8, dtype=F32, space="input"):
    return Buffer("x", (size,), dtype, space)


def one():
    return literal(1, F32)


def over(i, *body, **flags):
    return For(i, number(0), number(i.args[1]), list(body), **flags)


def checked(*body):
    return verify([Nest(body=list(body))])


def test_a_well_formed_kernel():
    i, y = axis("i", 8), Buffer("y", (8,), F32, "output")
    assert checked(over(i, Store((y, i), load(x(), i, F32)), simd=True, independent=True)) == []


def test_an_axis_outside_of_its_loop():
    with pytest.raises(KernelError, match="outside of its loop"):
        checked(Store((x(), axis("i", 8)), one()))


@pytest.mark.parametrize("inside", ["store", "load", "bound", "guard", "sum", "call"])
def test_a_variable_that_nobody_declared_wherever_an_index_may_stand(inside):
    i, s, y = axis("i", 8), local("s", np.dtype(np.int64)), Buffer("y", (8,), F32, "output")
    bodies = {
        "store": [Store((y, s), one())],
        "load": [Store((y, number(0)), load(x(), s, F32))],
        "bound": [For(i, number(0), s, [Store((y, i), one())])],
        "guard": [When(compare("lt", s, number(3)), [Store((y, number(0)), one())])],
        "sum": [Combine((y, s), "sum", one())],
        "call": [Call(PREFETCH, {"row": s}, ())],
    }
    with pytest.raises(KernelError, match="declared"):
        checked(*bodies[inside])


def test_a_loop_in_one_of_the_same_name():
    """In C the inner counter hides the outer one, whatever their extents are."""
    y = Buffer("y", (8,), F32, "output")
    with pytest.raises(KernelError, match="the name of a loop around it"):
        checked(over(axis("i", 2), over(axis("i", 4), Store((y, axis("i", 4)), one()))))


def test_a_variable_before_its_declaration():
    with pytest.raises(KernelError, match="before it is declared"):
        checked(Store((x(), number(0)), local("s", F32)))


def test_a_row_before_its_declaration():
    with pytest.raises(KernelError, match="row x"):
        checked(Store((x(space="row"), number(0)), one()))


def test_a_variable_of_a_loop_after_it():
    s = local("s", F32)
    with pytest.raises(KernelError, match="before it is declared"):
        checked(over(axis("i", 8), Declare(s, one())), Store((x(), number(0)), s))


def test_an_element_of_another_type():
    with pytest.raises(KernelError, match="goes where"):
        checked(Store((x(), number(0)), literal(1, F64)))


def test_an_operand_of_another_type():
    with pytest.raises(KernelError, match="has operands of types"):
        checked(Store((x(), number(0)), apply(add(F32), (one(), literal(1, F64)))))


def test_a_loop_beyond_its_axis():
    i = axis("i", 8)
    with pytest.raises(KernelError, match="runs from 0 to 9"):
        checked(For(i, number(0), number(9), [Store((x(), number(0)), one())]))


def test_independent_iterations_that_share_a_variable():
    s = local("s", F32)
    with pytest.raises(KernelError, match="share s"):
        checked(Declare(s, one()), over(axis("i", 8), Combine(s, "sum", one()), independent=True))


def test_vectorised_iterations_fold_into_a_variable_but_change_it_in_no_other_way():
    i, s = axis("i", 8), local("s", F32)
    assert checked(Declare(s, one()), over(i, Combine(s, "sum", one()), simd=True)) == []
    with pytest.raises(KernelError, match="a vectorised loop over i share s"):
        checked(Declare(s, one()), over(i, Store(s, one()), simd=True))


SIDE_BY_SIDE = [{"simd": True}, {"independent": True}]
PLACES = {  # where two nested loops over i8 and j4 store; the loop over i is vectorised or independent
    "rows": (lambda i, j: linear(0, [(i, 4), (j, 1)]), "by strides"),
    "columns": (lambda i, j: linear(0, [(i, 1), (j, 8)]), "by strides"),
    "backwards": (lambda i, j: linear(31, [(i, -4), (j, -1)]), "by strides"),
    "in blocks": (lambda i, j: linear(0, [(floordiv(i, number(2)), 8), (mod(i, number(2)), 1), (j, 2)]),
                  "by the solver"),
    "one place": (lambda i, j: j, "not at all"),
    "overlapping rows": (lambda i, j: linear(0, [(i, 3), (j, 1)]), "not at all"),
    "overlapping columns": (lambda i, j: linear(0, [(i, 1), (j, 7)]), "not at all"),
    "two and two": (lambda i, j: linear(0, [(floordiv(i, number(2)), 4), (j, 1)]), "not at all"),
    "both sides of 0": (lambda i, j: linear(16, [(i, 1), (j, -1)]), "not at all"),
    "as data say": (lambda i, j: index_of(load(x(32, I32), i, I32)), "not at all"),
}


def proven(*body):
    """How it is proven that no two iterations meet."""
    claims = [claim for claim in checked(*body) if isinstance(claim, Meeting)]
    return "by strides" if not claims else "not at all" if any(map(counterexample, claims)) else "by the solver"


@pytest.mark.parametrize("flags", SIDE_BY_SIDE, ids=lambda flags: next(iter(flags)))
@pytest.mark.parametrize(("place", "expected"), PLACES.values(), ids=PLACES)
def test_iterations_side_by_side_store_in_different_places(place, expected, flags):
    i, j, y = axis("i", 8), axis("j", 4), Buffer("y", (64,), F32, "output")
    body = over(j, Store((y, place(i, j)), one()))
    assert proven(over(i, body, **flags)) == expected
    assert proven(over(i, body)) == "by strides"  # one after the other they may


@pytest.mark.parametrize("flags", SIDE_BY_SIDE, ids=lambda flags: next(iter(flags)))
@pytest.mark.parametrize(("other", "expected"), [(0, "by strides"), (1, "not at all"), (8, "by strides")])
def test_iterations_side_by_side_do_not_read_what_others_store(other, expected, flags):
    i, y = axis("i", 8), Buffer("y", (64,), F32, "output")
    assert proven(over(i, Store((y, i), load(y, linear(other, [(i, 1)]), F32)), **flags)) == expected


@pytest.mark.parametrize(("below", "expected"), [(4, "by the solver"), (5, "not at all")])
def test_conditions_tell_that_iterations_do_not_meet(below, expected):
    i, y = axis("i", 8), Buffer("y", (64,), F32, "output")
    body = When(compare("lt", i, number(below)), [Store((y, mod(i, number(4))), one())])
    assert proven(over(i, body, simd=True)) == expected


def test_what_is_outside_of_the_loop_is_the_same_in_all_of_its_iterations():
    k, i, y, at = axis("k", 8), axis("i", 8), Buffer("y", (64,), F32, "output"), x(8, I32)
    row = linear(0, [(index_of(load(at, k, at.dtype)), 8), (i, 1)])
    assert proven(over(k, over(i, Store((y, row), one()), simd=True))) == "by strides"
    assert proven(over(k, over(i, Store((y, row), one())), independent=True)) == "not at all"


def test_what_an_iteration_writes_for_itself_is_another_in_each():
    i, k, y, at = axis("i", 8), axis("k", 2), Buffer("y", (99,), F32, "output"), Buffer("at", (2,), I32, "row")
    place = linear(0, [(index_of(load(at, number(0), at.dtype)), 1), (i, 1)])
    store, own = Store((y, place), one()), [Row(at), over(k, Store((at, k), literal(3, I32)))]
    assert proven(*own, over(i, store, simd=True)) == "by strides"
    assert proven(over(i, *own, store, simd=True)) == "not at all"


def test_a_row_of_each_iteration_is_its_own():
    row = Buffer("r", (1,), F32, "row")
    assert checked(over(axis("i", 8), Row(row), Store((row, number(0)), one()), independent=True)) == []


def test_an_element_read_before_and_after_it_changes():
    y, array = Buffer("y", (2,), F32, "output"), x()
    read = load(array, number(0), F32)
    with pytest.raises(KernelError, match="before and after"):
        checked(Store((y, number(0)), read), Store((array, number(0)), one()), Store((y, number(1)), read))


def test_an_offset_beyond_its_array():
    i = axis("i", 8)
    access, = checked(over(i, Store((x(), linear(1, [(i, 1)])), one())))
    assert "i = 7" in counterexample(access).replace("axis_0_", "").replace("'", "") or "7" in counterexample(access)


@pytest.mark.parametrize("below", [7, 8])
def test_a_guard_that_the_solver_needs(below):
    i = axis("i", 8)
    store = Store((x(), linear(1, [(i, 1)])), one())
    access, = checked(over(i, When(compare("lt", i, number(below)), [store])))
    assert bool(counterexample(access)) == (below == 8)


def test_a_side_that_is_not_chosen():
    i, y, array = axis("i", 8), Buffer("y", (8,), F32, "output"), x()
    shifted = where(compare("le", number(1), i), load(array, linear(-1, [(i, 1)]), F32), one())
    access, = checked(over(i, Store((y, i), shifted)))
    assert counterexample(access) == ""
