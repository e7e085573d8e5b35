"""Sweep: every public function, with arguments by strategy, against JAX and NumPy or SciPy; one table, worst first.

    python benchmarks/sweep.py --python tinytrace=PATH jax=PATH numpy=PATH [--modules numpy lax] [--part 1/4]
                               [--sizes 10 1000 100000] [--dtypes float32] [--calls un-jitted jitted] [--only TEXT]
                               [--draw 0.2] [--samples 12] [--seconds 280] [--out FOLDER]

Each run measures until `--seconds` are over and says with which function the next begins (`--begin NAME`). A case is
added to `sweep.jsonl` when it has been measured, so a run that is stopped loses nothing, and the table and the heat map
are those of all runs. A case gives the least of some samples, in each rival's own process, while the others are
stopped; one that misses is measured again, by all rivals alike, for other users of the machine disturb. `--sizes
10000000` and `--dtypes float16 int8` take long: `--draw 0.2` takes a fifth of the functions, another fifth for another
`--seed`.
"""
from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
from typing import Any

from run import ENDED, HERE, Worker
from sweeping.measured import Case, Measured, Times
from sweeping.reasons import reason_of

MODULES = ("numpy", "lax", "nn", "numpy.linalg", "numpy.fft", "random", "scipy.special")
SKIPPED = {"save", "savez", "load", "fromfile", "fromfunction", "frompyfunc", "vectorize", "install_methods",
           "fromiter", "set_printoptions", "printoptions", "get_printoptions", "absent_names", "lazy_names", "key_impl",
           "wrap_key_data"}
TRIES, LONG = 3, 0.1
"""How often a case is measured that misses; one that takes so many seconds does not depend on chance."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", required=True, metavar="RIVAL=PATH")
    parser.add_argument("--modules", nargs="+", default=list(MODULES), choices=MODULES)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10, 1000, 100_000])
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--calls", nargs="+", default=["un-jitted", "jitted"], choices=["un-jitted", "jitted"])
    parser.add_argument("--only", default="")
    parser.add_argument("--draw", type=float, default=1.0, help="the share of the functions that is measured")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--samples", type=int, default=12, help="of each case; the least of them counts")
    parser.add_argument("--part", default="1/1", help="2/4: the second of four parts, of every fourth function each")
    parser.add_argument("--begin", default="")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=280)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    measured = Measured(options.out / "sweep.jsonl")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what stops a run that takes too long
    with tempfile.TemporaryDirectory() as folder:
        pythons = dict(item.split("=", 1) for item in options.python)
        workers = {rival: Rival(rival, path, options.threads, folder) for rival, path in pythons.items()}
        try:
            measure(options, workers, measured)
        except KeyboardInterrupt:
            print("interrupted: what has been measured is kept")
        finally:
            for worker in workers.values():
                worker.close()
    (options.out / "sweep.md").write_text(table(measured.times))
    (options.out / "sweep.svg").write_text(heat_map(measured.times))
    print(f"wrote {options.out / 'sweep.md'} and {options.out / 'sweep.svg'}")


class Rival:
    """A library's process; one that has ended, for a case took too long or too much memory, is started again."""

    def __init__(self, rival: str, python: str, threads: int, folder: str) -> None:
        self.start = lambda: Worker(rival, python, threads, folder, "sweep_worker.py")
        self.worker = self.start()

    def ask(self, **command: Any) -> dict[str, Any]:
        reply = self.worker.ask(**command)
        if reply.get("error") == ENDED:
            self.worker.close()
            self.worker = self.start()
        return reply

    def close(self) -> None:
        self.worker.close()


def public_names(modules: list[str]) -> list[tuple[str, str]]:
    """Return the public functions, by module."""
    found = []
    for module in modules:
        place = importlib.import_module(f"tinytrace.{module}")
        names = sorted(getattr(place, "__all__", vars(place)))
        found += [(module, name) for name in names if not name.startswith("_") and name not in SKIPPED
                  and callable(getattr(place, name)) and not isinstance(getattr(place, name), type)]
    return found


def measure(options: Any, workers: dict[str, Rival], measured: Measured) -> None:
    """Time every case of the chosen functions with every rival until the time is over."""
    begun = time.monotonic()
    number, parts = map(int, options.part.split("/"))
    names = [pair for pair in public_names(options.modules) if options.only in pair[1]][number - 1::parts]
    if options.draw < 1:
        drawn = random.Random(options.seed).sample(range(len(names)), round(options.draw * len(names)))
        names = [names[k] for k in sorted(drawn)]
    begin = next((k for k, pair in enumerate(names) if ".".join(pair) == options.begin), 0)
    for module, name in names[begin:]:
        if time.monotonic() - begun > options.seconds:
            print(f"the time is over: go on with --begin {module}.{name}")
            return
        for dtype in options.dtypes:
            choice = workers["tinytrace"].ask(choose=[module, name, dtype]).get("choice")
            for size in options.sizes if choice else ():
                for jitted in (call == "jitted" for call in options.calls):
                    case = (module, name, choice, size, dtype, jitted)
                    found = measure_case(case, workers, options.samples)
                    measured.add(case, found)
                    show(case, found)


