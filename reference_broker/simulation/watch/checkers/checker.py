"""The interface of checkers: told of each event, one raises :exc:`Violation` when its law is
broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_broker.simulation.events.definitions import Declaration, Definitions
from reference_broker.simulation.events.events import (
    BitRot,
    Books,
    ChannelBook,
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
    """A checker that does nothing at each event; a real one overrides those that its law speaks
    about."""

    name = ""

    # What clients do, and are told

    def published(self, message: Message) -> None:
        """A client sent a message."""

    def confirmed(self, message: Message, wall_ms: int) -> None:
        """The client saw the broker's confirm of the message, now. Called in the order of
        publishing."""

    def delivered(self, delivery: Delivery) -> None:
        """A client was handed a message."""

    def settled(self, delivery: Delivery, how: Settlement) -> None:
        """The client sent an ack, nack or reject; whether that arrives is another matter. Where no
        ack is asked for, this is when the message was handed out."""

    def blind_get_sent(self, queue: str) -> None:
        """The client asked with basic.get for a message that it won't ack."""

    def removal_sent(self, removal: Removal) -> None:
        """The client asked for a queue to be purged, or deleted."""

    def removed(self, removal: Removal) -> None:
        """The client saw the answer to a removal."""

    def declaration_sent(self, declaration: Declaration) -> None:
        """The client declares something."""

    def declared(self, declaration: Declaration) -> None:
        """The client saw the answer to a declaration."""

    def session_ended(self, session: int) -> None:
        """A client's connection is gone; it sees nothing more of that session."""

    # What happens at the broker

    def sent_blindly(self, queue: str, number: int) -> None:
        """The broker sent a message that nobody acks; it may be lost on its way."""

    def blind_get_answered(self, queue: str) -> None:
        """The broker sent the answer to a basic.get that :meth:`blind_get_sent` told of, with a
        message or without."""

    def started(self, start: Start) -> None:
        """The broker started again; ``start`` has the messages that its log had."""

    def definitions_found(self, found: Definitions) -> None:
        """The broker has started, and has these definitions in the clients' virtual host."""

    def definitions_seen(self, there: Definitions) -> None:
        """The broker has these definitions in the clients' virtual host, between two inputs."""

    def definitions_compared(self, ours: Definitions, rebuilt: Definitions, source: str) -> None:
        """All that is durable in the broker, and all that a new one would find on its disk, if it
        looked at that ``source``. A key begins with the virtual host's name."""

    def compared(
        self,
        index: Mapping[str, Sequence[Indexed]],
        rebuilt: Mapping[str, Sequence[Indexed]],
        source: str,
    ) -> None:
        """The broker's logged messages by queue, and those that a new one would find on its disk,
        if it looked at that ``source``."""

    def rested(self, use: DiskUse) -> None:
        """Nothing has happened for so long that the broker's log has to be tidy; ``use`` is what it
        takes."""

    def counted(self, books: Books) -> None:
        """The broker's books are looked at, with the entries of its queues at the same moment."""

    def channels_counted(self, books: Sequence[ChannelBook]) -> None:
        """The books of all channels are looked at."""

    def left_over(self, held: Mapping[str, int]) -> None:
        """The clients, or the messages, are gone, and this is still held for them, by name."""

    def life_ended(self, losses: Losses) -> None:
        """The broker's process is gone; ``losses`` are the messages that it says it removed by
        itself."""

    def bit_flipped(self, rot: BitRot) -> None:
        """A bit of a sealed file is another one now."""

    def drained(self, losses: Losses, wall_ms: int) -> None:
        """Faults are over, and a last consumer has taken everything and acked it; ``losses`` are
        those of the life that goes on."""

    def fail(self, text: str, lost: int = 0) -> Violation:
        """The violation of the checker's law, to be raised."""
        return Violation(self.name, text, lost)
