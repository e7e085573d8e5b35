"""The failure ladder: every way down ends in the right answer, announced once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import tinytrace as jax
from tests.runtime.programs import adder, answer, begin_child, expected, has_ended, in_child, program, script
from tinytrace.config import config, enable_x64
from tinytrace.runtime import discovery, ladder
from tinytrace.runtime.executable import Executable
from tinytrace.runtime.failures import DegradedWarning, NoCompiler, Step, StrictError, step_down
from tinytrace.runtime.ladder import Stats, load, stats

AS_ROOT = os.geteuid() == 0
NOBODY = 65534


def forget() -> None:
    """As if a new process came to the same store."""
    ladder.clear_memory()
    for table in (discovery._compilers, discovery._stores, discovery._silent, discovery._remembered):
        table.clear()
    stats.reset()


def entry_folders(store) -> list:
    return list(store.glob("*/entries/??/*"))


def left_over(store) -> list:
    return [*store.glob("*/building/*"), *store.glob("*/locks/*"), *store.glob("*/aside/*")]


def test_memory_then_disk_then_compiler():
    first = load(adder(1))
    assert (stats, answer(first)) == (Stats(compiles=1), expected(1))
    assert load(adder(1)) is first
    assert stats == Stats(memory_hits=1, compiles=1)
    forget()
    again = load(adder(1))
    assert (stats, answer(again)) == (Stats(disk_hits=1), expected(1))
    assert again.key == first.key


def test_a_warm_process_starts_no_process(monkeypatch):
    load(adder(1))
    forget()
    monkeypatch.setattr(os, "posix_spawnp", lambda *args, **kwargs: pytest.fail("a process was started"))
    assert answer(load(adder(1))) == expected(1)
    assert stats == Stats(disk_hits=1)


def test_executable_says_what_it_is(store_folder):
    executable = load(adder(2))
    digest = executable.key.digest
    path = os.path.join(store_folder, "tinytrace-store-1", "entries", digest[:2], digest, "kernel.so")
    assert repr(executable) == f"Executable(key={executable.key.digest[:12]}, path={path!r}, size={executable.size})"
    assert os.path.getsize(path) == executable.size


# --- damage --------------------------------------------------------------------------------------------------------


def truncated(path):
    data = path.read_bytes()
    replace(path, data[: len(data) // 2])


def bit_flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    replace(path, bytes(data))


def emptied(path):
    replace(path, b"")


def gone(path):
    path.unlink()


def symlinked(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def writable_by_others(path):
    path.chmod(0o666)


def of_another_user(path):
    os.chown(path, NOBODY, NOBODY)


def replace(path, data):
    """Put a new file in its place: the old one may be mapped, and changing a mapped file kills the process."""
    path.rename(path.with_name("old"))
    path.write_bytes(data)


DAMAGES = [truncated, bit_flipped, emptied, gone, symlinked, writable_by_others]
DAMAGES += [of_another_user] if AS_ROOT else []


@pytest.mark.parametrize("name", ["kernel.so", "kernel.c", "meta.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_a_miss_and_is_mended(store_folder, name, damage):
    load(adder(3))
    (folder,) = entry_folders(store_folder)
    damage(folder / name)
    forget()
    assert answer(load(adder(3))) == expected(3)
    assert stats == Stats(compiles=1)
    forget()
    assert answer(load(adder(3))) == expected(3)
    assert stats == Stats(disk_hits=1)
    assert len(entry_folders(store_folder)) == 1


def test_every_flipped_bit_of_the_object_is_noticed(store_folder):
    """Not all bits: one in each of 200 places."""
    executable = load(adder(3))
    store = discovery.current_store([])
    library = entry_folders(store_folder)[0] / "kernel.so"
    data = library.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 200)):
        library.unlink()
        library.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        assert store.find(executable.key, adder(3).text) is None


def test_an_entry_of_another_text_is_a_miss(store_folder):
    """An entry that is whole, but not what its place says, as a wrong sha256 would make it."""
    load(adder(3))
    (three,) = entry_folders(store_folder)
    ours = three.name
    forget()
    four = load(adder(4))
    (theirs,) = [path for path in entry_folders(store_folder) if path.name != ours]
    three.rename(three.with_name("aside"))
    theirs.rename(three)
    del four
    forget()
    assert answer(load(adder(3))) == expected(3)
    assert stats.compiles == 1


def test_damaged_memory_of_the_compiler_is_asked_again(store_folder):
    load(adder(3))
    (note,) = store_folder.glob("*/compilers/*")
    for text in ["", "[1]", '{"command": ["gcc"]}', "null"]:
        note.write_text(text)
        forget()
        assert answer(load(adder(3))) == expected(3)
        assert stats == Stats(disk_hits=1)
    assert note.read_text() != "null"


# --- a directory that cannot be used ---------------------------------------------------------------------------------


def memory_only(reason: str):
    return pytest.warns(DegradedWarning, match=rf"(?s){reason}.*memory only.*TINYTRACE_CACHE_DIR")


def test_a_file_where_the_directory_should_be(store_folder):
    store_folder.write_text("")
    with memory_only("is unusable: Not a directory"):
        executable = load(adder(5))
    assert answer(executable) == expected(5)
    assert repr(executable).endswith(f"path='in memory only', size={executable.size})")


def test_a_directory_that_cannot_be_made():
    config.update("cache_dir", "/proc/tinytrace")
    with memory_only("/proc/tinytrace is unusable"):
        assert answer(load(adder(5))) == expected(5)


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702], ids=oct)
def test_a_directory_that_others_can_write(mode, store_folder):
    store_folder.mkdir()
    store_folder.chmod(mode)
    with memory_only(f"others may write to it .mode {mode:o}."):
        assert answer(load(adder(5))) == expected(5)
    assert not list(store_folder.iterdir())


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a directory away")
def test_a_directory_of_another_user(store_folder):
    store_folder.mkdir(mode=0o700)
    os.chown(store_folder, NOBODY, NOBODY)
    with memory_only(f"it belongs to user {NOBODY}"):
        assert answer(load(adder(5))) == expected(5)


def test_memory_only_announces_once_and_never_confuses_programs(store_folder):
    """Every program is loaded from a memory file of its own, though their descriptors have the same number."""
    store_folder.write_text("")
    with memory_only("is unusable") as announced:
        assert [answer(load(adder(n))) for n in range(4)] == [expected(n) for n in range(4)]
    assert len(announced) == 1
    assert stats == Stats(compiles=4)


def test_a_directory_that_becomes_read_only(store_folder):
    """What is there is still used; what is new stays in memory. In a child that is not root, whom nothing stops."""
    load(adder(5))

    def as_another_user():
        os.setuid(NOBODY)
        with memory_only("cannot be written"):
            return [answer(load(adder(n))) == expected(n) for n in (5, 6)], str(stats)

    for path in [store_folder, *store_folder.rglob("*")]:
        if AS_ROOT:
            os.chown(path, NOBODY, NOBODY)
        path.chmod(0o500 if path.is_dir() else 0o400)
    for parent in store_folder.parents[:4]:
        if AS_ROOT and parent.name.startswith(("pytest", "test_", "popen")):
            parent.chmod(0o755)
    forget()
    status, text = in_child(as_another_user)
    store_folder.chmod(0o700)
    assert (status, text) == (0, f"([True, True], '{Stats(disk_hits=1, compiles=1)}')")


def test_a_full_disk(monkeypatch):
    """No folder can be made anywhere: memory only, and then the interpreter."""

    def no_room(*args, **kwargs):
        raise OSError(28, "No space left on device")

    load(adder(5))
    monkeypatch.setattr(os, "mkdir", no_room)
    with pytest.warns(DegradedWarning) as announced, pytest.raises(NoCompiler, match="no temporary directory"):
        load(adder(6))
    assert len(announced) == 1
    assert "no room to compile a program" in str(announced[0].message)
    assert answer(load(adder(5))) == expected(5)


def test_what_two_steps_have_in_common_is_told_once():
    with pytest.warns(DegradedWarning) as announced:
        step_down(*[Step("memory only", "no room", "make some")] * 2, Step("the interpreter", "no gcc", "make some"))
    assert str(announced[0].message) == "no room\nno gcc\nGoing on with the interpreter; to mend it, make some."


def test_strict_makes_a_step_down_an_error(store_folder):
    store_folder.write_text("")
    config.update("strict", True)
    for _ in range(2):
        with pytest.raises(StrictError, match="is unusable"):
            load(adder(5))


# --- the compiler ----------------------------------------------------------------------------------------------------


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    told = r"(?s)no C compiler found.*the interpreter.*install gcc, or set CC"
    with pytest.warns(DegradedWarning, match=told), pytest.raises(NoCompiler):
        load(adder(6))
    with pytest.raises(NoCompiler):  # and no second warning, which would be an error here
        load(adder(7))
    config.update("strict", True)
    with pytest.raises(StrictError, match="no C compiler found: gcc or cc on PATH"):
        load(adder(6))


def test_a_compiler_that_is_not_one():
    config.update("compiler", "/bin/false")
    with pytest.warns(DegradedWarning, match="does not say what it is"), pytest.raises(NoCompiler):
        load(adder(6))


def test_a_failure_whose_source_cannot_be_kept(monkeypatch):
    def no_room(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ladder.Store, "keep_failure", no_room)
    with pytest.warns(DegradedWarning, match="nonsense"), pytest.raises(NoCompiler):
        load(program("    return nonsense;"))


def test_a_compiler_that_fails(tmp_path, store_folder):
    """It knows its version; compiling goes wrong."""
    text = 'case "$*" in *--version*) echo fake 1.0;; *-dump*) echo x86_64;; *) echo no space left; exit 3;; esac\n'
    config.update("compiler", script(tmp_path / "cc", text))
    with pytest.warns(DegradedWarning) as announced, pytest.raises(NoCompiler, match="failed with status 3"):
        load(adder(6))
    (kept,) = store_folder.glob("*/failed/*")
    assert kept.read_text() == adder(6).text
    message = str(announced[0].message)
    assert "  | no space left" in message
    assert str(kept) in message
    config.update("compiler", "gcc")
    assert answer(load(adder(6))) == expected(6)


@pytest.mark.filterwarnings("ignore::tinytrace.runtime.failures.DegradedWarning")
def test_a_compiler_that_fails_is_asked_once_what_it_is(tmp_path):
    text = 'case "$*" in *--version*) echo fake 1.0;; *-dump*) echo x86_64;; *) exit 3;; esac\n'
    config.update("compiler", script(tmp_path / "cc", f'echo "$*" >> {tmp_path}/log\n{text}'))
    for amount in (6, 7, 8):
        with pytest.raises(NoCompiler):
            load(adder(amount))
    assert (tmp_path / "log").read_text().count("--version") == 1


@pytest.mark.parametrize(("function", "dtype", "times"), [
    (lambda x: x @ x + 7, "float32", 1), (lambda x: x @ x + 7, "float64", 1), (lambda x: x.T * 7, "float32", 0)])
def test_the_blas_is_there_before_a_program_that_calls_it(monkeypatch, function, dtype, times):
    provided = []
    monkeypatch.setattr(ladder, "provide_blas", lambda: provided.append(dtype))
    with enable_x64():
        jax.jit(function).lower(jax.ShapeDtypeStruct((150, 150), dtype)).compile()
    assert len(provided) == times


def test_a_source_that_does_not_compile_says_where():
    with pytest.warns(DegradedWarning, match=r"error: .*nonsense"), pytest.raises(NoCompiler):
        load(program("    return nonsense;"))


def test_an_object_that_does_not_load():
    with pytest.warns(DegradedWarning, match="undefined symbol: tt_nowhere"), pytest.raises(NoCompiler):
        load(program("    return tt_nowhere();", helpers="int32_t tt_nowhere(void);"))


def slow_compiler(tmp_path, seconds=60):
    """A compiler that starts a child, notes its process id, and takes very long; otherwise gcc."""
    return script(tmp_path / "cc", f"""\
