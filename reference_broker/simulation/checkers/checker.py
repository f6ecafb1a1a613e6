"""What every checker is: told of each event, it raises :exc:`Violation` when its law is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_broker.simulation.events import Delivery, Message, Settlement


class Violation(Exception):
    """The broker broke a law. ``lost`` counts confirmed messages that are gone."""

    def __init__(self, checker: str, text: str, lost: int = 0) -> None:
        super().__init__(f"{checker}: {text}")
        self.checker = checker
        self.lost = lost


class Checker:
    """Does nothing at each event; a checker overrides those that its law speaks about."""

    name = ""

    def published(self, message: Message) -> None:
        """A client sent a message."""

    def confirmed(self, message: Message) -> None:
        """It saw the broker's ack for it. Called in the order of publishing."""

    def delivered(self, delivery: Delivery) -> None:
        """A client was handed a message."""

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        """It sent an ack, nack or reject for it; whether that arrives is another matter."""

    def session_ended(self, session: int) -> None:
        """A client's connection is gone; it sees nothing more of that session."""

    def recovered(self, queues: Mapping[str, Sequence[int]]) -> None:
        """The broker started again, and these are the messages in its durable queues."""

    def drained(self) -> None:
        """Faults are over, and a last consumer has taken everything and acked it."""

    def fail(self, text: str, lost: int = 0) -> Violation:
        """The violation to raise."""
        return Violation(self.name, text, lost)
