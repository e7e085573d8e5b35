"""Tables of a bounded size: what was used last stays."""

import pytest

from tinytrace.api.tables import RecentTable


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 7, 8, 20])
@pytest.mark.parametrize("put", ["setitem", "setdefault"])
def test_what_was_used_last_stays_and_no_more_than_the_bound(bound, put):
    forgotten = []
    table = RecentTable(bound, when_forgotten=forgotten.extend)
    for key in range(5 * bound):
        table[key] = -key
        if put == "setdefault":
            assert table.setdefault(key, 0) == -key
        kept = [k for k, _ in table.items()]
        assert min(key + 1, bound - max(1, bound // 4) + 1) <= len(table) <= bound
        assert key in kept
        if bound > 1:
            assert table.get(0) == 0  # used each time: never the oldest
        assert sorted([*kept, *forgotten]) == list(range(key + 1))
