"""Clients and queues as they stand at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(slots=True)
class Standing:
    """A client and what it waits for. ``asked`` and ``published`` are what it waits for the answers
    of, and ``handed_ms`` has for each queue that it consumes when the broker sent it something
    last, on whichever channel, 0 for never in this session."""

    name: str
    is_connected: bool
    asked: int = 0
    published: int = 0
    handed_ms: dict[str, int] = field(default_factory=dict)


class QueueStanding(NamedTuple):
    """A queue: what is ready, what waits for its time, whether it has a TTL, and what of that which
    is ready has been for long."""

    ready: int
    delayed: int
    has_ttl: bool
    long_ready: int = 0
