"""What a store says of its entries, whether they can be built again, and whether they can be carried elsewhere."""

from __future__ import annotations

import json
import os
import pathlib
import zipfile

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.runtime.programs import adder, answer, expected
from tinytrace.config import config, exact
from tinytrace.runtime import discovery, ladder
from tinytrace.runtime.archive import export_store, import_store
from tinytrace.runtime.compiler import Compiler
from tinytrace.runtime.failures import CompileError, DegradedWarning
from tinytrace.runtime.folders import Folder
from tinytrace.runtime.inventory import Inventory, current_inventory
from tinytrace.runtime.ladder import load, stats


def chain(x, n):
    for i in range(n):
        x = jnp.sin(x) * (1 + i / 64) + x
    return x


def fill() -> Inventory:
    """Entries of every kind: the usual, exact, in a hurry."""
    jax.clear_caches()  # what another test has compiled would not come into this one's store
    x = jnp.asarray(np.linspace(-1, 1, 64, dtype=np.float32))
    for is_exact in (False, True):
        with exact(is_exact):
            jax.jit(lambda x: x * 2.5 + x)(x)
    jax.jit(lambda x: jnp.dot(x, x))(x)
    jax.jit(lambda x: chain(x, 90))(x)
    return current_inventory()


@pytest.mark.not_quick
def test_entries_tell_what_made_them_and_are_built_again():
    inventory = fill()
    entries = list(inventory.entries())
    assert len(entries) == len(inventory) == 4
    for entry in entries:
        assert entry.commands
        assert "let" in entry.jaxpr
        assert "tt_entry" in entry.text
        assert set(entry.files) == {"kernel.c", "kernel.so", "program.jaxpr"}
        assert entry.verify(rebuild=True) == []
        assert inventory[entry.digest[:16]] == entry
        assert str(entry.commands[-1]) in str(entry)
        json.dumps(entry.to_json())
    assert len({entry.key.argv for entry in entries}) >= 2
    assert entries[0].digest[:12] in repr(inventory)
    assert entries[0].digest[:12] in inventory._repr_html_()
    for unknown in ("", "no such"):
        with pytest.raises(KeyError):
            inventory[unknown]


def test_to_find_an_entry_no_other_shard_is_looked_at(monkeypatch):
    """An export of n entries would take n * n steps."""
    inventory = fill()
    listed, names = [], Folder.names
    monkeypatch.setattr(Folder, "names", lambda self: [listed.append(self), *names(self)][1:])
    assert len(inventory) == 4
    for digest in list(inventory):
        listed.clear()
        assert inventory[digest[:20]].digest == digest
        assert len(listed) == 2  # the shards, and one of them


def test_what_was_made_of_another_text_is_opened_once(monkeypatch):
    """To ask what n programs will cost would take n * n steps."""
    inventory = fill()
    wanted = next(inventory.entries()).key.source
    opened, read = [], Folder.read
    monkeypatch.setattr("tinytrace.runtime.inventory._sources", {})
    monkeypatch.setattr(Folder, "read", lambda self, *args: [opened.append(self), read(self, *args)][1])
    for count in (4, 1):
        opened.clear()
        assert [entry.key.source for entry in inventory.entries(wanted)] == [wanted]
        assert len(opened) == count


def test_the_recorded_commands_by_hand(tmp_path):
    """A shell that runs what is recorded makes the very object."""
    load(adder(1))
    (entry,) = current_inventory().entries()
    (tmp_path / "kernel.c").write_text(entry.text)
    for pipeline in entry.commands:
        assert os.system(f"cd '{tmp_path}' && {pipeline}") == 0
    assert (tmp_path / "kernel.so").read_bytes() == entry.read("kernel.so")


def test_damage_is_told():
    load(adder(1))
    (entry,) = current_inventory().entries()
    path = pathlib.Path(entry.path)
    whole = (path / "kernel.so").read_bytes()
    (path / "kernel.so").write_bytes(whole[:-1] + b"?")
    assert entry.verify() == ["kernel.so is not what was stored"]
    (path / "kernel.so").unlink()
    assert entry.verify() == ["kernel.so cannot be read: No such file or directory"]
    (path / "meta.json").write_text("{}")
    assert list(current_inventory().entries()) == []
    with pytest.raises(KeyError, match="damaged"):
        current_inventory()[entry.digest]


