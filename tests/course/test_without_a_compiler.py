"""Chapters 1 to 6 where there is nothing but Python: no C extension (TINYTRACE_PURE=1) and no C compiler.

Of each chapter the first exercise, the last one and all predictions are tried.
"""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

CHECKED = """
import sys
from course import library, predicting
from course.checker import bench_of, check

for number in map(int, sys.argv[1:]):
    first, *others = library.chapter(number).exercises
    program, message = first.wrong[0]
    assert check(first, bench_of(first).answer(program)).message == message, first.id
    for exercise in (first, *others[-1:]):
        assert check(exercise, bench_of(exercise).solution), exercise.id
    for prediction in library.chapter(number).predictions:
        if "cache_size" not in prediction.program and "counted" not in prediction.program:  # these call what is jitted
            predicting.answer(prediction)
print("all of them")
"""


@pytest.mark.slow
def test_checkers_need_python_only(tmp_path):
    here = {**os.environ, "TINYTRACE_PURE": "1", "CC": str(tmp_path / "no-compiler")}
    here |= {"TINYTRACE_CACHE_DIR": str(tmp_path), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tutorials'}"}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", CHECKED, *"123456"]
    done = subprocess.run(command, env=here, capture_output=True, text=True, check=False)
    assert done.stdout == "all of them\n", done.stderr
