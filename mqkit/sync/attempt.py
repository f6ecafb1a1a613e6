"""One attempt at the messages of a call: written to one channel, and waited for together."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial

from mqkit.message import Message
from mqkit.outcome import Outcome, Unknown
from mqkit.transport.blocking import BlockingChannel

SLICE = 500
"""Messages that are handed to the channel at a time: between two of them it is looked at whether
the broker blocks, and whether the channel is open."""

LOOK_EVERY_S = 0.25
"""Seconds that a slice waits for room in the channel's window before that is looked at again."""


class Attempt:
    """:meth:`write` slices, then :meth:`wait`."""

    __slots__ = ("_done", "_lock", "_unsettled", "handed", "is_held_up", "outcomes")

    def __init__(self, count: int) -> None:
        self.outcomes: list[Outcome | None] = [None] * count
        self.handed = 0
        """The number of messages that were handed to the channel, from the first one on."""
        self.is_held_up = False
        """True if the channel gave messages back unsent: those after them must not overtake."""
        self._unsettled = 1  # the last one is given by who writes: then all is handed over
        self._lock = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()

    def write(self, channel: BlockingChannel, messages: Sequence[Message], until_s: float) -> None:
        """Hand a slice over, after those before it. Waits for room in the channel's window, and not
        for confirms."""
        start = self.handed
        self.handed += len(messages)
        with self._lock:
            self._unsettled += len(messages)
        allowed_s = min(max(until_s - time.monotonic(), 0.0), LOOK_EVERY_S)
        channel.publish_run(messages, partial(self._settle, start), timeout_s=allowed_s)

    def wait(self, until_s: float) -> None:
        """Return when all that was handed over has its outcome, or when the time is over."""
        self._count(1)
        left_s = min(max(until_s - time.monotonic(), 0.0), threading.TIMEOUT_MAX)
        self._done.acquire(timeout=left_s)

    @property
    def sent(self) -> list[int]:
        """The places of what was handed over and did not come back unsent."""
        return [
            place
            for place, outcome in enumerate(self.outcomes[: self.handed])
            if not (isinstance(outcome, Unknown) and not outcome.sent)
        ]

    def _settle(self, start: int, position: int, outcomes: Sequence[Outcome]) -> None:
        """On whatever thread."""
        at = start + position
        self.outcomes[at : at + len(outcomes)] = outcomes
        if not all(outcomes) and any(map(_is_unsent, outcomes)):
            self.is_held_up = True
        self._count(len(outcomes))

    def _count(self, settled: int) -> None:
        with self._lock:
            self._unsettled -= settled
            is_done = not self._unsettled
        if is_done:
            self._done.release()


def _is_unsent(outcome: Outcome) -> bool:
    return isinstance(outcome, Unknown) and not outcome.sent
