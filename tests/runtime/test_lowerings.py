"""What lowering gave is remembered whole or not at all."""
import os

import pytest

from tests.runtime.programs import adder, answer, expected
from tinytrace.runtime import discovery
from tinytrace.runtime.ladder import clear_memory, find_again, load, stats
from tinytrace.runtime.lowerings import Lowering, is_there, recall, remember
from tinytrace.runtime.store_layout import LOWERED, NAME

NAME_OF_IT = "ab" * 32


@pytest.fixture
def lowering():
    return Lowering.of(adder(3), {1: 0}, [2, 0])


@pytest.fixture
def kept(store_folder, lowering):
    """The file of a lowering that is remembered."""
    remember(discovery.current_store([]), NAME_OF_IT, lowering)
    return store_folder / NAME / LOWERED / NAME_OF_IT


def test_what_was_remembered_is_recalled(kept, lowering):
    store = discovery.current_store([])
    assert recall(store, NAME_OF_IT) == lowering
    assert lowering.reused == ((1, 0),)
    assert recall(store, "cd" * 32) is None
    assert is_there(store, NAME_OF_IT)
    assert not is_there(store, "cd" * 32)
    assert os.stat(kept).st_mode & 0o777 == 0o600


def test_every_changed_byte_and_every_length_is_noticed_and_mended(kept, lowering):
    store, data = discovery.current_store([]), kept.read_bytes()
    damaged = [data[:k] for k in range(len(data))]
    damaged += [data[:k] + bytes([data[k] ^ 1]) + data[k + 1:] for k in range(len(data))] + [data + b"x", data * 2]
    for text in damaged:
        kept.write_bytes(text)
        assert recall(store, NAME_OF_IT) is None
        assert not kept.exists()
    remember(store, NAME_OF_IT, lowering)
    assert recall(store, NAME_OF_IT) == lowering


def test_one_lowering_in_the_place_of_another_is_none(kept):
    store = discovery.current_store([])
    os.rename(kept, kept.with_name("cd" * 32))
    assert recall(store, "cd" * 32) is None


@pytest.mark.parametrize("make", [
    lambda path, data: os.mkdir(path),
    lambda path, data: os.mkfifo(path),
    lambda path, data: (path.with_name("elsewhere").write_bytes(data), path.symlink_to("elsewhere")),
    lambda path, data: (path.write_bytes(data), path.chmod(0o666)),
    lambda path, data: path.write_bytes(data + b" " * (1 << 17)),
], ids=["folder", "fifo", "link", "writable by others", "long"])
def test_what_cannot_be_trusted_is_none(kept, lowering, make):
    store, data = discovery.current_store([]), kept.read_bytes()
    kept.unlink()
    make(kept, data)
    assert recall(store, NAME_OF_IT) is None
    remember(store, NAME_OF_IT, lowering)  # it stays where it is, and nothing is raised
    assert recall(store, NAME_OF_IT) is None


def test_a_program_is_found_without_its_c(lowering):
    assert find_again(lowering) is None
    load(adder(3))
    clear_memory()
    for table in (discovery._compilers, discovery._stores):
        table.clear()  # as in a new process
    stats.reset()
    found = find_again(lowering)
    assert found.origin == "disk"
    assert answer(found.executable) == expected(3)
    assert (stats.compiles, stats.disk_hits) == (0, 1)
    assert find_again(lowering).origin == "memory"


def test_an_entry_of_another_text_is_not_taken(store_folder, lowering):
    load(adder(3))
    clear_memory()
    (source,) = store_folder.glob("*/entries/??/*/kernel.c")
    text = source.read_bytes()
    source.unlink()
    source.write_bytes(text.replace(b"+ 3", b"+ 4"))
    assert find_again(lowering) is None


def test_nothing_is_raised_where_nothing_can_be_written(store_folder, lowering):
    store = discovery.current_store([])
    (store_folder / NAME / LOWERED).write_text("in its place")
    remember(store, NAME_OF_IT, lowering)
    assert recall(store, NAME_OF_IT) is None


def test_lowerings_go_with_the_store(kept):
    discovery.current_store([]).clear()
    assert not kept.exists()
