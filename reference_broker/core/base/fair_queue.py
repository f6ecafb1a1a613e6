"""A queue in which nobody's work waits for all of somebody else's: one lane for each origin, served
in turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Items in lanes, which are served in turns. Within a lane items go in order."""

    __slots__ = ("_lanes",)

    def __init__(self) -> None:
        self._lanes: dict[str, deque[Item]] = {}
        """None of them empty. The first one's turn is next."""

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def push(self, lane: str, item: Item) -> None:
        """Put ``item`` behind those that wait in its lane. A new lane's turn comes after all
        others."""
        self._lanes.setdefault(lane, deque()).append(item)

    def pop(self) -> Item | None:
        """The next item, of the lane whose turn it is; ``None`` if nothing waits."""
        if not self._lanes:
            return None
        lane = next(iter(self._lanes))
        items = self._lanes.pop(lane)
        item = items.popleft()
        if items:
            self._lanes[lane] = items
        return item

    def displace(self, lane: str) -> Item | None:
        """Make room for one more item in ``lane``: the newest of the longest lane leaves, and is
        returned. ``None`` where no lane is longer than this one: then there is no room."""
        own = len(self._lanes.get(lane, ()))
        longest = max(self._lanes, key=lambda name: len(self._lanes[name]), default=lane)
        items = self._lanes.get(longest, deque())
        if len(items) <= own:
            return None
        item = items.pop()
        if not items:
            del self._lanes[longest]
        return item

    def drop(self, is_unwanted: Callable[[Item], bool]) -> list[Item]:
        """Take out the items that nobody wants any more, and return them."""
        dropped = []
        for lane, items in list(self._lanes.items()):
            dropped += [item for item in items if is_unwanted(item)]
            wanted = deque(item for item in items if not is_unwanted(item))
            if wanted:
                self._lanes[lane] = wanted
            else:
                del self._lanes[lane]
        return dropped
