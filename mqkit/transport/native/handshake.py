"""Opening a connection: what is said to the broker, and which limits hold then. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from mqkit.errors import ConnectionRefused
from mqkit.transport.seam import Endpoint
from mqkit.wire import FRAME_MIN_SIZE, ReplyCode, WireError
from mqkit.wire.methods import ConnectionStart, ConnectionStartOk, ConnectionTune, ConnectionTuneOk

CHANNEL_MAX = 2047
"""RabbitMQ's own default. Each is a process at the broker; nobody needs more on one connection."""

FRAME_MAX = 131_072
"""RabbitMQ's offer. A frame is read as a whole, so this bounds the octets kept of one."""

_PLAIN, _EXTERNAL = "PLAIN", "EXTERNAL"
_HEARTBEAT_MAX_S = 65_535


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits agreed for a connection. ``heartbeat_s`` 0: no heartbeats."""

    channel_max: int
    frame_max: int
    heartbeat_s: int


def start_ok(start: ConnectionStart, endpoint: Endpoint, name: str) -> ConnectionStartOk:
    """The login. Raises :exc:`ConnectionRefused` if the broker does not take the endpoint's."""
    mechanism = _EXTERNAL if endpoint.external else _PLAIN
    offered = start.mechanisms.decode("utf-8", "replace").split()
    if mechanism not in offered:
        text = f"{endpoint} takes no login by {mechanism}, only by {' '.join(offered):.200}"
        raise ConnectionRefused(ReplyCode.ACCESS_REFUSED, text)
    credentials = endpoint.credentials
    plain = f"\0{credentials.username}\0{credentials.password}".encode()
    return ConnectionStartOk(
        client_properties={
            "connection_name": name,
            "product": "mqkit",
            "version": _version(),
            "platform": "Python",
            "information": "an AMQP 0-9-1 client",
            "capabilities": {
                "publisher_confirms": True,
                "exchange_exchange_bindings": True,
                "basic.nack": True,
                "consumer_cancel_notify": True,
                "connection.blocked": True,
                # A wrong password is answered with connection.close, and not with silence.
                "authentication_failure_close": True,
            },
        },
        mechanism=mechanism,
        response=b"" if endpoint.external else plain,  # then the certificate says who it is
    )


def negotiate(offer: ConnectionTune, heartbeat_s: int) -> Limits:
    """The smaller of what both sides want; 0 of the broker means that it has no limit.

    ``heartbeat_s`` 0 is the client's wish for none, which the broker has to accept. Raises
    :exc:`WireError` for frames smaller than AMQP has them.
    """
    if offer.frame_max and offer.frame_max < FRAME_MIN_SIZE:
        raise WireError(
            ReplyCode.SYNTAX_ERROR, f"frame_max is {FRAME_MIN_SIZE} at least, not {offer.frame_max}"
        )
    wanted_s = min(heartbeat_s, _HEARTBEAT_MAX_S)
    return Limits(
        channel_max=min(offer.channel_max or CHANNEL_MAX, CHANNEL_MAX),
        frame_max=min(offer.frame_max or FRAME_MAX, FRAME_MAX),
        heartbeat_s=min(offer.heartbeat or wanted_s, wanted_s),
    )


def tune_ok(limits: Limits) -> ConnectionTuneOk:
    """The limits, as the broker is told them."""
    return ConnectionTuneOk(limits.channel_max, limits.frame_max, limits.heartbeat_s)


@cache
def _version() -> str:
    """A source tree, or an archive of one on the path, has no metadata, and works all the same."""
    try:
        return version("mqkit")
    except PackageNotFoundError:
        return "unknown"
