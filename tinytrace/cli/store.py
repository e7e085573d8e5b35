"""`tinytrace cache ls | show | why | verify | prune | clear | export | import`: the compiled programs on disk."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tinytrace.cli.answers import FINE, NOT_FINE, Answer, WrongUse, note
from tinytrace.runtime.archive import export_store, import_store
from tinytrace.runtime.failures import CompileError
from tinytrace.runtime.inventory import Inventory, StoredEntry, current_inventory

HELP = {
    "ls": "list the entries",
    "show": "show one entry: its key, its files, the commands that made it",
    "why": "say how two entries differ",
    "verify": "check every file of every entry, or of one",
    "prune": "remove what was used longest ago, until the store is as small as it should be",
    "clear": "remove all entries",
    "export": "write entries into a file",
    "import": "take entries from a file",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which commands on the store there are, and which arguments they take."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="store_command")
    for name, text in HELP.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
        if name in ("show", "why"):
            command.add_argument("keys", nargs=2 if name == "why" else 1, metavar="KEY",
                                 help="a digest, or its beginning")
            if name == "show":
                command.add_argument("--c", action="store_true", help="with the C text")
        elif name == "verify":
            command.add_argument("keys", nargs="*", metavar="KEY", help="a digest, or its beginning")
            command.add_argument("--rebuild", action="store_true", help="compile each again, compare byte for byte")
        elif name == "prune":
            command.add_argument("--mib", type=int, metavar="N", help="how large the store may be; else the setting")
        elif name in ("export", "import"):
            command.add_argument("file", metavar="FILE")
            if name == "export":
                command.add_argument("keys", nargs="*", metavar="KEY", help="which entries; else all")


def run(options: argparse.Namespace) -> Answer:
    """Answer a command on the store."""
    try:
        inventory = current_inventory()
    except OSError as error:
        return Answer({"error": str(error)}, f"there is no store: {error}", NOT_FINE)
    return _COMMANDS[options.store_command](inventory, options)


def _ls(inventory: Inventory, options: argparse.Namespace) -> Answer:
    entries = list(inventory.entries())
    total = sum(entry.size for entry in entries)
    note(f"{len(entries)} entries, {total} bytes of machine code")
    return Answer([entry.to_json() for entry in entries], repr(inventory))


def _show(inventory: Inventory, options: argparse.Namespace) -> Answer:
    entry, = _entries(inventory, options.keys)
    value = {**entry.to_json(), "jaxpr": entry.jaxpr, "c": entry.text}
    text = f"{entry}\n{entry.jaxpr}".rstrip("\n")
    return Answer(value, f"{text}\n{entry.text}".rstrip("\n") if options.c else text)


def _why(inventory: Inventory, options: argparse.Namespace) -> Answer:
    first, second = _entries(inventory, options.keys)
    diff = first.key.diff(second.key)
    return Answer({"equal": not diff, "diff": diff.to_json()}, str(diff) if diff else "they are the same entry")


def _verify(inventory: Inventory, options: argparse.Namespace) -> Answer:
    entries = _entries(inventory, options.keys) if options.keys else list(inventory.entries())
    names = {entry.digest for entry in entries} if options.keys else set(inventory)
    problems: dict[str, list[str]] = {name: ["it cannot be read, or is not what its name says"]
                                      for name in names - {entry.digest for entry in entries}}
    foreign = {}
    for entry in entries:
        try:
            if found := entry.verify(rebuild=options.rebuild):
                problems[entry.digest] = found
        except CompileError as error:
            foreign[entry.digest] = error.reason
    lines = [f"{digest[:12]}  {problem}" for digest, found in problems.items() for problem in found]
    lines += [f"{digest[:12]}  not rebuilt: {reason}" for digest, reason in foreign.items()]
    done = "rebuilt byte for byte" if options.rebuild else "as they were stored"
    lines.append(f"{len(names) - len(problems) - len(foreign)} of {len(names)} entries are {done}")
    value = {"entries": len(names), "problems": problems, "foreign": foreign, "rebuilt": options.rebuild}
    return Answer(value, "\n".join(lines), NOT_FINE if problems else FINE)


def _prune(inventory: Inventory, options: argparse.Namespace) -> Answer:
    with _counted(inventory) as value:
        inventory.store.sweep(options.mib)
    return Answer(value, f"{value['removed']} entries removed, {value['left']} left")


def _clear(inventory: Inventory, options: argparse.Namespace) -> Answer:
    with _counted(inventory) as value:
        inventory.store.clear()
    return Answer(value, f"{value['removed']} entries removed, {value['left']} left")


def _export(inventory: Inventory, options: argparse.Namespace) -> Answer:
    entries = _entries(inventory, options.keys) if options.keys else list(inventory.entries())
    try:
        written = export_store(inventory, options.file, [entry.digest for entry in entries])
    except OSError as error:
        raise WrongUse(f"{options.file} cannot be written: {error.strerror or error}") from error
    damaged = len(entries) - len(written)
    text = f"{len(written)} entries are in {options.file}"
    return Answer({"file": options.file, "entries": written},
                  f"{text}, {damaged} damaged ones are not" if damaged else text, NOT_FINE if damaged else FINE)


def _import(inventory: Inventory, options: argparse.Namespace) -> Answer:
    note("such a file holds machine code: import only what you would run")
    try:
        taken = import_store(inventory, options.file)
    except (OSError, ValueError) as error:
        raise WrongUse(f"{options.file} cannot be imported: {error}") from error
    except CompileError as error:
        return Answer({"error": str(error)}, f"nothing is imported: {error}", NOT_FINE)
    return Answer(taken.to_json(), str(taken), NOT_FINE if taken.foreign or taken.damaged else FINE)


_COMMANDS: dict[str, Callable[[Inventory, argparse.Namespace], Answer]] = {
    "ls": _ls, "show": _show, "why": _why, "verify": _verify, "prune": _prune, "clear": _clear, "export": _export,
    "import": _import,
}  # fmt: skip


def _entries(inventory: Inventory, keys: list[str]) -> list[StoredEntry]:
    try:
        return [inventory[key] for key in keys]
    except KeyError as error:
        raise WrongUse(str(error.args[0])) from error


@contextmanager
def _counted(inventory: Inventory) -> Iterator[dict[str, int]]:
    """Count the entries that go meanwhile."""
    before = len(inventory)
    value: dict[str, int] = {}
    yield value
    value.update(removed=before - len(inventory), left=len(inventory))
