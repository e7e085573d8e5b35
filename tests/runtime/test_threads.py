"""The thread pool: every chunk once, the same chunks for any number of threads, nesting, fork, many callers."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.runtime.programs import in_child
from tinytrace._runtime import lib
from tinytrace.codegen.csource import CSource
from tinytrace.csources import host_source
from tinytrace.runtime.ladder import load
from tinytrace.runtime.threads import set_num_threads

# buffers: the four arguments n, grain, nested, spin; then begins, ends, sums, and how often each index was visited.
LOOP = CSource(
    host_source()
    + """
struct task { const int64_t *arguments; int64_t *count, *begins, *ends; float *sums; int32_t *visits;
              const struct tt_host *host; };

static void inner(void *ctx, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) __atomic_add_fetch((int64_t *)ctx, i, __ATOMIC_SEQ_CST);
}

static void body(void *ctx, int64_t begin, int64_t end) {
    struct task *t = ctx;
    int64_t place = __atomic_fetch_add(t->count, 1, __ATOMIC_SEQ_CST), total = 0;
    t->begins[place] = begin;
    t->ends[place] = end;
    float sum = 0;
    for (int64_t i = begin; i < end; i++) {
        t->visits[i]++;
        sum += 1.0f / (float)(i + 1);
        for (volatile int64_t spin = 0; spin < t->arguments[3]; spin++) continue;
    }
    t->sums[begin / t->arguments[1]] = sum;
    if (t->arguments[2]) {
        t->host->parallel_for(inner, &total, 100, 1);
        if (total != 4950) t->visits[begin] = -1;
    }
}

int32_t tt_entry(void *const *buffers, const struct tt_host *host) {
    const int64_t *arguments = buffers[0];
    struct task task = {arguments, buffers[1], buffers[2], buffers[3], buffers[4], buffers[5], host};
    host->parallel_for(body, &task, arguments[0], arguments[1]);
    return TT_OK;
}
""",
    "tt_entry", (), (),
)  # fmt: skip


def run(n: int, grain: int, nested: bool = False, spin: int = 0) -> tuple[list[tuple[int, int]], bytes]:
    """Run the loop; the chunks in order, and the bytes of their sums. Asserts that each index was visited once."""
    arguments, count = np.array([n, grain, nested, spin], np.int64), np.zeros(1, np.int64)
    begins, ends = np.zeros(64, np.int64), np.zeros(64, np.int64)
    sums, visits = np.zeros(n // grain + 1, np.float32), np.zeros(n, np.int32)
    load(LOOP)([array.ctypes.data for array in (arguments, count, begins, ends, sums, visits)])
    assert (visits == 1).all()
    chunks = sorted(zip(begins[: count[0]].tolist(), ends[: count[0]].tolist(), strict=True))
    return chunks, sums.tobytes()


@pytest.mark.parametrize(("n", "grain"), [(1, 1), (63, 1), (64, 1), (65, 1), (1000, 16), (100_000, 16), (10, 100)])
def test_chunks_cover_the_range_and_do_not_depend_on_the_threads(n, grain):
    answers = []
    for threads in (1, 2, 5):
        set_num_threads(threads)
        answers.append([run(n, grain) for _ in range(20)])
    (chunks, _), *_ = answers[0]
    assert all(answer == answers[0][0] for several in answers for answer in several)
    assert len(chunks) <= 64
    assert all(begin % grain == 0 for begin, _ in chunks)
    assert [begin for begin, _ in chunks] == [0, *(end for _, end in chunks[:-1])]
    assert chunks[-1][1] == n


def test_an_empty_loop_does_nothing():
    assert run(0, 1)[0] == []


def test_workers_really_take_part():
    set_num_threads(3)
    run(640, 1, spin=2000)
    assert lib.tt_workers_started() >= 2


def test_nested_loops_run_on_their_own_thread():
    set_num_threads(4)
    for _ in range(50):
        run(500, 1, nested=True)


def test_many_callers_at_once():
    """One of them has the pool, the others do their own work; all are right."""
    set_num_threads(3)
    failures: list[BaseException] = []

    def work():
        try:
            for _ in range(100):
                assert run(1000, 4)[0][-1][1] == 1000
        except BaseException as error:
            failures.append(error)

    load(LOOP)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_more_and_fewer_threads_between_loops():
    for threads in [5, 1, 2, 5, 2, 1, 3] * 10:
        set_num_threads(threads)
        run(300, 1)


@pytest.mark.not_quick
def test_a_forked_child_has_a_working_pool():
    """libgomp's hangs here."""
    set_num_threads(3)
    before = run(2000, 4)
    assert lib.tt_workers_started() >= 2

    def use():
        assert lib.tt_workers_started() == 0
        assert run(2000, 4) == before
        return lib.tt_workers_started()

    for _ in range(10):
        assert in_child(use) == (0, "2")
    assert run(2000, 4) == before


@pytest.mark.not_quick
def test_a_fork_while_another_thread_runs_a_loop():
    set_num_threads(3)
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            run(2000, 4)

    load(LOOP)
    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(10):
            assert in_child(lambda: len(run(640, 1)[0])) == (0, "64")
    finally:
        stop.set()
        thread.join()


def test_signals_are_not_for_workers():
    """A worker that ran Python's signal handler would be a thread that Python does not know."""
    set_num_threads(3)
    run(640, 1, spin=500)
    blocked = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as file:
            blocked += [int(line.split()[1], 16) for line in file if line.startswith("SigBlk")]
    all_but_a_few = [mask for mask in blocked if mask & 0b10]  # SIGINT is number 2
    assert len(all_but_a_few) >= 2


@pytest.mark.not_quick
def test_the_environment_sets_the_number():
    code = "import tinytrace; from tinytrace._runtime import lib; print(lib.tt_threads())"

    def ask(value):
        environment = {**os.environ, "TINYTRACE_NUM_THREADS": value}
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert ask("5").stdout == "5\n"
    assert ask("0").stdout == f"{len(os.sched_getaffinity(0))}\n"
    assert "invalid integer 'many' for environment 'TINYTRACE_NUM_THREADS'" in ask("many").stderr


def test_numbers_that_make_no_sense():
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        set_num_threads(-1)


def test_an_idle_pool_uses_no_time():
    set_num_threads(4)
    run(640, 1)
    libc = ctypes.CDLL(None)
    libc.usleep(20_000)
    before = os.times()
    libc.usleep(200_000)
    after = os.times()
    assert (after.user + after.system) - (before.user + before.system) < 0.1