def test_what_is_told_of_an_entry_is_checked_too():
    """And entries of earlier versions, which tell less, are hits."""
    load(adder(1))
    (entry,) = current_inventory().entries()
    path = pathlib.Path(entry.path) / "meta.json"
    meta = json.loads(path.read_text())
    meta["commands"][0][1][0][0] = "rm"
    for told, hits in ((meta, 0), ({name: meta[name] for name in ("key", "size", "sha256")}, 1)):
        path.write_text(json.dumps(told))
        ladder.clear_memory()
        stats.reset()
        assert len(list(current_inventory().entries())) == hits
        assert answer(load(adder(1))) == expected(1)
        assert stats.disk_hits == hits
    (entry,) = current_inventory().entries()
    assert (entry.commands, entry.verify(rebuild=True)) == ((), [])


def test_a_compiler_that_makes_other_code_is_told(monkeypatch):
    load(adder(1))
    (entry,) = current_inventory().entries()
    compile_now = Compiler.compile

    def other(self, folder, *args, **kwargs):
        commands = compile_now(self, folder, *args, **kwargs)
        with open(os.path.join(folder, "kernel.so"), "ab") as file:
            file.write(b" ")
        return commands[:-1]

    monkeypatch.setattr(Compiler, "compile", other)
    problems = entry.verify(rebuild=True)
    assert [problem.partition(":")[0] for problem in problems] == [
        "kernel.so", "the commands are not those that were stored"]


def test_entries_of_another_compiler_are_not_built_again(monkeypatch):
    load(adder(1))
    (entry,) = current_inventory().entries()
    for change, told in (({"identity": "gcc 99"}, "this one is gcc 99"), ({"cpu": "a vax"}, "this one is `a vax`")):
        compiler = discovery.known_compiler()
        monkeypatch.setitem(discovery._compilers, discovery._asked(), compiler._replace(**change))
        with pytest.raises(CompileError, match=told):
            entry.verify(rebuild=True)
        monkeypatch.setitem(discovery._compilers, discovery._asked(), compiler)


# --- elsewhere -------------------------------------------------------------------------------------------------------


def elsewhere(folder: pathlib.Path) -> Inventory:
    """As in a new process with an empty store."""
    config.update("cache_dir", str(folder))
    ladder.clear_memory()
    stats.reset()
    return current_inventory()


def test_what_was_exported_is_not_compiled_elsewhere(tmp_path):
    for n in range(3):
        load(adder(n))
    file = str(tmp_path / "programs.zip")
    inventory = current_inventory()
    digests = list(inventory)
    assert export_store(inventory, file) == digests
    with pytest.raises(FileExistsError):
        export_store(inventory, file)
    assert not os.path.exists(f"{file}.part")
    assert export_store(inventory, str(tmp_path / "one.zip"), [digests[0][:20]]) == digests[:1]
    other = elsewhere(tmp_path / "elsewhere")
    imported = import_store(other, file)
    assert (list(imported.added), imported.present, imported.foreign, imported.damaged) == (digests, (), {}, {})
    assert [answer(load(adder(n))) for n in range(3)] == [expected(n) for n in range(3)]
    assert (stats.compiles, stats.disk_hits) == (0, 3)
    assert list(import_store(other, file).present) == digests
    assert all(entry.verify(rebuild=True) == [] for entry in other.entries())
    assert str(imported) == "3 added, 0 present"


def test_a_foreign_compiler_or_processor_is_told(tmp_path, monkeypatch):
    load(adder(1))
    (digest,) = current_inventory()
    file = str(tmp_path / "programs.zip")
    export_store(current_inventory(), file)
    other = elsewhere(tmp_path / "elsewhere")
    compiler = discovery.known_compiler()
    for change, told in (({"identity": "gcc 99"}, "gcc 99"), ({"cpu": "a vax"}, "a vax")):
        monkeypatch.setitem(discovery._compilers, discovery._asked(), compiler._replace(**change))
        imported = import_store(other, file)
        assert list(imported.foreign) == [digest]
        assert told in str(imported)
        assert len(other) == 0


