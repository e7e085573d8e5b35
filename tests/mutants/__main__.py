"""The commands of `python -m tests.mutants`; see the package's docstring."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import time

from tests.mutants.faults import GROUPS, Fault, sample
from tests.mutants.selection import Selection
from tests.mutants.trial import LEFT_OUT, Copy, Result

ROOT = pathlib.Path(__file__).parent.parent.parent
FIRST = 1
"""Stages of tests that try every fault, before the others try what these leave."""
EQUIVALENT = pathlib.Path(__file__).parent / "equivalent.txt"


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("command", choices=["all", "record", "run", "check", "report"])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "mutants", help="where the copies are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=350, help="how many faults are planted")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no further trial after these")
    parser.add_argument("--only", nargs="+", default=[""], help="faults whose path or name begins so")
    parser.add_argument("--again", action="store_true", help="try the survivors again, with the tests of this folder")
    parser.add_argument("--tests", nargs="+", default=[], help="as --again, with these tests alone; new faults too")
    options = parser.parse_args()
    if options.command == "record" or (options.command == "all" and not (options.folder / "durations.xml").exists()):
        record(options.folder, options.workers)
    if options.command in ("all", "run"):
        run(options)
    if options.command in ("all", "check"):
        check(options.folder)
    if options.command != "record":
        sys.exit(report(options.folder, sample(options.folder / "tree", options.seed, options.size)))


def record(folder: pathlib.Path, workers: int) -> None:
    """Clone the last commit into `folder` and run all fast tests there: which lines each of them runs, and how long."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree = folder / "tree"
    subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
    subprocess.run([sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace"], cwd=tree, check=True)
    environment = {**os.environ, "PYTHONPATH": str(tree), "TINYTRACE_CACHE_DIR": str(folder / "cache"),
                   "HYPOTHESIS_PROFILE": "fast", "COVERAGE_FILE": str(folder / "coverage.db")}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-n", str(workers), "--cov=tinytrace",
                    "--cov-context=test", "--cov-report=", f"--junitxml={folder / 'durations.xml'}", "-p",
                    "no:cacheprovider", *(f"--ignore={path}" for path in LEFT_OUT), "tests"],
                   cwd=tree, env=environment)  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Try the faults of the sample that were not tried yet, `workers` at a time, in copies of the recorded tree.

    Most faults are caught by the first tests that belong to them: these try all faults before the others try any.
    """
    folder: pathlib.Path = options.folder
    results = read_results(folder)
    faults = [fault for fault in sample(folder / "tree", options.seed, options.size)
              if fault.path.startswith(tuple(options.only)) or fault.name.startswith(tuple(options.only))]
    wanted = {"survived", "open"} if options.again else {"new", "open"}
    if options.tests:
        wanted = {"survived", "open", "new", "error"}
    faults = [fault for fault in faults if (results[fault.name].outcome if fault.name in results else "new") in wanted]
    print(f"{len(faults)} faults to try", flush=True)
    until = time.monotonic() + 60 * options.minutes

    def work(number: int) -> None:
        selection = Selection(folder)
        copy = Copy(folder, number)
        if options.again or options.tests:
            shutil.copytree(ROOT / "tests", copy.tree / "tests", dirs_exist_ok=True)
        mine = faults[number::options.workers]
        untried = [fault for fault in mine if fault.name not in results and not options.tests]
        for fault, is_last in [*((fault, False) for fault in untried), *((fault, True) for fault in mine)]:
            if time.monotonic() > until:
                return
            stages = [options.tests] if options.tests else selection.tests(fault)
            if options.again and not options.tests:  # tests that are new here stand in the files of the old ones
                stages = [sorted({test.partition("::")[0] for tests in stages for test in tests})]
            elif not is_last:
                stages = stages[:FIRST]
            elif not options.tests and read_results(folder)[fault.name].outcome == "open":
                stages = stages[FIRST:]
            elif not options.tests:
                continue
            known = sum(selection.seconds.get(test, 5.0) for tests in stages for test in tests)
            result = copy.try_out(fault, stages, known)
            keep(folder, fault, result if is_last or result.outcome != "survived" else result._replace(outcome="open"))

    workers = [multiprocessing.get_context("fork").Process(target=work, args=(k,)) for k in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def keep(folder: pathlib.Path, fault: Fault, result: Result) -> None:
    """Print a result and write it to the file of all results."""
    print(f"{result.outcome:8} {result.seconds:6.1f} s  {fault.name} {fault}  [{result.by[:100]}]", flush=True)
    with (folder / "results.jsonl").open("a") as file:
        file.write(json.dumps({"fault": fault.name, "text": str(fault), **result._asdict()}) + "\n")


def check(folder: pathlib.Path) -> None:
    """Run the tests that caught faults without any fault; what a test "caught" that fails here too is tried again."""
    results = read_results(folder)
    tests = sorted({result.by for result in results.values() if result.outcome == "caught" and "::" in result.by})
    copy = Copy(folder, 0)
    wrong = set()
    while tests and (result := copy.try_out(None, [tests], 10.0 * len(tests))).outcome != "survived":
        print(f"fails without a fault: {result.by}", flush=True)
        if result.by not in tests:
            break
        wrong.add(result.by)
        tests.remove(result.by)
    path = folder / "results.jsonl"
    kept = [line for line in path.read_text().splitlines(keepends=True) if json.loads(line)["by"] not in wrong]
    path.write_text("".join(kept))


def read_results(folder: pathlib.Path) -> dict[str, Result]:
    """The last result of each fault that was tried."""
    path = folder / "results.jsonl"
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return {line["fault"]: Result(line["outcome"], line["by"], line["seconds"]) for line in lines}


def equivalents() -> dict[str, str]:
    """The faults of equivalent.txt, by their names, with their reasons."""
    found = {}
    for entry in EQUIVALENT.read_text().split("\n\n"):
        lines = [line for line in entry.splitlines() if line and not line.startswith("#")]
        if lines:
            place, _before, _after, *reason = lines
            found[place.split()[0]] = " ".join(reason)
    return found


def report(folder: pathlib.Path, faults: list[Fault]) -> int:
    """Print the figures and the survivors; return 1 if fewer than nine in ten were caught."""
    results = read_results(folder)
    excused = equivalents()
    tried = [fault for fault in faults if fault.name in results and results[fault.name].outcome != "error"]
    same = [fault for fault in tried if results[fault.name].outcome in ("survived", "open")
            and fault.name in excused]
    alive = [fault for fault in tried if results[fault.name].outcome in ("survived", "open") and fault not in same]
    for group in GROUPS:
        inside = [fault for fault in tried if fault.path.startswith(group + "/")]
        lost = sum(fault.path.startswith(group + "/") for fault in alive)
        equal = sum(fault.path.startswith(group + "/") for fault in same)
        caught = len(inside) - lost - equal
        print(f"{group:24} {len(inside):4} planted {caught:4} caught {equal:4} equivalent {lost:4} survive")
    for fault in sorted(alive):
        print(f"survived: {fault.name} {fault}")
    changing = len(tried) - len(same)
    caught = changing - len(alive)
    print(f"{len(tried)} of {len(faults)} planted, {len(same)} change nothing; of the others {caught} of {changing} "
          f"are caught ({100 * caught / max(changing, 1):.1f} %)")
    return int(caught < 0.9 * changing)


if __name__ == "__main__":
    main()