case "$*" in
  *-###*) exit 1;;
  *"-x c"*) sleep {seconds} & echo $! > {tmp_path}/child; wait; exec gcc "$@";;
  *) exec gcc "$@";;
esac
""")  # fmt: skip


def test_a_compiler_that_takes_too_long(tmp_path):
    config.update("compiler", slow_compiler(tmp_path))
    config.update("compile_timeout", 1)
    with pytest.warns(DegradedWarning, match="was stopped"), pytest.raises(NoCompiler):
        load(adder(8))
    assert has_ended(int((tmp_path / "child").read_text()))


def test_ctrl_c_while_compiling_leaves_nothing_behind(tmp_path, store_folder):
    config.update("compiler", slow_compiler(tmp_path))

    def interrupt():
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        load(adder(9))
    thread.join()
    assert has_ended(int((tmp_path / "child").read_text()))
    assert not left_over(store_folder)
    config.update("compiler", "gcc")
    assert answer(load(adder(9))) == expected(9)


# --- many at once ------------------------------------------------------------------------------------------------


def test_threads_that_want_one_program_compile_it_once():
    results: list[Executable] = []
    threads = [threading.Thread(target=lambda: results.append(load(adder(10)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert (stats.compiles, stats.memory_hits) == (1, 7)
    assert not ladder._key_locks


def test_a_child_forked_while_a_thread_compiles(tmp_path):
    """The child wants the very program that the parent's thread is compiling: it waits for it, and then has it."""
    config.update("compiler", slow_compiler(tmp_path, seconds=0.5))
    thread = threading.Thread(target=lambda: load(adder(13)))
    thread.start()
    while not (tmp_path / "child").exists():
        time.sleep(0.01)
    status, text = in_child(lambda: (answer(load(adder(13))) == expected(13), stats.compiles, stats.disk_hits))
    thread.join()
    assert (status, text) == (0, "(True, 1, 1)")  # the one compile is the parent's, counted before the fork


