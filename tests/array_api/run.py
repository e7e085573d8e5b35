"""Run data-apis' array-api-tests against `tinytrace.numpy`, with 64-bit types.

    python -m tests.array_api.run [FOLDER] [--examples N] [-- TESTS AND PYTEST OPTIONS]
    python -m tests.array_api.run FOLDER --library jax.numpy --python PYTHON

The suite is in FOLDER, its submodule too, or is taken from its repository at the tag that is named here, and kept in
`.cache`. It needs pytest, hypothesis, ndindex and pytest-json-report. The second form runs it against another library.
What is known to fail is in `xfails.txt`, each with its reason, and is left out: Hypothesis would take minutes to make
its examples small. `--all` runs it too. For another library nothing is known.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
XFAILS = HERE / "xfails.txt"
REPOSITORY = "https://github.com/data-apis/array-api-tests"
VERSION, COMMIT = "2026.02.26", "41379d15d26d67a1e66c840e775d41a8a7fb1516"
STANDARD = "2024.12"
"""The version of the standard that is asked for, of every library."""


def main() -> int:
    """Returns pytest's exit status; 0, having said so, when the suite is out of reach and that is allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="a checkout of the suite")
    parser.add_argument("--examples", type=int, default=20, help="how many each property is tried on (20)")
    parser.add_argument("--library", default="tinytrace.numpy", help="the module to be tested")
    parser.add_argument("--python", default=sys.executable, help="the Python that has it")
    parser.add_argument("--all", action="store_true", help="run what is known to fail, too")
    parser.add_argument("--if-reachable", action="store_true", help="leave the tests out where there is no suite")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    ours, of_pytest = sys.argv[1:end], sys.argv[end + 1:]
    arguments = parser.parse_args(ours)
    folder = arguments.folder or fetched()
    if folder is None:
        print(f"array-api-tests: {REPOSITORY} cannot be reached. Name a folder that has its version {VERSION}.")
        return 0 if arguments.if_reachable else 1
    say_version(folder)
    command = [arguments.python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--derandomize", "--disable-deadline",
               f"--max-examples={arguments.examples}", *(of_pytest or ["array_api_tests"])]
    environment = {**os.environ, "ARRAY_API_TESTS_MODULE": arguments.library, "ARRAY_API_TESTS_VERSION": STANDARD,
                   "JAX_ENABLE_X64": "1", "ARRAY_API_TESTS_XFAIL_MARK": "xfail" if arguments.all else "skip"}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.writelines(f"{name}\n" for name in known_to_fail() if arguments.library == "tinytrace.numpy")
        names.flush()
        return subprocess.call([*command, f"--xfails-file={names.name}"], cwd=folder, env=environment)


def known_to_fail() -> dict[str, str]:
    """Return the tests that fail, and why: the lines `name  # reason`."""
    lines = [line for line in XFAILS.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, _, reason in (line.partition("  # ") for line in lines)}


def fetched() -> pathlib.Path | None:
    """Return a folder with the suite, after taking it from its repository the first time; None if that fails."""
    folder = ROOT / ".cache" / f"array-api-tests-{VERSION}"
    if not (folder / "conftest.py").exists():
        command = ["git", "clone", "--quiet", "--depth=1", "--branch", VERSION, "--recurse-submodules",
                   "--shallow-submodules", REPOSITORY, str(folder)]
        try:
            subprocess.run(command, check=True, timeout=120, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except (OSError, subprocess.SubprocessError):
            return None
    return folder


def say_version(folder: pathlib.Path) -> None:
    """Warn of a checkout of another version, whose tests may be others."""
    asked = subprocess.run(["git", "-C", str(folder), "rev-parse", "--show-toplevel", "HEAD"], capture_output=True,
                           text=True, check=False).stdout.split()
    is_checkout = len(asked) == 2 and pathlib.Path(asked[0]) == folder.resolve()
    version = VERSION if is_checkout and asked[1] == COMMIT else asked[1] if is_checkout else "an unknown version"
    print(f"array-api-tests: {version}" + ("" if version == VERSION else f"; the list of failures is for {VERSION}"))


if __name__ == "__main__":
    sys.exit(main())
