"""Directories of every kind where the cache, the home, the temporary files and the work should be.

In each the answer is right, with one warning at most, and nothing is made where it does not belong.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

from tests.faults.harness import ANSWER

PROGRAM = ANSWER + "check(); check(3); print('right')"
STORED = ANSWER + """
from tinytrace.runtime.ladder import stats
check()
forget()
check()
assert (stats.compiles, stats.disk_hits) == (0, 1), stats
print("right")
"""
NOBODY = 65534
AS_ROOT = os.geteuid() == 0


def can_mount() -> bool:
    return AS_ROOT and bool(shutil.which("unshare")) and subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0


def mounted(sandbox, options: str) -> str:
    """Begins a program whose cache directory is a file system of its own."""
    sandbox.cache.mkdir(mode=0o700, exist_ok=True)
    return NAMESPACE + f"mount('-t', 'tmpfs', '-o', 'mode=700,{options}', 'tmpfs', {str(sandbox.cache)!r})\n"


NAMESPACE = """
import ctypes, subprocess
assert ctypes.CDLL(None).unshare(0x20000) == 0  # CLONE_NEWNS: what is mounted now is mounted for this program only
def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)
mount("--make-rprivate", "/")
"""


# --- the cache ----------------------------------------------------------------------------------------------


def link_to_itself(path):
    path.symlink_to(path)


def given_away(path):
    path.mkdir(mode=0o700)
    os.chown(path, NOBODY, NOBODY)


def foreign_store(path):
    (path / "tinytrace-store-1" / "deep").mkdir(parents=True)
    (path / "tinytrace-store-1" / "thesis.tex").write_text("mine")
    path.chmod(0o700)


def linked_store(path):
    path.mkdir(mode=0o700)
    (path.parent / "elsewhere").mkdir(mode=0o700)
    (path / "tinytrace-store-1").symlink_to(path.parent / "elsewhere")


def with_mode(mode):
    def make(path):
        path.mkdir()
        path.chmod(mode)
    return make


UNUSABLE = {
    "a file": lambda path: path.write_text("mine"),
    "an empty file": lambda path: path.touch(),
    "a FIFO": os.mkfifo,
    "a link to itself": link_to_itself,
    "a dangling link into nothing": lambda path: path.symlink_to("/proc/nowhere/at/all"),
    "a link to a file": lambda path: path.symlink_to("/etc/passwd"),
    "writable by the group": with_mode(0o770),
    "writable by all": with_mode(0o707),
    "writable by all, sticky": with_mode(0o1777),
    "of another user": given_away,
    "with a foreign folder in it": foreign_store,
    "with a link in it": linked_store,
}


@pytest.mark.parametrize("row", UNUSABLE)
def test_a_cache_directory_that_cannot_be_trusted_is(sandbox, row):
    if row == "of another user" and not AS_ROOT:
        pytest.skip("only root can give a directory away")
    UNUSABLE[row](sandbox.cache)
    before = sorted(map(str, sandbox.folder.rglob("*")))
    ended = sandbox.fork(PROGRAM).require_right(warned=[1])
    assert "memory only" in ended.warnings[0]
    after = sorted(str(path) for path in sandbox.folder.rglob("*") if path.name not in ("output", "errors", "report"))
    assert after == before


USABLE = {
    "missing": lambda path: None,
    "missing with all above it": None,
    "empty": with_mode(0o700),
    "readable by all": with_mode(0o755),
    "a link to a folder": lambda path: ((path.parent / "real").mkdir(), path.symlink_to(path.parent / "real")),
}


@pytest.mark.parametrize("row", USABLE)
def test_a_cache_directory_that_is(sandbox, row):
    if USABLE[row] is None:
        sandbox.cache = sandbox.folder / "a" / "b" / "c"
        sandbox.environment["TINYTRACE_CACHE_DIR"] = str(sandbox.cache)
    else:
        USABLE[row](sandbox.cache)
    sandbox.fork(STORED).require_right(warned=[0])


NAMES = ["two words", "quo'te\"s", "new\nline", "\udcff\udc80", "-dash", "$HOME `x`", "naïve", "n" * 255, "a:b,c=d",
         "@file", "%s%n", "*", "\x1b[2J"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_cache_and_a_tmpdir_called(sandbox, name):
    for place in ("c", "t"):
        os.makedirs(os.fsencode(sandbox.folder / place / name), 0o700)
    sandbox.environment["TINYTRACE_CACHE_DIR"] = str(sandbox.folder / "c" / name)
    sandbox.environment["TMPDIR"] = str(sandbox.folder / "t" / name)
    sandbox.fork(STORED).require_right(warned=[0])
    assert os.listdir(sandbox.folder / "c" / name) == ["tinytrace-store-1"]
    sandbox.environment["TINYTRACE_CACHE_DIR"] = "/proc/nowhere"  # the compiler works in TMPDIR then
    sandbox.fork(PROGRAM).require_right(warned=[1])
    assert not os.listdir(sandbox.folder / "t" / name)


@pytest.mark.parametrize("value", ["n" * 300, "/" + "d/" * 3000, "/dev/null/x", "/proc/x", "~nobody-of-this-name/x",
                                   "a\0b"])
def test_tinytrace_cache_dir_of(sandbox, value):
    program = f"jax.config.update('tinytrace_cache_dir', {value!r}); "
    ended = sandbox.fork(PROGRAM.replace("check(); ", program + "check(); ", 1)).require_clean()
    assert ended.status == 0, ended.errors
    assert len(ended.warnings) <= 1
    assert ended.output.strip().endswith("right")


@pytest.mark.parametrize("umask", ["0", "0o002", "0o027", "0o077", "0o777"])
def test_a_umask_of(sandbox, umask):
    """Also after the cache was removed while in use."""
    program = f"""
