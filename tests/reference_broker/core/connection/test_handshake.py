"""From the protocol header to connection.open-ok, and everything that can go wrong before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mqkit.wire import PROTOCOL_HEADER, encode_table, method_frame
from mqkit.wire.methods import (
    ConnectionClose,
    ConnectionCloseOk,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
    QueueDeclare,
)
from reference_broker.core.access.mechanisms import Credentials
from reference_broker.core.access.passwords import (
    ANYBODY,
    Asker,
    ImmediatePasswords,
    PasswordHash,
    Verdict,
)
from reference_broker.core.base.limits import FRAME_SIZE_BEFORE_TUNE, HANDSHAKE_S, LOGIN_REFUSED_S
from reference_broker.core.connection.connection_state import ConnectionState
from reference_broker.core.connection.handshake import (
    CAPABILITIES,
    RABBITMQ_VERSION,
    foreign_protocol,
)
from reference_broker.testing.lone_broker import LoneBroker, LoneClient

FAILURE_CLOSE = {"capabilities": {"authentication_failure_close": True}}
REFUSED = (
    "ACCESS_REFUSED - Login was refused using authentication mechanism {}."
    " For details see the broker logfile."
)


def start_ok(
    user: str = "guest", password: str = "guest", mechanism: str = "PLAIN"
) -> ConnectionStartOk:
    response = f"\x00{user}\x00{password}".encode()
    return ConnectionStartOk(FAILURE_CLOSE, mechanism, response)


def started(host: str = "127.0.0.1") -> LoneClient:
    client = LoneBroker().socket(host)
    client.send_bytes(PROTOCOL_HEADER)
    client.received()
    return client


def tuning() -> LoneClient:
    client = started()
    client.send(0, start_ok())
    client.received()
    return client


def only_close(client: LoneClient) -> ConnectionClose:
    [method] = client.methods()
    assert isinstance(method, ConnectionClose)
    return method


def test_the_whole_way() -> None:
    client = LoneBroker().socket()
    client.send_bytes(PROTOCOL_HEADER)
    [start] = client.methods()
    assert isinstance(start, ConnectionStart)
    assert (start.version_major, start.version_minor) == (0, 9)
    assert b"PLAIN" in start.mechanisms.split()
    assert start.server_properties["capabilities"] == CAPABILITIES
    assert start.server_properties["product"] == "RabbitMQ"
    assert start.server_properties["version"] == RABBITMQ_VERSION
    assert start.server_properties["information"] == "mqkit reference broker 1.2.3"
    client.send(0, start_ok())
    assert client.methods() == [ConnectionTune(2047, 131_072, 60)]
    client.send(0, ConnectionTuneOk(100, 8192, 30))
    assert client.methods() == []
    client.send(0, ConnectionOpen("/"))
    assert client.methods() == [ConnectionOpenOk()]
    connection = client.connection
    assert connection.state is ConnectionState.OPEN
    assert (connection.channel_max, connection.frame_max, connection.heartbeat_s) == (100, 8192, 30)
    assert connection.user_name == "guest"


@pytest.mark.parametrize(
    "greeting", [b"GET / HTTP/1.1\r\n\r\n", b"AMQP\x00\x01\x00\x00", b"AMQQ", b"\x00"]
)
def test_another_protocol_is_told_ours_and_closed(greeting: bytes) -> None:
    client = LoneBroker().socket()
    client.send_bytes(greeting)
    assert client.output() == PROTOCOL_HEADER
    assert client.connection.closed
    client.send_bytes(PROTOCOL_HEADER)
    assert client.output() == b""


@pytest.mark.parametrize("header", [PROTOCOL_HEADER, b"AMQP\x01\x01\x00\x09"])
def test_a_header_may_arrive_octet_by_octet(header: bytes) -> None:
    client = LoneBroker().socket()
    for octet in header:
        client.send_bytes(bytes((octet,)))
    assert isinstance(client.methods()[0], ConnectionStart)


@pytest.mark.parametrize(("user", "password"), [("guest", "x"), ("nobody", "guest"), ("", "")])
def test_a_wrong_login_is_refused_in_rabbitmqs_words(user: str, password: str) -> None:
    client = started()
    client.send(0, start_ok(user, password))
    close = only_close(client)
    assert (close.reply_code, close.reply_text) == (403, REFUSED.format("PLAIN"))
    assert (close.class_id, close.method_id) == (0, 0)


def test_a_refused_client_that_says_close_ok_is_closed_at_once() -> None:
    client = started()
    client.send(0, start_ok("guest", "x"))
    assert only_close(client).reply_code == 403
    client.send(0, ConnectionTuneOk(0, 0, 0), start_ok())
    assert not client.connection.closed
    assert client.methods() == []
    client.send(0, ConnectionCloseOk())
    assert client.connection.closed
    assert client.connection.end_reason.startswith("PLAIN login refused")


@pytest.mark.parametrize("properties", [FAILURE_CLOSE, {}])
def test_a_refused_client_that_does_not_answer_is_closed_after_three_seconds(
    properties: dict[str, Any],
) -> None:
    lone = LoneBroker()
    client = lone.socket()
    client.send_bytes(PROTOCOL_HEADER)
    client.received()
    client.send(0, ConnectionStartOk(properties, "PLAIN", b"\x00guest\x00wrong"))
    assert [method.NAME for method in client.methods()] == ["connection.close"][: len(properties)]
    assert client.connection.wants_reading
    client.send(0, start_ok())
    if not properties:
        client.send(0, ConnectionCloseOk())  # to a question that was not put
    lone.pass_time(LOGIN_REFUSED_S - 0.1)
    assert not client.connection.closed
    lone.pass_time(0.2)
    assert client.connection.closed
    assert client.methods() == []
    assert client.connection.end_reason


class LatePasswords(ImmediatePasswords):
    """Checks like its base, and answers when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: Callable[[], None] = lambda: None
        self.busy: Callable[[], None] = lambda: None

    def check(
        self,
        stored: PasswordHash,
        password: bytes,
        answer: Callable[[Verdict], None],
        asker: Asker = ANYBODY,
    ) -> None:
        self.asker = asker
        self.answer = partial(super().check, stored, password, answer)
        self.busy = partial(answer, Verdict.BUSY)


