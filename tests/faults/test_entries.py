"""Entries of the store that are damaged, foreign or something else: a miss with the right answer, and mended.

Each test is one process that damages what is on disk, forgets what it knows, and asks again.
"""

from __future__ import annotations

import os
import textwrap

import pytest

from tests.faults.harness import LOADING

ENTRY = LOADING + """
import glob, os, pathlib, shutil, signal, stat, sys
cache = pathlib.Path(os.environ["TINYTRACE_CACHE_DIR"])
right()
(entry,) = cache.glob("*/entries/??/*")
own = entry.parents[2]
NAMES = ["kernel.c", "kernel.so", "meta.json"]
TEXTS = {name: (entry / name).read_bytes() for name in NAMES}
held = []
def put(name, data):
    path = entry / name
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)
def missed(what):
    "After damage: the answer is right, by a compile, and then the entry is whole again."
    forget()
    right()
    assert stats.compiles == 1, what
    forget()
    right()
    assert (stats.compiles, stats.disk_hits) == (0, 1), what
    assert {name: (entry / name).read_bytes() for name in NAMES} == TEXTS, what
def unnoticed(what):
    forget()
    right()
    assert (stats.compiles, stats.disk_hits) == (0, 1), what
def not_found(what):
    "As `missed`, but only looks: to compile each time would take long."
    forget()
    assert store.find(key, text) is None, what
from tinytrace.runtime.places import open_store
store, key, text = open_store(), load(adder(1)).key, adder(1).text
"""


def run(sandbox, program: str) -> None:
    sandbox.fork(ENTRY + textwrap.dedent(program) + "\nprint('right')\n").require_right(warned=[0])
    assert not [path for path in sandbox.leftovers() if "/aside" not in str(path) and path.name != "building-plans"]


@pytest.mark.parametrize("name", ["kernel.c", "kernel.so", "meta.json"])
def test_truncation_at_every_length(sandbox, name):
    run(sandbox, f"""
        data = TEXTS[{name!r}]
        lengths = sorted({{*range(130), *range(130, len(data), 61), *range(len(data) - 66, len(data))}})
        for length in lengths:
            put({name!r}, data[:max(0, length)])
            not_found(length)
        for length in (0, 1, 64, len(data) // 2, len(data) - 1):
            put({name!r}, data[:length])
            missed(length)
        for more in (b"x", bytes(5000)):
            put({name!r}, data + more)
            missed("longer")
    """)


@pytest.mark.parametrize("name", ["kernel.c", "kernel.so", "meta.json"])
def test_bit_flips(sandbox, name):
    """In some 400 places, each bit in turn; a flip in the JSON's spaces changes nothing."""
    run(sandbox, f"""
        import json
        data = TEXTS[{name!r}]
        for turn, place in enumerate(range(0, len(data), max(1, len(data) // 400))):
            flipped = bytearray(data)
            flipped[place] ^= 1 << turn % 8
            put({name!r}, bytes(flipped))
            try:
                same = {name!r} == "meta.json" and json.loads(bytes(flipped)) == json.loads(data)
            except ValueError:
                same = False
            if not same:
                not_found(place)
        missed("the last flip")
    """)


