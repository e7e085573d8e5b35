"""What was measured: one `Row` of the table."""
from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from harness import Line, ProcessLine


@dataclass
class Row:
    """What one line measured: seconds (or MiB) per rival, and what went wrong."""

    line: Line | ProcessLine
    threads: int
    samples: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def median(self, rival: str) -> float:
        return statistics.median(self.samples[rival])

    def best_rival(self) -> tuple[str, float] | None:
        others = {r: self.median(r) for r in self.samples if r != "tinytrace"}
        return min(others.items(), key=lambda item: item[1]) if others else None

    def ratio(self) -> float | None:
        """Return the median over rounds of tinytrace's time over the best rival's."""
        best = self.best_rival()
        if best is None or "tinytrace" not in self.samples:
            return None
        pairs = zip(self.samples["tinytrace"], self.samples[best[0]], strict=True)
        return statistics.median(a / b for a, b in pairs)