def late_login() -> tuple[LatePasswords, LoneClient]:
    lone = LoneBroker()
    passwords = lone.broker.users.passwords = LatePasswords()
    client = lone.socket()
    client.send_bytes(PROTOCOL_HEADER)
    client.received()
    return passwords, client


def test_what_comes_while_the_password_is_checked_waits() -> None:
    passwords, client = late_login()
    ahead = method_frame(0, ConnectionTuneOk(10, 8192, 0)) + method_frame(0, ConnectionOpen("/"))
    client.send_bytes(method_frame(0, start_ok()) + ahead[:9])
    assert client.connection.state is ConnectionState.SECURING
    assert not client.connection.wants_reading
    client.send_bytes(ahead[9:])
    assert client.methods() == []
    passwords.answer()
    assert [method.NAME for method in client.methods()] == ["connection.tune", "connection.open-ok"]
    assert client.connection.wants_reading


def test_what_comes_behind_a_refused_login_is_dropped() -> None:
    passwords, client = late_login()
    client.send(0, start_ok(password="wrong"))
    client.send_bytes(b"x" * 8_000)
    assert client.connection.waiting_bytes == 8_000
    passwords.answer()
    client.received()
    assert client.connection.waiting_bytes == 0
    client.send_bytes(b"x" * 100_000)
    assert client.connection.waiting_bytes == 0
    assert not client.connection.closed


def test_close_ok_is_seen_behind_a_handshake_that_was_sent_ahead() -> None:
    passwords, client = late_login()
    ahead = method_frame(0, ConnectionTuneOk(10, 8192, 0)) + method_frame(0, ConnectionOpen("/"))
    client.send_bytes(method_frame(0, start_ok(password="wrong")) + ahead[:9])
    passwords.answer()
    assert only_close(client).reply_code == 403
    client.send_bytes(ahead[9:])
    assert not client.connection.closed
    client.send(0, ConnectionCloseOk())
    assert client.connection.closed


