"""Messages of a partition on their way: to be sent, and sent without an outcome so far."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from mqkit.message import Message
from mqkit.outcome import Outcome
from mqkit.transport.blocking import BlockingChannel


@dataclass(slots=True)
class Outgoing:
    """A message to send, for attempt ``attempt`` (from 0); ``why`` is what became of the last."""

    message: Message
    row: int
    is_dead_letter: bool
    attempt: int = 0
    why: str = ""

    @property
    def name(self) -> str:
        """The message in the words of an error."""
        return _name(self.message, self.is_dead_letter)


@dataclass(slots=True)
class InFlight:
    """A message that was sent. ``channel`` is that of the publish: the sink may have another by the
    time that it looks at the outcome."""

    message: Message
    row: int
    is_dead_letter: bool
    attempt: int
    future: Future[Outcome]
    channel: BlockingChannel

    @property
    def name(self) -> str:
        """The message in the words of an error."""
        return _name(self.message, self.is_dead_letter)

    def again(self, why: str) -> Outgoing:
        """The message for one more attempt."""
        return Outgoing(self.message, self.row, self.is_dead_letter, self.attempt + 1, why)


def _name(message: Message, is_dead_letter: bool) -> str:
    name = repr(message.properties.message_id or message.body[:40])
    return f"the dead letter of message {name}" if is_dead_letter else f"message {name}"
