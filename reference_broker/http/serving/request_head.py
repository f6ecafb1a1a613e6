"""The head of a request, line by line as it arrives: its end is found, its size is bounded and its
form is judged before anything parses it.

h11 takes more than it has to: folded headers, lines that end with LF alone, a length beside a
transfer encoding. Each of these is read in two ways by two programs, a proxy in front of us and us,
and what one of them takes for a body is a request to the other (RFC 9112, 2.2, 5.2, 6.3).
"""

from __future__ import annotations

from enum import Enum
from http import HTTPStatus
from typing import NamedTuple

REQUEST_LINE_BYTES_MAX = 8_000
"""Method, path and query: cowboy's own limit, and with that RabbitMQ's. A path of three names of
255 bytes, percent-encoded, is 2,300."""

HEADERS_MAX = 100
"""Headers of a request, as cowboy: a browser sends fifteen."""

HEAD_BYTES_MAX = 32 * 1024
"""The request line and all headers: a browser's cookies for all that listens on this machine are
sent, too, whatever the port."""

_FOLDS = (0x20, 0x09)
_CR, _LF = 0x0D, 0x0A


class HeadRefusal(NamedTuple):
    """The answer to a head that is not taken: the socket is closed after it."""

    status: HTTPStatus
    reason: str


class Refused(Enum):
    """The heads that are not taken, and why."""

    LONG_LINE = HeadRefusal(
        HTTPStatus.REQUEST_URI_TOO_LONG,
        f"the request line has more than {REQUEST_LINE_BYTES_MAX} bytes",
    )
    MANY_HEADERS = HeadRefusal(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"there are more than {HEADERS_MAX} headers"
    )
    LARGE = HeadRefusal(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
        f"the headers have more than {HEAD_BYTES_MAX} bytes",
    )
    BARE_LF = HeadRefusal(HTTPStatus.BAD_REQUEST, "a line ends with LF alone, not with CR LF")
    FOLDED = HeadRefusal(HTTPStatus.BAD_REQUEST, "a header is folded over two lines")
    TWO_LENGTHS = HeadRefusal(
        HTTPStatus.BAD_REQUEST, "there is a Content-Length beside a Transfer-Encoding"
    )


class RequestHead:
    """One head. Give it octets with :meth:`receive` until it :attr:`is_complete`, or is
    ``refused``; what is behind its end is :attr:`rest`."""

    __slots__ = ("_data", "_end", "_line", "_lines", "_scanned", "refused")

    def __init__(self) -> None:
        self._data = bytearray()
        self._scanned = 0
        self._line = 0
        """The start of the line that is arriving."""
        self._lines = 0
        self._end = 0
        self.refused: Refused | None = None

    @property
    def is_complete(self) -> bool:
        """True when the empty line is there, and nothing speaks against the head."""
        return self._end > 0 and self.refused is None

    @property
    def octets(self) -> bytes:
        """The head, its empty line included. It must be complete."""
        return bytes(memoryview(self._data)[: self._end])

    @property
    def rest(self) -> bytes:
        """The octets that came behind the head: a body, or the next request. The head must be
        complete."""
        return bytes(memoryview(self._data)[self._end :])

    def receive(self, data: bytes) -> None:
        """Take octets as they come; after the end of the head, they are the rest."""
        self._data += data
        while not self._end and self.refused is None:
            at = self._data.find(b"\n", self._scanned)
            self.refused = self._judged(at if at >= 0 else len(self._data))
            if at < 0:
                self._scanned = len(self._data)
                break
            self._scanned = at + 1
            if self.refused is None:
                self._take_line(at)

    def _judged(self, end: int) -> Refused | None:
        """The refusal of the line from ``_line`` to ``end``, as far as it is there."""
        data, start = self._data, self._line
        if self._lines == 0 and end - start > REQUEST_LINE_BYTES_MAX:
            return Refused.LONG_LINE
        if end > HEAD_BYTES_MAX:
            return Refused.LARGE
        if self._lines > 1 + HEADERS_MAX or (self._lines > HEADERS_MAX and end - start > 1):
            return Refused.MANY_HEADERS
        if self._lines and start < end and data[start] in _FOLDS:
            return Refused.FOLDED
        is_line = end < len(data)
        if is_line and (end == start or data[end - 1] != _CR):
            return Refused.BARE_LF
        return None

    def _take_line(self, at: int) -> None:
        if at - self._line == 1:
            self._end = at + 1
            self.refused = self._two_lengths()
        self._line = at + 1
        self._lines += 1

    def _two_lengths(self) -> Refused | None:
        lines = bytes(memoryview(self._data)[: self._end]).lower().split(b"\r\n")
        names = {line.partition(b":")[0].rstrip() for line in lines[1:]}
        both = b"content-length" in names and b"transfer-encoding" in names
        return Refused.TWO_LENGTHS if both else None
