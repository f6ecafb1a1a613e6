"""The queue of logins that wait to be checked: addresses with right logins before those that nobody
knows, and these before addresses with wrong ones only.

A hundred strangers, each with one wrong login, would otherwise be a hundred turns before a user's
own. Everybody has some turns, so that nobody waits for good: a user may sit behind the address of a
stranger.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Generic, TypeVar

from reference_broker.core.base.fair_queue import FairQueue

ORIGINS_MAX = 4_096
"""Addresses whose right logins are remembered, and as many with wrong ones. 100 bytes each."""

WRONG_MAX = 8
"""Wrong logins in a row after which an address is no better than a stranger's: a program with an
old password has a few of them."""

TURNS_BEFORE_WORSE = 3
"""Turns that logins of better standing have before one of the next worse has one."""

Item = TypeVar("Item")


class Standing(IntEnum):
    """The standing of an address, the better the lower."""

    KNOWN = 0
    NEW = 1
    WRONG = 2


class Standings:
    """The standing of each address that has logged in or tried to. What is known about the address
    that was looked at longest ago goes first."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        """Wrong logins since the last right one."""
        self._wrong: dict[str, None] = {}

    def of(self, origin: str) -> Standing:
        """The standing of an address as of now."""
        if self._known.get(origin, WRONG_MAX) < WRONG_MAX:
            return Standing.KNOWN
        return Standing.WRONG if origin in self._wrong else Standing.NEW

    def right(self, origin: str) -> None:
        """A login from this address was right."""
        self._wrong.pop(origin, None)
        self._known.pop(origin, None)
        self._known[origin] = 0
        _shorten(self._known)

    def wrong(self, origin: str) -> None:
        """A login from this address was wrong."""
        if origin in self._known:
            self._known[origin] += 1
        self._wrong.pop(origin, None)
        self._wrong[origin] = None
        _shorten(self._wrong)


class LoginQueue(Generic[Item]):
    """Items in lanes, one for each origin, by their standing. Within a standing lanes take turns
    (:class:`FairQueue`)."""

    def __init__(self) -> None:
        self._queues: dict[Standing, FairQueue[Item]] = {each: FairQueue() for each in Standing}
        self._passed = dict.fromkeys(Standing, 0)
        """Turns of the better ones since the last turn of each standing, while it waited."""

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def push(self, standing: Standing, lane: str, item: Item) -> None:
        """Put ``item`` behind those that wait in its lane of that standing."""
        self._queues[standing].push(lane, item)

    def pop(self) -> Item | None:
        """The next item: the best standing's, or that of one that was passed over often enough;
        ``None`` if nothing waits."""
        waiting = [each for each in Standing if len(self._queues[each])]
        if not waiting:
            return None
        due = [each for each in waiting[1:] if self._passed[each] >= TURNS_BEFORE_WORSE]
        chosen = due[0] if due else waiting[0]
        for each in Standing:
            passed = each > chosen and each in waiting
            if passed:
                self._passed[each] += 1
            elif each == chosen or each not in waiting:
                self._passed[each] = 0
        return self._queues[chosen].pop()

    def displace(self, standing: Standing, lane: str) -> Item | None:
        """Make room for one more item: the newest of the longest lane of a worse standing leaves,
        or of the same one if that lane is longer than this, and is returned; ``None`` where there
        is none."""
        for worse in reversed(Standing):
            if worse > standing and len(self._queues[worse]):
                return self._queues[worse].displace("")
        return self._queues[standing].displace(lane)

    def drop(self, is_unwanted: Callable[[Item], bool]) -> list[Item]:
        """Take out the items that nobody wants any more, and return them."""
        return [item for queue in self._queues.values() for item in queue.drop(is_unwanted)]


def _shorten(origins: dict[str, int] | dict[str, None]) -> None:
    if len(origins) > ORIGINS_MAX:
        del origins[next(iter(origins))]
