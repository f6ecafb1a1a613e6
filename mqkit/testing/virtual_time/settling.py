"""When everything is settled: nothing is on its way, and no message is in anybody's hands but of
those who wait for time themselves.

A message that a consumer has is waited for until it is settled. Of an app with the clock it is
known whether a handler works or waits, so what stands in line behind one that waits is no reason to
go on waiting; of other clients' consumers it is only known that they have it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from weakref import WeakSet

from mqkit.errors import DeadlineExceeded
from mqkit.testing.virtual_time.alarms import Alarm, Alarms
from mqkit.testing.virtual_time.ports import TimedBroker
from mqkit.timing.app_clock import Working

LOOP_ROUNDS = 50
"""Turns that an event loop gets for what it has read: aio-pika hands a frame from task to task, and
needs a dozen until a handler begins."""

FIRST_PAUSE_S = 0.0002
PAUSE_MAX_S = 0.005
"""Real seconds between two looks: short at first, for most messages are settled in a moment."""

TOLD_MAX = 10
"""Reasons that an error tells of one by one."""


class NotSettled(DeadlineExceeded):
    """Time was moved on, and what became due was not settled within a bound of real time. The
    message says what is still waited for."""


class Settling:
    """Waits until all is settled. ``held`` are the messages and tasks that a test has in hand on
    purpose. Its methods block; not for the threads of event loops that have consumers."""

    def __init__(self, broker: TimedBroker, alarms: Alarms) -> None:
        self._broker = broker
        self._alarms = alarms
        self._workings: dict[asyncio.AbstractEventLoop, WeakSet[Working]] = {}
        self._held: set[object] = set()

    def watch(self, loop: asyncio.AbstractEventLoop, working: Working | None = None) -> None:
        """Give ``loop`` its turns, and know of a consumer in it."""
        found = self._workings.setdefault(loop, WeakSet())
        if working is not None:
            found.add(working)

    def begin(self, within_s: float, holding: int) -> None:
        """Settle all but ``holding`` messages, which are held from now on."""
        self._held.clear()
        self._held = set(self._wait(within_s, holding))

    def settle(self, within_s: float) -> None:
        """Settle all but what is held. Raises :exc:`NotSettled`."""
        self._wait(within_s, 0)

    def release(self, rung: list[Alarm]) -> None:
        """Hold no more whose alarms have rung: time has ended their hold."""
        self._held.difference_update(alarm.task for alarm in rung)

    def _wait(self, within_s: float, holding: int) -> dict[object, str]:
        end_s = time.monotonic() + within_s
        pause_s = FIRST_PAUSE_S
        while True:
            before = self._broker.look()
            try:
                reasons, tags = self._in_loops(end_s)
            except FutureTimeout:
                raise NotSettled("an event loop does not turn: something blocks it") from None
            after = self._broker.look()
            theirs = {
                each.key: each.words
                for each in after.held
                if each.consumer_tag not in tags and each.key not in self._held
            }
            waits = self._alarms.foreign_waits
            for key in list(theirs)[: len(theirs) - waits]:
                reasons[key] = theirs[key]
            quiet = before.is_idle and after.is_idle and before.activity == after.activity
            if quiet and len(reasons) <= holding:
                return reasons
            if time.monotonic() > end_s:
                raise NotSettled(_told(reasons, after.unread))
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _in_loops(self, end_s: float) -> tuple[dict[object, str], set[str]]:
        """Give each event loop its turns. Returns who works there, in words, and the tags of its
        consumers."""
        reasons: dict[object, str] = {}
        tags: set[str] = set()
        for loop in [each for each in self._workings if each.is_closed()]:
            del self._workings[loop]
        for loop, workings in list(self._workings.items()):
            if not loop.is_running():
                continue
            looked = _run_in(loop, partial(self._at_work, workings))
            busy, known = looked.result(max(0.1, end_s - time.monotonic()))
            reasons |= busy
            tags |= known
        return reasons, tags

    def _at_work(self, workings: WeakSet[Working]) -> tuple[dict[object, str], set[str]]:
        waiting: set[object] = {*self._alarms.waiting_tasks()}
        busy = {
            key: words
            for working in workings
            for key, words in working.at_work
            if key not in waiting and key not in self._held
        }
        return busy, {working.tag for working in workings}


def _run_in(
    loop: asyncio.AbstractEventLoop, look: Callable[[], tuple[dict[object, str], set[str]]]
) -> Future[tuple[dict[object, str], set[str]]]:
    looked: Future[tuple[dict[object, str], set[str]]] = Future()

    def turn(left: int) -> None:
        if left:
            loop.call_soon(turn, left - 1)
        else:
            looked.set_result(look())

    loop.call_soon_threadsafe(turn, LOOP_ROUNDS)
    return looked


def _told(reasons: dict[object, str], unread: str) -> str:
    words = list(reasons.values())
    if unread:
        words.append(f"{unread} does not read what the broker sends")
    if len(words) > TOLD_MAX:
        words[TOLD_MAX:] = [f"{len(words) - TOLD_MAX} more"]
    return "; ".join(words) or "something that goes on and on between clients and broker"
