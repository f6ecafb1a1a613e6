"""Who saw which message: a file of lines for each kind of event, and what the files say.

    published.jsonl   ["delays", "flight-00017"]      queue and message id, a line for each event
    processed.jsonl   ["delays", "flight-00017"]

A line is in the file before what it speaks about is settled at the broker; so a message that was
acked is never missing from the files.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO, TypeAlias

Entry: TypeAlias = tuple[str, str]
"""A queue, and the id of a message that belongs there."""


class Event(StrEnum):
    """The events of a message; the value is the name of the file."""

    PUBLISHED = "published"
    CONFIRMED = "confirmed"
    PROCESSED = "processed"
    RETRIED = "retried"
    """A handler failed, and another attempt will follow."""
    PARKED = "parked"
    """A handler failed for the last time."""
    REPLAYED = "replayed"
    """The message came back from the parking lot."""
    SUNK = "sunk"
    """The Spark job has its confirm."""
    STORED = "stored"
    """The message was read from the queue that the Spark job fills."""


class Journal:
    """Writes the files of one run into ``folder``, and counts what it wrote, for those who watch.

    A context manager: the files are open within it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: dict[Event, Counter[Entry]] = {event: Counter() for event in Event}
        self.lines = 0
        self._messages: dict[Event, set[str]] = {event: set() for event in Event}
        self._files: dict[Event, TextIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        for event in Event:
            path = _path(self.folder, event)
            # Line by line: a line that is only in this process's memory proves nothing.
            self._files[event] = self._stack.enter_context(path.open("a", buffering=1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def write(self, event: Event, queue: str, message_id: str) -> None:
        """One line."""
        self._files[event].write(json.dumps((queue, message_id)) + "\n")
        self.seen[event][queue, message_id] += 1
        self._messages[event].add(message_id)
        self.lines += 1

    def messages(self, event: Event) -> int:
        """The number of different messages that had ``event``, in whatever queue: for the view, not
        for the ledger."""
        return len(self._messages[event])


def read_journal(folder: Path) -> dict[Event, list[Entry]]:
    """The entries in the files of ``folder``, line by line."""
    found: dict[Event, list[Entry]] = {}
    for event in Event:
        path = _path(folder, event)
        lines = path.read_text().splitlines() if path.exists() else []
        found[event] = [(queue, identity) for queue, identity in map(json.loads, lines)]
    return found


def _path(folder: Path, event: Event) -> Path:
    return folder / f"{event}.jsonl"
