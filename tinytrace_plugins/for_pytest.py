"""pytest's entry point: fresh caches, a counter of traces, golden files of jaxprs and C, counter-examples as jaxprs.

    def test_one_trace(trace_counter): ...              trace_counter() is the number of traces so far in this test
    @pytest.mark.usefixtures("fresh_cache")             nothing is remembered from before, in memory or on disk
    def test_text(golden_jaxpr): golden_jaxpr("selu.txt", selu, x)
    def test_c(golden_c): golden_c("selu.c", selu, x)   compared with goldens/ beside the test; --update-goldens writes

A test that fails on a case drawn from `tinytrace.testing.cases` shows the case's jaxpr in its report.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tinytrace")
    group.addoption("--update-goldens", action="store_true",
                    help="write the files of golden_jaxpr and golden_c instead of comparing with them")
    parser.addini("tinytrace_fresh_cache", "every test begins with empty caches", type="bool", default=False)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getini("tinytrace_fresh_cache"):
        for item in items:
            if isinstance(item, pytest.Function):
                item.fixturenames.insert(0, "fresh_cache")


@pytest.fixture
def fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Empty caches: what was traced and compiled before is forgotten, and programs are kept in a new folder."""
    tinytrace = importlib.import_module("tinytrace")
    config = tinytrace.config
    before, folder = config.read("cache_dir"), tmp_path_factory.mktemp("tinytrace")
    tinytrace.clear_caches()
    config.update("cache_dir", str(folder))
    try:
        yield folder
    finally:
        config.update("cache_dir", before)
        tinytrace.clear_caches()


@pytest.fixture
def trace_counter() -> Iterator[Callable[[], int]]:
    """How often jitted functions were traced since the test began."""
    with importlib.import_module("tinytrace.testing").count_traces() as traces:
        yield traces


@pytest.fixture
def golden_jaxpr(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`golden_jaxpr(file, f, *args)`: is the jaxpr of `f` what the file says?"""
    def compare(name: str, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        make_jaxpr = importlib.import_module("tinytrace").make_jaxpr
        _compare(request, name, f"{make_jaxpr(fun)(*args, **kwargs)}\n")
    return compare


@pytest.fixture
def golden_c(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`golden_c(file, f, *args)`: is the C of `f` what the file says?"""
    def compare(name: str, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        jit = importlib.import_module("tinytrace").jit
        lowered = (fun if hasattr(fun, "lower") else jit(fun)).lower(*args, **kwargs)
        _compare(request, name, lowered.as_text())
    return compare


def _compare(request: pytest.FixtureRequest, name: str, text: str) -> None:
    __tracebackhide__ = True
    path = request.path.parent / "goldens" / name
    if request.config.getoption("--update-goldens"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not path.exists():
        pytest.fail(f"there is no {path}: run pytest --update-goldens to write it")
    assert text == path.read_text(), f"{name} differs: run pytest --update-goldens if it should"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    strategies = sys.modules.get("tinytrace.testing.strategies")
    if strategies is None or call.when != "call":
        return
    report = outcome.get_result()
    drawn = getattr(strategies, "last_drawn", [])
    if report.failed and drawn:
        report.sections.append(("the case that was drawn last, as a jaxpr", _as_jaxpr(drawn[0])))
    drawn.clear()


def _as_jaxpr(case: Any) -> str:
    try:
        return f"{sys.modules['tinytrace'].make_jaxpr(case.program.function())(*case.arguments)}\n{case!r}"
    except Exception as error:  # the fault may be in tracing itself
        return f"it cannot be traced: {error!r}\n{case!r}"
