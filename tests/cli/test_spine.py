"""The spine is what the reading list names first, and short enough for an afternoon."""
import re

from tests.conftest import ROOT
from tinytrace.cli.spine import SPINE, line_counts, run_spine


def test_the_spine_is_short_enough():
    assert sum(line_counts().values()) < 6000


def test_the_reading_list_leads_through_the_spine_in_its_order(capsys):
    reading = (ROOT / "docs" / "reading.md").read_text()
    places = [re.search(rf"`(tinytrace/)?([\w/]*/)?{re.escape(name.split('/')[-1])}`", reading) for name in SPINE]
    assert None not in places, [name for name, place in zip(SPINE, places, strict=True) if place is None]
    run_spine()
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in printed[:-1]] == SPINE
    assert printed[-1].endswith(f"lines in {len(SPINE)} files")
