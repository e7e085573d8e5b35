"""The records of operations: one per operation, true to their laws, and the same as what the formulas say."""

import numpy as np
import pytest

from tests.primitives import domains
from tinytrace.codegen.ir import inserted_operations as inserted
from tinytrace.core.dtypes import is_float
from tinytrace.core.formulas import call, choose, operand
from tinytrace.core.operations import LAWS, operation
from tinytrace.core.primitive import registry
from tinytrace.primitives.elementwise import Elementwise, accepts
from tinytrace.primitives.rounding import RoundingMethod

F32, I32, U8, BOOL = map(np.dtype, ("float32", "int32", "uint8", "bool"))
OURS = [p for p in registry.values() if type(p).__module__.startswith("tinytrace.")]
ELEMENTWISE = [p for p in OURS if isinstance(p, Elementwise)]
WITH_LAWS = [p for p in ELEMENTWISE if p.laws]
PARAMETERS = {
    "convert_element_type": {"new_dtype": np.dtype("float32"), "weak_type": False},
    "integer_pow": {"y": 3}, "round": {"rounding_method": RoundingMethod.TO_NEAREST_EVEN},
    "reduce_precision": {"exponent_bits": 5, "mantissa_bits": 10},
}


def record(primitive, dtype):
    return primitive.operation(*[dtype] * len(primitive.accepts), **PARAMETERS.get(primitive.name, {}))


def numbers(primitive, dtype, count):
    """Operands from where the operation is defined; some of them equal, some of them 0 and 1."""
    rng = np.random.default_rng(0)
    low, high = domains.INTERVALS.get(primitive.name, (-3, 3))
    if dtype == BOOL:
        return [rng.random(200) < 0.5 for _ in range(count)]
    if is_float(dtype):
        return [rng.uniform(low, high, 200).astype(dtype) for _ in range(count)]
    return [rng.integers(0 if dtype.kind == "u" else -100, 100, 200).astype(dtype) for _ in range(count)]


def same(got, wanted):
    if is_float(np.asarray(got).dtype):
        return np.allclose(got, wanted, 1e-5, 1e-6)
    return np.array_equal(got, wanted)


def holds(law, f, xs):
    x, *others = xs
    if law == "commutative":
        return same(f(x, others[0]), f(others[0], x))
    if law == "associative":
        y, z = others[0], x[::-1].copy()
        return same(f(f(x, y), z), f(x, f(y, z)))
    if law == "idempotent":
        return same(f(x, x), x) if others else same(f(f(x)), f(x))
    if law == "monotone":
        return np.all(np.diff(np.asarray(f(*(np.sort(v) for v in xs))).astype(np.float64)) >= -1e-6)
    if law in ("odd", "even"):
        return x.dtype.kind not in "if" or same(f(-x), -f(x) if law == "odd" else f(x))
    assert law == "involution"
    return same(f(f(x)), x)


@pytest.mark.parametrize("primitive", WITH_LAWS, ids=lambda p: p.name)
def test_laws_hold(primitive):
    for dtype in (F32, I32, U8, BOOL):
        if all(accepts(kinds, dtype) for kinds in primitive.accepts):
            op = record(primitive, dtype)
            assert op.laws <= LAWS.keys()
            xs = numbers(primitive, dtype, op.arity)
            assert [law for law in op.laws if not holds(law, op.numpy, xs)] == [], dtype


@pytest.mark.parametrize("law", LAWS)
def test_a_law_is_not_held_by_everything(law):
    """The check itself can fail: subtraction, or one of a few others, breaks every law."""
    one_operand = law in ("odd", "even", "involution")
    wrong = [lambda x: x + 1] if one_operand else [lambda x, y: x - 2 * y]
    xs = numbers(registry["sub"], F32, 1 if one_operand else 2)
    assert not any(holds(law, f, xs) for f in wrong)


@pytest.mark.parametrize("primitive", ELEMENTWISE, ids=lambda p: p.name)
def test_records_say_what_numpy_does(primitive):
    """The type of the result, and the same object for the same operation."""
    for dtype in (F32, I32, BOOL):
        if all(accepts(kinds, dtype) for kinds in primitive.accepts):
            op = record(primitive, dtype)
            assert record(primitive, dtype) is op
            with np.errstate(all="ignore"):
                assert np.asarray(op.numpy(*numbers(primitive, dtype, op.arity))).dtype == op.result
            assert len(op.mentions) == op.arity


def test_functions_state_how_exact_they_are():
    """Only special functions of two or three operands, and rational steps around calls, have no bound."""
    silent = {p.name for p in ELEMENTWISE if accepts(p.accepts[0], F32) and record(p, F32).ulp is None}
    assert silent == {"integer_pow", "polygamma", "zeta", "igamma", "igammac", "igamma_grad_a", "random_gamma_grad",
                      "regularized_incomplete_beta"}


def test_what_is_read_off_a_formula():
    x, y = operand(0, F32), operand(1, F32)
    op = operation("test_formula", (F32, F32), F32, choose(x > 0, call("exp", x) / y, y), np.add)
    assert (op.calls, op.divisions, op.mentions, op.sides) == (("tt_exp_f32",), 1, (2, 2), {0, 1})
    assert (op.ulp, op.is_exact, op.is_conversion) == (None, False, False)
    assert operation("test_formula", (F32, F32), F32, choose(x > 0, call("exp", x) / y, y), np.add) is op


@pytest.mark.parametrize("make", [inserted.add, inserted.sub, inserted.mul, inserted.div, inserted.neg])
def test_inserted_arithmetic_is_that_of_rooms(make):
    op = make(F32)
    assert registry[op.name].operation(*op.operands) is op
    assert op.is_exact


@pytest.mark.parametrize(("fold", "meets"), [("nan_max", np.maximum), ("nan_min", np.minimum)])
def test_folds_keep_nan(fold, meets):
    values = np.array([1, np.nan, -2, np.inf], np.float32)
    x, y = map(np.ravel, np.meshgrid(values, values))
    np.testing.assert_array_equal(inserted.fold_operation(fold, F32).numpy(x, y), meets(x, y))
