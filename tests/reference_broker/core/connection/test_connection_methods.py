"""connection.*: each method that opens a connection, and the state that follows it."""

from __future__ import annotations

import pytest

from mqkit.wire import PROTOCOL_HEADER
from mqkit.wire.methods import (
    ConnectionClose,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
    ConnectionUpdateSecret,
    ConnectionUpdateSecretOk,
    Method,
)
from reference_broker.core.access.login_attempts import LoginProtocol
from reference_broker.core.base.limits import Limits
from reference_broker.core.connection.connection_methods import CONNECTION_METHODS
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

LOGIN = b"\x00guest\x00guest"


METHODS: dict[ConnectionState, Method] = {
    ConnectionState.STARTING: ConnectionStartOk({}, "PLAIN", LOGIN),
    ConnectionState.TUNING: ConnectionTuneOk(5, 4096, 0),
    ConnectionState.OPENING: ConnectionOpen("/"),
    ConnectionState.OPEN: ConnectionUpdateSecret(b"new", "because"),
}


def started(lone: LoneBroker | None = None) -> LoneClient:
    client = (lone or LoneBroker()).socket()
    client.send_bytes(PROTOCOL_HEADER)
    client.received()
    return client


def attempts(lone: LoneBroker) -> tuple[int, int]:
    """Logins over AMQP: those that went well, and those that failed."""
    counts = {count.protocol: count for count in lone.broker.login_attempts.counts()}
    amqp = counts.get(LoginProtocol.AMQP)
    return (0, 0) if amqp is None else (amqp.succeeded, amqp.failed)


def test_the_broker_offers_the_mechanisms_that_it_was_given() -> None:
    client = LoneBroker(mechanisms=frozenset({"AMQPLAIN"})).socket()
    client.send_bytes(PROTOCOL_HEADER)
    [start] = client.methods()
    assert isinstance(start, ConnectionStart)
    assert start.mechanisms == b"AMQPLAIN"
    assert client.connection.state is ConnectionState.STARTING


def test_properties_and_capabilities_are_kept_from_start_ok() -> None:
    client = started()
    told = {"product": "p", "capabilities": {"basic.nack": True}}
    client.send(0, ConnectionStartOk(told, "PLAIN", LOGIN))
    connection = client.connection
    assert connection.client_properties == told
    assert connection.client_capabilities == {"basic.nack": True}
    assert connection.auth_mechanism == "PLAIN"


@pytest.mark.parametrize(
    ("response", "counted"),
    [(LOGIN, (1, 0)), (b"\x00guest\x00wrong", (0, 1)), (b"no login", (0, 1))],
)
def test_every_login_is_counted(response: bytes, counted: tuple[int, int]) -> None:
    lone = LoneBroker()
    started(lone).send(0, ConnectionStartOk({}, "PLAIN", response))
    assert attempts(lone) == counted


def test_a_mechanism_that_is_not_offered_is_no_login() -> None:
    lone = LoneBroker(mechanisms=frozenset({"AMQPLAIN"}))
    client = started(lone)
    client.send(0, ConnectionStartOk({}, "PLAIN", LOGIN))
    assert attempts(lone) == (0, 0)
    assert client.connection.auth_mechanism == ""
    assert client.connection.state is ConnectionState.CLOSING


def test_a_response_that_can_not_be_read_is_named_in_the_log() -> None:
    client = started()
    client.send(0, ConnectionStartOk({}, "PLAIN", b"no login"))
    assert client.connection.end_reason == "PLAIN login refused: its response can't be read"
    assert client.connection.state is ConnectionState.SECURING


def test_each_step_is_answered_and_leads_to_the_next() -> None:
    client = started(LoneBroker(limits=Limits(channel_max=7)))
    answers = {
        ConnectionState.TUNING: [ConnectionTune(7, 131_072, 60)],
        ConnectionState.OPENING: [],
        ConnectionState.OPEN: [ConnectionOpenOk()],
    }
    for (state, answer), method in zip(answers.items(), METHODS.values(), strict=False):
        client.send(0, method)
        assert (client.connection.state, client.methods()) == (state, answer)


def test_there_is_one_method_for_each_state_of_a_client_that_may_go_on() -> None:
    assert list(CONNECTION_METHODS) == [(state, type(sent)) for state, sent in METHODS.items()]


@pytest.mark.parametrize("due", METHODS)
@pytest.mark.parametrize("sent", METHODS)
def test_only_the_method_that_is_due_is_taken(due: ConnectionState, sent: ConnectionState) -> None:
    client = started()
    for state, method in METHODS.items():
        if state is due:
            break
        client.send(0, method)
    assert client.connection.state is due
    client.received()
    client.send(0, METHODS[sent])
    closed = [method for method in client.methods() if isinstance(method, ConnectionClose)]
    texts = [f"CHANNEL_ERROR - unexpected method in connection state {due.value}"]
    assert [close.reply_text for close in closed] == (texts if sent is not due else [])


def test_update_secret() -> None:
    client = LoneBroker().client()
    client.send(0, ConnectionUpdateSecret(b"new", "because"))
    assert client.methods() == [ConnectionUpdateSecretOk()]
