"""The block pool: alignment, spare bytes, reuse, bounds, threads, and the end of memory."""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.programs import in_child
from tinytrace._runtime import ffi, lib

LARGE = 2 << 20
KEPT = 512 << 20


def read_stats() -> dict[str, int]:
    record = ffi.new("struct tt_alloc_stats *")
    lib.tt_alloc_read_stats(record)
    return {name: getattr(record, name) for name, _ in ffi.typeof(record).item.fields}


@pytest.fixture(autouse=True)
def nothing_lost():
    """Every test frees what it allocates."""
    before = read_stats()
    yield
    after = read_stats()
    assert (after["live_blocks"], after["live_bytes"]) == (before["live_blocks"], before["live_bytes"])


SIZES = st.one_of(st.integers(0, 5000), st.integers(0, 8 * LARGE), st.integers(0, 40).map(lambda k: (1 << 17) + k - 20))


@given(st.lists(SIZES, min_size=1, max_size=12))
def test_blocks_are_aligned_apart_and_have_64_spare_bytes(sizes):
    blocks = [(lib.tt_alloc(size), size) for size in sizes]
    for address, size in blocks:
        assert address % 64 == 0
        assert address % 4096 == 0 or size < 32768
        assert address % LARGE == 0 or size < LARGE
    ends = sorted((address, address + (size + 63) // 64 * 64 + 64) for address, size in blocks)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ends))
    for number, (address, size) in enumerate(blocks):
        ctypes.memset(address, number + 1, min(size, 4096) + 64)
        ctypes.memset(address + size, number + 1, 64)
    for number, (address, size) in enumerate(blocks):
        assert ctypes.string_at(address, 1) == ctypes.string_at(address + size + 63, 1) == bytes([number + 1])
        lib.tt_free(address, size)


@pytest.mark.parametrize("size", [0, 1, 1000, 100_000, 5 * LARGE])
def test_a_freed_block_is_handed_out_again(size):
    address = lib.tt_alloc(size)
    lib.tt_free(address, size)
    before = read_stats()
    assert lib.tt_alloc(size) == address
    after = read_stats()
    lib.tt_free(address, size)
    assert (after["reused"], after["fresh"]) == (before["reused"] + 1, before["fresh"])


def test_what_does_not_fit_is_0():
    before = read_stats()
    for size in [1 << 62, sys.maxsize - 64, sys.maxsize, 2**64 - 1, 1 << 46]:
        assert lib.tt_alloc(size) == 0
        lib.tt_free(0, size)
    after = read_stats()
    assert (after["live_bytes"], after["fresh"]) == (before["live_bytes"], before["fresh"])


def test_what_is_kept_is_bounded():
    for size, bound in [(16 << 20, KEPT), (100 << 10, 5 << 20)]:
        lib.tt_trim()
        addresses = [lib.tt_alloc(size) for _ in range(90)]
        assert all(addresses)
        for address in addresses:
            lib.tt_free(address, size)
        assert 0 < read_stats()["retained_bytes"] <= bound
    lib.tt_trim()
    assert read_stats()["retained_bytes"] == 0


def test_a_block_larger_than_the_bound_is_returned_at_once():
    lib.tt_trim()
    lib.tt_free(lib.tt_alloc(KEPT + 1), KEPT + 1)
    assert read_stats()["retained_bytes"] == 0


def test_many_threads():
    def work(seed: int) -> None:
        for turn in range(3000):
            size = (seed * 7919 + turn * 104729) % 9000
            address = lib.tt_alloc(size)
            ctypes.memset(address, seed, 8)
            if ctypes.string_at(address, 8) != bytes([seed]) * 8:
                failures.append(turn)
            lib.tt_free(address, size)

    failures: list[int] = []
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.not_quick
def test_a_forked_child_allocates_while_threads_of_the_parent_do():
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            lib.tt_free(lib.tt_alloc(100), 100)

    def use() -> bool:
        address = lib.tt_alloc(100)
        lib.tt_free(address, 100)
        return address != 0

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert [in_child(use) for _ in range(20)] == [(0, "True")] * 20
    finally:
        stop.set()
        for thread in threads:
            thread.join()
