"""Errors planted in compiled programs are seen when they run under the sanitizers: what `make sanitize` rests upon."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tinytrace as jax
from tests.runtime.programs import in_child, program
from tinytrace._runtime import lib
from tinytrace.runtime.ladder import load

LIBRARIES = os.environ.get("LD_PRELOAD", "")
addresses = pytest.mark.skipif("libasan" not in LIBRARIES, reason="run by `make sanitize`")
threads = pytest.mark.skipif("libtsan" not in LIBRARIES, reason="run by `make sanitize`")

ERRORS = {
    "a write after the end": "out[16] = in[0];",
    "a write far after the end": "out[(int)in[0] + 25] = 1;",
    "a write before the start": "out[-1] = in[0];",
    "a read after the end": "out[0] = in[(int)in[0] + 16];",
    "a read of a free block": "void *p = host->alloc(64); host->free(p, 64); out[0] = *(float *)p;",
    "a write beside an array on the stack": "float local[8]; local[(int)in[0] + 8] = 1; out[0] = local[(int)in[1]];",
    "a misaligned read": "out[0] = *(const float *)((const char *)in + (int)in[0] + 1);",
    "a shift by too much": "out[0] = (float)(1 << (int)(in[0] + 32));",
    "a float that does not fit": "out[0] = (float)(int)(in[0] + 3e9f);",
    "a division by zero": "out[0] = (float)(1 / (int)in[0]);",
}


def run(body: str) -> str:
    """What a program makes of zeros, in blocks of the pool."""
    inputs, outputs = lib.tt_alloc(64), lib.tt_alloc(64)
    try:
        executable = load(program("    for (int i = 0; i < 16; i++) out[i] = 0;\n    return TT_OK;"))
        executable([outputs, inputs])
        load(program(f"    {body}\n    return TT_OK;"))([inputs, outputs])
    finally:
        lib.tt_free(inputs, 64)
        lib.tt_free(outputs, 64)
    return "went on"


@addresses
def test_a_program_without_errors_goes_on():
    assert in_child(lambda: run("out[15] = in[15];")) == (0, "went on")


@addresses
@pytest.mark.parametrize("error", ERRORS)
def test_it_is_seen(error):
    status, text = in_child(lambda: run(ERRORS[error]))
    assert status != 0
    assert text == ""


@addresses
def test_generated_programs_are_instrumented_too():
    compiled = jax.jit(lambda x: x + 1).lower(np.float32([1])).compile()
    assert any(flag.startswith("-fsanitize=address,undefined") for flag in compiled.executable.key.argv)


RACE = r"""
import numpy as np
from tests.runtime.programs import program
from tinytrace.runtime.ladder import load
from tinytrace.runtime.threads import set_num_threads
set_num_threads(4)
helpers = '''static void body(void *ctx, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
        for (int turn = 0; turn < 1000; turn++) ((volatile float *)ctx)[PLACE] += 1;
}
'''
executable = load(program("    host->parallel_for(body, out, 640, 10);\n    return TT_OK;", helpers))
inputs, outputs = np.zeros(16, np.float32), np.zeros(640, np.float32)
for _ in range(20):
    executable([inputs.ctypes.data, outputs.ctypes.data])
"""


@threads
@pytest.mark.parametrize(("place", "status"), [("0", 66), ("i", 0)])
def test_a_race_is_seen(place, status):
    """Pieces of one loop that all write to one place; in a process of its own, for the first report ends it."""
    ended = subprocess.run([sys.executable, "-c", RACE.replace("PLACE", place)], capture_output=True, text=True)
    assert ended.returncode == status, ended.stderr
    assert ("data race" in ended.stderr) == bool(status)
