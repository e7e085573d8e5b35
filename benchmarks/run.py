"""Run the benchmarks: every line against every rival, interleaved in rounds, and write the table.

    python benchmarks/run.py [--quick] [--only TEXT] [--threads 1 2] [--rounds 9] [--out FOLDER]
                             --python tinytrace=PATH jax=PATH torch=PATH numba=PATH numpy=PATH

`make bench` makes the environments and calls this. All rivals prepare a line first and their results are compared; then
each gives one sample per round, in turn and with the others stopped, so that a change in the machine's speed hits all
alike. The table gives medians, the ratio to the best rival, and the fraction of the machine's physical limit (measured
in the same run).
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Any

import lines  # noqa: F401  (fills LINES)
import numpy as np
from harness import LINES, Line, ProcessLine
from limits import measure_limits
from report import write_report
from rows import Row

HERE = pathlib.Path(__file__).parent
MISSING = "LookupError: no implementation"
"""What a worker answers for a line that its library is not asked."""
ENDED = "the process ended"


class Worker:
    """A rival's process, stopped while it is not asked: threads that spin on after a call (OpenMP's and OpenBLAS's do,
    for tens of milliseconds) would take a core from whoever is timed next."""

    def __init__(self, rival: str, python: str, threads: int, folder: str, script: str = "worker.py") -> None:
        cpus = sorted(os.sched_getaffinity(0))[:threads]
        # Where a machine names OpenBLAS's core for the sake of old builds: each library is to choose for itself.
        given = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        env = {**given, "TINYTRACE_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads),
               "NUMBA_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu"}
        self.process = subprocess.Popen(
            [python, str(HERE / script), rival, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=env, preexec_fn=lambda: os.sched_setaffinity(0, cpus))

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            reply = self.process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        self.process.send_signal(signal.SIGSTOP)
        return dict(json.loads(reply)) if reply else {"error": ENDED}

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def run_line(line: Line, workers: dict[str, Worker], rounds: int, threads: int) -> Row:
    """Prepare, compare and time one line."""
    row = Row(line, threads)
    results = {}
    ready = []
    for rival, worker in workers.items():
        reply = worker.ask(prepare=line.name)
        if "error" in reply:
            if reply["error"] != MISSING:
                row.errors[rival] = reply["error"]
            continue
        ready.append(rival)
        if line.compare:
            results[rival] = np.load(reply["result"])
    compare(line, results, row)
    for _ in range(rounds):
        for rival in ready:
            reply = workers[rival].ask(time=1)
            row.samples.setdefault(rival, []).append(reply["seconds"])
    return row


def compare(line: Line, results: dict[str, np.ndarray[Any, Any]], row: Row) -> None:
    """Note rivals whose result differs from tinytrace's: a time for another answer says nothing."""
    mine = results.get("tinytrace")
    for rival, theirs in results.items():
        if mine is None or rival == "tinytrace":
            continue
        if mine.shape != theirs.shape or not np.allclose(mine, theirs, rtol=line.tolerance, atol=line.tolerance):
            row.errors[rival] = "the results differ"


def run_process_line(line: ProcessLine, pythons: dict[str, str], rounds: int) -> Row:
    """Time whole processes, tinytrace and JAX in turn."""
    row = Row(line, len(os.sched_getaffinity(0)))
    env = {**os.environ, **line.env, "JAX_PLATFORMS": "cpu", "PYTHONPYCACHEPREFIX": str(HERE / "results" / "bytecode")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # users' Pythons keep byte code
    for turn in range(rounds + 1):
        for rival in ("tinytrace", "jax"):
            script = line.script.replace("{module}", rival)
            done = subprocess.run([pythons[rival], "-c", script], capture_output=True, text=True, env=env)
            if done.returncode:
                row.errors[rival] = done.stderr.strip().splitlines()[-1][:300]
            elif turn:  # the first turn warms disk caches and byte code
                row.samples.setdefault(rival, []).append(float(done.stdout.split()[-1]))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, nargs="+", default=[len(os.sched_getaffinity(0))])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", default=str(HERE / "results"))
    parser.add_argument("--python", nargs="+", required=True, metavar="RIVAL=PATH")
    options = parser.parse_args()
    pythons = dict(item.split("=", 1) for item in options.python)
    chosen = [x for x in LINES if options.only in x.name and (x.quick or not options.quick)]
    rows = run_all(chosen, pythons, options.threads, options.rounds)
    limits = {threads: measure_limits(threads) for threads in sorted({row.threads for row in rows})}
    write_report(rows, limits, pathlib.Path(options.out))


def run_all(chosen: list[Line | ProcessLine], pythons: dict[str, str], thread_counts: list[int],
            rounds: int) -> list[Row]:
    """Run `chosen` for each thread count, one worker per rival and count."""
    rows = []
    for threads in thread_counts:
        with tempfile.TemporaryDirectory() as folder:
            workers = {r: Worker(r, path, threads, folder) for r, path in pythons.items()}
            try:
                for line in chosen:
                    if isinstance(line, Line):
                        rows.append(run_line(line, workers, rounds, threads))
                    elif threads == max(thread_counts):
                        rows.append(run_process_line(line, pythons, min(rounds, 5)))
                    else:
                        continue
                    show(rows[-1])
            finally:
                for worker in workers.values():
                    worker.close()
    return rows


def show(row: Row) -> None:
    """Print one line of progress."""
    ratio = row.ratio()
    times = "  ".join(f"{r} {row.median(r):.3g}" for r in row.samples)
    verdict = "-" if ratio is None else f"{ratio:.2f} (at most {row.line.target})"
    print(f"{row.line.name:48} {row.threads}t  {verdict:24} {times}  {row.errors or ''}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()


