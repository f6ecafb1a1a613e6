"""Events of a run, as the clients see it: the values that checkers are told.

A message is a number, rising in the order of publishing. A *session* is one channel of one
connection of one client: what is sent in it has one order. An entry is a message in one queue, and
how often it had died before it came there: a message that is retried comes back as another entry.

Stamps are numbers of :meth:`SimulatedClock.stamp`: of two things, the one with the lower was first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

Entry = tuple[str, int, int]
"""A queue's name, the number of a message, and its deaths so far."""


class DeathNote(NamedTuple):
    """One table of an x-death header: how often a message left ``queue`` for ``reason``."""

    queue: str
    reason: str
    times: int


class Copy(NamedTuple):
    """A message as it was found in a queue, at the start of a broker."""

    number: int
    history: tuple[DeathNote, ...] = ()

    @property
    def deaths(self) -> int:
        return sum(note.times for note in self.history)


class Indexed(NamedTuple):
    """A logged message in a queue, ready or handed out: its place there, and in the log. A record
    at a position of the log never changes."""

    sequence: int
    position: int
    size: int
    stored: int
    expires_at_ms: int


class DiskUse(NamedTuple):
    """The log's use of its disk, when nothing has happened for a while."""

    size_bytes: int
    """Bytes of the log's segments, and of the spare one."""
    live_bytes: int
    """Bytes of the messages that are in queues, each counted whole and once."""
    foreign_bytes: int
    """Bytes of acks and requeues that are needed still."""
    entries: int
    files: int
    queues: int
    definition_bytes: int
    strangers: tuple[str, ...]
    """Files that nobody knows."""
    rotten: bool
    """A segment is damaged: it is kept as it is."""


class Books(NamedTuple):
    """Live bytes of the log's books, beside the shares of the queues' entries."""

    segments: tuple[tuple[int, int, int], ...]
    """Of each segment: its base, its booked live bytes, and the shares of the entries whose message
    stands in it."""
    astray: tuple[tuple[str, int], ...]
    """Entries whose message stands in no segment: queue and position."""
    unwanted: tuple[tuple[str, int], ...] = ()
    """Messages in memory that are not ready in their queue: queue and sequence."""


class ChannelBook(NamedTuple):
    """A count that a channel keeps of itself, and what is there if one counts again."""

    what: str
    kept: int
    counted: int


@dataclass(slots=True, eq=False)
class Message:
    """A message that a client published. ``queues`` are those that its route leads to.

    ``settled_before`` counts the settlements that its session had sent before it: when it is
    confirmed, and it had to be synced for that, they are synced too. ``life`` counts the starts of
    the broker: a transient message lives in that one only.
    """

    number: int
    session: int
    queues: tuple[str, ...]
    persistent: bool
    settled_before: int
    size: int = 0
    priority: int | None = None
    expiration_ms: int | None = None
    stamp: int = 0
    wall_ms: int = 0
    life: int = 0

    @property
    def body(self) -> bytes:
        """The message's own bytes: a piece of another message's would be seen."""
        mark = b"%010d." % self.number
        return (mark * (self.size // len(mark) + 1))[: self.size]


@dataclass(slots=True, eq=False)
class Delivery:
    """A message that a client was handed. ``alone``: nobody else takes from that queue.

    ``sent`` is the stamp of the turn's end in which the broker handed it out, and ``sent_ms`` the
    time of that: it may wait for its socket then, and what was sent first, before a connection
    broke, may arrive after what was sent to somebody else then. ``consumer`` is a tag, or empty for
    basic.get. A prefetch of 0 is none.
    """

    number: int
    queue: str
    session: int
    sent: int
    redelivered: bool
    alone: bool = False
    consumer: str = ""
    prefetch: int = 0
    channel_prefetch: int = 0
    no_ack: bool = False
    sent_ms: int = 0
    history: tuple[DeathNote, ...] = ()
    """The ``x-death`` tables, newest first."""
    first_death: tuple[str, str] | None = None
    last_death: tuple[str, str] | None = None
    """Queue and reason, as the ``x-first-death`` and ``x-last-death`` headers have them."""

    @property
    def deaths(self) -> int:
        return sum(note.times for note in self.history)

    @property
    def entry(self) -> Entry:
        return self.queue, self.number, self.deaths


class Settlement(Enum):
    """A client's answer to a delivery."""

    ACK = "ack"
    REQUEUE = "requeue"
    REJECT = "reject"
    """Reject without requeue: dropped, or dead-lettered where the queue says so."""
    AUTO = "auto-ack"
    """No answer: the broker took the delivery as done when it sent it."""


class RemovalKind(Enum):
    """Ways in which a client empties a queue."""

    PURGE = "purge"
    DELETE = "delete"
    """The queue is declared again at once, by the same session."""


@dataclass(slots=True, eq=False)
class Removal:
    """A client's request to empty a queue; ``done`` is the stamp of the answer, ``None`` while
    there is none."""

    kind: RemovalKind
    queue: str
    session: int
    sent: int
    held: list[Entry] = field(default_factory=list)
    """Entries of that queue that the session held then, or was handed before the answer: a purge
    leaves those."""
    done: int | None = None


Losses = Mapping[str, Counter[str]]
"""Entries that one life of the broker says it removed by itself, by queue and by reason."""


@dataclass(slots=True, eq=False)
class Start:
    """A start of the broker, with the messages that its log had. ``damaged``: the broker says that
    something was lost which had been synced; how many messages at most is in ``lost`` by queue, and
    ``orphans`` are those of queues that it doesn't know."""

    queues: Mapping[str, Sequence[Copy]]
    stamp: int
    wall_ms: int
    damaged: bool = False
    lost: Counter[str] = field(default_factory=Counter)
    orphans: int = 0


@dataclass(slots=True, eq=False)
class BitRot:
    """A bit was flipped in a sealed file, or reads of it fail for a while. ``numbers`` are the
    messages whose bytes are concerned; it ``speaks`` if a record may have stood there about
    messages elsewhere (that one is acked, or moved), and ``defines`` if it was about queues and
    bindings."""

    file: str
    numbers: tuple[int, ...]
    speaks: bool
    defines: bool
    stamp: int