import os, shutil, stat
cache = os.environ["TINYTRACE_CACHE_DIR"]
os.umask({umask})
check()
shutil.rmtree(cache)
check(3)
forget()
check(3)
from tinytrace.runtime.ladder import stats
assert (stats.compiles, stats.disk_hits) == (0, 1), stats
for folder, folders, files in os.walk(cache):
    for name in (".", *files):
        assert not os.stat(os.path.join(folder, name)).st_mode & 0o077, (folder, name)
print("right")
"""
    sandbox.fork(ANSWER + program).require_right(warned=[0])


@pytest.mark.parametrize("row", ["the cache", "the cache and what is above it", "the store's folder", "the entries",
                                 "the folder in which it compiles"])
def test_removed_while_it_compiles(sandbox, row):
    """The compiler works, so nothing is interpreted; and the next program is stored again."""
    program = f"""
import glob, os, shutil
from tinytrace.runtime.compiler import Compiler
compile_now, row, cache = Compiler.compile, {row!r}, os.environ["TINYTRACE_CACHE_DIR"]
def compile_and_remove(self, folder, *options):
    paths = {{"the cache": [cache], "the store's folder": glob.glob(cache + "/*"),
              "the entries": glob.glob(cache + "/*/entries"), "the folder in which it compiles": [folder],
              "the cache and what is above it": [os.path.dirname(cache)]}}[row]
    for path in paths:
        shutil.rmtree(path)
    Compiler.compile = compile_now
    return compile_now(self, folder, *options)
