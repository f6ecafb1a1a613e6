"""The clock of a whole app, which a test moves: waits of its consumers, limits of its handlers, and
the time that goes into the headers of what failed.

What stands at the network stays on real time: connecting, heartbeats, publishing and calls with
their deadlines. The broker and its sockets know no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from datetime import datetime
from typing import Protocol, runtime_checkable

from mqkit.timing.clock import Clock


class Working(Protocol):
    """A consumer, as far as a clock has to know it that must not be moved while it works."""

    @property
    def tag(self) -> str:
        """Its name at the broker, which no other consumer has."""
        ...

    @property
    def at_work(self) -> Sequence[tuple[object, str]]:
        """All that has to come to an end before time may go on, with words for each: the tasks that
        handle or settle a message, those that wait in the clock among them; and itself, where it is
        to consume and does not yet."""
        ...


@runtime_checkable
class AppClock(Clock, Protocol):
    """A :class:`~mqkit.timing.clock.Clock` that can tell who waits for time from who works.

    ``sleep`` and ``timeout`` are for those who wait: for time alone, or for time or an event.
    """

    def limit(self, delay_s: float) -> AbstractAsyncContextManager[object]:
        """As ``timeout``, for a block that works meanwhile: a handler."""
        ...

    def utc_now(self) -> datetime:
        """The time of day."""
        ...

    def watch(self, working: Working) -> None:
        """Know of a consumer that waits by this clock, in this event loop. It is referred to
        weakly."""
        ...


OF_CONSUMER: ContextVar[AppClock | None] = ContextVar("the clock of a consumer", default=None)
"""Set in the tasks of an app's consumers where the app has a clock: their handlers are limited by
it."""
