"""Deliveries of one consumer in the order of their arrival, as columns and not decoded: for who
makes columns of them, and would take each :class:`~mqkit.message.Delivery` apart again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Way(NamedTuple):
    """The texts of a ``basic.deliver``."""

    consumer_tag: str
    exchange: str
    routing_key: str


@dataclass(slots=True)
class DeliveryRun:
    """Lists of one length: a delivery has the same place in each."""

    ways: list[Way] = field(default_factory=list)
    tags: list[int] = field(default_factory=list)
    """Delivery tags."""
    redelivered: list[bool] = field(default_factory=list)
    properties: list[bytes] = field(default_factory=list)
    """The flags and the property list of each content header:
    :func:`mqkit.transport.native.exact.from_octets` reads them. Nobody has looked at them."""
    bodies: list[bytes] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.bodies)

    def add(self, way: Way, tag: int, redelivered: bool, properties: bytes, body: bytes) -> None:
        """One delivery more."""
        self.ways.append(way)
        self.tags.append(tag)
        self.redelivered.append(redelivered)
        self.properties.append(properties)
        self.bodies.append(body)

    def extend(self, later: DeliveryRun) -> None:
        """Those of another run, behind these."""
        self.ways += later.ways
        self.tags += later.tags
        self.redelivered += later.redelivered
        self.properties += later.properties
        self.bodies += later.bodies


OnRun: TypeAlias = Callable[[DeliveryRun], None]
"""Called in order with what a read of the connection has brought for one consumer; the run is the
callee's from then on. Must not block."""