def test_more_than_a_handshake_before_the_login_is_checked_ends_the_socket() -> None:
    passwords, client = late_login()
    client.send(0, start_ok())
    client.send_bytes(b"x" * FRAME_SIZE_BEFORE_TUNE)
    assert not client.connection.closed
    client.send_bytes(b"x")
    assert client.connection.closed
    assert client.connection.waiting_bytes == 0
    assert client.connection.broker.connections == {}
    passwords.answer()
    assert client.output() == b""


def test_a_token_as_the_password_fits_into_a_frame_before_tune() -> None:
    client = started()
    client.send(0, start_ok(password="t" * 6_000))
    assert only_close(client).reply_code == 403


def test_a_client_that_is_gone_before_its_password_is_checked() -> None:
    passwords, client = late_login()
    client.send(0, start_ok())
    assert passwords.asker.origin == "127.0.0.1"
    assert passwords.asker.is_there()
    client.disconnect()
    assert not passwords.asker.is_there()
    passwords.answer()
    assert client.connection.closed
    assert client.output() == b""


def test_too_many_logins_end_the_socket_without_a_word() -> None:
    """A close with 403 would make clients give up for good."""
    passwords, client = late_login()
    client.send(0, start_ok())
    passwords.busy()
    assert client.methods() == []
    assert client.connection.closed


def test_guest_from_another_machine_is_refused() -> None:
    client = started("192.0.2.1")
    client.send(0, start_ok())
    assert only_close(client).reply_code == 403


def test_another_user_may_come_from_another_machine() -> None:
    client = started("192.0.2.1")
    client.send(0, start_ok("remote", "remote"))
    assert isinstance(client.methods()[0], ConnectionTune)


def test_amqplain() -> None:
    client = started()
    response = encode_table({"LOGIN": "guest", "PASSWORD": "guest"})[4:]
    client.send(0, ConnectionStartOk(FAILURE_CLOSE, "AMQPLAIN", response))
    assert isinstance(client.methods()[0], ConnectionTune)


@pytest.mark.parametrize(
    ("mechanism", "response"),
    [
        ("PLAIN", b""),  # php-amqplib, for an empty password
        ("PLAIN", b"guest guest"),
        ("PLAIN", b"guest\x00guest\x00guest"),  # nobody acts for somebody else
        ("PLAIN", b"\x00guest\x00guest\x00"),
        ("AMQPLAIN", b""),
        ("AMQPLAIN", encode_table({"LOGIN": "guest"})[4:]),
        ("AMQPLAIN", encode_table({"LOGIN": 5, "PASSWORD": "guest"})[4:]),
        ("AMQPLAIN", b"\x05LOGINS\x00\x00"),
    ],
)
def test_what_is_no_login_at_all_ends_the_socket_after_three_seconds_of_silence(
    mechanism: str, response: bytes
) -> None:
    lone = LoneBroker()
    client = lone.socket()
    client.send_bytes(PROTOCOL_HEADER)
    client.received()
    client.send(0, ConnectionStartOk(FAILURE_CLOSE, mechanism, response))
    lone.pass_time(LOGIN_REFUSED_S - 0.1)
    assert not client.connection.closed
    lone.pass_time(0.2)
    assert client.connection.closed
    assert client.methods() == []
    assert client.connection.end_reason == f"{mechanism} login refused: its response can't be read"
    assert [count.failed for count in lone.broker.login_attempts.counts()] == [1]


def test_a_mechanism_that_was_not_offered() -> None:
    client = started()
    client.send(0, start_ok(mechanism="EXTERNAL"))
    close = only_close(client)
    assert close.reply_code == 503
    assert close.reply_text.endswith("invalid authentication mechanism 'EXTERNAL'")


