"""Each rule of the verifier, against a kernel that breaks it."""

import numpy as np
import pytest

from tests.codegen.ir.solver import outside
from tinytrace.codegen.ir.arithmetic import compare, linear, where
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.ir.inserted_operations import add
from tinytrace.codegen.ir.kernel import Nest
from tinytrace.codegen.ir.nodes import apply, axis, fresh_nodes, literal, load, local, number
from tinytrace.codegen.ir.statements import Buffer, Combine, Declare, For, Row, Store, When
from tinytrace.codegen.ir.verifier import verify

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


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


@pytest.mark.parametrize("inside", ["store", "load", "bound", "guard", "sum"])
def test_a_variable_that_nobody_declared_wherever_an_index_may_stand(inside):
    i, s, y = axis("i", 8), local("s", np.dtype(np.int64)), Buffer("y", (8,), F32, "output")
    bodies = {
        "store": [Store((y, s), one())],
        "load": [Store((y, number(0)), load(x(), s, F32))],
        "bound": [For(i, number(0), s, [Store((y, i), one())])],
        "guard": [When(compare("lt", s, number(3)), [Store((y, number(0)), one())])],
        "sum": [Combine((y, s), "sum", one())],
    }
    with pytest.raises(KernelError, match="declared"):
        checked(*bodies[inside])


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


def test_independent_iterations_that_store_in_one_place():
    with pytest.raises(KernelError, match="store in x"):
        checked(over(axis("i", 8), Store((x(), number(0)), one()), independent=True))


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
    assert "i = 7" in outside(access).replace("axis_0_", "").replace("'", "") or "7" in outside(access)


@pytest.mark.parametrize("below", [7, 8])
def test_a_guard_that_the_solver_needs(below):
    i = axis("i", 8)
    store = Store((x(), linear(1, [(i, 1)])), one())
    access, = checked(over(i, When(compare("lt", i, number(below)), [store])))
    assert bool(outside(access)) == (below == 8)


def test_a_side_that_is_not_chosen():
    i, y, array = axis("i", 8), Buffer("y", (8,), F32, "output"), x()
    shifted = where(compare("le", number(1), i), load(array, linear(-1, [(i, 1)]), F32), one())
    access, = checked(over(i, Store((y, i), shifted)))
    assert outside(access) == ""
