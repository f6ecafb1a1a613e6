"""The broker's word on the app's messages, read from a connection: returned, acked, nacked.

It stands in the proxy, and writes a fact before the octets go on, so that the broker's word is in
the facts earlier than what the app makes of it. Only messages of the publishers are told of, whose
ids begin with :data:`WATCHED`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from interop.chaos import frames
from interop.chaos.facts import FactsFile

WATCHED = "p"
PUBLISHING = b"(publishing)"
"""In the connection's name, which mqkit's documents promise."""


_Published = tuple[str | None, str]
"""Message id and routing key: what is retried or parked goes on under its id, with another key."""


@dataclass(slots=True)
class _Channel:
    is_confirming: bool = False
    sequence: int = 0
    published_key: str | None = None
    returned_key: str | None = None
    """The routing key of the message whose content header comes next."""
    unconfirmed: dict[int, _Published] = field(default_factory=dict)
    returned: set[_Published] = field(default_factory=set)


class ConfirmWatch:
    """One for a connection. ``is_publishing`` is known once the client has logged in."""

    def __init__(self, facts: FactsFile) -> None:
        self.is_publishing = False
        self._facts = facts
        self._from_client = frames.FrameReader(skip=frames.PROTOCOL_HEADER_OCTETS)
        self._from_broker = frames.FrameReader()
        self._channels: dict[int, _Channel] = {}

    def client_sent(self, octets: bytes) -> None:
        """Octets that are about to go to the broker."""
        for kind, number, payload in self._from_client.frames(octets):
            if kind == frames.METHOD:
                self._client_method(number, payload)
            elif kind == frames.CONTENT_HEADER:
                self._published(number, payload)

    def broker_sent(self, octets: bytes) -> None:
        """Octets that are about to go to the client."""
        for kind, number, payload in self._from_broker.frames(octets):
            if kind == frames.METHOD:
                self._broker_method(number, payload)
            elif kind == frames.CONTENT_HEADER:
                self._returned(number, payload)

    def _client_method(self, number: int, payload: bytes) -> None:
        match frames.method_of(payload):
            case frames.CONNECTION_START_OK:
                self.is_publishing = PUBLISHING in payload
            case frames.CHANNEL_OPEN:
                self._channels[number] = _Channel()
            case frames.CONFIRM_SELECT:
                self._channel(number).is_confirming = True
            case frames.BASIC_PUBLISH:
                self._channel(number).published_key = frames.key_of_publish(payload)

    def _published(self, number: int, payload: bytes) -> None:
        channel = self._channel(number)
        key, channel.published_key = channel.published_key, None
        if key is not None and channel.is_confirming:
            channel.sequence += 1
            channel.unconfirmed[channel.sequence] = (frames.message_id_of(payload), key)

    def _broker_method(self, number: int, payload: bytes) -> None:
        method = frames.method_of(payload)
        match method:
            case frames.BASIC_ACK | frames.BASIC_NACK:
                self._confirmed(number, payload, "acked" if method[1] == 80 else "nacked")
            case frames.BASIC_RETURN:
                self._channel(number).returned_key = frames.key_of_return(payload)
            case frames.CHANNEL_CLOSE | frames.CONNECTION_CLOSE:
                code, text = frames.reason_of(payload)
                scope = "channel" if number else "connection"
                self._facts.write("closed", scope=scope, code=code, text=text)

    def _returned(self, number: int, payload: bytes) -> None:
        channel = self._channel(number)
        key, channel.returned_key = channel.returned_key, None
        if key is not None:
            returned = frames.message_id_of(payload), key
            channel.returned.add(returned)
            self._tell("returned", returned)

    def _confirmed(self, number: int, payload: bytes, fact: str) -> None:
        channel = self._channel(number)
        tag, multiple = frames.tag_of(payload)
        tags = [each for each in channel.unconfirmed if each <= tag] if multiple else [tag]
        for each in tags:
            published = channel.unconfirmed.pop(each, None)
            if published is None:
                continue
            if published in channel.returned:
                channel.returned.discard(published)
            else:
                self._tell(fact, published)

    def _tell(self, fact: str, published: _Published) -> None:
        message_id, key = published
        if message_id is not None and message_id.startswith(WATCHED):
            self._facts.write(fact, id=message_id, key=key)

    def _channel(self, number: int) -> _Channel:
        return self._channels.setdefault(number, _Channel())
