"""The pools under gcc's sanitizers: no data race, no wild access, no undefined arithmetic; wild accesses are seen.

`make sanitize` runs compiled programs under the same sanitizers: tests/sanitized.
"""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
CSRC = HERE.parent.parent / "csrc"


def stress(folder: pathlib.Path, sanitizer: str) -> pathlib.Path:
    """The stress program, compiled under a sanitizer."""
    # -Wno-tsan: the sanitizer does not know fences; where the pool uses them, the data are atomic anyway.
    sources = [HERE / "pool_stress.c", CSRC / "pool.c", CSRC / "alloc.c"]
    build = subprocess.run(
        ["gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-tsan", f"-fsanitize={sanitizer}",
         f"-I{CSRC}", *map(str, sources), "-o", str(folder / "stress"), "-lpthread"],
        capture_output=True, text=True,
    )  # fmt: skip
    if "cannot find" in build.stderr:
        pytest.skip(f"no runtime for -fsanitize={sanitizer} on this machine")
    assert build.returncode == 0, build.stderr
    return folder / "stress"


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_the_pools_are_clean(tmp_path, sanitizer):
    environment = {**os.environ, "LSAN_OPTIONS": "use_poisoned=1"}  # free blocks are poisoned, and hold their list
    done = subprocess.run([stress(tmp_path, sanitizer)], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_wild_accesses_to_blocks_of_the_pool_are_seen(tmp_path):
    """Though blocks are larger than what was asked for, and stay allocated when they are freed."""
    program = stress(tmp_path, "address")
    for size in ("1", "64", "100", "5000000"):
        for sort in ("over", "under", "freed"):
            if sort == "under" and size == "5000000":
                continue  # a mapping of its own: what is before it belongs to nobody
            done = subprocess.run([program, sort, size], capture_output=True, text=True)
            assert "ERROR: AddressSanitizer: " in done.stderr, (sort, size)
        done = subprocess.run([program, "inside", size], capture_output=True, text=True)
        assert "ERROR: AddressSanitizer: " not in done.stderr, size


@pytest.mark.parametrize("sanitizer", ["", "-fsanitize=address,undefined", "-fsanitize=thread"])
def test_kernels_are_not_written_out_where_each_access_is_checked(tmp_path, sanitizer):
    """Products and LU are written out a hundred times; with checks in them, gcc 12 took ten minutes for one file."""
    text = tmp_path / "kernel.c"
    text.write_text('#include "vectors.h"\nALWAYS_INLINE int kernel(int x) { return x; }\n')
    flags = sanitizer.split()
    done = subprocess.run(["gcc", *flags, f"-I{CSRC}", "-E", str(text)], capture_output=True, text=True, check=True)
    assert ("always_inline" in done.stdout.splitlines()[-1]) == (not sanitizer)
