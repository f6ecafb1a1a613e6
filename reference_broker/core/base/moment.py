"""The time of an input. The core never reads a clock: whoever hands an input in says when it was.

The law: one :class:`Moment` per broker, written once at the top of each input call and only read
below it. Everything that one input causes therefore happens at one instant, and a simulator that
replays inputs with their times replays the broker.
"""

from __future__ import annotations


class Moment:
    """When the current input happened.

    ``mono_s`` is monotonic seconds, for timers (heartbeats, handshakes); ``wall_ms`` is wall-clock
    milliseconds since 1970, for what is stored or shown (an expiry, an x-death time).
    """

    __slots__ = ("mono_s", "wall_ms")

    def __init__(self, mono_s: float = 0.0, wall_ms: int = 0) -> None:
        self.mono_s = mono_s
        self.wall_ms = wall_ms
