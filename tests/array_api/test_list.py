"""The list of what fails of the array API's tests, which run by `make array-api-tests`."""

import collections

from tests.array_api.run import XFAILS, known_to_fail


def test_each_has_a_reason_and_stands_there_once():
    known = known_to_fail()
    assert [name for name, reason in known.items() if not name.startswith("array_api_tests/") or not reason] == []
    lines = [line for line in XFAILS.read_text().splitlines() if line and not line.startswith("#")]
    assert collections.Counter(lines).most_common(1)[0][1] == 1
    assert len(lines) == len(known) < 60
