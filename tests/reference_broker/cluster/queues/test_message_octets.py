"""message_octets: a message is what it was, or the link ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.queues.message_octets import octets_of, read_content
from reference_broker.cluster.queues.octet_reader import OctetReader
from reference_broker.core.message.content import Content
from reference_broker.errors import LinkError
from reference_broker.testing.homes.noting_taker import message


def _read(content: Content) -> Content:
    buffers = octets_of(content)
    return read_content(OctetReader(memoryview(b"".join(buffers))), *map(len, buffers))


@given(exchange=st.binary(max_size=255), key=st.binary(max_size=255), body=st.binary(max_size=300))
def test_a_message_is_what_it_was(exchange: bytes, key: bytes, body: bytes) -> None:
    route = bytes([len(exchange)]) + exchange + bytes([len(key)]) + key
    content = message(body, route=route, message_id="m")
    read = _read(content)
    assert (read.route, read.header, read.body) == (route, content.header, body)
    assert read.position < 0


def test_a_large_body_is_sent_as_it_is() -> None:
    body = bytearray(b"x" * 1_000)
    content = Content(b"\0\0", message(bytes(body)).header, body)
    sent = octets_of(content)[2]
    assert isinstance(sent, memoryview)
    assert sent.obj is body
    assert octets_of(message(b"y"))[2] == b"y"


@pytest.mark.parametrize("route", [b"", b"\0", b"\0\0\0", b"\1a", b"\1a\2b", b"\0\1", b"\5ab\0"])
def test_a_route_is_two_short_strings(route: bytes) -> None:
    with pytest.raises(LinkError, match="exchange name and routing key"):
        _read(message(route=route))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        message(b"bod").header,
        message().header[:13],
        b"\0\x3b" + message().header[2:],
        b"\0\x3c\0\1" + message().header[4:],
    ],
)
def test_a_header_is_the_one_of_its_body(header: bytes) -> None:
    with pytest.raises(LinkError, match="header"):
        _read(Content(b"\0\0", header, b"body"))