def test_files_that_are_not_what_they_say(tmp_path):
    load(adder(1))
    (digest,) = current_inventory()
    file = tmp_path / "programs.zip"
    export_store(current_inventory(), str(file))
    with zipfile.ZipFile(file) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    faults = {
        "another text": {f"{digest}/kernel.c": b"int x;"}, "another object": {f"{digest}/kernel.so": b"\x7fELF"},
        "no object": {f"{digest}/kernel.so": None}, "another name": {f"{'0' * 64}/meta.json": b"{}"},
        "a way out": {"../../kernel.so": b"x"}, "an absolute one": {"/etc/kernel.so": b"x"},
        "no JSON": {f"{digest}/meta.json": b"[1]"}, "not UTF-8": {f"{digest}/kernel.c": b"\xff"},
    }
    other = elsewhere(tmp_path / "elsewhere")
    for name, changes in faults.items():
        path = tmp_path / f"{name}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for member, data in {**whole, **changes}.items():
                if data is not None:
                    archive.writestr(member, data)
        imported = import_store(other, str(path))
        assert len(imported.damaged) == 1, name
        assert len(other) == len(imported.added), name
        other.store.clear()
    with zipfile.ZipFile(file, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{digest}/notes.txt", b"what somebody else put there, and a bit of it fell over")
    file.write_bytes(file.read_bytes().replace(b"fell over", b"fell oveR"))
    imported = import_store(other, str(file))  # nobody reads what does not belong there
    assert (len(imported.added), len(imported.damaged)) == (1, 0)
    file.write_bytes(b"PK no zip")
    with pytest.raises(ValueError, match="is no file of compiled programs"):
        import_store(other, str(file))


def test_a_shared_store_is_read_and_not_written(tmp_path):
    load(adder(1))
    shared = pathlib.Path(config.cache_dir)
    elsewhere(tmp_path / "own")
    config.update("shared_cache", str(shared))
    before = sorted(shared.rglob("*"))
    assert answer(load(adder(1))) == expected(1)
    assert (stats.compiles, stats.disk_hits, len(current_inventory())) == (0, 1, 0)
    assert answer(load(adder(2))) == expected(2)
    assert (stats.compiles, len(current_inventory())) == (1, 1)
    assert sorted(shared.rglob("*")) == before


@pytest.mark.parametrize("fault", ["others may write", "missing", "damaged", "a link"])
def test_a_shared_store_that_cannot_be_trusted_is_not_read(tmp_path, fault, monkeypatch):
    load(adder(1))
    shared = pathlib.Path(config.cache_dir)
    elsewhere(tmp_path / "own")
    warned = fault != "damaged"
    if fault == "others may write":
        shared.chmod(0o777)
    elif fault == "missing":
        shared = tmp_path / "nowhere"
    elif fault == "a link":
        own = next(shared.glob("tinytrace-store-*"))
        own.rename(shared / "moved")
        own.symlink_to(shared / "moved")
    else:
        next(shared.rglob("kernel.so")).write_bytes(b"damaged")
    config.update("shared_cache", str(shared))
    monkeypatch.setattr(discovery, "_shared_stores", {})
    if warned:
        with pytest.warns(DegradedWarning, match="TINYTRACE_SHARED_CACHE"):
            assert answer(load(adder(1))) == expected(1)
    else:
        assert answer(load(adder(1))) == expected(1)
    assert stats.compiles == 1


def test_another_users_shared_store_is_not_trusted(tmp_path, monkeypatch):
    load(adder(1))
    shared = config.cache_dir
    elsewhere(tmp_path / "own")
    config.update("shared_cache", shared)
    monkeypatch.setattr(discovery, "_shared_stores", {})
    monkeypatch.setattr("tinytrace.runtime.shared_store.trusted_owners", lambda: frozenset([4242, 4243]))
    with pytest.warns(DegradedWarning, match="not to user 4242 or 4243"):
        assert answer(load(adder(1))) == expected(1)
