"""The octets of a message that came over a link, read from their beginning to their end."""

from __future__ import annotations

from struct import Struct
from typing import Any

from reference_broker.cluster.link.frame import FRAME_PAYLOAD_MAX
from reference_broker.core.message.content import Body
from reference_broker.errors import LinkError


class OctetReader:
    """A place in a payload. What is taken is a copy, mostly: a view would keep the whole read
    alive."""

    __slots__ = ("_at", "_payload")

    def __init__(self, payload: memoryview) -> None:
        self._payload = payload
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """True when everything was taken."""
        return self._at == len(self._payload)

    def take(self, size: int) -> bytes:
        """The next ``size`` octets. Raises :exc:`LinkError` where there are fewer."""
        return self._pass(size).tobytes()

    def take_body(self, size: int) -> Body:
        """The same. A body that is larger than a frame is no copy: the message came in several,
        and the block in which they were put together is hardly anything but this body."""
        octets = self._pass(size)
        return octets if size > FRAME_PAYLOAD_MAX else octets.tobytes()

    def unpack(self, layout: Struct) -> tuple[Any, ...]:
        """The next fields. Raises :exc:`LinkError` where the message ends within them."""
        return layout.unpack(self._pass(layout.size))

    def _pass(self, size: int) -> memoryview:
        at = self._at
        self._at = end = at + size
        octets = self._payload[at:end]
        if len(octets) < size:
            raise LinkError(f"a message ends {size - len(octets)} octets too early")
        return octets
