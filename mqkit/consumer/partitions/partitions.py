"""Who may begin, who stands behind whom, and who waits for its retry: by key. No I/O.

    behind --next--> ready --> a handler has it --finish--> gone, and the next of its key is ready
                       ^               |
                       +---- due ---- held

A key is busy from the arrival of its first message until the last is finished. A message without a
key is always ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass

from mqkit.consumer.settlement_steps import Arrival

PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 30.0
"""Waits of a message whose queue has no retry policy, as those before a requeue."""


@dataclass(frozen=True, slots=True)
class KeyedArrival(Arrival):
    """An arrival with its key, and the time that it came (monotonic)."""

    key: Hashable = None
    at_s: float = 0.0
    pauses: int = 0
    """The retries that it had without a policy."""
    problem: Exception | None = None
    """The error of the program's function for keys: the handler is not called."""

    @property
    def pause_s(self) -> float:
        """The wait before a retry that no policy gives."""
        return float(min(PAUSE_MAX_S, PAUSE_FIRST_S * 2 ** min(self.pauses, 10)))


class Partitions:
    """The messages of one consumer that have no end yet."""

    def __init__(self) -> None:
        self._behind: dict[Hashable, deque[KeyedArrival]] = {}
        self._held: dict[Hashable, KeyedArrival] = {}

    def arrive(self, arrival: KeyedArrival) -> bool:
        """A message has come. True if it is ready; false if it stands behind others of its key."""
        if arrival.key is None:
            return True
        line = self._behind.get(arrival.key)
        if line is None:
            self._behind[arrival.key] = deque()
            return True
        line.append(arrival)
        return False

    def finish(self, arrival: KeyedArrival) -> KeyedArrival | None:
        """The message has its end. Returns the next of its key, which is ready now."""
        if arrival.key is None:
            return None
        line = self._behind[arrival.key]
        if line:
            return line.popleft()
        del self._behind[arrival.key]
        return None

    def hold(self, arrival: KeyedArrival) -> None:
        """The message waits for its retry, and its key with it."""
        self._held[arrival.key] = arrival

    def due(self, arrival: KeyedArrival) -> bool:
        """The wait is over: the message is ready. False if it was taken out meanwhile."""
        if self._held.get(arrival.key) is not arrival:
            return False
        del self._held[arrival.key]
        return True

    def held_for(self, key: Hashable) -> KeyedArrival | None:
        """The message of that key that waits for its retry."""
        return self._held.get(key)

    def take_held(self) -> list[KeyedArrival]:
        """Take out every message that waits for its retry."""
        taken = list(self._held.values())
        self._held.clear()
        return taken

    def behind(self, key: Hashable) -> int:
        """The number of messages that stand behind the first of the key."""
        return len(self._behind.get(key, ()))

    def take_line(self, key: Hashable) -> list[KeyedArrival]:
        """Take out what stands behind the first of the key, in order. The key stays busy: the first
        is yet to be finished."""
        line = self._behind[key]
        taken = list(line)
        line.clear()
        return taken

    def take_behind(self) -> KeyedArrival | None:
        """Take out one message that stands behind another; ``None`` when there is none."""
        for line in self._behind.values():
            if line:
                return line.popleft()
        return None