def measure_case(case: Case, workers: dict[str, Rival], samples: int) -> Times:
    """Return the least of the times that each rival takes; NumPy, which has no jit, runs the case un-jitted."""
    found: Times = {}
    for _ in range(TRIES):
        for rival, worker in workers.items():
            seconds = worker.ask(case=(*case[:5], case[5] and rival != "numpy"), samples=samples).get("seconds")
            if seconds is not None:
                found[rival] = min(seconds, found.get(rival, seconds))
        if not misses(found) or found["tinytrace"] > LONG:
            break
    return found


def misses(found: Times) -> bool:
    """Has a case missed what it is held to?"""
    ours = found.get("tinytrace", 0.0)
    return (ratio(found) or 0) > 2 or ours > 1.2 * found.get("jax", ours)


def ratio(found: Times) -> float | None:
    """Return tinytrace's time over the best rival's."""
    rivals = [found[rival] for rival in ("jax", "numpy") if rival in found]
    return found["tinytrace"] / min(rivals) if rivals and "tinytrace" in found else None


def show(case: Case, found: Times) -> None:
    if (over_best := ratio(found)) is not None:
        print(f"{over_best:8.2f}  {title(case)}  {_micro(found)}", file=sys.stderr, flush=True)


def title(case: Case) -> str:
    module, name, choice, size, dtype, jitted = case
    return f"{module}.{name}({choice}) {dtype} {size:,}{' jitted' if jitted else ''}"


def _micro(found: Times) -> str:
    return ", ".join(f"{rival} {seconds * 1e6:.4g}" for rival, seconds in found.items())


def table(times: dict[Case, Times]) -> str:
    """Return the Markdown tables: the shares above 1.2, 2 and 3 by kind of case, and all cases, worst first."""
    ratios = sorted(((found, case) for case in times if (found := ratio(times[case])) is not None), reverse=True)
    lines = ["# The sweep", "", *_shares({case: found for found, case in ratios}, times), "",
             "| ratio | case | tinytrace, us | JAX | NumPy, SciPy | why it misses |", "|---|---|---|---|---|---|"]
    for found, case in ratios:
        cells = [times[case].get(rival) for rival in ("tinytrace", "jax", "numpy")]
        why = reason_of(*case[:2], *case[3:]) if misses(times[case]) else ""
        lines.append(f"| {found:.2f} | {title(case)} | "
                     + " | ".join("" if x is None else f"{x * 1e6:.4g}" for x in cells) + f" | {why} |")
    return "\n".join(lines) + "\n"


def _shares(ratios: dict[Case, float], times: dict[Case, Times]) -> list[str]:
    """Return a table with a row for each module, dtype, size and kind of call, and one for all."""
    kinds: dict[tuple[str, ...], list[Case]] = {}
    for case in ratios:
        module, _, _, size, dtype, jitted = case
        kinds.setdefault(("jitted" if jitted else "un-jitted", dtype, f"{size:,}", module), []).append(case)
    total = ("all", "", "1,000 and more", "")
    kinds[total] = [case for case in ratios if case[3] >= 1000]
    lines = ["| calls | dtype | size | module | cases | above 2 of the best | above 3 | above 1.2 of JAX |",
             "|---" * 8 + "|"]
    for kind, cases in sorted(kinds.items()):
        best = [ratios[case] for case in cases]
        jax = [times[case]["tinytrace"] / times[case]["jax"] for case in cases if "jax" in times[case]]
        cells = [*kind, str(len(cases)), _share(best, 2), _share(best, 3), _share(jax, 1.2)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _share(ratios: list[float], bound: float) -> str:
    return f"{sum(x > bound for x in ratios) / len(ratios):.1%}" if ratios else "none"


def heat_map(times: dict[Case, Times]) -> str:
    """Return an SVG with a row for each function and a column for each size, un-jitted and jitted."""
    columns = sorted({case[3:] for case in times})
    rows = sorted({case[:2] for case in times})
    known = {(case[:2], case[3:]): found for case in times if (found := ratio(times[case])) is not None}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{260 + 24 * len(columns)}" '
             f'height="{30 + 12 * len(rows)}" font-family="sans-serif" font-size="9">']
    for i, row in enumerate(rows):
        parts.append(f'<text x="250" y="{29 + 12 * i}" text-anchor="end">{".".join(row)}</text>')
        for k, column in enumerate(columns):
            if (found := known.get((row, column))) is not None:
                parts.append(f'<rect x="{256 + 24 * k}" y="{20 + 12 * i}" width="23" height="11" '
                             f'fill="{_colour(found)}"><title>{found:.2f}</title></rect>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _colour(found: float) -> str:
    bounds = ((0.5, "#187a4b"), (1.0, "#6cc08b"), (1.2, "#d5ecc2"), (2.0, "#ffe08a"), (3.0, "#f5a24b"),
              (10.0, "#dd4a3d"))
    return next((colour for bound, colour in bounds if found <= bound), "#7d1128")


if __name__ == "__main__":
    main()
