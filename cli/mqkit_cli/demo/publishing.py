"""Publishing the records: several windows at a time, until each message is confirmed.

What is ``Unknown`` may be at the broker, and may not: it is published again under the same id, and
a consumer that sees both copies can tell. What was nacked is published again too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from mqkit.message import Message
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit_cli.demo.journal import Event, Journal
from mqkit_cli.demo.scenario import Item
from mqkit_cli.errors import CommandError

PUBLISHERS = 4
"""Windows in flight: some are on their way whenever the broker is killed."""

WINDOW = 250
"""Messages that one call publishes; fewer for few records, so that there is a middle."""

WINDOWS_MIN = 12
"""The least number of windows, where there are records for so many."""

DEADLINE_S = 60.0
"""The time for one window: the broker's restart and the reconnect lie within it."""

ROUNDS_MAX = 5
"""The number of times that one window is published before the demo gives up on it."""

PAUSE_S = 0.5
"""The pause before nacked messages are published again: a full queue needs time to drain."""

PublishBatch = Callable[[Sequence[Message]], Awaitable[Sequence[Outcome]]]
"""``App.publish_batch``, with a deadline of :data:`DEADLINE_S`."""


class Pacer(Protocol):
    """The outage, which decides when the next window goes out."""

    async def before_window(self, started: int, windows: int) -> None:
        """``started`` of ``windows`` have gone out; return when one more may."""
        ...


async def publish_all(
    items: Sequence[Item], publish_batch: PublishBatch, journal: Journal, pacer: Pacer
) -> None:
    """Return when every one of ``items`` is confirmed.

    Raises :exc:`~mqkit_cli.errors.CommandError` when the broker refuses one, or when a window is
    still not confirmed after :data:`ROUNDS_MAX` rounds.
    """
    size = max(1, min(WINDOW, len(items) // WINDOWS_MIN))
    waiting = deque(items[start : start + size] for start in range(0, len(items), size))
    windows = len(waiting)

    async def work() -> None:
        while waiting:
            window = waiting.popleft()
            await pacer.before_window(windows - len(waiting) - 1, windows)
            await _publish_window(window, publish_batch, journal)

    async with asyncio.TaskGroup() as group:
        for _ in range(PUBLISHERS):
            group.create_task(work())


async def _publish_window(
    window: Sequence[Item], publish_batch: PublishBatch, journal: Journal
) -> None:
    for item in window:
        _write(journal, Event.PUBLISHED, item)
    missing = list(window)
    for round_number in range(ROUNDS_MAX):
        if round_number:
            await asyncio.sleep(PAUSE_S)
        outcomes = await publish_batch([item.message for item in missing])
        again = []
        for item, outcome in zip(missing, outcomes, strict=True):
            if is_to_be_sent_again(outcome):
                again.append(item)
            else:
                _write(journal, Event.CONFIRMED, item)
        if not again:
            return
        missing = again
    raise CommandError(
        f"{len(missing)} messages were not confirmed in {ROUNDS_MAX} rounds; the first is"
        f" {missing[0].message_id}"
    )


def is_to_be_sent_again(outcome: Outcome) -> bool:
    """False for a confirm. Raises for a refusal that would only come again."""
    match outcome:
        case Confirmed():
            return False
        case Unknown() | Rejected(reason=RejectReason.NACKED):
            return True
        case Rejected(reason=reason, detail=detail, message_id=identity):
            raise CommandError(f"the broker refused message {identity}: {reason.value}: {detail}")


def _write(journal: Journal, event: Event, item: Item) -> None:
    for queue in item.queues:
        journal.write(event, queue, item.message_id)
