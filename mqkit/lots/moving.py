"""From a lot into another queue, unchanged: for a second lot, or for a person's own.

    read a window  ->  publish to the queue as they are  ->  confirms  ->  acks

A kill in between leaves a window in both, and the next run moves it once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mqkit.errors import ConfigurationError, MqkitError
from mqkit.lots.archive.archiving import Stopping, never
from mqkit.lots.archive.identity import name_of
from mqkit.lots.archive.record import Record
from mqkit.lots.choice import Choice
from mqkit.lots.chosen_windows import chosen_windows
from mqkit.lots.link import LotLink
from mqkit.lots.reading import Window, reading
from mqkit.lots.sending import WINDOW, QueueSender, in_words
from mqkit.message import Delivery
from mqkit.outcome import Confirmed


@dataclass(frozen=True, slots=True)
class MoveReport:
    """The counts of a move, so far or at the end; ``stopped`` says why it ended early, if it
    did."""

    lot: str
    to: str
    total: int = 0
    seen: int = 0
    moved: int = 0
    stopped: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, for ``--json``."""
        return {
            "lot": self.lot,
            "to": self.to,
            "total": self.total,
            "seen": self.seen,
            "moved": self.moved,
            "stopped": self.stopped,
        }


async def move(
    link: LotLink,
    lot: str,
    to: str,
    choice: Choice,
    *,
    stopping: Stopping = never,
    on_progress: Callable[[MoveReport], None] = lambda report: None,
) -> MoveReport:
    """Send the chosen messages of ``lot`` to the queue ``to``, each acked only after its confirm.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a queue that is no lot, for one that is not
    there, and for ``to`` equal to ``lot``.
    """
    link.check_lot(lot)
    if to == lot:
        raise ConfigurationError(f"{lot!r} can't be moved into itself")
    report = MoveReport(lot, to)
    async with (
        reading(link, lot, "move") as reader,
        link.connection("move, publishing") as connection,
    ):
        await link.state(await link.channel(connection), to)
        sender = QueueSender(link, await link.channel(connection, confirms=True), to)
        windows = chosen_windows(reader, choice, link.now(), Window(WINDOW))
        try:
            async for window in windows:
                confirmed, stopped = await _send(sender, window)
                await reader.ack(confirmed)
                report = replace(report, moved=report.moved + len(confirmed), stopped=stopped)
                report = replace(report, total=reader.total, seen=reader.seen)
                on_progress(report)
                if not report.stopped and stopping():
                    report = replace(report, stopped="asked to stop")
                if report.stopped:
                    break
            await sender.end()
        except MqkitError as error:
            report = replace(report, stopped=str(error))
        return replace(report, total=reader.total, seen=reader.seen)


async def _send(sender: QueueSender, window: list[Delivery]) -> tuple[list[int], str]:
    """The tags of what was confirmed, and the first reason of what was not."""
    records = [Record.of(delivery) for delivery in window]
    confirmed, stopped = [], ""
    for delivery, record, outcome in zip(window, records, await sender.send(records), strict=True):
        if isinstance(outcome, Confirmed):
            confirmed.append(delivery.delivery_tag)
        elif not stopped:
            stopped = f"message {name_of(record)} was not confirmed: {in_words(outcome)}"
    return confirmed, stopped
