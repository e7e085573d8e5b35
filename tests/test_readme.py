"""The examples of the README and of the pages in docs/ do what these texts say."""

import doctest
import pathlib
import re

import pytest

from tinytrace import clear_caches
from tinytrace.config import config
from tinytrace.core.primitive import registry
from tinytrace.runtime.failures import forget_announcements

ROOT = pathlib.Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [ROOT / "docs" / "start.md", ROOT / "docs" / "exactness.md",
         *sorted((ROOT / "docs").glob("howto/*.md")), *sorted((ROOT / "docs").glob("stages/*.md"))]
NEEDS = {"dask": "distributed"}  # what is not installed everywhere
FLAGS = doctest.ELLIPSIS


@pytest.fixture
def put_back():
    """Pages change settings, get warnings that are given once, and define primitives."""
    before, primitives = config.values, dict(registry)
    forget_announcements()
    clear_caches()  # pages tell of first calls
    yield
    for name, value in before.items():
        config.update(name, value)
    for name in registry.keys() - primitives.keys():
        del registry[name]
    forget_announcements()


def test_the_example_runs():
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried >= 7
    assert failures == 0


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    failures, tried = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert tried >= 3
    assert failures == 0


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_python_blocks_are_examples_that_run(page):
    """A block of Python that doctest does not see would never be tried; a fence behind output would be part of it."""
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        assert block.startswith(">>> ")
        assert block.endswith("\n\n")


def test_the_files_it_names_exist():
    table = README.read_text().split("## Where do I find...?")[1].split("## The layers")[0]
    named = [name for name in re.findall(r"`([^`()]+)`", table) if "/" in name]
    assert len(named) >= 10
    assert [name for name in named if not (README.parent / name).exists()] == []