check(3)
Compiler.compile = compile_and_remove
check()
check(4)
forget()
check(4)
from tinytrace.runtime.ladder import stats
assert (stats.compiles, stats.disk_hits) == (0, 1), stats
print("right")
"""
    sandbox.environment["TINYTRACE_CACHE_DIR"] = str(sandbox.folder / "above" / "cache")
    sandbox.fork(ANSWER + program).require_right(warned=[0])


# --- disks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 32])
def test_a_disk_with_blocks_of_4_kib(sandbox, blocks):
    if not can_mount():
        pytest.skip("file systems cannot be mounted here")
    sandbox.fork(mounted(sandbox, f"size={blocks * 4}k") + PROGRAM).require_right()


@pytest.mark.parametrize("inodes", [1, 2, 3, 4, 6, 8, 12])
def test_a_disk_with_inodes(sandbox, inodes):
    if not can_mount():
        pytest.skip("file systems cannot be mounted here")
    sandbox.fork(mounted(sandbox, f"nr_inodes={inodes}") + PROGRAM).require_right()


@pytest.mark.parametrize("limit", [0, 100, 1000, 5000, 10_000, 14_000, 20_000])
def test_files_may_not_be_longer_than(sandbox, limit):
    program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\\n"
    report = ANSWER + program.replace("\\n", "\n") + "check(); check(3); print('right')"
    sandbox.run(report).require_right()
    sandbox.fork(STORED).require_right(warned=[0])  # whatever it left


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 12])
def test_descriptors_that_are_free(sandbox, count):
    program = f"""
import os, resource
from tests.faults.fork_server import forget
from tinytrace.runtime import elf, worker
check()
forget()
used = len(os.listdir("/proc/self/fd")) - 1
top = max(int(name) for name in os.listdir("/proc/self/fd")[:-1]) + 1
held = [os.open("/dev/null", os.O_RDONLY) for _ in range(top - used)]
limit = max(int(name) for name in os.listdir("/proc/self/fd")[:-1]) + 1 + {count}
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
check()
check(5)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
forget()
check(6)
print("right")
"""
    sandbox.fork(ANSWER + program).require_right()


def test_a_disk_that_can_only_be_read(sandbox):
    if not can_mount():
        pytest.skip("file systems cannot be mounted here")
    sandbox.fork(PROGRAM).require_right(warned=[0])
    program = ANSWER + """
from tinytrace.runtime.ladder import stats
check()
assert (stats.compiles, stats.disk_hits) == (0, 1), stats
check(5)
print("right")
"""
    read_only = NAMESPACE + f"""
mount("--bind", {str(sandbox.cache)!r}, {str(sandbox.cache)!r})
mount("-o", "remount,ro,bind", {str(sandbox.cache)!r})
"""
    ended = sandbox.fork(read_only + program).require_right(warned=[1])
    assert "memory only" in ended.warnings[0]


def test_no_disk_at_all(sandbox):
    """Nothing can be written anywhere but in memory."""
    if not can_mount():
        pytest.skip("file systems cannot be mounted here")
    script = """
for path in /tmp /dev/shm "$TMPDIR"; do
    mount --bind "$path" "$path" && mount -o remount,bind,ro "$path"
done
exec "$@"
"""
    env = {"TINYTRACE_CACHE_DIR": "/proc/x", "TMPDIR": "/var/tmp", "HOME": "/proc"}
    sandbox.run(PROGRAM, env=env, cwd="/", prefix=["unshare", "-m", "sh", "-c", script, "sh"]).require_right(warned=[1])


# --- home, work, temporary files ----------------------------------------------------------------------------


@pytest.mark.parametrize("home", ["", "relative", "/nowhere/at/all", "~", None])
def test_a_home_that_is(sandbox, home):
    """Without a user database too, as for numbers of users in containers: nothing is made in the working directory."""
    env = {"TINYTRACE_CACHE_DIR": None, "HOME": home}
    prefix = []
    if AS_ROOT and shutil.which("setpriv"):
        prefix = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"]
        env["TMPDIR"] = "/tmp"
    ended = sandbox.run(PROGRAM, env=env, prefix=prefix, cwd="/").require_right(warned=[0, 1])
    assert not ended.files
    assert not pathlib.Path("/~").exists()


def test_a_working_directory_that_is_deleted(sandbox):
    program = """
