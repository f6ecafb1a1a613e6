"""What happens in a run, as the clients see it: the values that checkers are told.

A message is a number, rising in the order of publishing; an entry is a message in one queue. A
session is one connection of one client, with one channel: what is sent in it has one order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

Entry = tuple[str, int]
"""A queue's name, and the number of a message."""


@dataclass(slots=True, eq=False)
class Message:
    """A message that a client published. ``queues`` are those that its route leads to.

    ``settled_before`` counts the settlements that its session had sent before it: when it is
    confirmed, and it had to be synced for that, they are synced too.
    """

    number: int
    session: int
    queues: tuple[str, ...]
    persistent: bool
    settled_before: int


@dataclass(slots=True, eq=False)
class Delivery:
    """A message that a client was handed. ``alone``: the queue has no other consumer.

    ``sent`` is the stamp of the broker's sending: what it sent first, before a connection broke,
    may arrive after what it sent to somebody else then.
    """

    number: int
    queue: str
    session: int
    sent: int
    redelivered: bool
    alone: bool
    prefetch: int

    @property
    def entry(self) -> Entry:
        return self.queue, self.number


class Settlement(Enum):
    """What a client answers to a delivery."""

    ACK = "ack"
    REQUEUE = "requeue"
    REJECT = "reject"
    """Without requeue: dropped, or dead-lettered where the queue says so."""
