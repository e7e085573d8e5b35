"""The steps and their texts: `python tutorials/build/steps.py` writes every step's module from the master text.

In the master a line `#@ 3`, `#@ 3-7` or `#@ 3-` says to which steps the lines below it belong.
"""

from __future__ import annotations

import pathlib
import re

FOLDER = pathlib.Path(__file__).parent
STEPS = tuple(sorted(path.name for path in FOLDER.glob("step_*")))
"""The folders, in order."""


def module_text(step: int) -> str:
    """The module of a step, counted from 1."""
    lines, wanted = [], True
    for line in (FOLDER / "master.txt").read_text().split("\n"):
        if match := re.fullmatch(r"#@ (\d+)(-(\d*))?", line):
            first = int(match[1])
            last = first if match[2] is None else int(match[3] or len(STEPS))
            wanted = first <= step <= last
        elif wanted:
            lines.append(line)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip("\n") + "\n"


def module_path(step: int) -> pathlib.Path:
    """Where the module of a step is."""
    return FOLDER / STEPS[step - 1] / "tiny.py"


def main() -> None:
    """Writes all modules."""
    for step in range(1, len(STEPS) + 1):
        module_path(step).write_text(module_text(step))


if __name__ == "__main__":
    main()
