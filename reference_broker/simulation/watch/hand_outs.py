"""When each entry was handed out, and whether it was as new: the books of the law that what comes a
second time is marked as redelivered."""

from __future__ import annotations

from reference_broker.simulation.events.events import Entry


class HandOuts:
    """The hand-outs that clients have seen, in any order."""

    def __init__(self) -> None:
        self._first_sent: dict[Entry, int] = {}
        self._sent_as_new: dict[Entry, int] = {}
        """The stamp of an entry's last hand-out without the mark."""

    def is_twice_as_new(self, entry: Entry, sent: int, *, redelivered: bool) -> bool:
        """Note a hand-out, ``sent`` by the broker at that stamp. True when there was another one
        before the last that had no mark."""
        first = self._first_sent[entry] = min(sent, self._first_sent.get(entry, sent))
        if not redelivered:
            self._sent_as_new[entry] = max(sent, self._sent_as_new.get(entry, sent))
        return self._sent_as_new.get(entry, first) > first
