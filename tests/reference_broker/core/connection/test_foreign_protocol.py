"""What the log says of a client that has mistaken a port."""

from __future__ import annotations

import pytest

from reference_broker.core.connection.foreign_protocol import foreign_protocol


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /api", "HTTP"),
        (b"AMQP\x00\x01\x00\x00", "another version of AMQP"),
        (b"\x10\x0e\x00\x04MQTT", "another protocol"),
    ],
)
def test_what_a_client_speaks(data: bytes, words: str) -> None:
    assert words in foreign_protocol(data)
