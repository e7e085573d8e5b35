"""Which cases of tests run: all, every Nth of long tables (--sample), or what `make test-fast` runs (--quick).

A test that is marked `pairs` has three axes. Of their product it runs the cases in which the place on the shortest axis
is the sum of the other two places, modulo its length: every value meets every value of each other axis, once.
`pytest --thorough`, which is `make test-thorough`, runs the whole product.
"""

import math

import pytest

MANY_CASES = 50
QUICKLY = 48
NOT_QUICK = {"slow", "not_quick"}


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Before tests are made of cases, for that takes a third of the time when few of them are wanted."""
    yield
    options, marks = metafunc.config.option, {mark.name for mark in metafunc.definition.iter_markers()}
    cases = metafunc._calls  # pytest has no public name for it
    if "pairs" in marks and not options.thorough:
        axes = [names_of(mark) for mark in metafunc.definition.iter_markers("parametrize")]
        cases = metafunc._calls = pairs(cases, axes)
    if options.quick:
        metafunc._calls = quick_cases(cases, marks)
    elif len(cases) > MANY_CASES:
        metafunc._calls = cases[options.first % options.sample::options.sample]


def names_of(mark):
    """The first parameter of an axis: the places of all its parameters are the same."""
    names = mark.args[0]
    return names.split(",")[0].strip() if isinstance(names, str) else names[0]


def pairs(cases, axes):
    """Of the product of three axes, those cases that together have each pair of values."""
    places = [[case.indices[axis] for axis in axes] for case in cases]
    lengths = [max(column) + 1 for column in zip(*places, strict=True)]
    assert len(axes) == 3, f"`pairs` is for three axes, not for {axes}"
    assert len(cases) == math.prod(lengths), "`pairs` is for a product of axes"
    shortest = lengths.index(min(lengths))
    return [case for case, place in zip(cases, places, strict=True)
            if place[shortest] == (sum(place) - place[shortest]) % lengths[shortest]]


def quick_cases(cases, marks):
    """Which cases of a test --quick runs; those that are slow are left out first."""
    fit = [case for case in cases if not NOT_QUICK & {mark.name for mark in case.marks}] or cases
    return fit if "every_case" in marks else fit[::QUICKLY]


def pytest_collection_modifyitems(config, items):
    if config.option.quick:
        slow = {item for item in items if NOT_QUICK & {mark.name for mark in item.iter_markers()}}
        config.hook.pytest_deselected(items=[item for item in items if item in slow])
        items[:] = [item for item in items if item not in slow]
