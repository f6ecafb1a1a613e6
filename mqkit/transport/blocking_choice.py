"""The blocking transports by name; only the one that is chosen is imported."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking import BlockingTransport
from mqkit.transport.window_size import WindowSize

if TYPE_CHECKING:
    from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport


class BlockingChoice(StrEnum):
    """Their names. Both have the same semantics (:mod:`mqkit.transport.blocking`)."""

    NATIVE = "native"
    """mqkit's own, over :mod:`mqkit.wire`."""
    PIKA = "pika"
    """On ``pika.SelectConnection``."""

    def transport(self, window: WindowSize | None = None) -> BlockingTransport:
        """A new one. ``window`` bounds what may be unconfirmed on each channel."""
        size = window or WindowSize()
        if self is BlockingChoice.PIKA:
            from mqkit.transport.over_pika.adapter import PikaTransport

            return PikaTransport(size)
        from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport

        return NativeBlockingTransport(size)

    def exact_transport(self) -> NativeBlockingTransport:
        """A new one whose deliveries keep the types of their headers, and come in runs where that
        is asked for; pika can't: ``ConfigurationError``."""
        if self is BlockingChoice.PIKA:
            raise ConfigurationError("pika loses types of headers: take transport native")
        from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport

        return NativeBlockingTransport(exact=True)
