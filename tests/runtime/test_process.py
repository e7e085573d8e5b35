"""Running commands: pipelines, statuses, time limits, and that nothing is left behind."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
import time

import pytest

from tests.runtime.programs import has_ended, in_child, script
from tinytrace.runtime import process
from tinytrace.runtime.process import ENDLESS, TIME_IS_UP, Ahead, Finished, run, run_together


def test_output_of_all_and_status_of_the_first_that_fails():
    assert run(["sh", "-c", "echo out; echo err >&2"]) == Finished(0, "out\nerr\n")
    assert run(["sh", "-c", "exit 3"], ["sh", "-c", "cat; exit 4"]) == Finished(3, "")
    assert run(["sh", "-c", "kill -9 $$"]).status == -9


def test_stdin_comes_from_a_file(tmp_path):
    (tmp_path / "in").write_text("x\n" * 100_000)
    assert run(["cat"], ["cat"], ["wc", "-l"], stdin=str(tmp_path / "in")).output.strip() == "100000"
    assert run(["cat"]) == Finished(0, "")


def test_a_reader_that_stops_early_ends_the_writer():
    """Python ignores SIGPIPE; its commands do not."""
    assert run(["yes"], ["head", "-1"], timeout=5).output == "y\n"


def test_a_program_that_does_not_exist():
    for pipeline in ([["/nowhere"]], [["cat"], ["/nowhere"]]):
        with pytest.raises(FileNotFoundError):
            run(*pipeline)


def test_time_is_up_for_children_too(tmp_path):
    slow = script(tmp_path / "slow", f"sleep 60 & echo $! > {tmp_path}/child; echo begun; wait\n")
    start = time.monotonic()
    finished = run([slow], timeout=0.3)
    assert finished == Finished(-9, "begun\n", TIME_IS_UP)
    assert time.monotonic() - start < 3
    assert has_ended(int((tmp_path / "child").read_text()))


def test_output_without_end_is_bounded():
    finished = run(["yes"], timeout=30)
    assert (finished.status, finished.stopped) == (-9, ENDLESS)
    assert len(finished.output) <= 1 << 20


def test_bytes_that_are_no_text():
    assert run(["printf", r"\377\0\n"]).output == "\udcff\0\n"


def test_a_command_that_closes_its_output_is_still_waited_for(tmp_path):
    assert run(["sh", "-c", f"exec >&- 2>&-; sleep 0.2; touch {tmp_path}/done"]) == Finished(0, "")
    assert (tmp_path / "done").exists()
    start = time.monotonic()
    assert run(["sh", "-c", "exec >&- 2>&-; sleep 60"], timeout=0.2).stopped == TIME_IS_UP
    assert time.monotonic() - start < 5


def test_what_a_command_leaves_in_its_group_ends_with_it(tmp_path):
    slow = script(tmp_path / "slow", f"sleep 60 >/dev/null 2>&1 & echo $! > {tmp_path}/child\n")
    assert run([slow]) == Finished(0, "")
    assert has_ended(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("closed", [(0,), (0, 1), (0, 1, 2), (2,)])
def test_closed_standard_streams(closed):
    """Pipes get the numbers of standard streams then."""

    def with_closed_streams():
        kept = os.dup(1)
        for stream in closed:
            os.close(stream)
        try:
            return run(["sh", "-c", "echo out; echo err >&2"], ["cat"])
        finally:
            os.dup2(kept, 1)

    status, text = in_child(with_closed_streams)
    assert (status, text) in [(0, str(Finished(0, both))) for both in ("out\nerr\n", "err\nout\n")]


@pytest.mark.parametrize("pipeline", [[["echo", "done"]], [["echo", "done"], ["cat"], ["cat"]]], ids=len)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_fork_of_another_thread_while_commands_start(monkeypatch, moment, pipeline):
    """Its child lives long, and must hold no end of a pipe whose end a command waits for."""
    spawn, children, threads = os.posix_spawnp, [], []

    def fork():
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
        children.append(child)

    def fork_elsewhere():
        threads.append(threading.Thread(target=fork))
        threads[-1].start()
        threads[-1].join(0.2)

    def fork_and_spawn(*args, **kwargs):
        if moment == "before":
            fork_elsewhere()
        pid = spawn(*args, **kwargs)
        if moment == "after":
            fork_elsewhere()
        return pid

    monkeypatch.setattr(os, "posix_spawnp", fork_and_spawn)
    start = time.monotonic()
    assert run(*pipeline, timeout=20) == Finished(0, "done\n")
    assert time.monotonic() - start < 10
    for thread in threads:
        thread.join()
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_what_is_printed_between_two_looks_is_read(monkeypatch):
    """A command has ended, which wakes who waits; until he asks for the others, they print and end too."""
    has_ended = process._has_ended

    def asked_late(pid):
        time.sleep(0.5)
        return has_ended(pid)

    monkeypatch.setattr(process, "_has_ended", asked_late)
    assert run(["true"], ["sh", "-c", "sleep 0.2; echo done"]) == Finished(0, "done\n")


def test_what_a_command_leaves_running_is_not_waited_for():
    start = time.monotonic()
    assert run(["sh", "-c", "sleep 60 & echo done"]) == Finished(0, "done\n")
    assert time.monotonic() - start < 5


def test_no_descriptor_is_left_open():
    before = os.listdir("/proc/self/fd")
    run(["true"], ["true"])
    run(["sleep", "9"], timeout=0.05)
    with pytest.raises(FileNotFoundError):
        run(["true"], ["/nowhere"])
    assert os.listdir("/proc/self/fd") == before


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals_and_is_erased(monkeypatch):
    monkeypatch.setattr("tinytrace.runtime.process._PROGRESS_AFTER", 0.05)
    for stream, lines in [(Terminal(), True), (io.StringIO(), False)]:
        monkeypatch.setattr(sys, "stderr", stream)
        run(["sleep", "0.2"], task="compiling with gcc")
        assert ("compiling with gcc: 0 s" in stream.getvalue()) == lines
        assert stream.getvalue().endswith("\r\x1b[K") == lines


@pytest.fixture
def sort_ahead():
    ahead = Ahead(["sort"])
    ahead.start()
    yield ahead
    ahead.close()


def test_a_command_that_was_started_before_is_given_its_input(sort_ahead, tmp_path):
    file = tmp_path / "in"
    file.write_text("b\na\n")
    assert sort_ahead.can_be_given(str(file))
    assert run_together([[["sort"], ["tr", "a-z", "A-Z"]]], str(file), ahead=sort_ahead) == Finished(0, "A\nB\n")
    assert not sort_ahead.can_be_given(str(file))


def test_one_that_is_given_nothing_ends(sort_ahead):
    pid = sort_ahead._pid
    sort_ahead.close()
    sort_ahead.close()
    assert has_ended(pid)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


def test_an_input_is_as_large_as_a_pipe(sort_ahead, tmp_path):
    file = tmp_path / "in"
    file.write_bytes(b"a" * Ahead.LARGEST)
    assert sort_ahead.can_be_given(str(file))
    file.write_bytes(b"a" * Ahead.LARGEST + b"a")
    assert not sort_ahead.can_be_given(str(file))


def test_one_is_told_its_input_before_it_has_a_place(sort_ahead, tmp_path):
    """Its output may be larger than what a pipe holds, and waits for who reads it."""
    file = tmp_path / "in"
    lines = b"".join(b"%d\n" % k for k in range(10_000))
    file.write_bytes(lines)
    sort_ahead.tell(lines)
    sort_ahead.tell(b"something else")  # nobody hears that any more
    assert sort_ahead.can_be_given(str(file))
    finished = run_together([[["sort"], ["wc", "-l"]]], str(file), ahead=sort_ahead)
    assert finished == Finished(0, "10000\n")


def test_one_that_was_told_something_else_is_not_taken(sort_ahead, tmp_path):
    file = tmp_path / "in"
    file.write_text("b\na\n")
    sort_ahead.tell(b"c\n")
    assert not sort_ahead.can_be_given(str(file))
    sort_ahead.close()
    assert not sort_ahead.can_be_given(str(file))


def test_one_that_has_ended_may_be_told_something():
    with contextlib.closing(Ahead(["true"])) as ahead:
        ahead.start()
        os.waitid(os.P_PID, ahead._pid, os.WEXITED | os.WNOWAIT)
        ahead.tell(b"a")


def test_a_child_that_is_forked_while_one_is_told_its_input_tells_it_nothing(sort_ahead, tmp_path, monkeypatch):
    """As a signal's handler does, between any two calls: in the child there are no ends any more."""
    file = tmp_path / "in"
    file.write_text("b\na\n")
    write = os.write
    children: list[int] = []

    def half(descriptor, data):
        count = write(descriptor, data[:2])
        if not children and not (pid := os.fork()):
            monkeypatch.setattr(os, "write", write)
            children.append(0)
        elif not children:
            children.append(pid)
        return count

    monkeypatch.setattr(os, "write", half)
    status = 1
    try:
        sort_ahead.tell(b"b\na\n")
        status = 0
    finally:
        if children == [0]:
            os._exit(status)
    monkeypatch.setattr(os, "write", write)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
    assert run_together([[["sort"], ["cat"]]], str(file), ahead=sort_ahead) == Finished(0, "a\nb\n")


def test_one_that_ends_too_early_fails_as_any(tmp_path):
    with contextlib.closing(Ahead(["sh", "-c", "exit 3"])) as ahead:
        ahead.start()
        os.waitid(os.P_PID, ahead._pid, os.WEXITED | os.WNOWAIT)
        assert run_together([[["sh"], ["cat"]]], __file__, ahead=ahead) == Finished(3, "")


def test_one_that_cannot_be_started_waits_for_nothing():
    ahead = Ahead(["/nowhere"])
    with pytest.raises(FileNotFoundError):
        ahead.start()
    assert not ahead.can_be_given(__file__)
    ahead.close()


def test_a_forked_child_holds_no_end_of_it(sort_ahead, tmp_path):
    """It would wait for the end of its input as long as the child lives; and the child does not end it."""
    file = tmp_path / "in"
    file.write_text("a\n")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        sort_ahead.close()
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    assert run_together([[["sort"], ["cat"]]], str(file), timeout=10, ahead=sort_ahead) == Finished(0, "a\n")
    os.close(writer)
    os.waitpid(child, 0)