@pytest.mark.parametrize("name", ["kernel.c", "kernel.so", "meta.json"])
@pytest.mark.parametrize("kind", [
    "missing", "folder", "full folder", "FIFO", "link in", "link out", "dangling link", "link to itself",
    "link to a device", "device", "socket", "writable by the group", "writable by all", "of another user", "sparse",
    "hard link",
])  # fmt: skip
def test_a_file_that_is(sandbox, name, kind):
    if kind in ("of another user", "device") and os.geteuid():
        pytest.skip("only root can make it")
    run(sandbox, f"""
        import socket
        path, kind = entry / {name!r}, {kind!r}
        def full_folder():
            path.mkdir()
            (path / "thesis.tex").write_text("mine")
        def bound():
            os.chdir(entry)
            with socket.socket(socket.AF_UNIX) as unix:
                unix.bind({name!r})
            os.chdir("/")
        elsewhere = pathlib.Path(os.environ["TINYTRACE_CACHE_DIR"], "elsewhere")
        elsewhere.write_bytes(TEXTS[{name!r}])
        make = {{
            "missing": lambda: None, "folder": path.mkdir, "full folder": full_folder, "FIFO": lambda: os.mkfifo(path),
            "link in": lambda: (put("copy", TEXTS[{name!r}]), path.symlink_to("copy")),
            "link out": lambda: path.symlink_to(elsewhere), "dangling link": lambda: path.symlink_to("/nowhere"),
            "link to itself": lambda: path.symlink_to(path), "link to a device": lambda: path.symlink_to("/dev/zero"),
            "device": lambda: os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5)), "socket": bound,
            "writable by the group": lambda: (path.write_bytes(TEXTS[{name!r}]), path.chmod(0o620)),
            "writable by all": lambda: (path.write_bytes(TEXTS[{name!r}]), path.chmod(0o602)),
            "of another user": lambda: (path.write_bytes(TEXTS[{name!r}]), os.chown(path, 65534, 65534)),
            "sparse": lambda: (path.write_bytes(b""), os.truncate(path, 1 << 40)),
            "hard link": lambda: path.hardlink_to(elsewhere),
        }}[kind]
        path.unlink()
        make()
        unnoticed(kind) if kind == "hard link" else missed(kind)
        assert elsewhere.read_bytes() == TEXTS[{name!r}]
        if kind == "full folder":
            assert [path.read_text() for path in own.rglob("thesis.tex")] == ["mine"]
    """)


@pytest.mark.parametrize("kind", ["missing", "file", "FIFO", "link", "dangling link", "writable by the group",
                                  "of another user", "empty", "files of another entry", "nested entry"])
def test_an_entry_that_is(sandbox, kind):
    if kind == "of another user" and os.geteuid():
        pytest.skip("only root can give a folder away")
    run(sandbox, f"""
        kind = {kind!r}
        if kind == "writable by the group":
            entry.chmod(0o770)
        elif kind == "of another user":
            os.chown(entry, 65534, 65534)
        else:
            elsewhere = cache / "elsewhere"
            if kind == "files of another entry":
                right(2)
                (elsewhere,) = set(cache.glob("*/entries/??/*")) - {{entry}}
                shutil.rmtree(entry)
            else:
                entry.rename(elsewhere)
            {{"missing": lambda: None, "file": lambda: entry.write_text("mine"), "FIFO": lambda: os.mkfifo(entry),
              "link": lambda: entry.symlink_to(elsewhere), "dangling link": lambda: entry.symlink_to("/nowhere"),
              "empty": entry.mkdir, "files of another entry": lambda: shutil.copytree(elsewhere, entry),
              "nested entry": lambda: (entry.mkdir(), shutil.copytree(elsewhere, entry / entry.name))}}[kind]()
        missed(kind)
        if kind not in ("writable by the group", "of another user", "files of another entry"):
            assert sorted(path.name for path in elsewhere.iterdir()) == NAMES
    """)


def test_extra_and_nested_files_change_nothing_and_stay(sandbox):
    run(sandbox, """
        mine = [entry / "thesis.tex", entry / "deep" / "thesis.tex", entry.parent / "thesis.tex", own / "thesis.tex",
                own / "entries" / "zz" / "thesis.tex", own / "building" / "building-plans", cache / "ab" / "thesis.tex",
                cache / "building-1-2" / "thesis.tex", cache / "uv" / "thesis.tex", cache / "my.lock"]
        for path in mine:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("mine")
            os.utime(path, (0, 0))
            os.utime(path.parent, (0, 0))
        unnoticed("extra")
        config.update("cache_mib", 0)
        store.sweep()
        store.clear()
        assert [path.read_text() for path in mine] == ["mine"] * len(mine)
        forget()
        right()
        assert all(path.exists() for path in mine if entry not in path.parents)
        assert sum(path.name == "thesis.tex" for path in cache.rglob("*")) == 8
    """)


