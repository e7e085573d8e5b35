"""The pytest plugin of `run.py`: installs the stand-in, and writes the outcome of each test."""
from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import Any

from tests.jax_tests import stand_in

sys.set_int_max_str_digits(0)
stand_in.install(pathlib.Path(os.environ["JAX_TESTS_SOURCE"]))
_report = pathlib.Path(os.environ["JAX_TESTS_REPORT"]).open("a")  # noqa: SIM115 (as long as the process)


def pytest_collection_finish() -> None:
    """All tests have been imported."""
    stand_in.begin()


def pytest_runtest_logreport(report: Any) -> None:
    """Write one line for each test: of its call, or of what kept it from being called."""
    expected = report.outcome == "passed" if report.when == "setup" else report.outcome != "failed"
    if report.when != "call" and expected:
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    error = " ".join(str(crash.message if crash else report.longrepr or "").split())[:400]
    print(json.dumps([report.outcome, report.nodeid.rpartition("/")[2], error]), file=_report, flush=True)
