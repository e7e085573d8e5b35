"""`tinytrace run SCRIPT ARGUMENTS...`: run a script, and report what it compiled and what it found.

In the script, and in the libraries that it imports, `import jax` means tinytrace.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import sys
import traceback
from typing import Any

from tinytrace.api.cache_view import cache
from tinytrace.as_jax import install_as_jax
from tinytrace.cli.answers import FINE, NOT_FINE, Answer, WrongUse
from tinytrace.runtime.ladder import stats


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the command takes."""
    parser.add_argument("--leave-jax", action="store_true", help="let `import jax` find JAX, not tinytrace")
    parser.add_argument("script", metavar="SCRIPT", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="what the script gets")


def run(options: argparse.Namespace) -> Answer:
    """Run a script as `python SCRIPT` does; what it prints is not the answer, which is the report."""
    if not os.path.isfile(options.script):
        raise WrongUse(f"there is no file {options.script}")
    if not options.leave_jax:
        install_as_jax()
    before = (stats.compiles, stats.disk_hits, stats.memory_hits)
    known = set(cache)
    # With --json the answer alone is on the standard output.
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        status = _run_script(options.script, options.arguments)
    compiled, disk, memory = (now - then for now, then in
                              zip((stats.compiles, stats.disk_hits, stats.memory_hits), before, strict=True))
    entries = [entry for key, entry in cache.items() if key not in known]
    value = {"status": status, "compiled": compiled, "from_disk": disk, "from_memory": memory,
             "calls": [entry.to_json() for entry in entries]}
    lines = [f"{entry.origin:12} {entry.hits + entry.misses:6} calls  {entry.key}  at {entry.made_by}"
             for entry in entries]
    lines.append(f"{len(entries)} kinds of calls: {compiled} compiled, {disk} from disk, {memory} from memory")
    return Answer(value, "\n".join(lines), FINE if status == 0 else status if status < 126 else NOT_FINE)


def _run_script(script: str, arguments: list[str]) -> int:
    argv, path = sys.argv, list(sys.path)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    try:
        runpy.run_path(script, run_name="__main__")
        return FINE
    except SystemExit as ending:
        return _status(ending.code)
    except Exception:
        traceback.print_exc()
        return NOT_FINE
    finally:
        sys.argv, sys.path[:] = argv, path


def _status(code: Any) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return NOT_FINE
