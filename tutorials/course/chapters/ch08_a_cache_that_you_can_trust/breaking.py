"""Eight ways to damage an entry of tinytrace's own store, and what is done about each."""

import json
import pathlib
import tempfile

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.runtime.ladder import clear_memory, stats


def half_of_it(entry):
    """The disk was full."""
    replace(entry / "kernel.so", (entry / "kernel.so").read_bytes()[:5000])


def nothing_in_it(entry):
    """The power went: the name is there, the content is not."""
    replace(entry / "kernel.so", b"")


def one_bit(entry):
    """One bit of the shared object has changed."""
    data = (entry / "kernel.so").read_bytes()
    replace(entry / "kernel.so", data[:5000] + bytes([data[5000] ^ 1]) + data[5001:])


def another_text(entry):
    """Somebody edited the C, to see what happens."""
    replace(entry / "kernel.c", b"int main(void) { return 0; }")


def no_description(entry):
    """The file that says what the entry is has gone."""
    (entry / "meta.json").unlink()


def another_key(entry):
    """The entry was copied from a machine with another processor."""
    meta = json.loads((entry / "meta.json").read_text())
    replace(entry / "meta.json", json.dumps({**meta, "key": {**meta["key"], "cpu": "another"}}).encode())


def a_folder(entry):
    """A folder lies where the shared object should be."""
    (entry / "kernel.so").unlink()
    (entry / "kernel.so").mkdir()


def a_link(entry):
    """The shared object is a link to a file somewhere else."""
    (entry / "kernel.so").rename(entry.parent / "elsewhere.so")
    (entry / "kernel.so").symlink_to(entry.parent / "elsewhere.so")


def no_damage(entry):
    """All is well."""


WAYS = (no_damage, half_of_it, nothing_in_it, one_bit, another_text, no_description, another_key, a_folder, a_link)


def replace(path, data):
    """Puts another file under a name. What is loaded must not be written to: that would end this process."""
    path.unlink()
    path.write_bytes(data)


def after_each(ways, f, x):
    """For each damage: how often the program was found and compiled when it was asked for again, and what it gave."""
    before = jax.config.cache_dir
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("cache_dir", folder)
        try:
            jax.jit(f).lower(x).compile()(x)
            rows = []
            for damage in ways:
                (entry,) = (path.parent for path in pathlib.Path(folder).glob("*/entries/*/*/kernel.c"))
                damage(entry)
                forget()
                result = jax.jit(f).lower(x).compile()(x)
                rows.append((damage.__name__.replace("_", " "), stats.disk_hits, stats.compiles, result.tolist()))
            return rows
        finally:
            jax.config.update("cache_dir", before)
            forget()


def forget():
    """What the next process would know: nothing but what is on disk."""
    jax.clear_caches()
    clear_memory()
    stats.reset()


X = jnp.array([1.0, 2.0, 3.0])
