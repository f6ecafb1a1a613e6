"""The ledger: what the files of a run say, compared. Pure: sets of ids in, the account out.

A message is lost when it was confirmed for a queue and that queue's handler never processed it.
Counters are not believed: every number here is the size of a set of ids, or a difference of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mqkit_cli.demo.journal import Entry, Event

SHOWN_IDS = 5
"""The number of lost ids that are named; the rest are in the files."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The account of one run. Numbers of messages count different ids.

    ``unconfirmed`` were published, and no confirm ever came: nothing was promised about them, but a
    run that leaves any is not a good one. ``warehouse`` is ``None`` where no Spark job ran.
    """

    published: int
    confirmed: int
    processed: int
    retried: int
    parked: int
    replayed: int
    duplicates: int
    unconfirmed: tuple[Entry, ...]
    lost: tuple[Entry, ...]
    sunk: int | None = None
    stored: int | None = None

    @property
    def is_good(self) -> bool:
        """True if nothing was lost, and everything was confirmed."""
        return not self.lost and not self.unconfirmed

    def lines(self) -> list[tuple[str, str]]:
        """Words and numbers, ready to be shown; the last line is what was lost."""
        rows = [
            ("published", self.published),
            ("confirmed", self.confirmed),
            ("processed", self.processed),
            ("retried", self.retried),
            ("parked", self.parked),
            ("replayed", self.replayed),
        ]
        if self.sunk is not None and self.stored is not None:
            rows += [("sunk by Spark", self.sunk), ("read back", self.stored)]
        rows.append(("duplicates seen", self.duplicates))
        if self.unconfirmed:
            rows.append(("never confirmed", len(self.unconfirmed)))
        rows.append(("lost", len(self.lost)))
        return [(words, f"{number:,}") for words, number in rows]

    def lost_words(self) -> str:
        """The lost messages by name, as far as they fit on a line."""
        named = ", ".join(f"{identity} ({queue})" for queue, identity in self.lost[:SHOWN_IDS])
        more = len(self.lost) - SHOWN_IDS
        return f"{named} and {more:,} more" if more > 0 else named


def settle(lines: Mapping[Event, Sequence[Entry]], *, with_spark: bool) -> Ledger:
    """The ledger of the lines that publisher, handlers and Spark job wrote."""
    seen = {event: frozenset(lines.get(event, ())) for event in Event}
    promised = seen[Event.CONFIRMED] - seen[Event.PROCESSED]
    unstored = seen[Event.SUNK] - seen[Event.STORED]
    arrived = (lines.get(Event.PROCESSED, ()), lines.get(Event.STORED, ()))
    return Ledger(
        published=_ids(seen[Event.PUBLISHED]),
        confirmed=_ids(seen[Event.CONFIRMED]),
        processed=_ids(seen[Event.PROCESSED]),
        retried=_ids(seen[Event.RETRIED]),
        parked=_ids(seen[Event.PARKED]),
        replayed=_ids(seen[Event.REPLAYED]),
        duplicates=sum(len(entries) - len(frozenset(entries)) for entries in arrived),
        unconfirmed=tuple(sorted(seen[Event.PUBLISHED] - seen[Event.CONFIRMED])),
        lost=tuple(sorted(promised | unstored)),
        sunk=len(seen[Event.SUNK]) if with_spark else None,
        stored=len(seen[Event.STORED]) if with_spark else None,
    )


def _ids(entries: Iterable[Entry]) -> int:
    """A message that went to several queues is one message."""
    return len({identity for _, identity in entries})
