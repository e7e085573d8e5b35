"""The rules by which tests of JAX do not count, and the stand-ins; the tests themselves run by `make jax-tests`."""

import re

import pytest

from tests.jax_tests import stand_in
from tests.jax_tests.run import outside


def test_each_pattern_has_a_reason():
    rules = outside()
    assert rules
    for pattern, reason in rules.items():
        assert reason, pattern
        assert not re.search(pattern, "lax_test.py::LaxTest::testAdd: AssertionError: Arrays are not equal")


def test_a_stand_in_can_be_mentioned_and_not_used(monkeypatch):
    monkeypatch.setattr(stand_in._Absent, "collecting", False)
    absent = stand_in.absent("jax._src.core.UnshapedArray")
    assert not isinstance(1, absent)
    for use in (lambda: absent(1), lambda: absent.shape):
        with pytest.raises(stand_in.Inside, match=r"jax\._src\.core\.UnshapedArray.* is a part of JAX's insides"):
            use()
