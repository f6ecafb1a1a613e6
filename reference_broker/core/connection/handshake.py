"""The negotiation of properties and limits before a connection is open. Pure decisions.

Nobody is trusted here: frames are small, only the one method that is due is taken, and a wrong
login does not learn what was wrong with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mqkit.wire.methods import ConnectionStart, ConnectionTune, ConnectionTuneOk
from reference_broker.core.base.limits import FRAME_SIZE_MIN, Limits
from reference_broker.errors import ConnectionException, ReplyCode

PRODUCT = "mqkit reference broker"

RABBITMQ_VERSION = "4.0.0"
"""The RabbitMQ whose behaviour and names are followed: tools choose by it what they ask for.

Programs look for the product, too, before they use what only RabbitMQ has (``rabbitmq?`` of
ruby-amqp), so it is RabbitMQ to AMQP clients; ``information`` says who really speaks."""

CAPABILITIES: dict[str, bool] = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "consumer_priorities": True,
    "authentication_failure_close": True,
    "per_consumer_qos": True,
    "direct_reply_to": True,
}
"""The capabilities that RabbitMQ announces too and that work here, and no others."""

_TLS_HANDSHAKE = b"\x16\x03"
_PROXY_HEADERS = (b"\r\n\r\n\0\r\n", b"PROXY ")
"""The first octets of PROXY headers, version 2 and 1."""
_HTTP_METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN")


class Tuned(NamedTuple):
    """The limits that both sides agreed on."""

    channel_max: int
    frame_max: int
    heartbeat_s: int


def start(version: str, mechanisms: str) -> ConnectionStart:
    """The broker's first method. ``mechanisms`` are those of :func:`mechanisms.offered`."""
    return ConnectionStart(
        server_properties={
            "capabilities": dict(CAPABILITIES),
            "product": "RabbitMQ",
            "version": RABBITMQ_VERSION,
            "platform": "Python",
            "information": f"{PRODUCT} {version}",
        },
        mechanisms=mechanisms.encode(),
        locales=b"en_US",
    )


def tune(limits: Limits) -> ConnectionTune:
    """The limits that the broker offers."""
    return ConnectionTune(
        channel_max=limits.channel_max, frame_max=limits.frame_max, heartbeat=limits.heartbeat_s
    )


def login_refused(mechanism: str) -> ConnectionException:
    """The error for a wrong name, a wrong password, or a user who may only come from this
    machine."""
    text = (
        f"Login was refused using authentication mechanism {mechanism}."
        " For details see the broker logfile."
    )
    return ConnectionException(ReplyCode.ACCESS_REFUSED, text)


def negotiated(tune_ok: ConnectionTuneOk, limits: Limits) -> Tuned:
    """The limits that hold after the client's answer.

    Raises ``ConnectionException`` (530), in RabbitMQ's words, when the client takes more than it
    was offered, or a frame_max below the protocol's minimum. The heartbeat is the client's choice.
    """
    _check("channel_max", tune_ok.channel_max, 1, limits.channel_max)
    _check("frame_max", tune_ok.frame_max, FRAME_SIZE_MIN, limits.frame_max)
    return Tuned(tune_ok.channel_max, tune_ok.frame_max, tune_ok.heartbeat)


def _check(name: str, value: int, smallest: int, largest: int) -> None:
    no_limit = value == 0 and name == "channel_max"  # RabbitMQ says it of this one only
    shown = f"{value} (no limit)" if no_limit else str(value)
    if value and value < smallest:
        text = f"negotiated {name} = {shown} is lower than the minimum allowed value ({smallest})"
    elif value == 0 or value > largest:
        text = f"negotiated {name} = {shown} is higher than the maximum allowed value ({largest})"
    else:
        return
    raise ConnectionException(ReplyCode.NOT_ALLOWED, text)


def capabilities(client_properties: dict[str, Any]) -> dict[str, Any]:
    """The capabilities in the client's properties; a field of another type says nothing."""
    announced = client_properties.get("capabilities")
    return announced if isinstance(announced, dict) else {}


def foreign_protocol(data: bytes) -> str:
    """The reason, for the log, why a connection with these first octets is ended: AMQP's header is
    not among them. An operator looks there who has mistaken a port."""
    if data.startswith(_TLS_HANDSHAKE):
        return "the client speaks TLS, and this port is the one without it"
    if data[:4] in _HTTP_METHODS:
        return "the client speaks HTTP, and this port is AMQP's"
    if data.startswith(_PROXY_HEADERS):
        return "the client sends a PROXY header, and is no proxy of --proxy-from"
    if data.startswith(b"AMQP"):
        return "the client speaks another version of AMQP"
    return "the client speaks another protocol"
