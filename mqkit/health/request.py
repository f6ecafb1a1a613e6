"""The head of an HTTP request, as far as a probe needs it; and the octets of an answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

HEAD_OCTETS_MAX = 8192
"""Request line and headers together. Probes and scrapers send a few hundred; 8 KiB is what many
servers take."""

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """A request for ``path``, without its query. ``wants_body`` is false for HEAD."""

    path: str
    wants_body: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, after which the connection is closed."""

    status: HTTPStatus
    body: str
    content_type: str = TEXT


def refusal(status: HTTPStatus, text: str) -> Answer:
    """One line that says what is wrong with the request."""
    return Answer(status, f"{text}\n")


def read_head(octets: bytes | bytearray) -> Request | Answer | None:
    """The request whose head stands at the beginning of ``octets``, or the answer that refuses it;
    ``None`` while the head is not whole."""
    end = octets.find(_END)
    if end < 0 and len(octets) <= HEAD_OCTETS_MAX:
        return None
    if end < 0 or end + len(_END) > HEAD_OCTETS_MAX:
        return refusal(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"a request has at most {HEAD_OCTETS_MAX} octets of headers",
        )
    line = octets[:end].split(b"\r\n", 1)[0]
    parts = line.split(b" ")
    if len(parts) != 3 or not parts[1].startswith(b"/") or not parts[2].startswith(b"HTTP/1."):
        return refusal(HTTPStatus.BAD_REQUEST, "expected a request line, GET /ready HTTP/1.1")
    method, target, _ = parts
    if method not in (b"GET", b"HEAD"):
        return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "GET and HEAD only")
    path = bytes(target).partition(b"?")[0].decode("ascii", "replace")
    return Request(path, wants_body=method == b"GET")


def octets_of(answer: Answer, *, with_body: bool = True) -> bytes:
    """``answer`` as it goes to the wire."""
    body = answer.body.encode()
    lines = [
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    ]
    if answer.status is HTTPStatus.METHOD_NOT_ALLOWED:
        lines.append("Allow: GET, HEAD")
    return "\r\n".join(lines).encode() + _END + (body if with_body else b"")
