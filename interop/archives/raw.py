"""pika that leaves properties as the octets they are: its own decoder forgets the types."""

from __future__ import annotations

from typing import Any

import pika
from pika import spec


class RawProperties(pika.BasicProperties):  # type: ignore[misc]  # pika has no types
    """A property list as octets."""

    def __init__(self, octets: bytes = b"") -> None:
        super().__init__()
        self.octets = octets

    def decode(self, encoded: bytes, offset: int = 0) -> RawProperties:
        """Called by pika with the octets of a content header."""
        self.octets = bytes(encoded[offset:])
        return self

    def encode(self) -> list[Any]:
        """Called by pika for a content header; it puts something of its own before these."""
        return [self.octets]


def read_raw() -> None:
    """Have pika make these of all that it receives in this process."""
    spec.props[spec.BasicProperties.INDEX] = RawProperties
