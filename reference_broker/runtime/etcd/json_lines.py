"""The decoder of a stream of JSON objects, each ended by a newline: a chunk of octets is never a
message, it may be several, or the middle of one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reference_broker.runtime.etcd.fields import BadAnswer, Message

LINE_OCTETS_MAX = 16 * 1024 * 1024
"""Octets of one message. A fragment of a watch has at most 2 MiB of the keys and values that etcd's
``--max-request-bytes`` lets in, and JSON makes five times that of the smallest ones."""


class TooLong(BadAnswer):
    """A message of more than the octets that are held."""


class JsonLines:
    """Decodes one stream. ``octets_max`` bounds what is held of a message that is not whole."""

    def __init__(self, octets_max: int = LINE_OCTETS_MAX) -> None:
        self._octets_max = octets_max
        self._held = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> Iterator[Message]:
        """The messages that are whole with ``chunk``; take them all. Raises :exc:`BadAnswer` behind
        the last sound one for what is no JSON object, and :exc:`TooLong`; the stream is of no use
        then."""
        self._held += chunk
        begin = 0
        while (end := self._held.find(b"\n", self._searched)) >= 0:
            self._bound(end - begin)
            line = bytes(memoryview(self._held)[begin:end])
            begin = self._searched = end + 1
            if line.strip():
                yield json_object(line)
        del self._held[:begin]
        self._searched = len(self._held)
        self._bound(self._searched)

    def _bound(self, octets: int) -> None:
        if octets > self._octets_max:
            raise TooLong(f"a message has more than {self._octets_max} octets")


def json_object(octets: bytes) -> Message:
    """The object that ``octets`` are. Raises :exc:`BadAnswer`."""
    try:
        decoded = json.loads(octets)
    except (ValueError, RecursionError):
        raise BadAnswer("it is no JSON") from None
    if not isinstance(decoded, dict):
        raise BadAnswer("it is no JSON object")
    return decoded
