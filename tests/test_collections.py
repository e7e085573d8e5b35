"""Python's garbage collector is off while a program is generated, and is left as it was found."""
import gc

import pytest

from tinytrace.util import _Collections, uncollected


@pytest.fixture(autouse=True)
def collector():
    yield
    gc.enable()
    _Collections.paused = False


@uncollected
def is_collecting(*inner):
    return gc.isenabled() or any(function() for function in inner)


@uncollected
def failing():
    raise KeyError


def test_it_is_off_inside_and_on_afterwards():
    assert not is_collecting(is_collecting)
    assert gc.isenabled()
    with pytest.raises(KeyError):
        failing()
    assert gc.isenabled()


def test_who_has_switched_it_off_keeps_it_off():
    gc.disable()
    assert not is_collecting()
    assert not gc.isenabled()


def test_what_was_interrupted_before_its_end_is_mended_by_the_next():
    gc.disable()
    _Collections.paused = True
    assert not is_collecting()
    assert gc.isenabled()
