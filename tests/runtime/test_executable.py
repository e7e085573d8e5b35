"""Calling loaded programs: statuses, callbacks, loading from memory, and unloading."""

from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest

from tests.runtime.programs import adder, answer, expected, program
from tinytrace._runtime import lib
from tinytrace.codegen.csource import CSource
from tinytrace.csources import host_source
from tinytrace.runtime import callbacks, ladder
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.failures import CompileError
from tinytrace.runtime.ladder import load


def library_of(source) -> tuple:
    loaded = load(source)
    with open(loaded.path, "rb") as file:
        return loaded.key, file.read()


def test_statuses_become_exceptions():
    with pytest.raises(MemoryError, match="could not allocate its temporary memory"):
        answer(load(program("    return host->alloc((size_t)-1) ? TT_OK : TT_NO_MEMORY;")))
    with pytest.raises(SystemError, match="unknown status 99"):
        answer(load(program("    return 99;")))


def test_alloc_and_free_of_the_host():
    before = lib.tt_alloc(0)
    lib.tt_free(before, 0)
    body = """\
    float *block = host->alloc(1 << 20);
    for (int i = 0; i < 16; i++) block[i] = in[i];
    for (int i = 0; i < 16; i++) out[i] = block[i] + 1;
    host->free(block, 1 << 20);
    return (uintptr_t)block % 64 ? 99 : TT_OK;"""
    assert answer(load(program(body))) == expected(1)


def test_the_file_may_be_changed_while_the_program_is_in_use():
    """A library whose mapped file is cut short kills its process: what is loaded is a copy."""
    executable = load(adder(1))
    os.truncate(executable.path, 0)
    assert answer(executable) == expected(1)


@pytest.mark.parametrize("path", ["", "/nowhere/kernel.so", "there"])
def test_without_memory_files_the_file_or_a_copy_serves(monkeypatch, path):
    key, library = library_of(adder(1))
    path = load(adder(1)).path if path == "there" else path

    def no_copy(library, name):
        raise OSError("no file in memory can be made")

    monkeypatch.setattr("tinytrace.runtime.executable.load_copy", no_copy)
    assert answer(Executable(key, adder(1).symbol, path, library)) == expected(1)


def test_a_library_that_is_cut_short_is_not_loaded():
    """At every length: the loader would map what is not there."""
    key, library = library_of(adder(1))
    refused = 0
    for length in [*range(200), *range(200, len(library), 97), len(library) - 1]:
        try:
            executable = Executable(key, adder(1).symbol, "", library[:length])
        except CompileError:
            refused += 1
        else:
            assert answer(executable) == expected(1)  # only names of sections were missing
    assert refused > 200


def test_what_cannot_be_loaded_says_why():
    key, library = library_of(adder(1))
    with pytest.raises(CompileError, match=r"cannot be loaded: .*undefined symbol: missing"):
        Executable(key, "missing", "", library)
    with pytest.raises(CompileError, match=r"cannot be loaded: .*(ELF|too short)"):
        Executable(key, adder(1).symbol, "", b"not a library at all, but long enough to have a header " * 9)


def is_mapped(path: str) -> bool:
    with open("/proc/self/maps") as maps:
        return path in maps.read()


def test_a_dropped_program_is_unloaded():
    executable = load(program("    return TT_OK; /* of this test alone */"))
    path = f"tinytrace:{executable.key.digest[:12]}"
    assert is_mapped(path)
    ladder.clear_memory()
    assert is_mapped(path)
    del executable
    gc.collect()
    assert not is_mapped(path)


def test_the_gil_is_released():
    """Two programs that wait for each other can only end if both run at once."""
    body = """\
    volatile int32_t *cell = (int32_t *)out;
    __atomic_add_fetch(cell, 1, __ATOMIC_SEQ_CST);
    for (int64_t spins = 0; spins < (int64_t)40000000000; spins++)
        if (__atomic_load_n(cell, __ATOMIC_SEQ_CST) >= 2) return TT_OK;
    return 99;"""
    meet = load(program(body))
    cells = np.zeros(16, np.int32)
    failures: list[BaseException] = []

    def run():
        try:
            meet([cells.ctypes.data, cells.ctypes.data])
        except SystemError as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- callbacks -----------------------------------------------------------------------------------------------------

CALLER = CSource(
    host_source()
    + """
int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    return host->callback(*(const int64_t *)buffers[0], buffers + 1);
}
""",
    "tt_entry", (), (),
)  # fmt: skip


def call_back(function, *arrays: np.ndarray) -> None:
    called = callbacks.HostFunction(function, len(arrays))
    cell = np.array([called.number], np.int64)
    load(CALLER)([cell.ctypes.data, *(array.ctypes.data for array in arrays)])


def test_a_callback_gets_the_addresses():
    arrays = [np.zeros(3), np.zeros(4)]
    seen: list[list[int]] = []
    call_back(seen.append, *arrays)
    assert seen == [[array.ctypes.data for array in arrays]]


def test_an_exception_passes_through_the_program():
    class OurError(Exception):
        pass

    def fail(buffers):
        raise OurError("from the callback")

    with pytest.raises(OurError, match="from the callback") as caught:
        call_back(fail)
    assert [entry.name for entry in caught.traceback][-1] == "fail"


def test_callbacks_may_run_programs_that_call_back():
    order: list[str] = []

    def outer(buffers):
        order.append("outer")
        with pytest.raises(ZeroDivisionError):
            call_back(lambda buffers: order.append("inner") or 1 / 0)
        order.append("outer again")

    call_back(outer)
    assert order == ["outer", "inner", "outer again"]


def test_an_unknown_id_is_an_error():
    cell = np.array([10**9], np.int64)
    with pytest.raises(KeyError):
        load(CALLER)([cell.ctypes.data])
