"""Messages on their way: they go into their queues in portions, and deduplication windows note them
with the last one.

Until then no window knows them. A repetition that comes in between, over another connection, is not
new, and it can't be confirmed: what it repeats may yet be refused, or go with the broker. So it
waits for the end of the first one, and is asked for again.
"""

from __future__ import annotations

from reference_broker.core.exchange.deduplication_rule import keys_of
from reference_broker.core.message.message_headers import MessageHeaders
from reference_broker.core.work.until import NotYet, Until


class Arriving:
    """The messages on their way in one virtual host, by all that a window may know them by. Another
    message with the same id, for other windows, waits for a few turns, and for nothing worse."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: dict[bytes, Until] = {}

    def __len__(self) -> int:
        """Keys of messages that are on their way."""
        return len(self._ends)

    def begin(self, header: bytes) -> tuple[bytes, ...]:
        """Note a message with this content header; returns the keys to :meth:`end` it with."""
        keys = tuple(key for key in keys_of(MessageHeaders(header)) if key not in self._ends)
        self._ends |= dict.fromkeys(keys, Until())
        return keys

    def require_none(self, header: bytes) -> None:
        """Raises :exc:`NotYet` for a message that repeats one on its way."""
        if not self._ends:
            return
        for key in keys_of(MessageHeaders(header)):
            if key in self._ends:
                raise NotYet(self._ends[key])

    def end(self, keys: tuple[bytes, ...]) -> None:
        """The message is in all queues, and in all windows: whoever waits asks again."""
        ended = [self._ends.pop(key) for key in keys]
        if ended:
            ended[0].happened()  # the one of all its keys
