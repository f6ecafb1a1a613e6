"""The asyncio transports by name; only the one that is chosen is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqkit.errors import ConfigurationError
from mqkit.transport.seam import Transport

DEFAULT = "native"

TRANSPORT_VARIABLE = "MQKIT_TRANSPORT"
"""The environment variable of :attr:`mqkit.settings.Settings.transport`."""


def _aio_pika() -> Transport:
    from mqkit.transport.over_aio_pika.adapter import AioPikaTransport

    return AioPikaTransport()


def _native() -> Transport:
    from mqkit.transport.native import NativeTransport

    return NativeTransport()


TRANSPORTS: Mapping[str, Callable[[], Transport]] = {"native": _native, "aio-pika": _aio_pika}


def chosen(transport: Transport | str | None) -> Transport:
    """The transport itself, or the one of that name, or the default.

    Raises :exc:`~mqkit.errors.ConfigurationError` for a name that there is not.
    """
    if transport is None:
        transport = DEFAULT
    if not isinstance(transport, str):
        return transport
    check_name(transport)
    return TRANSPORTS[transport]()


def check_name(name: str) -> None:
    """Raises :exc:`~mqkit.errors.ConfigurationError` for a name that there is not."""
    if name not in TRANSPORTS:
        raise ConfigurationError(
            f"there is no transport {name!r}, but these: {', '.join(TRANSPORTS)}"
        )
