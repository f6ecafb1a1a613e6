"""A socket of the HTTP server: bytes from the client to uvicorn's h11, in portions, and in time.

    HEAD     a request's line and headers arrive; nothing parses them yet (request_head.py)
    PLACE    they are there: the socket waits for a place in HTTP's share of the loop
    BODY     h11 has the head; the body is handed on a portion a place, while the handler takes it
    ANSWER   the request is whole; what arrives now is the next one's, and waits

uvicorn parses all that it is given, at once: 64 KiB of headers or of chunks of one octet are tens
of milliseconds, for each socket that is ready. And it bounds the time between requests only:
without a limit, a few hundred sockets that say nothing, or one octet a minute, would stay for
good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, NamedTuple

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from reference_broker.core.base.peer import Peer
from reference_broker.http.request.answer import encode
from reference_broker.http.request.turn_share import TurnShare
from reference_broker.http.serving.open_sockets import OpenSockets
from reference_broker.http.serving.request_head import Refused, RequestHead

REQUEST_TIMEOUT_S = 30
"""Seconds from the accepted socket, or the end of the last answer, to the end of the request's
body."""

ANSWER_STALL_S = 30
"""Seconds that a client may leave an answer unread while more of it waits to be sent."""

BODY_PORTION_BYTES = 1 << 16
"""Bytes of a body that h11 is given at a time: what uvicorn keeps for a handler before it stops
reading."""

CHUNK_LINES_PER_PORTION = 100
"""Line ends in one portion of a chunked body: each may be a chunk, which takes h11 some 10 us."""

ARRIVED_BYTES_MAX = 1 << 18
"""Bytes of a socket that wait for places; then it is not read. One read of uvloop brings as
much."""

INCOMPLETE_BYTES_MAX = 2_048
"""Bytes that h11 keeps of what it can't tell yet: the size of a chunk, headers behind the last one.
A request's own head is handed to it whole."""


class Shares(NamedTuple):
    """All that the sockets of HTTP servers have in common: ``turns`` is one of the whole broker,
    ``sockets`` one of each server."""

    turns: TurnShare
    sockets: OpenSockets


class Phase(Enum):
    """Phases of a request's arrival."""

    HEAD = auto()
    PLACE = auto()
    BODY = auto()
    ANSWER = auto()
    CLOSED = auto()


class _BodyFlow(FlowControl):
    """uvicorn's word on whether it wants more of a body. Reading is the protocol's own business:
    it has octets that wait for their place."""

    def __init__(self, transport: asyncio.Transport, wanted: Callable[[], None]) -> None:
        super().__init__(transport)
        self._wanted = wanted

    def pause_reading(self) -> None:
        self.read_paused = True

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._wanted()


