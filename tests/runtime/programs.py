"""Small C programs for the tests of the runtime, and what is needed to run them.

Child processes import this: without pytest they start in two thirds of the time.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import time
import warnings
from collections.abc import Callable

import numpy as np

from tinytrace.codegen.csource import CSource
from tinytrace.core.avals import ShapedArray
from tinytrace.csources import host_source
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.threads import num_threads, set_num_threads

ENTRY = "int32_t tt_entry(void *const *buffers, const struct tt_host *host)"
F32 = ShapedArray((16,), np.dtype("float32"))


def shared_store():
    """To be a module's fixture `store_folder` whose programs are the same in many tests: all tests' store serves."""
    before = num_threads()
    yield
    set_num_threads(before)


def program(body: str, helpers: str = "") -> CSource:
    """A source whose entry has this body; its buffers are in[16] and out[16] of float."""
    text = f"""{host_source()}{helpers}
{ENTRY} {{
    const float *in = buffers[0];
    float *out = buffers[1];
    (void)host;
    (void)in;
    (void)out;
{body}
}}
"""
    return CSource(text, "tt_entry", (F32,), (F32,))


def adder(amount: int) -> CSource:
    """out = in + amount."""
    return program(f"    for (int i = 0; i < 16; i++) out[i] = in[i] + {amount};\n    return TT_OK;")


def answer(executable: Executable) -> list[float]:
    """What a program makes of 0, 1, ... 15."""
    inputs, outputs = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    executable([inputs.ctypes.data, outputs.ctypes.data])
    return outputs.tolist()


def expected(amount: int) -> list[float]:
    """What `adder(amount)` must answer."""
    return [float(i + amount) for i in range(16)]


def script(path: os.PathLike[str], text: str) -> str:
    """Write an executable shell script and return its path."""
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, stat.S_IRWXU)
    return os.fspath(path)


def in_child(action: Callable[[], object]) -> tuple[int, str]:
    """Run an action in a forked child; its exit code (0: fine, 1: it raised, -14: over 20 s) and what it returned."""
    return begin_child(action)()


def begin_child(action: Callable[[], object]) -> Callable[[], tuple[int, str]]:
    """Fork a child for an action; what waits for it."""
    # Children of one test begin in one thread: under gcc 12's address sanitizer, which locks its list of threads while
    # one begins and unlocks it in no child, a child that is forked meanwhile waits for ever when it begins one itself.
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads: our subject
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(20)
            os.write(writer, str(action()).encode())
            status = 0
        except BaseException as error:
            os.write(writer, repr(error).encode())
        finally:
            os._exit(status)
    os.close(writer)

    def wait() -> tuple[int, str]:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with open(reader, "rb", buffering=0) as file:  # the pipe may have no end: other children inherit it
            return status, file.read(65536).decode() if select.select([file], [], [], 0)[0] else ""

    return wait


def has_ended(pid: int) -> bool:
    """Whether a killed process is gone; that is so some moments after the signal."""
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split()[2] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False
