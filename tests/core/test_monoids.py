"""Every fold keeps what it is folded with its identity, in every type that it is used with."""

import numpy as np
import pytest

from tinytrace.core.dtypes import BFLOAT16, BOOL
from tinytrace.core.formulas import operand
from tinytrace.core.monoids import identity, monoid, monoids

NUMBERS = [np.dtype(name) for name in ("float32", "float64", "int8", "int32", "uint8", "uint32")] + [BFLOAT16]
BITS = [dtype for dtype in NUMBERS if dtype.kind in "iu"] + [BOOL]
DTYPES = {"and": BITS, "or": BITS, "xor": BITS, "logsumexp": NUMBERS[:2]}


@pytest.mark.parametrize("fold", monoids.values(), ids=lambda fold: fold.name)
def test_the_identity_changes_nothing(fold):
    for dtype in DTYPES.get(fold.name, NUMBERS):
        xs = np.array([0, 1, 3, 100, *([] if dtype.kind in "bu" else [-2, -77])], dtype)
        start = identity(fold.name, dtype)
        assert start.dtype == dtype
        for take in (fold.ufunc, fold.of_two or fold.ufunc):
            other = xs if fold.name == "sub" else start  # what is subtracted comes second
            np.testing.assert_array_equal(take(other, start if fold.name == "sub" else xs), xs)


@pytest.mark.parametrize("fold", monoids.values(), ids=lambda fold: fold.name)
def test_c_mentions_what_is_folded_and_the_element(fold):
    x, y = operand(0, np.dtype("float32")), operand(1, np.dtype("float32"))
    text = repr(fold.formula(x, y))
    assert "operand(0)" in text
    assert "operand(1)" in text


def test_a_name_stands_for_one_fold():
    with pytest.raises(ValueError, match="a fold called 'sum' already"):
        monoid("sum", "hypot", lambda x, y: x, np.hypot, lambda dtype: 0)
    assert monoids["sum"].ufunc is np.add
