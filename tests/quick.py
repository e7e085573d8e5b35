"""Which cases of tests run: all, every Nth of long tables (--sample), or what `make test-fast` runs (--quick)."""

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
    if options.quick:
        metafunc._calls = quick_cases(cases, marks)
    elif len(cases) > MANY_CASES:
        metafunc._calls = cases[options.first % options.sample::options.sample]


def quick_cases(cases, marks):
    """Which cases of a test --quick runs; those that are slow are left out first."""
    fit = [case for case in cases if not NOT_QUICK & {mark.name for mark in case.marks}] or cases
    return fit if "every_case" in marks else fit[::QUICKLY]


def pytest_collection_modifyitems(config, items):
    if config.option.quick:
        slow = {item for item in items if NOT_QUICK & {mark.name for mark in item.iter_markers()}}
        config.hook.pytest_deselected(items=[item for item in items if item in slow])
        items[:] = [item for item in items if item not in slow]
