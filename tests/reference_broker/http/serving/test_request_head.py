"""request_head: the end of a head, and the heads that are not taken."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from reference_broker.http.serving.request_head import (
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    REQUEST_LINE_BYTES_MAX,
    Refused,
    RequestHead,
)

HEAD = b"GET /api HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n\r\n"


def head_of(data: bytes, size: int | None = None) -> RequestHead:
    """A head that was given ``data``, ``size`` octets at a time."""
    head = RequestHead()
    for start in range(0, len(data), size or len(data)):
        head.receive(data[start : start + (size or len(data))])
    return head


@pytest.mark.parametrize("size", [1, 2, 3, 7, None])
def test_the_end_of_a_head(size: int | None) -> None:
    head = head_of(HEAD + b"body\r\n\r\n", size)
    assert head.is_complete
    assert head.octets == HEAD
    assert head.rest == b"body\r\n\r\n"


@pytest.mark.parametrize("cut", range(1, len(HEAD)))
def test_a_head_that_has_not_ended(cut: int) -> None:
    head = head_of(HEAD[:cut])
    assert not head.is_complete
    assert head.refused is None


BARE = b"GET / HTTP/1.1\r\nhost: localhost\n\r\n"
FOLDED = b"GET / HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n"
TABBED = b"GET / HTTP/1.1\r\nhost: localhost\r\nx: a\r\n\tb\r\n\r\n"
TWO = b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
SPACED = b"POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\ncontent-length:3\r\n\r\n"
LONG = b"GET /" + b"%2f" * 20_000 + b" HTTP/1.1\r\n"
MANY = b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * (HEADERS_MAX + 1) + b"\r\n"
LARGE = b"GET / HTTP/1.1\r\na: " + b"b" * HEAD_BYTES_MAX


@pytest.mark.parametrize("size", [1, 5, None])
@pytest.mark.parametrize(
    ("data", "refused"),
    [
        (BARE, Refused.BARE_LF),
        (b"GET / HTTP/1.1\n\n", Refused.BARE_LF),
        (b"\n", Refused.BARE_LF),
        (FOLDED, Refused.FOLDED),
        (TABBED, Refused.FOLDED),
        (TWO, Refused.TWO_LENGTHS),
        (SPACED, Refused.TWO_LENGTHS),
        (LONG, Refused.LONG_LINE),
        (MANY, Refused.MANY_HEADERS),
        (LARGE, Refused.LARGE),
    ],
)
def test_heads_that_are_refused(data: bytes, refused: Refused, size: int | None) -> None:
    head = head_of(data, size)
    assert head.refused is refused
    assert not head.is_complete


def test_the_bounds_themselves_are_taken() -> None:
    path = b"/" * (REQUEST_LINE_BYTES_MAX - len("GET  HTTP/1.1\r"))
    assert head_of(b"GET " + path + b" HTTP/1.1\r\nhost: a\r\n\r\n").is_complete
    assert head_of(b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * HEADERS_MAX + b"\r\n").is_complete
    rest = HEAD_BYTES_MAX - len(b"GET / HTTP/1.1\r\na: \r\n\r\n")
    assert head_of(b"GET / HTTP/1.1\r\na: " + b"b" * rest + b"\r\n\r\n").is_complete


def test_a_body_is_not_judged() -> None:
    assert head_of(HEAD + b"a\nb\n c" * 10_000).is_complete


def test_the_statuses() -> None:
    assert Refused.LONG_LINE.value.status is HTTPStatus.REQUEST_URI_TOO_LONG
    assert Refused.LARGE.value.status is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    assert Refused.TWO_LENGTHS.value.status is HTTPStatus.BAD_REQUEST
