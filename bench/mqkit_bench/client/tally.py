"""Counting what a handler got; the meter begins with the first message."""

from __future__ import annotations

import asyncio

from mqkit_bench.client.meter import Meter


class Tally:
    """``done`` is set when all messages are counted. Belongs to one event loop."""

    def __init__(self, messages: int, meter: Meter) -> None:
        self.done = asyncio.Event()
        self._messages = messages
        self._meter = meter
        self.counted = 0

    def count(self, messages: int = 1) -> None:
        """Count messages that were handed over, and not counted yet."""
        if not self.counted:
            self._meter.begin()
        self.counted += messages
        if self.counted >= self._messages:
            self.done.set()