class TimedProtocol(H11Protocol):
    """One socket. It is closed when a request has not arrived in time, when its head is refused
    (after an answer that says why), and when an answer is not read."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any], shares: Shares
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._turns, self._sockets = shares
        self._origin = ""
        self._phase = Phase.HEAD
        self._head = RequestHead()
        self._arrived = bytearray()
        """Octets behind the head that h11 was not given yet."""
        self._body_left: int | None = None
        """Octets of the body that h11 was not given yet; ``None`` for a chunked one, whose end h11
        finds."""
        self._has_asked = False
        self._timer: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    # From the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _BodyFlow(transport, self._go_on)
        self._origin = Peer(*(self.client or ("", 0)), "", 0).origin
        if not self._sockets.enter(self, self._origin):
            self._phase = Phase.CLOSED
            transport.abort()
            return
        self._limit_time()

    def data_received(self, data: bytes) -> None:
        if self._phase is Phase.HEAD:
            self._unset_keepalive_if_required()
            self._head.receive(data)
        else:
            self._arrived += data
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._phase = Phase.CLOSED
        self._arrived.clear()
        self._sockets.leave(self, self._origin)
        self._stop_timer()
        self._stop_stall()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stall is None:
            self._stall = self.loop.call_later(ANSWER_STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_stall()

    # From the server's other sockets (WaitingSocket)

    @property
    def is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def make_room(self) -> None:
        self._phase = Phase.CLOSED
        self.transport.abort()

    # From uvicorn

    def on_response_complete(self) -> None:
        if self._phase is Phase.BODY and self._body_left is None:
            # Nobody wants the chunks that are still to come; only h11 could tell where they end.
            self.transport.close()
        if self._phase is Phase.ANSWER:
            self._take_back()
        super().on_response_complete()
        if not self.transport.is_closing():
            self._sockets.again(self, self._origin)
            if self._phase is Phase.ANSWER:
                self._next_head()

    # The phases

    def _go_on(self) -> None:
        if self._phase is Phase.HEAD:
            if self._head.refused is not None:
                self._refuse(self._head.refused)
            elif self._head.is_complete:
                self._phase = Phase.PLACE
                self._arrived += self._head.rest
                self._ask(self._begin)
        elif self._phase is Phase.BODY and self._arrived and not self.flow.read_paused:
            self._ask(self._hand_on)
        self._read()
        self._limit_time()

    def _ask(self, step: Callable[[], None]) -> None:
        if not self._has_asked:
            self._has_asked = True
            self._turns.ask(step, self._origin)

    def _begin(self) -> None:
        """Give h11 the head, in a place: the handler's task begins."""
        self._has_asked = False
        if self._phase is not Phase.PLACE or self.transport.is_closing():
            return
        self._phase = Phase.ANSWER
        self._give(self._head.octets)
        if self.conn.their_state is h11.SEND_BODY:
            self._phase = Phase.BODY
            self._body_left = _content_length(self.headers)
        self._go_on()

    def _hand_on(self) -> None:
        """Give h11 a portion of the body, in a place."""
        self._has_asked = False
        if self._phase is not Phase.BODY or self.flow.read_paused or self.transport.is_closing():
            return
        size = self._portion()
        portion = bytes(memoryview(self._arrived)[:size])
        del self._arrived[:size]
        if self._body_left is not None:
            self._body_left -= size
        self._give(portion)
        if self.conn.their_state is h11.IDLE:
            self._next_head()  # it was answered before
        elif self.conn.their_state is not h11.SEND_BODY:
            self._phase = Phase.ANSWER
        self._go_on()

    def _give(self, octets: bytes) -> None:
        try:
            super().data_received(octets)
        except h11.LocalProtocolError:
            # This is no HTTP, and uvicorn can't say so: the answer has begun.
            self.transport.abort()

    def _portion(self) -> int:
        size = min(len(self._arrived), BODY_PORTION_BYTES)
        if self._body_left is not None:
            return min(size, self._body_left)
        while size > CHUNK_LINES_PER_PORTION and (
            self._arrived.count(b"\n", 0, size) > CHUNK_LINES_PER_PORTION
        ):
            size //= 2
        return size

    def _take_back(self) -> None:
        """Take what h11 was given of the next request, behind the last chunk of this one: its head
        is to be judged, too."""
        behind, _ = self.conn.trailing_data
        if behind and self.conn.our_state is h11.DONE:
            self._arrived[:0] = behind
            self.conn = h11.Connection(h11.SERVER, INCOMPLETE_BYTES_MAX)

    def _next_head(self) -> None:
        self._phase = Phase.HEAD
        self._head = RequestHead()
        if self._arrived:
            arrived = bytes(self._arrived)
            self._arrived.clear()
            self._unset_keepalive_if_required()
            self._head.receive(arrived)
        self._go_on()

    def _read(self) -> None:
        """Read while what arrives has its use."""
        if self.transport.is_closing():
            return
        wanted = self._phase is Phase.HEAD or (
            self._phase is Phase.BODY and len(self._arrived) < ARRIVED_BYTES_MAX
        )
        if not self._arrived and self._phase is Phase.ANSWER:
            wanted = True  # a client that leaves is noticed
        if wanted != self.transport.is_reading():
            (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def _refuse(self, refused: Refused) -> None:
        self._phase = Phase.CLOSED
        status, reason = refused.value
        body = encode({"error": refused.name.lower(), "reason": reason})
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        answer = h11.Response(status_code=status, headers=headers, reason=status.phrase)
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    # Time

    def _limit_time(self) -> None:
        """Start the timer when a request begins to arrive, and stop it when it is there."""
        if self._phase not in (Phase.HEAD, Phase.BODY):
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_TIMEOUT_S, self._expired)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _expired(self) -> None:
        self._timer = None
        self.transport.close()


def _content_length(headers: list[tuple[bytes, bytes]]) -> int | None:
    """The length of a body that is announced; ``None`` for a chunked one. h11 has checked it."""
    return next((int(value) for name, value in headers if name == b"content-length"), None)
