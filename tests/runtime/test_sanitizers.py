"""The pools under gcc's sanitizers: no data race, no wild access, no undefined arithmetic."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
CSRC = HERE.parent.parent / "csrc"


# -Wno-tsan: the sanitizer does not know fences; where the pool uses them, the data are atomic anyway.
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_the_pools_are_clean(tmp_path, sanitizer):
    sources = [HERE / "pool_stress.c", CSRC / "pool.c", CSRC / "alloc.c"]
    build = subprocess.run(
        ["gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-tsan", f"-fsanitize={sanitizer}",
         f"-I{CSRC}", *map(str, sources), "-o", str(tmp_path / "stress"), "-lpthread"],
        capture_output=True, text=True,
    )  # fmt: skip
    if "cannot find" in build.stderr:
        pytest.skip(f"no runtime for -fsanitize={sanitizer} on this machine")
    assert build.returncode == 0, build.stderr
    done = subprocess.run([tmp_path / "stress"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