import os
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
check()
forget()
jax.config.update("tinytrace_cache_dir", "/proc/nowhere")
check(3)
"""
    sandbox.fork(ANSWER + program + "print('right')").require_right(warned=[1])
    relative = program.replace("/proc/nowhere", "relative/path")
    sandbox.fork(ANSWER + relative + "print('right')").require_right(warned=[1])


@pytest.mark.parametrize("value", ["", "/nowhere", "/etc/passwd", "relative", "new\nline", "/proc", "x" * 5000])
def test_tmpdir_is(sandbox, value):
    sandbox.environment["TMPDIR"] = value
    sandbox.fork(STORED).require_right(warned=[0])
    program = PROGRAM.replace("check(); ", "jax.config.update('tinytrace_cache_dir', '/proc/nowhere'); check(); ", 1)
    sandbox.fork(program).require_right(warned=[1])


# --- clocks, locales, processors ----------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [-4e7, -3600, 3600, 4e7])
def test_a_clock_that_jumps_while_another_process_compiles(sandbox, jump):
    """By a year too: nobody's build is taken for a leftover, and sweeping goes on."""
    program = f"""
import glob, os, signal, time
from tinytrace.runtime import ladder, locks
from tinytrace.runtime.places import open_store
check()
cache, now = os.environ["TINYTRACE_CACHE_DIR"], time.time
pid = os.fork()
if not pid:
    build = ladder._Search._build
    def stop_and_build(self, compiler, folder, turn):
        os.kill(os.getpid(), signal.SIGSTOP)
        return build(self, compiler, folder, turn)
    ladder._Search._build = stop_and_build
    check(3)
    assert ladder.stats.compiles == 2
    os._exit(0)
os.waitpid(pid, os.WUNTRACED)
(build,) = glob.glob(cache + "/*/building/*")
time.time = lambda: now() + {jump}
open_store().sweep()
check(4)
assert os.path.isdir(build)
os.kill(pid, signal.SIGCONT)
assert os.waitpid(pid, 0)[1] == 0
time.time = now
check(5)
open_store().sweep()
forget()
for n in (2, 3, 4, 5):
    check(n)
assert (ladder.stats.compiles, ladder.stats.disk_hits) == (0, 4)
assert abs(os.stat(glob.glob(cache + "/*/swept")[0]).st_mtime - now()) < 600
print("right")
"""
    sandbox.fork(ANSWER + program).require_right(warned=[0])


@pytest.mark.parametrize("variables", [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "tr_TR.UTF-8"}, {"LC_ALL": "no such"},
    {"PYTHONIOENCODING": "ascii", "LANG": "zh_CN.GBK"}, {"LANGUAGE": "de", "LC_MESSAGES": "de_DE.UTF-8"},
], ids=lambda variables: " ".join(variables.values()))  # fmt: skip
def test_a_locale_of(sandbox, variables):
    program = STORED.replace('print("right")', """
named = lambda x: tinytrace.ad_checkpoint.checkpoint_name(x, "gr\\xf6\\xdfe\\udcff") * 3
named.__name__ = "gr\\xf6\\xdfe"
np.testing.assert_array_equal(jax.jit(named)(X), X * 3)
print("right")""")
    sandbox.run("import tinytrace.ad_checkpoint\n" + program, env=variables).require_right(warned=[0])
    ended = sandbox.run(PROGRAM, env={**variables, "CC": "\udcff no compiler"}).require_right(warned=[1])
    assert "\\xff no compiler" in ended.warnings[0]


def test_another_processor(sandbox):
    """What was compiled for one is not run by another."""
    program = """
from tinytrace.runtime import probe
from tinytrace.runtime.ladder import stats
check()
kind = probe.cpu_kind
for processor, compiles in (("another", 1), ("another", 0), ("a third", 1), (kind(), 0)):
    probe.cpu_kind = lambda: processor
    forget()
    check()
    assert stats.compiles == compiles, (processor, stats)
print("right")
"""
    sandbox.fork(ANSWER + program).require_right(warned=[0])
    assert len(sandbox.entries()) == 3
