"""Tables that remember what was used last, for any number of threads and whatever the keys' `__eq__` may do."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_clock = itertools.count()


class RecentTable(Generic[Key, Value]):
    """A mapping of at most `bound` keys: when one more comes, the quarter that was not used for longest is forgotten.

    There is no lock: each step is one operation of a dict, which threads cannot divide, and a thread that is overtaken
    by another one forgets or remembers a key more. What is forgotten must be cheap to lose: it is made again.

    >>> table = RecentTable(4)
    >>> for number in range(5):
    ...     table[number] = str(number)
    >>> len(table), table.get(0), table.get(4)
    (4, None, '4')
    """

    __slots__ = ("_bound", "_last_use", "_slots", "_when_forgotten")

    def __init__(self, bound: int, when_forgotten: Callable[[list[Key]], None] | None = None,
                 last_use: Callable[[Value], int] | None = None) -> None:
        """Make a table.

        when_forgotten: is told the keys that had to go.  last_use: a number that grows with a value's last use, where
        values are used behind the table's back.
        """
        self._bound = bound
        self._when_forgotten, self._last_use = when_forgotten, last_use
        self._slots: dict[Key, tuple[Value, list[int]]] = {}  # the list: when it was last used

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, None if it is not remembered."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        slot[1][0] = next(_clock)
        return slot[0]

    def peek(self, key: Key) -> Value | None:
        """Return the value of a key, None if it is not remembered; to look at it is not to use it."""
        slot = self._slots.get(key)
        return None if slot is None else slot[0]

    def __setitem__(self, key: Key, value: Value) -> None:
        self._slots[key] = value, [next(_clock)]
        if len(self._slots) > self._bound:
            self._forget_oldest()

    def setdefault(self, key: Key, value: Value) -> Value:
        """Return the value of a key, which is `value` from now on if it had none."""
        found = self._slots.setdefault(key, (value, [next(_clock)]))
        if len(self._slots) > self._bound:
            self._forget_oldest()
        return found[0]

    def pop(self, key: Key) -> None:
        """Forget a key, if it is remembered."""
        self._slots.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        forgotten, self._slots = self._slots, {}  # nobody sees the table while what it held is given up
        del forgotten

    def values(self) -> Iterator[Value]:
        """Yield the values that are remembered now."""
        return (value for value, _ in list(self._slots.copy().values()))

    def items(self) -> list[tuple[Key, Value]]:
        """Return the keys and values that are remembered now; to look at them is not to use them."""
        return [(key, value) for key, (value, _) in self._slots.copy().items()]

    def __len__(self) -> int:
        return len(self._slots)

    def _forget_oldest(self) -> None:
        copy, last_use = self._slots.copy(), self._last_use
        by_age = sorted(((used[0] if last_use is None else last_use(value), number, key)
                         for number, (key, (value, used)) in enumerate(copy.items())), key=lambda item: item[:2])
        oldest = [key for _, _, key in by_age[:max(1, self._bound // 4)]]
        for key in oldest:
            self._slots.pop(key, None)
        if self._when_forgotten is not None:
            self._when_forgotten(oldest)
