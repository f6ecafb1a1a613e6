"""Heads of requests: read octet by octet or at once, and refused in words."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.health.request import (
    HEAD_OCTETS_MAX,
    Answer,
    Request,
    octets_of,
    read_head,
    refusal,
)


@pytest.mark.parametrize(
    ("head", "request_"),
    [
        (b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n", Request("/ready", True)),
        (b"GET /live?verbose=1 HTTP/1.0\r\n\r\n", Request("/live", True)),
        (b"HEAD /metrics HTTP/1.1\r\n\r\nrest", Request("/metrics", False)),
    ],
    ids=["get", "with a query", "head"],
)
def test_a_request_is_its_path(head: bytes, request_: Request) -> None:
    assert read_head(head) == request_
    end = head.find(b"\r\n\r\n") + 4
    assert all(read_head(head[:length]) is None for length in range(end))


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /ready HTTP/1.1\r\n\r\n", 405),
        (b"get /ready HTTP/1.1\r\n\r\n", 405),
        (b"OPTIONS /ready HTTP/1.1\r\n\r\n", 405),
        (b"GET ready HTTP/1.1\r\n\r\n", 400),
        (b"GET http://127.0.0.1/ready HTTP/1.1\r\n\r\n", 400),
        (b"GET /ready HTTP/2.0\r\n\r\n", 400),
        (b"GET  /ready HTTP/1.1\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x00\xff hello TLS \r\n\r\n", 400),
    ],
    ids=lambda part: part[:20].decode("latin-1") if isinstance(part, bytes) else str(part),
)
def test_what_is_no_probe_is_refused(head: bytes, status: int) -> None:
    answer = read_head(head)
    assert isinstance(answer, Answer)
    assert answer.status == status
    assert answer.body.count("\n") == 1


def test_a_head_is_bounded() -> None:
    line = b"GET /ready HTTP/1.1\r\nx: "
    fits = line + b"x" * (HEAD_OCTETS_MAX - len(line) - 4) + b"\r\n\r\n"
    assert read_head(fits) == Request("/ready", True)
    for too_large in (fits[:-4] + b"x\r\n\r\n", b"x" * (HEAD_OCTETS_MAX + 1)):
        answer = read_head(too_large)
        assert isinstance(answer, Answer)
        assert answer.status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


@given(st.binary(max_size=300))
def test_nothing_that_comes_raises(octets: bytes) -> None:
    read_head(octets)
    read_head(octets + b"\r\n\r\n")


def test_an_answer_has_its_length_and_no_second_request() -> None:
    octets = octets_of(Answer(HTTPStatus.OK, "é\n"))
    head, _, body = octets.partition(b"\r\n\r\n")
    assert body == "é\n".encode()
    assert b"HTTP/1.1 200 OK" in head
    assert b"Content-Length: 3" in head
    assert b"Connection: close" in head
    assert octets_of(Answer(HTTPStatus.OK, "é\n"), with_body=False) == head + b"\r\n\r\n"
    assert b"Allow: GET, HEAD" in octets_of(refusal(HTTPStatus.METHOD_NOT_ALLOWED, "no"))