DESCRIPTIONS = {
    "nothing": b"", "null": b"null", "a list": b"[]", "a number": b"1", "a text": b'"x"', "an empty object": b"{}",
    "deep lists": b"[" * 99_999, "deep objects": b'{"a":' * 99_999, "no text": b"\xff\xfe", "much": b" " * (2 << 20),
    "a negative size": b'{"key": {}, "size": -1, "sha256": ""}',
    "an infinite size": b'{"key": 1, "size": 1e999, "sha256": 0}',
}  # fmt: skip


@pytest.mark.parametrize("says", DESCRIPTIONS)
def test_a_description_that_says(sandbox, says):
    (sandbox.folder / "description").write_bytes(DESCRIPTIONS[says])
    run(sandbox, """
        put("meta.json", (cache.parent / "description").read_bytes())
        missed("meta")
    """)


@pytest.mark.parametrize("field", ["size", "sha256", "key"])
def test_a_description_of_another_kind_in(sandbox, field):
    run(sandbox, f"""
        import json
        meta = json.loads(TEXTS["meta.json"])
        for value in (None, -1, 0, 1.5, 10**400, 1 << 62, "", "x", [], {{}}, True, meta[{field!r}] if 0 else [[]]):
            put("meta.json", json.dumps({{**meta, {field!r}: value}}).encode())
            not_found(value)
        missed("the last")
    """)


@pytest.mark.parametrize("note", [
    "empty", "binary", "deep", "of another form", "of no stages", "of stages that are gone",
    "of flags that do not exist", "a FIFO", "a folder", "a link", "half",
])  # fmt: skip
def test_a_note_of_the_compiler_that_is(sandbox, note):
    run(sandbox, f"""
        import json
        note, kind = next(own.glob("compilers/*")), {note!r}
        data = note.read_bytes()
        value = json.loads(data)
        compiler = value["compiler"]
        changed = {{"of no stages": {{"stages": [[], [], []]}},
                    "of stages that are gone": {{"stages": [["/gone"]] * 3}},
                    "of flags that do not exist": {{"target": ["--no-such-flag"], "stages": []}},
                    "of another form": {{"identity": 1}}}}
        note.unlink()
        if kind in changed:
            note.write_text(json.dumps({{**value, "compiler": {{**compiler, **changed[kind]}}}}))
        elif kind == "a link":
            note.symlink_to("/dev/zero")
        elif kind in ("a FIFO", "a folder"):
            os.mkfifo(note) if kind == "a FIFO" else note.mkdir()
        else:
            note.write_bytes({{"empty": b"", "binary": bytes(range(256)), "deep": b"[" * 99_999,
                              "half": data[:len(data) // 2]}}[kind])
        for n in (2, 3):
            forget()
            right(n)
        unnoticed("note")
    """)


@pytest.mark.parametrize("name", ["entries", "locks", "building", "compilers", "failed", "swept", "CACHEDIR.TAG"])
@pytest.mark.parametrize("kind", ["missing", "file", "FIFO", "link", "folder"])
def test_a_part_of_the_store_that_is(sandbox, name, kind):
    """Whatever it is: a right answer, and at most one warning with a remedy."""
    program = f"""
        path, kind = own / {name!r}, {kind!r}
        if path.exists():
            path.rename(cache / "moved")
        {{"missing": lambda: None, "file": lambda: path.write_text("mine"), "FIFO": lambda: os.mkfifo(path),
          "link": lambda: path.symlink_to(cache / "moved"), "folder": path.mkdir}}[kind]()
        for n in (1, 2, 3):
            forget()
            right(n)
        if kind == "file":
            assert path.read_text() == "mine" or path.name in ("CACHEDIR.TAG", "swept")
        print("right")
    """
    sandbox.fork(ENTRY + textwrap.dedent(program)).require_right(warned=[0, 1])
