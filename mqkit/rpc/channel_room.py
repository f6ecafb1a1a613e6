"""The channels for calls that are kept, one for each exchange: which of them go when another one is
needed. Pure: the caller closes it."""

from __future__ import annotations

from typing import Protocol, TypeVar

CHANNELS_MAX = 16
"""Channels that are kept; one that nobody waits on makes room for another exchange's."""


class KeptChannel(Protocol):
    """A reply channel, asynchronous or blocking."""

    @property
    def is_open(self) -> bool: ...

    @property
    def is_idle(self) -> bool: ...


Kept = TypeVar("Kept", bound=KeptChannel)


def make_room(channels: dict[str, Kept]) -> Kept | None:
    """Take out those that are gone and, where there are too many for another one, an idle one,
    which is returned for the caller to close. Where none is idle, one more than the maximum is
    kept."""
    for exchange, channel in list(channels.items()):
        if not channel.is_open:
            del channels[exchange]
    if len(channels) >= CHANNELS_MAX:
        for exchange, channel in channels.items():
            if channel.is_idle:
                return channels.pop(exchange)
    return None
