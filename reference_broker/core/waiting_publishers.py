"""Publishers whose next message has to wait until the journal has room for it.

A channel that waits is SUSPENDED (law 5): its later frames are parked in order, other channels of
its connection go on, and beyond ``PARKED_BYTES_MAX`` the connection is not read any more. On a
healthy disk that is a moment, while the next segment is made; nobody is told. When the disk has no
room for the next segment, the disk alarm says connection.blocked to those that wait, too. (The log
decides who waits, ``store/log/free_space.py``; ``hot_path/publish.py`` asks it.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reference_broker.core.journal.free_space import FreeSpace


class _Publisher(NamedTuple):
    room_comes: Callable[[], None]
    block: Callable[[], None] | None


class WaitingPublishers:
    """The publishers that wait, in the order in which they began to: channels, and other nodes."""

    def __init__(self, space: FreeSpace) -> None:
        self._space = space
        self._publishers: list[_Publisher] = []

    def add(
        self, room_comes: Callable[[], None], block_in_alarm: Callable[[], None] | None = None
    ) -> None:
        """Call ``room_comes`` after the next sync; who still has to wait then adds himself again.
        Call ``block_in_alarm`` when an alarm begins before that."""
        self._publishers.append(_Publisher(room_comes, block_in_alarm))

    def wake(self) -> None:
        """Let each publisher try again, as the log is synced further; the one that has waited
        longest first."""
        if not self._publishers:
            return
        publishers, self._publishers = self._publishers, []
        self._space.nobody_waits()  # those that still do say so again
        for publisher in publishers:
            publisher.room_comes()

    def block_in_alarm(self) -> None:
        """Block the connections of the channels that wait, as if they had published just now: an
        alarm has begun."""
        for publisher in self._publishers:
            if publisher.block is not None:
                publisher.block()
