"""Those who wait by a clock that a test moves, in whatever thread or event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock


class Alarm:
    """Something to ring once at a moment: in ``loop``, or in whichever thread without one.

    ``task`` is who waits. One that ``works`` meanwhile is limited, and does not wait; one that is
    ``foreign`` is none of an app's consumers.
    """

    __slots__ = ("at_us", "foreign", "loop", "ring", "task", "works")

    def __init__(
        self,
        at_us: int,
        ring: Callable[[], object],
        *,
        loop: asyncio.AbstractEventLoop | None,
        task: asyncio.Task[object] | None,
        works: bool,
        foreign: bool,
    ) -> None:
        self.at_us = at_us
        self.ring = ring
        self.loop = loop
        self.task = task
        self.works = works
        self.foreign = foreign


class Alarms:
    """Alarms that are set. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._set: list[Alarm] = []

    def add(self, alarm: Alarm) -> None:
        with self._lock:
            self._set.append(alarm)

    def forget(self, alarm: Alarm) -> None:
        """Idempotent."""
        with self._lock:
            if alarm in self._set:
                self._set.remove(alarm)

    def next_us(self) -> int | None:
        """The moment of the first one; ``None`` where none is set."""
        with self._lock:
            return min((alarm.at_us for alarm in self._set), default=None)

    def ring(self, until_us: int | None) -> list[Alarm]:
        """Ring those of ``until_us`` and before, the earliest first; all without it. Returns
        them."""
        with self._lock:
            due = [each for each in self._set if until_us is None or each.at_us <= until_us]
            due.sort(key=lambda alarm: alarm.at_us)
            self._set = [alarm for alarm in self._set if alarm not in due]
        for alarm in due:
            if alarm.loop is None:
                alarm.ring()
            elif not alarm.loop.is_closed():
                alarm.loop.call_soon_threadsafe(alarm.ring)
        return due

    def waiting_tasks(self) -> set[asyncio.Task[object]]:
        """The tasks that wait for time, and do not work."""
        with self._lock:
            return {each.task for each in self._set if each.task is not None and not each.works}

    @property
    def foreign_waits(self) -> int:
        """The number of those who wait, and are none of an app's consumers: handlers of other
        clients, and of threads."""
        with self._lock:
            return sum(each.foreign and not each.works for each in self._set)
