"""Publishers whose next message has to wait until the journal has room for it.

A channel that waits is SUSPENDED (law 5): its later frames are parked in order, other channels of
its connection go on, and beyond ``PARKED_BYTES_MAX`` the connection is not read any more. On a
healthy disk that is a moment, while the next segment is made; nobody is told. When the disk has no
room for the next segment, the disk alarm says connection.blocked to those that wait, too. (The log
decides who waits, ``store/log/free_space.py``; ``hot_path/publish.py`` asks it.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_broker.core.channel.channel import Channel
    from reference_broker.core.journal.free_space import FreeSpace


class WaitingPublishers:
    """The channels whose publishes wait, in the order in which they began to."""

    def __init__(self, space: FreeSpace) -> None:
        self._space = space
        self._channels: list[Channel] = []

    def add(self, channel: Channel) -> None:
        """Call ``channel.room_has_come()`` after the next sync. A channel that still waits then
        adds itself again."""
        self._channels.append(channel)

    def wake(self) -> None:
        """Let each channel try again, as the log is synced further; the one that has waited longest
        first."""
        if not self._channels:
            return
        channels, self._channels = self._channels, []
        self._space.nobody_waits()  # those that still do say so again
        for channel in channels:
            channel.room_has_come()

    def block_in_alarm(self) -> None:
        """Block the connections of the channels that wait, as if they had published just now: an
        alarm has begun."""
        for channel in self._channels:
            channel.connection.block_in_alarm()