PROCESS = textwrap.dedent("""\
    import sys
    from tests.runtime.programs import adder, answer, expected
    from tinytrace.runtime.ladder import load, stats
    sys.stdin.readline()
    assert answer(load(adder(11))) == expected(11)
    print(stats.compiles, stats.disk_hits)
""")


@pytest.mark.not_quick
def test_two_cold_processes_on_one_key_compile_it_once(store_folder):
    environment = {**os.environ, "TINYTRACE_CACHE_DIR": str(store_folder)}
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS], env=environment, stdin=-1, stdout=-1, text=True)
        for _ in range(2)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = sorted(process.communicate()[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert answers == ["0 1\n", "1 0\n"]
    assert len(entry_folders(store_folder)) == 1
    assert not left_over(store_folder)


def test_without_locks_the_first_rename_wins(monkeypatch, store_folder):
    """A file system without locks: both compile, one entry remains, both answers are right."""
    monkeypatch.setattr("fcntl.flock", lambda *args: (_ for _ in ()).throw(OSError("no locks available")))

    def compile_slowly():
        compile_now = ladder.Compiler.compile

        def compile_and_wait(self, folder, *options):
            commands = compile_now(self, folder, *options)
            (store_folder.parent / f"ready{os.getpid()}").touch()
            while len(list(store_folder.parent.glob("ready*"))) < 2:
                time.sleep(0.005)
            return commands

        monkeypatch.setattr(ladder.Compiler, "compile", compile_and_wait)
        return answer(load(adder(12))) == expected(12), stats.compiles

    load(adder(0))
    forget()
    waits = [begin_child(compile_slowly) for _ in range(2)]
    assert [wait() for wait in waits] == [(0, "(True, 1)")] * 2
    assert len(entry_folders(store_folder)) == 2
    assert not left_over(store_folder)
