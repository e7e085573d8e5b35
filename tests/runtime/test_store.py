"""The store by itself: publishing, stale leftovers, the size limit, locks."""

from __future__ import annotations

import os
import select
import threading
import time

import pytest

from tests.runtime.programs import in_child
from tinytrace.config import config
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.runtime.store import Store, StoreUnusableError, open_store, scratch_folder, write_file


@pytest.fixture
def store(store_folder) -> Store:
    return open_store()


def key(n: int) -> ArtifactKey:
    return ArtifactKey(f"{n:064x}", "a compiler", ("-O2",), 1, "a processor")


def put(store: Store, n: int, size: int = 100) -> str:
    """Publish an entry with an object of this size; its folder."""
    with store.building() as folder:
        write_file(os.path.join(folder, "kernel.c"), f"text {n}".encode())
        with open(os.path.join(folder, "kernel.so"), "wb") as file:
            file.write(bytes(size))
        return os.path.dirname(store.publish(folder, key(n), f"text {n}").path)


def make_older(path: object, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_published_entries_are_found(store):
    put(store, 1, size=77)
    entry = store.find(key(1), "text 1")
    assert entry is not None
    assert entry.library == bytes(77)
    assert store.find(key(1), "text 2") is None
    assert store.find(key(2), "text 2") is None


def test_the_second_to_publish_takes_what_is_there(store):
    folder = put(store, 1)
    stamp = os.stat(os.path.join(folder, "kernel.so"))
    assert put(store, 1) == folder
    assert os.stat(os.path.join(folder, "kernel.so")).st_ino == stamp.st_ino


def test_nobody_else_may_write_whatever_the_umask(store):
    before = os.umask(0)
    try:
        folder = put(store, 1)
    finally:
        os.umask(before)
    paths = [folder, *(os.path.join(folder, name) for name in os.listdir(folder))]
    assert [os.stat(path).st_mode & 0o077 for path in paths] == [0] * 4
    assert store.find(key(1), "text 1")


def test_a_building_folder_goes_even_after_an_exception(store):
    def fail_inside():
        with store.building() as folder:
            os.mkdir(os.path.join(folder, "deep"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_inside()
    assert not os.listdir(store.root)


def test_sweep_removes_what_is_stale_and_only_that(store, store_folder):
    kept = put(store, 1)
    for name, age in [("building-1-old", 4000), ("building-2-new", 10)]:
        (store_folder / name / "deep").mkdir(parents=True)
        (store_folder / name / "kernel.c").write_text("int x;")
        make_older(store_folder / name, age)
    for name, age in [("old.lock", 4000), ("new.lock", 10)]:
        (store_folder / "00").mkdir(exist_ok=True)
        (store_folder / "00" / name).write_text("")
        make_older(store_folder / "00" / name, age)
    make_older(kept, 10**7)
    store.sweep()
    assert os.path.isdir(kept)
    assert [path.name for path in store_folder.glob("building-*")] == ["building-2-new"]
    assert [path.name for path in store_folder.glob("00/*.lock")] == ["new.lock"]


def test_sweep_drops_the_entries_that_were_not_used_for_longest(store):
    folders = [put(store, n, size=400_000) for n in range(5)]
    for n, folder in enumerate(folders):
        make_older(folder, 100 - n)
    assert store.find(key(0), "text 0")  # used now, so the youngest
    config.update("cache_mib", 1)
    store.sweep()
    assert [os.path.isdir(folder) for folder in folders] == [True, False, False, False, True]


def test_publishing_sweeps_at_most_once_an_hour(store, store_folder):
    put(store, 1)
    stale = store_folder / "building-9-old"
    stale.mkdir()
    make_older(stale, 4000)
    put(store, 2)
    assert stale.exists()
    make_older(store_folder / "swept", 4000)
    put(store, 3)
    assert not stale.exists()


def test_a_lock_keeps_other_processes_out(store, store_folder):
    def enter():
        with store.compiling(key(1)):
            return time.monotonic()

    with store.compiling(key(1)):
        answers: list[tuple[int, str]] = []
        waiting = threading.Thread(target=lambda: answers.append(in_child(enter)))
        waiting.start()
        with store.compiling(key(2)):
            pass
        time.sleep(0.2)
        left = time.monotonic()
    waiting.join()
    ((status, entered),) = answers
    assert status == 0
    assert float(entered) >= left
    assert not list(store_folder.glob("??/*.lock"))


def test_the_lock_of_a_killed_process_is_free(store):
    def enter_and_die():
        store.compiling(key(1)).__enter__()
        os.kill(os.getpid(), 9)

    assert in_child(enter_and_die)[0] == -9
    start = time.monotonic()
    with store.compiling(key(1)):
        assert time.monotonic() - start < 1


def test_a_child_does_not_keep_the_lock_of_a_parent_that_was_killed(store):
    reader, writer = os.pipe()

    def fork_and_die():
        store.compiling(key(1)).__enter__()
        if os.fork():
            os.kill(os.getpid(), 9)
        with store.compiling(key(1)):  # the parent's lock, not its own
            os.write(writer, b"entered")
        os._exit(0)

    assert in_child(fork_and_die)[0] == -9
    assert select.select([reader], [], [], 10)[0]
    assert os.read(reader, 7) == b"entered"
    os.close(reader)
    os.close(writer)


def test_notes(store):
    assert store.read_note("a name") is None
    store.write_note("a name", {"x": [1]})
    store.write_note("a name", {"x": [2]})
    assert store.read_note("a name") == {"x": [2]}
    assert store.read_note("another name") is None


def test_a_link_to_a_private_folder_is_followed(tmp_path, store_folder):
    (tmp_path / "real").mkdir(mode=0o700)
    store_folder.symlink_to(tmp_path / "real")
    assert open_store().root == str(tmp_path / "real")


def test_the_default_is_in_the_users_cache_home(monkeypatch, tmp_path):
    config.update("cache_dir", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert open_store().root == str(tmp_path / "xdg" / "tinytrace")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_store().root == str(tmp_path / "home" / ".cache" / "tinytrace")


def test_a_path_through_a_file_is_unusable(tmp_path):
    (tmp_path / "file").write_text("")
    config.update("cache_dir", str(tmp_path / "file" / "below"))
    with pytest.raises(StoreUnusableError, match="Not a directory"):
        open_store()


def test_scratch_falls_back_from_an_unusable_tmpdir(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nowhere")
    with scratch_folder() as folder:
        assert os.stat(folder).st_mode & 0o777 == 0o700
    assert not os.path.exists(folder)
