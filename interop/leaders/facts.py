"""The facts of a run: messages that came, were parked, were about to be moved, and are archived."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that came to the worker, with the count of replays in its header."""

    message_id: str
    replays: int
    at_s: float


@dataclass(frozen=True, slots=True)
class Parking:
    """The moment before the worker let a message go to the lot."""

    message_id: str
    replays: int
    at_s: float


@dataclass(slots=True)
class Facts:
    """Filled by threads; read when they have ended."""

    published: list[str] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    parkings: list[Parking] = field(default_factory=list)
    archived: Counter[str] = field(default_factory=Counter)
    under_way: Counter[str] = field(default_factory=Counter)
    """Ids of the windows that a killed leader had begun and not ended, as it named them."""
    left: int = 0
    """Messages in queue and lot at the end."""
    kills: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
