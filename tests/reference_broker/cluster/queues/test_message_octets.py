"""message_octets: a message is what it was, or the link ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.queues.message_octets import (
    RUN_MAX,
    octets_of,
    octets_of_run,
    read_content,
    read_run,
)
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


def _read_run(contents: list[Content]) -> list[Content]:
    octets = memoryview(b"".join(octets_of_run(contents)))
    return read_run(OctetReader(octets), len(contents), len(contents[0].route))


@given(bodies=st.lists(st.binary(max_size=9), min_size=1, max_size=9))
def test_a_run_is_what_it_was(bodies: list[bytes]) -> None:
    ids = ["m" * (len(body) % 3) for body in bodies]
    contents = [message(body, message_id=id) for body, id in zip(bodies, ids, strict=True)]
    read = _read_run(contents)
    assert [(it.route, it.header, it.body) for it in read] == [
        (it.route, it.header, it.body) for it in contents
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("header", [b"", message(b"of5").header, message(b"of_4").header[:13]])
def test_each_header_of_a_run_is_the_one_of_its_body(header: bytes, place: int) -> None:
    contents = [message(b"four"), message(b"four"), message(b"of_4")]
    contents[place] = Content(contents[0].route, header, b"body")
    with pytest.raises(LinkError, match="header"):
        _read_run(contents)


def test_a_header_that_is_sent_again_is_the_one_of_its_body() -> None:
    again = Content(message().route, message(b"four").header, b"five5")
    with pytest.raises(LinkError, match="header"):
        _read_run([message(b"four"), again])


@pytest.mark.parametrize("count", [0, RUN_MAX + 1])
def test_a_run_has_some_messages_and_not_too_many(count: int) -> None:
    with pytest.raises(LinkError, match="a run of"):
        read_run(OctetReader(memoryview(b"\0" * 16 * RUN_MAX)), count, 2)


def test_a_run_has_the_route_of_a_message() -> None:
    with pytest.raises(LinkError, match="exchange name and routing key"):
        _read_run([message(route=b"\0\5a")])
