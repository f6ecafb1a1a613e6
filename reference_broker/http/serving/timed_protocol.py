"""A socket of the HTTP server, with a time limit for the arrival of a request.

uvicorn bounds the time between requests only. Without this, a few hundred sockets that say nothing,
or one octet a minute, would hold every place that there is, and need no password for it.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT_S = 30
"""Seconds from the accepted socket, or the end of the last answer, to the end of the request's
body."""

_ARRIVING = (h11.IDLE, h11.SEND_BODY)


class TimedProtocol(H11Protocol):
    """Closes the socket when a request has not arrived in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_time()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._limit_time()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._limit_time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _limit_time(self) -> None:
        """Start the timer when a request begins to arrive, and stop it when it is there."""
        if self.conn.their_state not in _ARRIVING:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_TIMEOUT_S, self._expired)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        self._timer = None
        self.transport.close()
