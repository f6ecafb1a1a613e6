"""SASL mechanisms: which are offered to whom, and who a client says it is.

PLAIN and AMQPLAIN bring a name and a password. EXTERNAL brings nothing: TLS has verified the
client's certificate, and the certificate has the name (rabbitmq_auth_mechanism_ssl).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from mqkit.wire import WireError, decode_table
from reference_broker.core.base.peer import Peer
from reference_broker.errors import ConnectionException, ReplyCode

AMQPLAIN = "AMQPLAIN"
PLAIN = "PLAIN"
EXTERNAL = "EXTERNAL"

MECHANISMS = {
    AMQPLAIN: "QPid AMQPLAIN mechanism",
    PLAIN: "SASL PLAIN authentication mechanism",
    EXTERNAL: "SASL EXTERNAL authentication mechanism, by the client's TLS certificate",
}
"""All that there are, with what the HTTP API says of them, in the order in which they are offered
(RabbitMQ 3.10's)."""

DEFAULT_MECHANISMS = frozenset({AMQPLAIN, PLAIN})


class Credentials(NamedTuple):
    """A login as the client sent it. It has no repr that shows the password."""

    name: str
    password: bytes

    def __repr__(self) -> str:
        return f"Credentials(name={self.name!r})"


def offered(enabled: frozenset[str], peer: Peer) -> str:
    """The mechanisms of connection.start, separated by spaces. EXTERNAL only for a client whose
    certificate was verified: to others it would be a way to be refused."""
    proven = peer.tls is not None and peer.tls.certificate is not None
    return " ".join(name for name in MECHANISMS if name in enabled and (proven or name != EXTERNAL))


def require_enabled(mechanism: str, enabled: frozenset[str], peer: Peer) -> None:
    """Raises :exc:`ConnectionException` 503 for a mechanism that can't be used on this connection.

    A client that shows no certificate may still ask for EXTERNAL over TLS: then its login is
    refused, as RabbitMQ does, and not its mechanism.
    """
    if mechanism not in MECHANISMS:
        raise _refused(f"unknown authentication mechanism '{mechanism}'")
    if mechanism not in enabled or (mechanism == EXTERNAL and peer.tls is None):
        raise _refused(f"invalid authentication mechanism '{mechanism}'")


def credentials(mechanism: str, response: bytes) -> Credentials | None:
    """The name and the password in a response, for any mechanism but EXTERNAL.

    None for a response that can't be read, or has no name or no password (php-amqplib sends an
    empty one for an empty password).
    """
    return _READERS[mechanism](response)


def _plain(response: bytes) -> Credentials | None:
    """RFC 4616: authorisation identity, NUL, name, NUL, password. Nobody may act for somebody else,
    so the first has to be empty (RabbitMQ)."""
    parts = response.split(b"\x00")
    if len(parts) != 3 or parts[0]:
        return None
    return Credentials(parts[1].decode(errors="replace"), parts[2])


def _amqplain(response: bytes) -> Credentials | None:
    """A field table without its length, as RabbitMQ's own mechanism has it."""
    try:
        table, _ = decode_table(struct.pack(">I", len(response)) + response)
    except WireError:
        return None
    name, password = table.get("LOGIN"), table.get("PASSWORD")
    if not isinstance(name, str) or not isinstance(password, str | bytes):
        return None
    return Credentials(name, password.encode() if isinstance(password, str) else password)


_READERS: dict[str, Callable[[bytes], Credentials | None]] = {PLAIN: _plain, AMQPLAIN: _amqplain}


def _refused(text: str) -> ConnectionException:
    return ConnectionException(ReplyCode.COMMAND_INVALID, text)
