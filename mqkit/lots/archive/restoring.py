"""From a file into a lot, but for what the lot has already.

The file is read twice: to its end first, so that one that is torn, changed, or none of ours is
refused before anything is sent. The lot is read as well, and left as it is: what it has is skipped,
as often as it has it. So a restore that was killed is begun again, and sends what is missing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mqkit.errors import ConfigurationError
from mqkit.lots.archive.archiving import Stopping, never
from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.file import PART
from mqkit.lots.archive.formats import Origin, reader
from mqkit.lots.archive.identity import key_of, name_of
from mqkit.lots.archive.record import Record
from mqkit.lots.link import LotLink
from mqkit.lots.reading import OCTETS_MAX, reading
from mqkit.lots.sending import WINDOW, QueueSender, in_words, own
from mqkit.message import Delivery
from mqkit.outcome import Confirmed

KNOWN_MAX = 5_000_000
"""Messages of a lot whose keys are held in memory, about 100 octets each."""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The counts of a restore, so far or at the end.

    ``total`` messages are in the file: ``restored`` were confirmed by the lot, ``skipped`` were in
    it already. ``whole`` is false for a torn file, of which the messages up to the tear were read.
    ``stopped`` says why it ended early, if it did; the same call goes on.
    """

    file: str
    lot: str
    total: int
    whole: bool
    restored: int = 0
    skipped: int = 0
    stopped: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, for ``--json``."""
        return {
            "file": self.file,
            "lot": self.lot,
            "total": self.total,
            "whole": self.whole,
            "restored": self.restored,
            "skipped": self.skipped,
            "stopped": self.stopped,
        }


async def restore(
    link: LotLink,
    path: Path,
    lot: str | None = None,
    *,
    partial: bool = False,
    stopping: Stopping = never,
    on_progress: Callable[[RestoreReport], None] = lambda report: None,
) -> RestoreReport:
    """Send the messages of an archive to ``lot`` (by default the one that they are of), in order,
    behind what is there.

    Raises :exc:`~mqkit.lots.archive.fault.ArchiveFault`, with nothing sent, for a file that is no
    archive, was changed, or is torn - unless ``partial`` is set, or it is called ``.part`` and so
    says by itself that it is not whole. Raises :exc:`~mqkit.errors.ConfigurationError` if there is
    no such queue, or it is no lot.
    """
    origin, total, is_whole = await asyncio.to_thread(_verify, path)
    if not is_whole and not partial and not path.name.endswith(PART):
        raise ArchiveFault(
            f"{path} is torn: its end is missing; --partial restores the {total} messages before it"
        )
    target = lot or origin.lot
    link.check_lot(target)
    username = link.endpoint.credentials.username
    known = await _known(link, target, username)
    report = RestoreReport(str(path), target, total, is_whole)
    with reader(path) as file:
        windows = _windows(file.records())
        async with link.connection("restore") as connection:
            channel = await link.channel(connection, confirms=True)
            await link.state(channel, target)
            sender = QueueSender(link, channel, target)
            while not report.stopped and (window := await asyncio.to_thread(next, windows, None)):
                missing = [each for each in window if not _is_known(each, known, username)]
                report = replace(report, skipped=report.skipped + len(window) - len(missing))
                report = await _send(sender, missing, report)
                on_progress(report)
                if not report.stopped and stopping():
                    report = replace(report, stopped="asked to stop")
            await sender.end()
    return report


def _verify(path: Path) -> tuple[Origin, int, bool]:
    """The origin, the count of messages, and whether the file is whole."""
    with reader(path) as file:
        count = sum(1 for _ in file.records())
        return file.origin, count, file.is_whole


async def _known(link: LotLink, lot: str, username: str) -> Counter[bytes]:
    """The keys of what lies in the lot now, as they would be if it were sent anew."""
    found: Counter[bytes] = Counter()

    def count(delivery: Delivery) -> bool:
        found[_key(Record.of(delivery), username)] += 1
        return False

    async with reading(link, lot, "restore") as source:
        if source.total > KNOWN_MAX:
            raise ConfigurationError(
                f"{lot!r} has {source.total} messages, more than {KNOWN_MAX} to compare with:"
                " restore into an empty queue (--lot NAME)"
            )
        await source.window(count)
    return found


def _is_known(record: Record, known: Counter[bytes], username: str) -> bool:
    if not known:
        return False
    key = _key(record, username)
    if known[key] <= 0:
        return False
    known[key] -= 1
    return True


def _key(record: Record, username: str) -> bytes:
    return key_of(replace(record, properties=own(record.properties, username)))


def _windows(records: Iterator[Record]) -> Iterator[list[Record]]:
    """In windows that are bounded in messages and octets."""
    window: list[Record] = []
    octets = 0
    for record in records:
        window.append(record)
        octets += record.octets
        if len(window) == WINDOW or octets > OCTETS_MAX:
            yield window
            window, octets = [], 0
    if window:
        yield window


async def _send(sender: QueueSender, records: list[Record], report: RestoreReport) -> RestoreReport:
    outcomes = await sender.send(records) if records else []
    for record, outcome in zip(records, outcomes, strict=True):
        if isinstance(outcome, Confirmed):
            report = replace(report, restored=report.restored + 1)
        elif not report.stopped:
            words = f"message {name_of(record)} was not confirmed: {in_words(outcome)}"
            report = replace(report, stopped=words)
    return report
