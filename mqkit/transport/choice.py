"""The asyncio transports by name; only the one that is chosen is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqkit.errors import ConfigurationError
from mqkit.transport.seam import Transport

DEFAULT = "aio-pika"


def _aio_pika() -> Transport:
    from mqkit.transport.aio_pika_adapter import AioPikaTransport

    return AioPikaTransport()


def _native() -> Transport:
    from mqkit.transport.native import NativeTransport

    return NativeTransport()


TRANSPORTS: Mapping[str, Callable[[], Transport]] = {"aio-pika": _aio_pika, "native": _native}


def chosen(transport: Transport | str | None) -> Transport:
    """The transport itself, or the one of that name, or the default.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a name that there is not.
    """
    if transport is None:
        transport = DEFAULT
    if not isinstance(transport, str):
        return transport
    if transport not in TRANSPORTS:
        raise ConfigurationError(
            f"there is no transport {transport!r}, but these: {', '.join(TRANSPORTS)}"
        )
    return TRANSPORTS[transport]()
