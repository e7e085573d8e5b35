"""Run JAX 0.4.35's own tests against tinytrace and say, for each file, how many pass.

    python -m tests.jax_tests.run FOLDER [FILE ...] [-- PYTEST OPTIONS]

FOLDER is a checkout of JAX at the tag jax-v0.4.35: none of it is stored here. Needs absl-py, opt_einsum and SciPy.
A test that uses a part of JAX's insides, or needs what is not here by intent, does not count: the rules are in
`outside.txt`, one pattern of a test's name or of its error a line, with the reason.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
OUTSIDE = HERE / "outside.txt"
FILES = (
    "core_test", "api_test", "api_util_test", "lax_test", "lax_autodiff_test", "lax_vmap_test", "lax_vmap_op_test",
    "lax_control_flow_test", "custom_linear_solve_test", "custom_root_test", "lax_numpy_test",
    "lax_numpy_einsum_test", "lax_numpy_indexing_test", "lax_numpy_operators_test", "lax_numpy_reducers_test",
    "lax_numpy_ufuncs_test", "lax_numpy_vectorize_test", "linalg_test", "nn_test", "random_test", "random_lax_test",
    "lax_scipy_test", "lax_scipy_special_functions_test", "lax_scipy_sparse_test", "scipy_optimize_test",
    "scipy_stats_test", "scipy_signal_test", "image_test", "ode_test", "tree_util_test", "dtypes_test",
    "batching_test", "fft_test", "pickle_test", "jaxpr_effects_test", "debugging_primitives_test",
    "debugger_test", "key_reuse_test", "x64_context_test", "dynamic_api_test",
)  # fmt: skip


def main() -> int:
    """Prints the table; returns 1 when less than 95 % of what counts pass."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--save", type=pathlib.Path, help="write what failed, and why, to this file")
    arguments = parser.parse_args(sys.argv[1:end])
    failed: dict[str, str] = {}
    totals: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    print(f"{'file':36}{'passed':>8}{'skipped':>8}{'outside':>8}{'failed':>8}")
    for name in arguments.files or FILES:
        counts, errors, why = outcome(arguments.folder.resolve(), name.removesuffix(".py"), sys.argv[end + 1:])
        failed |= errors
        reasons += why
        totals += counts
        print(row(name, counts), flush=True)
    print(row("all", totals))
    for reason, number in reasons.most_common():
        print(f"{number:8} outside: {reason}")
    counted = totals["passed"] + totals["failed"]
    print(f"{totals['passed']} of {counted} tests that count pass: {100 * totals['passed'] / max(counted, 1):.1f} %")
    lacking = sum(number for reason, number in reasons.items() if reason.startswith("not here"))
    print(f"with what is not here counted as failed: {100 * totals['passed'] / max(counted + lacking, 1):.1f} %")
    if arguments.save:
        arguments.save.write_text("".join(f"{test}\t{error}\n" for test, error in failed.items()))
    return totals["passed"] < 0.95 * counted


def row(name: str, counts: collections.Counter[str]) -> str:
    """One line of the table."""
    return f"{name:36}" + "".join(f"{counts[kind]:8}" for kind in ("passed", "skipped", "outside", "failed"))


def outcome(folder: pathlib.Path, name: str, options: list[str]
            ) -> tuple[collections.Counter[str], dict[str, str], collections.Counter[str]]:
    """Run one file; return how many tests passed, ..., the errors of those that failed, and the reasons of the rest."""
    folder = folder.resolve()
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as report, \
            tempfile.TemporaryDirectory() as scratch:  # some tests write into the working directory
        command = [sys.executable, "-m", "pytest", "-qs", "-p", "no:cacheprovider", "-p", "tests.jax_tests.plugin",
                   "-c", os.devnull, f"--rootdir={folder}", *options, str(folder / "tests" / f"{name}.py")]
        environment = {**os.environ, "JAX_TESTS_SOURCE": str(folder), "JAX_TESTS_REPORT": report.name,
                       "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
        outcomes: list[list[Any]] = [json.loads(line) for line in report.read().splitlines()]
    if not outcomes:
        return collections.Counter(failed=1), {name: last_line(done.stdout + done.stderr)}, collections.Counter()
    rules = outside()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    errors = {}
    for kind, test, error in outcomes:
        reason = next((why for pattern, why in rules.items() if re.search(pattern, f"{test}: {error}")), None)
        if kind == "failed" and reason is not None:
            kind = "outside"
            reasons[reason] += 1
        counts[kind] += 1
        if kind == "failed":
            errors[test] = error
    return counts, errors, reasons


def outside() -> dict[str, str]:
    """Return the patterns of what does not count, and why: the lines `pattern  # reason`."""
    lines = [line for line in OUTSIDE.read_text().splitlines() if line and not line.startswith("#")]
    return {pattern.strip(): reason.strip() for pattern, _, reason in (line.partition("  # ") for line in lines)}


def last_line(text: str) -> str:
    """What a run that tested nothing said last."""
    return next((line for line in reversed(text.splitlines()) if line.startswith("E ")), text.strip()[-300:])


if __name__ == "__main__":
    sys.exit(main())
