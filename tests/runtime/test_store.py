"""The store by itself: publishing, stale leftovers, the size limit, locks."""

from __future__ import annotations

import contextlib
import os
import pathlib
import select
import shutil
import signal
import threading
import time

import pytest

from tests.runtime.programs import begin_child, in_child
from tinytrace.config import config
from tinytrace.runtime import locks
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.runtime.places import open_store, scratch_folder
from tinytrace.runtime.store import Store, StoreUnusableError


@pytest.fixture
def store(store_folder) -> Store:
    return open_store()


def key(n: int) -> ArtifactKey:
    return ArtifactKey(f"{n:064x}", "a compiler", ("-O2",), 1, "a processor")


def put(store: Store, n: int, size: int = 100) -> str:
    """Publish an entry with an object of this size; its folder."""
    return os.path.dirname(store.publish(key(n), f"text {n}", bytes(size)).path)


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
        with store.building() as building:
            os.mkdir(os.path.join(building.path, "deep"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_inside()
    assert not os.listdir(os.path.join(store.root, "building"))


def test_the_folder_of_a_build_becomes_the_entry_without_what_a_compiler_left(store, tmp_path):
    """A compiler may link its output to a file of its own, which others may write to, and choose its mode."""
    (tmp_path / "own.so").write_bytes(b"library")
    with store.building() as building:
        os.link(tmp_path / "own.so", os.path.join(building.path, "kernel.so"))
        os.makedirs(os.path.join(building.path, "temporary", "deep"))
        (pathlib.Path(building.path) / "kernel.c").write_text("text 1")
        os.chmod(os.path.join(building.path, "kernel.c"), 0o666)
        entry = store.publish(key(1), "text 1", b"library", building=building)
    assert set(os.listdir(os.path.dirname(entry.path))) == {"kernel.c", "kernel.so", "meta.json"}
    assert store.find(key(1), "text 1").library == b"library"
    assert not os.path.samefile(tmp_path / "own.so", entry.path)
    (tmp_path / "own.so").write_bytes(b"another")
    assert store.find(key(1), "text 1").library == b"library"
    assert not os.listdir(os.path.join(store.root, "building"))


def test_a_store_that_is_removed_while_a_program_compiles_gets_its_entry(store):
    with store.building() as building:
        shutil.rmtree(store.root)
        store.publish(key(1), "text 1", b"library", building=building)
    assert store.find(key(1), "text 1").library == b"library"


def test_leftovers_are_what_nobody_holds_whatever_their_age(store):
    """A build that is at work a year before the clock's time stays; one that was killed a moment ago goes."""

    def build_and_die():
        with store.building() as building, store.compiling(key(2)):
            os.mkdir(os.path.join(building.path, "deep"))
            os.kill(os.getpid(), 9)

    with store.building() as alive, store.compiling(key(3)):
        make_older(alive.path, 4e7)
        lock = os.path.join(store.root, "locks", key(3).digest)
        make_older(lock, 4e7)
        assert in_child(build_and_die)[0] == -9
        put(store, 1)
        assert os.listdir(os.path.join(store.root, "building")) == [alive.name]
        assert os.listdir(os.path.join(store.root, "locks")) == [key(3).digest]
    put(store, 2)
    assert not os.listdir(os.path.join(store.root, "building"))


def test_what_the_store_did_not_write_stays(store, store_folder, tmp_path):
    """Beside its own folder, and in it: whatever looks like something of its own, and what links lead to."""
    put(store, 1)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kernel.c").write_text("mine")
    own = pathlib.Path(store.root)
    foreign = ["building-plans/house", "uv/cache", "go/thesis.tex", "my.lock", "failed/exam.c", "compilers/gcc.json"]
    places = [store_folder, own, own / "building", own / "entries", own / "entries" / "00", own / "failed",
              own / "compilers", own / "locks"]
    for place in places:
        for name in foreign:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text("mine")
            make_older(place / name, 4e7)
            make_older((place / name).parent, 4e7)
    link = own / "entries" / "00" / ("0" * 64)
    link.symlink_to(tmp_path / "outside")
    (own / "entries" / "01").symlink_to(tmp_path / "outside")
    before = sorted(path for path in store_folder.rglob("*") if "mine" in (path.read_text() if path.is_file() else ""))
    config.update("cache_mib", 0)
    for remove in (store.sweep, store.clear):
        remove()
        after = sorted(path for path in store_folder.rglob("*") if path.is_file() and path.read_text() == "mine")
        assert after == before
        assert (tmp_path / "outside" / "kernel.c").read_text() == "mine"
        assert link.is_symlink()
    assert store.find(key(1), "text 1") is None


def test_a_folder_of_the_same_name_without_the_marker_is_not_ours(tmp_path, store_folder):
    foreign = store_folder / "tinytrace-store-1"
    foreign.mkdir(parents=True, mode=0o700)
    store_folder.chmod(0o700)
    (foreign / "thesis.tex").write_text("mine")
    with pytest.raises(StoreUnusableError, match="was not made by tinytrace"):
        open_store()
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]
    (foreign / "thesis.tex").rename(tmp_path / "thesis.tex")
    foreign.rmdir()
    foreign.symlink_to(tmp_path)
    with pytest.raises(StoreUnusableError, match="unusable"):
        open_store()


def test_a_marker_that_was_lost_is_written_again(store):
    """As after an `rm -r` that met a process at work."""
    put(store, 1)
    os.unlink(os.path.join(store.root, "CACHEDIR.TAG"))
    assert open_store().find(key(1), "text 1")
    assert os.path.exists(os.path.join(store.root, "CACHEDIR.TAG"))


def test_what_lies_in_the_place_of_an_entry_is_kept_aside(store):
    for make in (pathlib.Path.mkdir, lambda path: path.write_text("mine"), lambda path: os.mkfifo(path),
                 lambda path: path.symlink_to("/nowhere")):
        folder = pathlib.Path(put(store, 1))
        store.clear()
        make(folder)
        assert store.find(key(1), "text 1") is None
        put(store, 1)
        assert store.find(key(1), "text 1")
    folder = pathlib.Path(put(store, 1))
    (folder / "thesis.tex").write_text("mine")
    (folder / "meta.json").write_text("{}")
    put(store, 1)
    assert store.find(key(1), "text 1")
    kept = [path for path in pathlib.Path(store.root, "aside").rglob("*") if path.is_file() and not path.is_fifo()]
    assert sorted(path.name for path in kept) == sorted(["thesis.tex", *(p.name for p in kept if len(p.name) > 64)])


def test_sweep_drops_the_entries_that_were_not_used_for_longest(store):
    folders = [put(store, n, size=400_000) for n in range(5)]
    for n, folder in enumerate(folders):
        make_older(folder, 100 - n)
    assert store.find(key(0), "text 0")  # used now, so the youngest
    config.update("cache_mib", 1)
    store.sweep()
    assert [os.path.isdir(folder) for folder in folders] == [True, False, False, False, True]


def test_entries_from_the_future_do_not_stay_for_ever(store):
    """They were used when the clock was ahead: they count as used at the first sweep, and grow old from then on."""
    folders = [put(store, n, size=700_000) for n in range(2)]
    make_older(folders[0], -4e7)
    store.sweep()
    assert os.stat(folders[0]).st_mtime <= time.time()
    make_older(folders[0], 10)
    config.update("cache_mib", 1)
    store.sweep()
    assert [os.path.isdir(folder) for folder in folders] == [False, True]


@pytest.mark.parametrize("age", [4000, -4e7])
def test_publishing_sweeps_at_most_once_an_hour_by_any_clock(store, store_folder, age):
    put(store, 1, size=2_000_000)
    config.update("cache_mib", 1)
    put(store, 2)
    assert store.find(key(1), "text 1")
    make_older(os.path.join(store.root, "swept"), age)
    put(store, 3)
    assert store.find(key(1), "text 1") is None
    assert 0 <= time.time() - os.stat(os.path.join(store.root, "swept")).st_mtime < 60


def test_failures_and_compilers_are_kept_in_a_bounded_number(store):
    for n in range(100):
        store.keep_failure(f"text {n}")
        store.write_note(f"compiler {n}", n)
    store.sweep()
    for name in ("failed", "compilers"):
        assert 10 < len(os.listdir(os.path.join(store.root, name))) < 100
    assert store.read_note("compiler 99") == 99


def test_a_lock_keeps_other_processes_out(store, store_folder):
    def enter():
        with store.compiling(key(1)):
            return time.monotonic()

    with store.compiling(key(1)):
        wait = begin_child(enter)
        with store.compiling(key(2)):
            pass
        time.sleep(0.2)
        left = time.monotonic()
    status, entered = wait()
    assert status == 0
    assert float(entered) >= left
    assert not os.listdir(os.path.join(store.root, "locks"))


def test_the_lock_of_a_killed_process_is_free(store):
    def enter_and_die():
        with store.compiling(key(1)):
            os.kill(os.getpid(), 9)

    assert in_child(enter_and_die)[0] == -9
    start = time.monotonic()
    with store.compiling(key(1)):
        assert time.monotonic() - start < 1


@pytest.mark.parametrize("taken", [False, True])
def test_a_lock_that_was_held_or_waited_for_leaves_no_descriptor_open(store, monkeypatch, taken):
    monkeypatch.setattr(locks, "SILENCE", 0.01)
    with store.compiling(key(1)) if taken else contextlib.nullcontext():
        before = os.listdir("/proc/self/fd")
        with store.compiling(key(1)):
            pass
        with pytest.raises(KeyError), store.compiling(key(1)):
            raise KeyError
        store.sweep()
        store.clear()
        assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_child_does_not_keep_the_lock_of_a_parent_that_was_killed(store):
    reader, writer = os.pipe()

    def fork_and_die():
        with store.compiling(key(1)):
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
    store.write_note("\udcff", "a name of no text")
    assert store.read_note("\udcff") == "a name of no text"


@pytest.mark.parametrize("text", [b"", b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"nul", b"x" * (2 << 20)])
def test_notes_that_are_none(store, text):
    store.write_note("a name", 1)
    (note,) = pathlib.Path(store.root, "compilers").iterdir()
    note.write_bytes(text)
    assert store.read_note("a name") is None
    store.write_note("a name", 2)
    assert store.read_note("a name") == 2


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_notes_of_another_kind_of_file(store, make):
    store.write_note("a name", 1)
    (note,) = pathlib.Path(store.root, "compilers").iterdir()
    note.unlink()
    make(note)
    assert store.read_note("a name") is None
    store.write_note("a name", 2)
    assert store.read_note("a name") == 2


def test_a_holder_that_stands_still_is_not_waited_for(store, monkeypatch):
    monkeypatch.setattr(locks, "SILENCE", 0.3)
    reader, writer = os.pipe()

    def stop():
        with store.compiling(key(1)):
            os.write(writer, b"%d" % os.getpid())
            os.kill(os.getpid(), signal.SIGSTOP)

    wait = begin_child(stop)
    holder = int(os.read(reader, 20))
    start = time.monotonic()
    with store.compiling(key(1)) as turn:
        assert 0.2 < time.monotonic() - start < 5
        turn.beat()
    assert os.path.exists(os.path.join(store.root, "locks", key(1).digest))  # it is still the holder's
    os.kill(holder, signal.SIGCONT)
    wait()
    os.close(reader)
    os.close(writer)


def test_a_holder_that_moves_is_waited_for_as_long_as_patience_lasts(store, monkeypatch):
    monkeypatch.setattr(locks, "SILENCE", 0.5)
    begun, ended = threading.Event(), threading.Event()

    def hold():
        with store.compiling(key(1)) as turn:
            begun.set()
            while not ended.wait(0.05):
                turn.beat()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    start = time.monotonic()
    with store.compiling(key(1), patience=1.5):
        assert 1.4 < time.monotonic() - start < 5
    ended.set()
    thread.join()


def test_a_time_limit_that_the_holder_exceeded_is_told_to_those_who_waited(store):
    waiting, told = threading.Event(), []

    def wait():
        with store.compiling(key(1), pulse=waiting.set) as turn:
            told.append(turn.exceeded)

    thread = threading.Thread(target=wait)
    with store.compiling(key(1)) as turn:
        thread.start()
        waiting.wait()
        turn.tell_exceeded(7)
    thread.join()
    assert told == [7]
    with store.compiling(key(1)) as turn:
        assert turn.exceeded == 0


def test_a_link_to_a_private_folder_is_followed(tmp_path, store_folder):
    (tmp_path / "real").mkdir(mode=0o700)
    store_folder.symlink_to(tmp_path / "real")
    assert open_store().given == str(tmp_path / "real")


def test_the_default_is_in_the_users_cache_home(monkeypatch, tmp_path):
    config.update("cache_dir", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert open_store().given == str(tmp_path / "xdg" / "tinytrace")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert open_store().given == str(tmp_path / "home" / ".cache" / "tinytrace")
    config.update("cache_dir", "~/here")
    assert open_store().given == str(tmp_path / "home" / "here")


@pytest.mark.parametrize("home", ["", "relative"])
@pytest.mark.parametrize("name", ["", "~", "~/here", "~nobody-of-this-name/here", "a\0b"])
def test_without_a_home_nothing_is_made(monkeypatch, tmp_path, home, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}["no such user"])
    config.update("cache_dir", name)
    with pytest.raises(StoreUnusableError, match="is unusable: "):
        open_store()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("umask", [0, 0o002, 0o077, 0o777])
def test_a_root_that_is_removed_comes_back_private(store, umask):
    put(store, 1)
    shutil.rmtree(store.given)
    before = os.umask(umask)
    try:
        put(store, 1)
    finally:
        os.umask(before)
    assert [os.stat(path).st_mode & 0o777 for path in (store.given, store.root)] == [0o700] * 2
    assert open_store().find(key(1), "text 1")


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
