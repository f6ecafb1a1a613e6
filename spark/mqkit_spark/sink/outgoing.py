"""Messages of a partition on their way: to be sent, and sent without an outcome so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqkit.message import Message
from mqkit.transport.blocking import BlockingChannel

BODY_SHOWN = 40
"""Octets of the body of a message without an id, in an error."""


@dataclass(slots=True)
class Outgoing:
    """A message to send, for attempt ``attempt`` (from 0); ``why`` is what became of the last, and
    ``is_in_doubt`` says that nobody knows whether the broker has it."""

    message: Message
    row: int
    is_dead_letter: bool
    attempt: int = 0
    why: str = ""
    is_in_doubt: bool = False

    @property
    def name(self) -> str:
        """The message in the words of an error."""
        return _name(self.message, self.row, self.is_dead_letter)


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that were handed to the transport at once, named by their positions in the run.
    ``channel`` is that of the publish: the sink may have another by the time that it looks at the
    outcomes."""

    messages: Sequence[Message]
    rows: Sequence[int]
    is_dead_letter: bool
    attempt: int
    channel: BlockingChannel

    def name(self, position: int) -> str:
        """The message there in the words of an error."""
        return _name(self.messages[position], self.rows[position], self.is_dead_letter)

    def again(self, position: int, why: str, *, is_in_doubt: bool = False) -> Outgoing:
        """The message there for one more attempt."""
        message, row = self.messages[position], self.rows[position]
        return Outgoing(message, row, self.is_dead_letter, self.attempt + 1, why, is_in_doubt)


def _name(message: Message, row: int, is_dead_letter: bool) -> str:
    message_id = message.properties.message_id
    name = f"message {message_id!r}" if message_id else f"row {row} ({message.body[:BODY_SHOWN]!r})"
    return f"the dead letter of {name}" if is_dead_letter else name
