"""What a sweep has measured: a file with one case a line, added when it is measured, so that a run may end anywhere."""
from __future__ import annotations

import json
import pathlib

Case = tuple[str, str, str, int, str, bool]
"""Module, name, argument list, size, dtype, jitted."""
Times = dict[str, float]
"""Seconds by rival."""


class Measured:
    """The times of all cases, those of earlier runs too; of a case that is measured again the last ones count."""

    def __init__(self, file: pathlib.Path) -> None:
        self.file = file
        self.times: dict[Case, Times] = {}
        for line in file.read_text().splitlines() if file.exists() else ():
            try:
                case, found = json.loads(line)
            except ValueError:  # the run ended while it wrote
                continue
            self.times[tuple(case)] = found

    def add(self, case: Case, found: Times) -> None:
        """Keep a case, in the file too."""
        self.times[case] = found
        with self.file.open("a") as lines:
            lines.write(json.dumps([case, found]) + "\n")
