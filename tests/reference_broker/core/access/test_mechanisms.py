"""SASL mechanisms: who is offered which, and a login by a certificate that TLS has verified."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.wire import PROTOCOL_HEADER
from mqkit.wire.methods import ConnectionClose, ConnectionStart, ConnectionStartOk, ConnectionTune
from reference_broker.core.access.mechanisms import (
    AMQPLAIN,
    EXTERNAL,
    MECHANISMS,
    PLAIN,
    offered,
    require_enabled,
)
from reference_broker.core.access.passwords import NO_PASSWORD
from reference_broker.core.access.users import User
from reference_broker.core.base.peer import Peer
from reference_broker.core.base.tls_session import PeerCertificate, TlsSession
from reference_broker.errors import ConnectionException, ReplyCode
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

ALL = frozenset(MECHANISMS)
ANN = "CN=ann,O=Acme"
WITHOUT = TlsSession("tlsv1.3", "any", "aes_256_gcm", "aead")
PROVEN = replace(WITHOUT, certificate=PeerCertificate(ANN, "O=authority", "", ANN))
NAMELESS = replace(WITHOUT, certificate=PeerCertificate("", "O=authority", "", None))
FAILURE_CLOSE = {"capabilities": {"authentication_failure_close": True}}


def peer(tls: TlsSession | None) -> Peer:
    return Peer("192.0.2.7", 1, "192.0.2.1", 5671, tls)


@pytest.mark.parametrize(
    ("enabled", "tls", "names"),
    [
        (ALL, PROVEN, "AMQPLAIN PLAIN EXTERNAL"),
        (ALL, WITHOUT, "AMQPLAIN PLAIN"),
        (ALL, None, "AMQPLAIN PLAIN"),
        (frozenset({PLAIN, AMQPLAIN}), PROVEN, "AMQPLAIN PLAIN"),
        (frozenset({EXTERNAL}), PROVEN, "EXTERNAL"),
        (frozenset({EXTERNAL}), None, ""),
    ],
)
def test_what_is_offered(enabled: frozenset[str], tls: TlsSession | None, names: str) -> None:
    assert offered(enabled, peer(tls)) == names


@pytest.mark.parametrize(
    ("mechanism", "enabled", "tls", "text"),
    [
        ("SCRAM", ALL, PROVEN, "unknown authentication mechanism 'SCRAM'"),
        (PLAIN, frozenset({AMQPLAIN}), None, "invalid authentication mechanism 'PLAIN'"),
        (EXTERNAL, ALL, None, "invalid authentication mechanism 'EXTERNAL'"),
        (EXTERNAL, frozenset({PLAIN}), PROVEN, "invalid authentication mechanism 'EXTERNAL'"),
    ],
)
def test_a_mechanism_that_can_not_be_used(
    mechanism: str, enabled: frozenset[str], tls: TlsSession | None, text: str
) -> None:
    with pytest.raises(ConnectionException) as refused:
        require_enabled(mechanism, enabled, peer(tls))
    assert (refused.value.code, refused.value.text) == (ReplyCode.COMMAND_INVALID, text)


def test_mechanisms_that_can_be_used() -> None:
    require_enabled(EXTERNAL, ALL, peer(PROVEN))
    require_enabled(EXTERNAL, ALL, peer(WITHOUT))  # its login is refused
    require_enabled(PLAIN, ALL, peer(None))


def external(tls: TlsSession, user: User | None = None, host: str = "192.0.2.7") -> LoneClient:
    """A client that has asked for EXTERNAL; the broker's answers are still to be read."""
    lone = LoneBroker(mechanisms=ALL)
    if user is not None:
        lone.broker.users.add(user)
    client = lone.socket(host, tls)
    client.send_bytes(PROTOCOL_HEADER)
    [start] = client.methods()
    assert isinstance(start, ConnectionStart)
    client.send(0, ConnectionStartOk(FAILURE_CLOSE, EXTERNAL, b""))
    return client


def test_a_user_without_a_password_logs_in_by_certificate() -> None:
    client = external(PROVEN, User(ANN, NO_PASSWORD))
    [tune] = client.methods()
    assert isinstance(tune, ConnectionTune)
    assert client.connection.user_name == ANN
    assert client.connection.auth_mechanism == EXTERNAL


@pytest.mark.parametrize("password", ["", "x"])
def test_and_in_no_other_way(password: str) -> None:
    lone = LoneBroker(mechanisms=ALL)
    lone.broker.users.add(User(ANN, NO_PASSWORD))
    client = lone.socket(tls=PROVEN)
    client.send_bytes(PROTOCOL_HEADER)
    client.received()
    client.send(0, ConnectionStartOk(FAILURE_CLOSE, PLAIN, f"\0{ANN}\0{password}".encode()))
    [close] = client.methods()
    assert isinstance(close, ConnectionClose)
    assert close.reply_code == 403


@pytest.mark.parametrize(
    ("tls", "user", "reason"),
    [
        (WITHOUT, None, "the client has shown no certificate"),
        (NAMELESS, None, "the client's certificate has no name to log in by"),
        (PROVEN, None, f"no user '{ANN}'"),
        (PROVEN, User(ANN, NO_PASSWORD, loopback_only=True), "from this machine only"),
    ],
)
def test_a_refused_certificate(tls: TlsSession, user: User | None, reason: str) -> None:
    client = external(tls, user)
    [close] = client.methods()
    assert isinstance(close, ConnectionClose)
    assert close.reply_text == (
        "ACCESS_REFUSED - Login was refused using authentication mechanism EXTERNAL."
        " For details see the broker logfile."
    )
    assert client.connection.end_reason.startswith("EXTERNAL login refused: ")
    assert client.connection.end_reason.endswith(reason)
