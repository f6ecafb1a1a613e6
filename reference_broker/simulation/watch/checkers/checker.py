"""What every checker is: told of each event, it raises :exc:`Violation` when its law is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_broker.simulation.events.events import (
    BitRot,
    Books,
    Delivery,
    DiskUse,
    Indexed,
    Losses,
    Message,
    Removal,
    Settlement,
    Start,
)


class Violation(Exception):
    """The broker broke a law. ``lost`` counts confirmed messages that are gone."""

    def __init__(self, checker: str, text: str, lost: int = 0) -> None:
        super().__init__(f"{checker}: {text}")
        self.checker = checker
        self.lost = lost


class Checker:
    """Does nothing at each event; a checker overrides those that its law speaks about."""

    name = ""

    # What clients do, and are told

    def published(self, message: Message) -> None:
        """A client sent a message."""

    def confirmed(self, message: Message, wall_ms: int) -> None:
        """It saw the broker's ack for it, now. Called in the order of publishing."""

    def delivered(self, delivery: Delivery) -> None:
        """A client was handed a message."""

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        """It sent an ack, nack or reject for it; whether that arrives is another matter. Where no
        ack is asked for, this is when it was handed out."""

    def blind_get_sent(self, queue: str) -> None:
        """It asked for a message that it won't ack."""

    def removal_sent(self, removal: Removal) -> None:
        """It asked for a queue to be purged, or deleted."""

    def removed(self, removal: Removal) -> None:
        """It saw the answer to that."""

    def session_ended(self, session: int) -> None:
        """A client's connection is gone; it sees nothing more of that session."""

    # What happens at the broker

    def sent_blindly(self, queue: str, number: int) -> None:
        """It sent a message that nobody acks; it may be lost on its way."""

    def blind_get_answered(self, queue: str) -> None:
        """It sent the answer to what :meth:`blind_get_sent` told of, with a message or without."""

    def started(self, start: Start) -> None:
        """It started again, and this is what its log had."""

    def compared(
        self,
        index: Mapping[str, Sequence[Indexed]],
        rebuilt: Mapping[str, Sequence[Indexed]],
        source: str,
    ) -> None:
        """Its logged messages by queue, and those that a new one would find on its disk, if it
        looked at that ``source``."""

    def rested(self, use: DiskUse) -> None:
        """Nothing has happened for so long that its log has to be tidy, and takes this."""

    def counted(self, books: Books) -> None:
        """This is what its log believes to be live, and what its queues have, at one moment."""

    def left_over(self, held: Mapping[str, int]) -> None:
        """What these were for is gone, and this is what is still held of each."""

    def life_ended(self, losses: Losses) -> None:
        """Its process is gone, and this is what it says it had removed by itself."""

    def bit_flipped(self, rot: BitRot) -> None:
        """A bit of a sealed file is another one now."""

    def drained(self, losses: Losses, wall_ms: int) -> None:
        """Faults are over, and a last consumer has taken everything and acked it; ``losses`` are
        those of the life that goes on."""

    def fail(self, text: str, lost: int = 0) -> Violation:
        """The violation to raise."""
        return Violation(self.name, text, lost)