@pytest.mark.parametrize(
    ("tune_ok", "text"),
    [
        (
            (0, 131_072, 60),
            "channel_max = 0 (no limit) is higher than the maximum allowed value (2047)",
        ),
        ((2048, 131_072, 60), "channel_max = 2048 is higher than the maximum allowed value (2047)"),
        ((2047, 4095, 60), "frame_max = 4095 is lower than the minimum allowed value (4096)"),
        (
            (2047, 0, 60),
            "frame_max = 0 is higher than the maximum allowed value (131072)",
        ),
        (
            (2047, 131_073, 60),
            "frame_max = 131073 is higher than the maximum allowed value (131072)",
        ),
    ],
)
def test_limits_beyond_what_was_offered(tune_ok: tuple[int, int, int], text: str) -> None:
    client = tuning()
    client.send(0, ConnectionTuneOk(*tune_ok))
    close = only_close(client)
    assert (close.reply_code, close.reply_text) == (530, f"NOT_ALLOWED - negotiated {text}")


def test_the_smallest_limits_are_taken() -> None:
    client = tuning()
    client.send(0, ConnectionTuneOk(1, 4096, 0), ConnectionOpen("/"))
    assert client.methods() == [ConnectionOpenOk()]


def test_an_unknown_virtual_host() -> None:
    client = tuning()
    client.send(0, ConnectionTuneOk(10, 8192, 0), ConnectionOpen("nope"))
    close = only_close(client)
    assert (close.reply_code, close.reply_text) == (530, "NOT_ALLOWED - vhost nope not found")
    assert (close.class_id, close.method_id) == (10, 40)


def test_a_method_that_is_not_due() -> None:
    client = started()
    client.send(0, ConnectionOpen("/"))
    close = only_close(client)
    assert close.reply_code == 504
    assert close.reply_text.endswith("unexpected method in connection state starting")
    assert (close.class_id, close.method_id) == (10, 40)


def test_nothing_can_be_done_on_a_channel_before_the_connection_is_open() -> None:
    client = tuning()
    client.send(1, QueueDeclare("q"))
    assert only_close(client).reply_code == 504
    assert client.connection.broker.vhosts["/"].queues == {}


def test_a_frame_above_8192_octets_before_tune_ok_is_refused_at_its_head() -> None:
    client = started()
    size = FRAME_SIZE_BEFORE_TUNE + 1
    client.send_bytes(b"\x01\x00\x00" + size.to_bytes(4, "big"))
    close = only_close(client)
    assert close.reply_code == 501
    assert "frame_too_large,8193,8184}" in close.reply_text


def test_the_negotiated_frame_size_holds_after_tune_ok() -> None:
    client = LoneBroker().client(frame_max=8192)
    frame = method_frame(1, QueueDeclare("q", arguments={"x": "y" * 8000}))
    assert 4096 < len(frame) < 8192
    client.send_bytes(frame)
    assert client.methods()[0].NAME == "queue.declare-ok"


def test_a_client_that_dawdles_is_dropped() -> None:
    lone = LoneBroker()
    client = lone.socket()
    client.send_bytes(PROTOCOL_HEADER)
    lone.pass_time(HANDSHAKE_S - 1)
    client.send(0, start_ok())
    assert not client.connection.closed
    lone.pass_time(1.1)
    assert client.connection.closed
    assert client.connection.end_reason == "handshake timeout"
    assert lone.broker.connections == {}


def test_an_open_connection_has_no_time_limit() -> None:
    lone = LoneBroker()
    client = lone.client()
    lone.pass_time(10 * HANDSHAKE_S)
    assert not client.connection.closed


def test_credentials_do_not_show_the_password() -> None:
    assert "hunter2" not in repr(Credentials("ann", b"hunter2"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /api", "HTTP"),
        (b"AMQP\x00\x01\x00\x00", "another version of AMQP"),
        (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", "PROXY header"),
        (b"PROXY TCP4 192.0.2.1 ", "PROXY header"),
        (b"\x10\x0e\x00\x04MQTT", "another protocol"),
    ],
)
def test_what_a_client_speaks(data: bytes, words: str) -> None:
    assert words in foreign_protocol(data)
