"""A disk in memory on which everything goes wrong that goes wrong on disks, as often as one likes and where one likes."""

import hashlib


def digest(text):
    """The sha256 of a text, shortened to twelve letters."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class PowerCut(BaseException):
    """The power goes. No `except Exception` is in time for it."""


class Disk:
    """Files by name, each with a text.

    What was written may be torn by a power cut until it was synced, also if it was renamed since.

    Args:
      cut: the power goes at this operation (counted from 1), which is not done any more; None for never.
    """

    def __init__(self, cut=None):
        self.files, self.unsynced = {}, {}
        self.cut, self.operations, self.others = cut, 0, {}

    def _step(self):
        self.operations += 1
        if self.operations == self.cut:
            self.power_cut()
            raise PowerCut
        if other := self.others.pop(self.operations, None):
            other()

    def power_cut(self):
        """Of what was not synced, half is left."""
        for name in self.unsynced:
            self.files[name] = self.files[name][: len(self.files[name]) // 2]
        self.unsynced.clear()

    def fresh(self):
        """A name that no process has used, for a file in the making."""
        return f"making-{self.operations}-{len(self.files)}-{id(object())}"

    def write(self, name, text):
        """Writes a file, or overwrites it."""
        self._step()
        self.files[name] = text
        self.unsynced[name] = True

    def sync(self, name):
        """Waits until a file is on the disk."""
        self._step()
        self._must_be_there(name)
        self.unsynced.pop(name, None)

    def rename(self, old, new):
        """Gives a file another name, in one step; what had that name is gone."""
        self._step()
        self._must_be_there(old)
        self.files[new] = self.files.pop(old)
        self.unsynced.pop(new, None)
        if self.unsynced.pop(old, None):
            self.unsynced[new] = True

    def read(self, name):
        """The text of a file."""
        self._must_be_there(name)
        text = self.files[name]
        if isinstance(text, Exception):
            raise text
        return text

    def delete(self, name):
        """Removes a file."""
        self._step()
        self._must_be_there(name)
        del self.files[name]
        self.unsynced.pop(name, None)

    def names(self):
        """The names of all files."""
        return sorted(self.files)

    def _must_be_there(self, name):
        if name not in self.files:
            raise FileNotFoundError(name)


TEXT = "int x;"


def after_power_cut(put, operation):
    """What is found under the name when the power goes at this operation of `put`, or at last when `put` is done."""
    disk = Disk(cut=operation)
    try:
        put(disk, "entry", TEXT)
    except PowerCut:
        pass
    else:
        disk.power_cut()
    return "torn" if disk.files.get("entry", TEXT) != TEXT else "whole or nothing"


def finished(put):
    """The files, when nothing has gone wrong."""
    disk = Disk()
    put(disk, "entry", TEXT)
    return disk.files


def two_at_once(put, operation):
    """The files, when another process puts an entry of its own while the first is at this operation."""
    disk = Disk()
    disk.others[operation] = lambda: put(disk, "other", "int y;")
    put(disk, "entry", TEXT)
    return {name: text for name, text in disk.files.items() if name in ("entry", "other")}


DAMAGES = ("nothing", "missing", "cut in half", "empty", "a letter changed", "another's", "may not be read", "a folder")


def entry_of(key, body):
    """An entry: three lines, its key, the digest of its body, the body."""
    return f"{key}\n{digest(body)}\n{body}"


def damaged(kind):
    """A disk with the entry `k1`, damaged in this way, beside another file."""
    disk, whole = Disk(), entry_of("k1", TEXT)
    disk.files = {"notes": "mine"}
    found = {
        "nothing": whole,
        "cut in half": whole[: len(whole) // 2],
        "empty": "",
        "a letter changed": whole.replace("x", "y"),
        "another's": entry_of("k2", "int y;"),
        "may not be read": PermissionError("k1"),
        "a folder": IsADirectoryError("k1"),
    }
    if kind in found:
        disk.files["k1"] = found[kind]
    return disk


class Shelf:
    """Where programs are kept between processes: `get` and `put`, and what was asked of it.

    Args:
      programs: what is there.
      broken: "get", "put", both or neither raises OSError.
    """

    def __init__(self, programs, broken=""):
        self.programs, self.broken, self.log = dict(programs), broken, []

    def get(self, key):
        """The program of a key, or None."""
        self.log.append(f"get {key}")
        if "get" in self.broken:
            raise OSError("the disk cannot be read")
        return self.programs.get(key)

    def put(self, key, program):
        """Keeps a program."""
        self.log.append(f"put {key}")
        if "put" in self.broken:
            raise OSError("the disk is full")
        self.programs[key] = program


def asked(find, keys, on_disk="", broken=""):
    """What `find` gives for these keys, one after the other, and what it did for them. `bad` does not compile."""
    shelf, memory = Shelf({key: key.upper() for key in on_disk.split()}, broken), {}

    def compile(key):
        shelf.log.append(f"compile {key}")
        if key == "bad":
            raise SyntaxError(key)
        return key.upper()

    return [find(key, memory, shelf, compile) for key in keys.split()], shelf.log
